"""docs/report.md names the sections there are, in their order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import MODEL, policy, report_of
from test_page import POINTS, tried

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("undrawn")
def test_the_sections_are_those_of_the_pages(duck):
    told = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \|$", TEXT.split("## Who may")[0], re.MULTILINE)[1:]
    duck.publish(policy())
    tried(duck.engine, *POINTS)
    table = [head.text for head in report_of(duck, "people_open").all("h2")]
    duck.publish(MODEL)
    model = [head.text for head in report_of(duck, "ills").all("h2")]
    assert [title for title in told[1:] if title != "The model"] == table
    assert [title for title in told[1:] if title != "What the columns lost"] == model


def test_its_pictures_are_there_and_small():
    for name in re.findall(r"\]\((pictures/[^)]+)\)", TEXT):
        assert 10_000 < (ROOT / "docs" / name).stat().st_size < 300_000
