"""One number for what a relation holds: equal for equal rows in whatever order, on whatever engine.

It finds what was changed after publication: a cell, a row more, a row less, a column renamed or moved.  It is a
sum of row hashes and no signature: who can edit the relation and search long enough can make another one of the
same sum, so it is compared with a figure that is kept elsewhere (the catalog, the manifest).

Text, integers, decimals of a declared scale, booleans and dates are printed alike by every engine, so their
figures agree everywhere.  Floats and moments agree only among relations of the same engine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.statements.rowtext import hash_numbers

_FORMAT = "ppdm-content/1"
_MANY = 100_000  # rows from which on it is worth a look whether they repeat
_LOOKED_AT = 10_000
Sums = tuple[int, ...]  # rows, and sums of hashes


def content_hash(engine: Engine, relation: Name, columns: Sequence[str], *, rows: int = 0) -> str:
    """sha256 over the columns' names in order, the number of rows and the sums of two 60-bit hashes of every row."""
    return hash_of_sums(columns, content_sums(engine, relation, columns, rows=rows))


def content_sums(engine: Engine, relation: Name, columns: Sequence[str], *, rows: int = 0) -> Sums:
    """The number of rows and the sums of their hashes: those of two relations add up to those of their union.

    rows: how many there are, where that is known; it decides only how the sums are made.
    """
    one_by_one = rows >= _MANY and not _rows_repeat(engine, relation, columns)
    _, query = content_query(engine, relation, columns, one_by_one=one_by_one)
    return tuple(int(number) for number in engine.fetch_one(query))


def hash_of_sums(columns: Sequence[str], sums: Sums) -> str:
    """The content hash of rows that add up to this."""
    whole = json.dumps([_FORMAT, list(columns), *sums], ensure_ascii=True)
    return hashlib.sha256(whole.encode("ascii")).hexdigest()


def quick_sums(engine: Engine, relation: Name, columns: Sequence[str]) -> Sums:
    """The same of the engine's own hash: for comparing relations of one engine, and good until it hashes otherwise."""
    rows, total = engine.fetch_one(_quick_sums(engine, relation, columns, "a"))
    return int(rows), int(total or 0)


def same_content(engine: Engine, relation: Name, other: Name, columns: Sequence[str]) -> bool:
    """Whether two relations of one engine hold the same rows in these columns, in whatever order.

    It compares the number of rows and the sums of a 64-bit hash of their printed texts.  The hash is the engine's own,
    so the sums are good for this one comparison and are kept nowhere.
    """
    sums = [_quick_sums(engine, one, columns, name).subquery(name) for one, name in ((relation, "a"), (other, "b"))]
    query = exp.Select(expressions=[exp.Star()]).from_(sums[0]).join(sums[1], join_type="cross")
    rows, total, other_rows, other_total = engine.fetch_one(query)
    return (int(rows), int(total or 0)) == (int(other_rows), int(other_total or 0))


def _quick_sums(engine: Engine, relation: Name, columns: Sequence[str], label: str) -> exp.Select:
    texts = [engine.exact_text(column(name)) for name in columns]
    missing = [exp.Is(this=column(name), expression=exp.Null()) for name in columns]  # some hashes pass over NULL
    total = exp.Sum(this=exp.cast(engine.quick_hash([*texts, *missing], 0), "DECIMAL(20, 0)"))
    picked = [aliased(exp.Count(this=exp.Star()), f"ppdm_rows_{label}"), aliased(total, f"ppdm_sum_{label}")]
    return exp.Select(expressions=picked).from_(relation.table())


def _rows_repeat(engine: Engine, relation: Name, columns: Sequence[str]) -> bool:
    """Whether most rows have equals.  A release is stored in an order that puts equal rows next to each other."""
    first = exp.Select(expressions=[column(name) for name in columns]).from_(relation.table()).limit(_LOOKED_AT)
    distinct = exp.Select(expressions=[exp.Star()]).from_(first.subquery("f")).distinct()
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(distinct.subquery("d"))
    return 2 * int(engine.fetch_one(counted)[0]) <= _LOOKED_AT


def content_query(
    engine: Engine, relation: Name, columns: Sequence[str], *, one_by_one: bool = False
) -> tuple[list[object], exp.Query]:
    """What is hashed: the parts known beforehand, and the query for the three numbers that follow them.

    one_by_one: equal rows are not put together first.
    """
    if not columns:
        raise PolicyError(f"{relation} has no column, so it has no content to hash")
    texts = {f"ppdm_t{place}": engine.exact_text(column(name)) for place, name in enumerate(columns)}
    # Rows that print alike are hashed once.  The printed text decides: equal numbers can print differently.
    printed = [aliased(text, name) for name, text in texts.items()]
    number = exp.Literal.number(1) if one_by_one else exp.Count(this=exp.Star())
    counted = aliased(exp.cast(number, "DECIMAL(18, 0)"), "ppdm_count")
    distinct = exp.Select(expressions=[*printed, counted]).from_(relation.table())
    if not one_by_one:
        distinct = distinct.group_by(*(text.copy() for text in texts.values()))
    first, second = hash_numbers(engine, [column(name, "d") for name in texts], salt=_FORMAT)
    picked = [aliased(first, "ppdm_first"), aliased(second, "ppdm_second"), column("ppdm_count", "d")]
    rows = exp.Select(expressions=picked).from_(distinct.subquery("d"))
    source = exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("source")))
    return [_FORMAT, list(columns)], statement("verify/content_lanes", {"source": source})
