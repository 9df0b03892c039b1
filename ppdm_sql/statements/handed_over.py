r"""SQL as text for a file that others will run: comments that stay comments, statements that stay single.

Names and values come from data.  A line break in a name would end the `--` in front of it, and what follows would be
a statement, or a dot command of the recipient's client.  So this is the only place that writes a comment line.
Inside a statement a name stands in quotes, which every client reads across lines; a text is written on one line.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from sqlglot import exp

from ppdm_sql.statements.steps import concatenation

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # what a reader cannot see, or not as it is
_LINE_BREAKS = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # direction of writing


def is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN


def has_control(text: str) -> bool:
    r"""Whether a text holds what ends a line, steers a terminal or turns the direction of writing.

    >>> has_control("a\u0085b"), has_control("a\u202eb"), has_control("naïve 名\u200c.csv")
    (True, True, False)
    """
    return any(unicodedata.category(one) in _LINE_BREAKS or one in _TURNS for one in text)


def escape_character(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_hidden(text: str) -> str:
    r"""A text with every character that a reader cannot see as its number.

    >>> escape_hidden("a\nb\u202ec"), escape_hidden("naïve 名")
    ('a\\x0ab\\u202ec', 'naïve 名')
    """
    return "".join(escape_character(one) if is_hidden(one) else one for one in text)


def comment(lines: Iterable[str]) -> str:
    r"""Comment lines, as many as there are texts: whatever is hidden in them is shown as its number.

    >>> print(comment(["k = 5 on ill\n.shell ls", "a\u202eb"]))
    -- k = 5 on ill\x0a.shell ls
    -- a\u202eb
    """
    return "\n".join(f"-- {escape_hidden(line)}" for line in lines)


def statement_text(tree: exp.Expr, dialect: str = "duckdb") -> str:
    r"""One statement with its semicolon, for people to read; no text in it goes over a line.

    >>> " ".join(statement_text(exp.select(exp.Literal.string("a\n;b"))).split())
    "SELECT ( 'a' || ( CHR(10) || ';b' ) );"
    """
    shown = tree.copy()
    for literal in list(shown.find_all(exp.Literal)):
        if literal.is_string and any(is_hidden(one) for one in literal.this):
            literal.replace(_pieces(literal.this))
    # Indenting would change a name that goes over several lines.
    plain = not any(is_hidden(one) for name in shown.find_all(exp.Identifier) for one in name.this)
    return shown.sql(dialect, pretty=plain, comments=False) + ";"


def _pieces(text: str) -> exp.Paren:
    """A text whose hidden characters are calls of CHR."""
    parts: list[exp.Expr] = []
    seen = ""
    for one in text:
        if not is_hidden(one):
            seen += one
            continue
        parts += [exp.Literal.string(seen)] if seen or not parts else []
        parts.append(exp.Anonymous(this="CHR", expressions=[exp.Literal.number(ord(one))]))
        seen = ""
    parts += [exp.Literal.string(seen)] if seen else []
    return exp.Paren(this=concatenation(parts))
