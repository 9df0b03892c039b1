"""<file>.recode.sql: raw rows with the labels of a release, for recipients who hold rows of their own.

    duckdb        a table macro over a relation that is named as text:  FROM recode_people_open('patients')
    postgres      a view over a view ppdm_rows, which the recipient makes first

Both walk the rules set-wise: the pieces in which a row's values lie, then from node to node by a join with the table of
rules, then what the last node publishes.  Nothing but the file is needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.catalog.manifest import Manifest
from ppdm_sql.engines.base import Kind
from ppdm_sql.release.export.recode_rules import MISSING, RawColumn, RecodeRules
from ppdm_sql.statements.handed_over import comment, statement_text
from ppdm_sql.statements.names import Name, aliased, column, identifier, stand_in

_ROWS = stand_in("rows")  # what a recipient's view is called where there are no table macros
_PARAMETER = "ppdm_relation"
_RAW, _WALK, _RULES, _LABELS, _LAST = (f"ppdm_{word}" for word in ("raw", "walk", "rules", "labels", "last"))
_ROW, _PIECES, _NODE, _COLUMN, _FIRST, _LAST_PIECE, _CHILD, _AT, _PIECE = (
    f"ppdm_{word}" for word in ("row", "pieces", "node", "column", "first", "end", "child", "at", "piece")
)
_LONGEST_NAME = 50


def recode_text(content: Manifest, rules: RecodeRules, table: str) -> str:
    """The text of <file>.recode.sql, for DuckDB."""
    name = recoder_name(table)
    head = exp.UserDefinedFunction(this=Name(name).table(), expressions=[identifier(_PARAMETER)], wrapped=True)
    rows = exp.Table(this=exp.Anonymous(this="query_table", expressions=[exp.column(identifier(_PARAMETER))]))
    query = _query(rules, rows, "duckdb")
    is_table = exp.ReturnsProperty(this=exp.Schema(this=exp.Var(this="TABLE")), is_table=True)
    macro = exp.Create(
        this=head, kind="MACRO", replace=True, expression=query, properties=exp.Properties(expressions=[is_table])
    )
    used = statement_text(
        exp.Select(expressions=[exp.Star()]).from_(
            exp.Table(this=exp.Anonymous(this=identifier(name), expressions=[exp.Literal.string("patients")]))
        )
    )
    told = [*_head(content, rules), "Tested with DuckDB 1.5 and 2.0.  Run it once; then, for a table of yours:"]
    example = [f"    {line}" for line in used.splitlines()]
    return f"{comment([*told, *example])}\n\n{statement_text(macro)}\n"


def recode_postgres_text(content: Manifest, rules: RecodeRules, table: str) -> str:
    """The text of <file>.recode_postgres.sql."""
    name = recoder_name(table)
    view = exp.Create(
        this=Name(name).table(), kind="VIEW", replace=True, expression=_query(rules, _ROWS.table(), "postgres")
    )
    told = [
        *_head(content, rules),
        f"Tested with PostgreSQL 16.  First make a view {_ROWS.last} of your rows, then run this.",
        "Its column ppdm_raw is your own row: (ppdm_raw).id is a column of it.",
    ]
    return f"{comment(told)}\n\n{statement_text(view, 'postgres')}\n"


def recoder_name(table: str) -> str:
    """What a recipient calls: a name that can be typed.

    >>> recoder_name('open "people"')
    'recode_open__people_'
    """
    return f"recode_{re.sub(r'[^A-Za-z0-9_]', '_', table)}"[:_LONGEST_NAME]


def _head(content: Manifest, rules: RecodeRules) -> list[str]:
    return [
        f"Your own rows with the labels of release {content.release.name} ({content.release.id})",
        f"They need the columns {', '.join(one.name for one in rules.raw)}; all their other columns stay unchanged.",
        "A value that has no label in the release gets the next coarser label.",
        "The recoded rows meet no requirement: only the rows of the release were measured.",
    ]


# -- the query ---------------------------------------------------------------------------------------------


def _query(rules: RecodeRules, rows: exp.Expr, dialect: str) -> exp.Select:
    steps: dict[str, exp.Expr] = {_RAW: _numbered(rows, dialect)}
    for number, one in enumerate(rules.raw):
        if one.thresholds:
            steps[_thresholds(number)] = _values([[text] for text in one.thresholds], [_AT])
        if one.values:
            first = len(one.thresholds) + 1
            named = [[text, first + place] for place, text in enumerate(one.values)]
            steps[_named(number)] = _values(named, [_AT, _PIECE])
    ends = [_NODE, _COLUMN, _FIRST, _LAST_PIECE, _CHILD]
    steps[_RULES] = _values(rules.rules or [(0, 1, 1, 0, 0)], ends)  # without rules one that takes nothing
    labels = [[number, *texts] for number, texts in enumerate(rules.labels)]
    steps[_LABELS] = _values(labels, [_NODE, *(one.name for one in rules.published)])
    steps[_WALK] = _walk(rules, dialect)
    reached = exp.Max(this=column(_NODE, "w"))
    last = exp.Select(expressions=[column(_ROW, "w"), aliased(reached, _NODE)])
    steps[_LAST] = last.from_(exp.to_table(_WALK, alias="w")).group_by(column(_ROW, "w"))
    query = exp.Select(expressions=_published(rules, dialect))
    query = query.from_(exp.to_table(_RAW, alias="s"))
    query = query.join(_joined(_LAST, "l"), on=exp.EQ(this=column(_ROW, "l"), expression=column(_ROW, "s")))
    query = query.join(_joined(_LABELS, "t"), on=exp.EQ(this=column(_NODE, "t"), expression=column(_NODE, "l")))
    made = [
        exp.CTE(this=step, alias=exp.TableAlias(this=identifier(name)), materialized=name == _RAW or None)
        for name, step in steps.items()
    ]
    query.set("with_", exp.With(expressions=made, recursive=True))
    return query


def _joined(name: str, alias: str) -> exp.Table:
    return exp.Table(this=identifier(name), alias=exp.TableAlias(this=identifier(alias)))


def _numbered(rows: exp.Expr, dialect: str) -> exp.Select:
    """The recipient's rows with a number each; where a star cannot leave columns out, as one value."""
    number = exp.Window(this=exp.RowNumber(), over="OVER")
    rows = rows.copy()
    rows.set("alias", exp.TableAlias(this=identifier("s")))
    told: list[exp.Expr] = [exp.Column(this=exp.Star(), table=identifier("s")), aliased(number, _ROW)]
    if dialect == "postgres":
        told.append(aliased(exp.column(identifier("s")), _RAW))
    return exp.Select(expressions=told).from_(rows)


