"""A page read back: elements with their attributes, texts with what stands around them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    parent: Element | None = None
    children: list[Element | str] = field(default_factory=list)

    def walk(self):
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, tag: str) -> list[Element]:
        return [one for one in self.walk() if one.tag == tag]

    def by_id(self, name: str) -> Element:
        (found,) = [one for one in self.walk() if one.attributes.get("id") == name]
        return found

    def has(self, name: str) -> bool:
        return any(one.attributes.get("id") == name for one in self.walk())

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def above(self) -> list[str]:
        """The tags around it, from the inside out."""
        return [] if self.parent is None else [self.parent.tag, *self.parent.above]

    def rows(self) -> list[list[str]]:
        """The cells of a table, without the notes below them."""
        return [[_without_notes(cell) for cell in row.children if isinstance(cell, Element)] for row in self.all("tr")]


def _without_notes(cell: Element) -> str:
    told = (child if isinstance(child, str) else child.text for child in cell.children
            if isinstance(child, str) or child.tag != "small")  # fmt: skip
    return "".join(told).strip()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document", {})
        self.here = self.root

    def handle_starttag(self, tag, attrs):
        element = Element(tag, {name: value or "" for name, value in attrs}, self.here)
        assert len(element.attributes) == len(attrs), f"{tag} has an attribute twice"
        self.here.children.append(element)
        if tag not in VOID:
            self.here = element

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.here.tag == tag, f"</{tag}> closes <{self.here.tag}>"
        self.here = self.here.parent

    def handle_data(self, data):
        self.here.children.append(data)


def read(text: str) -> Element:
    """The page as a tree; a tag that is not closed where it should be is an error."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.here is reader.root
    return reader.root


def report_of(session, name, **asked) -> Element:
    """Writes a report and reads it back."""
    done = session.report(name, "page.html", force=True, **asked)
    with open(done.path, encoding="utf-8") as file:
        return read(file.read())


# -- tables to report on -----------------------------------------------------------------------------------

COLUMNS = {"id": "INTEGER", "age": "INTEGER", "sex": "TEXT", "zip": "TEXT", "job": "TEXT", "illness": "TEXT"}
QUASI = ("age", "sex", "zip")


def people(rows: int = 240, seed: int = 5) -> list[tuple]:
    """Rows with NULLs and ties; an id, which is a person's, comes twice for every eighth."""
    draw = random.Random(seed)
    return [
        (
            None if number % 40 == 7 else number - (number % 8 == 0),
            draw.randint(20, 60),
            draw.choice(["f", "m", None]),
            draw.choice(["10001", "10002", "20001"]),
            draw.choice(["nurse", "clerk", "cook"]),
            draw.choice(["flu", "cold", "ulcer", None]),
        )
        for number in range(rows)
    ]


def policy(
    kind: str = "TABLE", name: str = "people_open", required: str = "k = 5, distinct_l = 2", who: str = "IDENTIFIER (id)",
    more: str = "",
) -> str:  # fmt: skip
    return f"""CREATE OR REPLACE {kind} {name} AS SELECT id, age, sex, zip, illness FROM people
        WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE {required} {who} QUASI IDENTIFIER (age, sex, zip)
        SENSITIVE (illness) SEED 7 {more})"""


MODEL = """CREATE OR REPLACE MODEL ills AS SELECT id, age, sex, job, illness FROM people
    WHERE sex IS NOT NULL AND illness IS NOT NULL
    WITH ANONYMIZATION (ALGORITHM kadet REQUIRE k = 6 IDENTIFIER (id) QUASI IDENTIFIER (age, sex) INSENSITIVE (job)
    SENSITIVE (illness) TARGET (illness) ACCEPT RISK (joint))"""
PSEUDO = "CREATE TABLE ills_pseudo AS PSEUDO DATA FROM MODEL ills WITH (rows = 50, seed = 1)"
