"""A page is one file that needs nothing else, and that everybody can read."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from pages import read


def every(both):
    """The pages of harmless and of hostile releases."""
    return [text for pages in both for text in pages.values()]


def test_it_has_no_script_and_loads_nothing(both):
    for text in every(both):
        page = read(text)
        assert not {one.tag for one in page.walk()} & {
            "script",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "foreignobject",
        }
        for one in page.walk():
            assert not [name for name in one.attributes if name.startswith("on") or name in ("style", "src", "srcset")]
            address = one.attributes.get("href") or one.attributes.get("xlink:href") or "#"
            assert address.startswith("#") or address == "data:,"
        assert "http://" not in text.replace("http-equiv", "")
        assert "https://" not in text
        assert len(page.all("style")) == 1


def test_its_policy_allows_its_own_style_and_nothing_else(both):
    for text in every(both):
        page = read(text)
        (told,) = [one.attributes["content"] for one in page.all("meta")
                   if one.attributes.get("http-equiv") == "Content-Security-Policy"]  # fmt: skip
        digest = base64.b64encode(hashlib.sha256(page.all("style")[0].text.encode()).digest()).decode()
        rules = dict(rule.strip().split(" ", 1) for rule in told.split(";"))
        assert rules == {"default-src": "'none'", "style-src": f"'sha256-{digest}'", "img-src": "data:",
                         "base-uri": "'none'", "form-action": "'none'"}  # fmt: skip
        assert text.index("Content-Security-Policy") < text.index("<style>")


def test_it_can_be_read_aloud_and_by_keyboard(both):
    for text in every(both):
        page = read(text)
        ids = [one.attributes["id"] for one in page.walk() if "id" in one.attributes]
        assert len(ids) == len(set(ids))
        for one in page.walk():
            for name in one.attributes.get("aria-labelledby", "").split():
                assert name in ids
            if one.attributes.get("href", "").startswith("#"):
                assert one.attributes["href"][1:] in ids
        assert page.all("html")[0].attributes["lang"] == "en"
        assert [len(page.all(tag)) for tag in ("header", "nav", "main", "footer", "h1", "title")][:5] == [1, 1, 1, 1, 1]
        levels = [int(one.tag[1]) for one in page.walk() if re.fullmatch("h[1-6]", one.tag)]
        assert levels[0] == 1
        assert set(levels[1:]) == {2}
        for table in page.all("table"):
            assert table.all("caption")
            assert all(cell.attributes.get("scope") in ("row", "col") for cell in table.all("th"))
        for drawing in page.all("svg"):
            assert drawing.attributes["role"] == "img"
            assert [child.tag for child in drawing.children[:2]] == ["title", "desc"]
            assert all(child.text.strip() for child in drawing.children[:2])
        for figure in page.all("figure"):  # the same for those who cannot see it
            siblings = [one for one in figure.parent.children if not isinstance(one, str)]
            after = siblings[siblings.index(figure) + 1]
            assert after.tag == "details"
            assert after.all("table") or after.all("pre")
        assert all(one.children[1].tag == "summary" for one in page.all("details"))


STYLE = (Path(__file__).resolve().parents[2] / "ppdm_sql/report/style.css").read_text(encoding="utf-8")


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_its_colours_can_be_told_apart(scheme):
    """WCAG AA: 4.5 for text, 3 for what is drawn."""
    block = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block))
    for name in ("text", "muted", "link", "good", "bad"):
        for behind in ("page", "card", "code"):
            assert contrast(colours[name], colours[behind]) >= 4.5, (name, behind)
    assert contrast(colours["good"], colours["good-page"]) >= 4.5
    assert contrast(colours["bad"], colours["bad-page"]) >= 4.5
    for name in ("after", "before", "chosen", *(f"s{number}" for number in range(8))):
        assert contrast(colours[name], colours["card"]) >= 3, name
