"""A drawing becomes part of the page: rebuilt from what is allowed, without style, script, link or foreign id.

The page forbids styles that it does not know.  So colours are classes of the page's own style, which knows light, dark
and paper, and the size is left to the page.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from markupsafe import Markup

from ppdm_sql.release.notebook_html import visible_lines

_ELEMENTS = frozenset(("svg", "g", "path", "rect", "line", "circle", "text", "tspan", "title", "desc"))
_ATTRIBUTES = frozenset(
    ("viewBox", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "d", "transform", "class",
     "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-miterlimit",
     "opacity", "text-anchor", "font-size", "font-weight", "display")
)  # fmt: skip
# How the charts name a colour, and the class that stands for it on the page.
TEXT, MUTED, GRID, AFTER, BEFORE, CHOSEN = "#010101", "#010102", "#010103", "#010201", "#010202", "#010203"
SERIES = ("#010301", "#010302", "#010303", "#010304", "#010305", "#010306", "#010307", "#010308")
_CLASSES = {
    TEXT: "text", MUTED: "muted", GRID: "grid", AFTER: "after", BEFORE: "before", CHOSEN: "chosen",
    **{colour: f"series{place}" for place, colour in enumerate(SERIES)},
}  # fmt: skip


def embed_drawing(drawing: str, key: str, title: str, described: str, *, keep_size: bool = False) -> Markup:
    """The drawing for the page, read aloud by its title and description; key makes their ids unique."""
    root = ET.fromstring(drawing)  # noqa: S314 - drawn by us, from texts that were escaped
    cleaned = _clean(root)
    assert cleaned is not None
    for name in ("title", "desc"):  # those of the whole drawing are said again below
        for old in [child for child in cleaned if child.tag == name]:
            cleaned.remove(old)
    told = [_text_element("title", f"{key}-title", title), _text_element("desc", f"{key}-desc", described)]
    cleaned[:0] = told
    cleaned.attrib |= {"role": "img", "aria-labelledby": f"{key}-title {key}-desc"}
    if not keep_size:
        cleaned.attrib.pop("width", None)
        cleaned.attrib.pop("height", None)
    return Markup(ET.tostring(cleaned, encoding="unicode"))  # noqa: S704 - rebuilt above, texts escaped by ElementTree


def _clean(element: ET.Element) -> ET.Element | None:
    tag = element.tag.rpartition("}")[2]
    if tag not in _ELEMENTS or element.get("display") == "none":
        return None
    kept = ET.Element(tag, dict(_attributes(element)))
    kept.text, kept.tail = _text(element.text), _text(element.tail)
    kept.extend(child for child in map(_clean, element) if child is not None)
    return None if tag == "g" and len(kept) == 0 else kept


def _text(text: str | None) -> str | None:
    return visible_lines(text) if text and text.strip() else None


def _attributes(element: ET.Element) -> Iterator[tuple[str, str]]:
    """What is allowed; colours of the charts as classes."""
    own = element.get("class", "")
    classes = [own] if own.startswith("ppdm-") else []
    for name, value in element.attrib.items():
        if name in ("fill", "stroke") and value in _CLASSES:
            classes.append(f"{name}-{_CLASSES[value]}")
        elif name in _ATTRIBUTES and name != "class":
            yield name, value
    if classes:
        yield "class", " ".join(classes)


def _text_element(tag: str, name: str, text: str) -> ET.Element:
    element = ET.Element(tag, {"id": name})
    element.text = visible_lines(text)
    return element