def _values(rows: Sequence[Sequence[object]], names: Sequence[str]) -> exp.Select:
    """A small table that is written out."""
    told = [exp.Tuple(expressions=[exp.convert(value) for value in row]) for row in rows]
    made = exp.Values(
        expressions=told,
        alias=exp.TableAlias(this=identifier("v"), columns=[identifier(name) for name in names]),
    )
    return exp.Select(expressions=[column(name, "v") for name in names]).from_(made)


def _walk(rules: RecodeRules, dialect: str) -> exp.Union:
    """From the root on, one step per round: row, pieces, node."""
    pieces = exp.Array(expressions=[_piece(number, one, rules, dialect) for number, one in enumerate(rules.raw)])
    start = exp.Select(
        expressions=[column(_ROW, "s"), aliased(pieces, _PIECES), aliased(exp.Literal.number(0), _NODE)]
    ).from_(_joined(_RAW, "s"))
    piece = exp.Bracket(this=column(_PIECES, "w"), expressions=[column(_COLUMN, "r")])
    taken = exp.and_(
        exp.EQ(this=column(_NODE, "r"), expression=column(_NODE, "w")),
        exp.LTE(this=column(_FIRST, "r"), expression=piece),
        exp.GTE(this=column(_LAST_PIECE, "r"), expression=piece.copy()),
    )
    going = exp.Select(expressions=[column(_ROW, "w"), column(_PIECES, "w"), column(_CHILD, "r")])
    going = going.from_(_joined(_WALK, "w")).join(_joined(_RULES, "r"), on=taken)
    return exp.Union(this=start, expression=going, distinct=False)


def _piece(number: int, one: RawColumn, rules: RecodeRules, dialect: str) -> exp.Expr:
    """Where the value of a row lies."""
    value = exp.cast(column(one.name, "s"), _type(one, rules.dialect))
    found: exp.Expr = exp.Literal.number(0)
    if one.thresholds:
        below = exp.LTE(this=exp.cast(column(_AT, "p"), _type(one, rules.dialect)), expression=value.copy())
        count = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(_joined(_thresholds(number), "p"))
        found = exp.Subquery(this=count.where(below))
    if one.values:
        text: exp.Expr = exp.cast(value.copy(), "TEXT")
        if one.kind == Kind.FLOAT.value:
            text = exp.Lower(this=text)  # NaN and infinities are written in several ways
        same = exp.EQ(this=column(_AT, "p"), expression=text)
        picked = exp.Select(expressions=[exp.Max(this=column(_PIECE, "p"))]).from_(_joined(_named(number), "p"))
        found = exp.Coalesce(this=exp.Subquery(this=picked.where(same)), expressions=[found])
    missing = exp.Is(this=value, expression=exp.Null())
    chosen = exp.Case().when(missing, exp.convert(MISSING)).else_(found)
    return exp.cast(chosen, "INT")


def _type(one: RawColumn, dialect: str) -> exp.DataType:
    """The type in which a raw value is compared: that of the source."""
    if one.kind in (Kind.TEXT.value, Kind.UUID.value, Kind.BOOLEAN.value):
        return exp.DataType.build("TEXT")
    return exp.DataType.build(one.declared, dialect=dialect)


def _published(rules: RecodeRules, dialect: str) -> list[exp.Expr]:
    shown: list[exp.Expr] = []
    for one in rules.published:
        kind = exp.DataType.build(one.declared, dialect=rules.dialect)
        shown.append(aliased(exp.cast(column(one.name, "t"), kind), one.name))
    if dialect == "postgres":
        return [*shown, aliased(column(_RAW, "s"), _RAW)]
    left = [exp.column(identifier(name)) for name in (*(one.name for one in rules.raw), _ROW)]
    return [*shown, exp.Column(this=exp.Star(except_=left), table=identifier("s"))]


def _thresholds(number: int) -> str:
    return f"ppdm_thresholds_{number}"


def _named(number: int) -> str:
    return f"ppdm_values_{number}"
