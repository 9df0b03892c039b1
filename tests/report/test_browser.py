"""The page in a browser: it loads nothing, complains of nothing, and fits a phone and a desk."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from browser import CHROMIUM, DRIVER, browser
from pages import MODEL, people, policy
from test_page import POINTS, tried

from ppdm_sql.report.profile_page import profile_page
from ppdm_sql.report.write import write_page
from ppdm_sql.session import connect

pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="there is no chromium with its chromedriver"),
]

SCRIPT = """
const shown = element => getComputedStyle(element).backgroundColor;
return {
  width: document.documentElement.scrollWidth, room: document.documentElement.clientWidth,
  page: shown(document.body), charts: [...document.querySelectorAll('figure > svg')].map(svg => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].every(text => {
      const box = text.getBoundingClientRect();
      return box.left >= frame.left - 1 && box.right <= frame.right + 1 && box.top >= frame.top - 1;
    });
  }),
  bar: [...document.querySelectorAll('.fill-after')].map(bar => getComputedStyle(bar).fill)[0],
}
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A table whose names are long and wide, a model with a large tree, and the profile of the table."""
    folder = tmp_path_factory.mktemp("browser")
    con = duckdb.connect()
    con.execute("CREATE TABLE people (id INTEGER, age INTEGER, sex TEXT, zip TEXT, job TEXT, illness TEXT)")
    con.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", people())
    con.execute(f'ALTER TABLE people RENAME zip TO "{"zip" * 40}"')
    with connect(con, out=folder) as session:
        session.publish(policy().replace("zip", f'"{"zip" * 40}"'))
        tried(session.engine, *POINTS)
        session.publish(MODEL)
        write_page(profile_page(session.profile("people", fraction=Fraction(1, 10))), folder / "profile.html")
        listed = [session.report(name, f"{name}.html").path for name in ("people_open", "ills")]
        return [*listed, str(folder / "profile.html")]


@pytest.fixture(scope="module")
def tab():
    with browser() as opened:
        yield opened


def test_it_stays_by_itself_and_fits(reports, tab):
    for path in map(Path, reports):
        tab.open(path)
        assert tab.requests() == [path.as_uri()]
        for width in (390, 1280):
            tab.resize(width)
            found = {}
            for scheme in ("light", "dark"):
                tab.scheme(scheme)
                found[scheme] = tab.run(SCRIPT)
                assert found[scheme]["width"] <= found[scheme]["room"], (path.name, width)
                assert all(found[scheme]["charts"]), "a label is cut"
            assert found["light"]["page"] != found["dark"]["page"]
            assert found["light"]["bar"] != found["dark"]["bar"]
        tab.run("document.querySelectorAll('details').forEach(one => one.open = true)")
        tab.resize(390)
        opened = tab.run(SCRIPT)
        assert opened["width"] <= opened["room"], "with everything open"
        assert tab.requests() == []
        assert tab.log("browser") == []


def test_its_policy_stops_what_would_get_through(reports, tab, tmp_path):
    """Were a tag not escaped, the browser would still not run it, load it or style by it."""
    text = Path(reports[0]).read_text(encoding="utf-8")
    (tmp_path / "dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    bad = "<script>document.title = 'run'</script><img src='dot.svg' onerror='document.title = 1'>"
    bad += "<p id='styled' style='display: none'>x</p>"
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("<footer>", bad + "<footer>"), encoding="utf-8")
    tab.open(changed)
    assert tab.run("return document.title") == "people_open: release report"
    assert tab.run("return getComputedStyle(document.getElementById('styled')).display") == "block"
    assert tab.run("return document.querySelector('img').naturalWidth") == 0
    told = " ".join(entry["message"] for entry in tab.log("browser"))
    assert all(rule in told for rule in ("script-src", "img-src", "style-src"))
