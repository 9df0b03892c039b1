"""Results for notebooks: small tables that need no style, with every text of others escaped and isolated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from ppdm_sql.policy.words import many
from ppdm_sql.trees.show import visible

if TYPE_CHECKING:
    from ppdm_sql.catalog.manifest import FindingRecord

_ANY_LENGTH = 10**9
_EMPTY = Markup("")


def visible_lines(text: str) -> str:
    r"""A text with every control character and every mark that turns the direction of writing as its number.

    Lines stay lines, because statements are read by them.

    >>> visible_lines("a\u202eb\n\tc\0")
    'a\\u202eb\n    c\\x00'
    """
    lines = text.replace("\r\n", "\n").expandtabs(4).split("\n")
    return "\n".join(visible(line, _ANY_LENGTH) for line in lines)


def isolate(text: str) -> Markup:
    """A text whose own direction does not reach what stands around it."""
    return Markup("<bdi>{}</bdi>").format(visible_lines(text))


def as_block(name: str, words: str, *parts: Markup) -> str:
    """A result: its name, what is said of it, and what belongs to it."""
    head = Markup("<p><b>{}</b> {}</p>").format(isolate(name), words)
    return str(Markup("<div>{}{}</div>").format(head, _EMPTY.join(parts)))


def as_list(items: Sequence[str], *, numbered: bool = False) -> Markup:
    if not items:
        return _EMPTY
    frame = Markup("<ol>{}</ol>") if numbered else Markup("<ul>{}</ul>")
    return frame.format(_EMPTY.join(Markup("<li>{}</li>").format(isolate(item)) for item in items))


def as_table(findings: Iterable[FindingRecord]) -> Markup:
    """What was asked and what was achieved."""
    rows = [_row(finding) for finding in findings]
    if not rows:
        return _EMPTY
    head = _EMPTY.join(Markup('<th scope="col">{}</th>').format(word) for word in _HEAD)
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(head, _EMPTY.join(rows))


_HEAD = ("requirement", "column", "achieved", "verdict")


def _row(finding: FindingRecord) -> Markup:
    classes = many(finding.breaching_classes, "class", "classes")
    broken = f"breached in {classes} ({many(finding.breaching_rows, 'row')})"
    verdict = Markup("holds") if finding.holds else Markup("<strong>{}</strong>").format(broken)
    cells = (isolate(finding.requirement), isolate(finding.column or ""), isolate(finding.achieved or "–"), verdict)
    return Markup("<tr>{}</tr>").format(_EMPTY.join(Markup("<td>{}</td>").format(cell) for cell in cells))
