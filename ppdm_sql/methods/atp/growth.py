"""A multiway tree over columns in categories, grown in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.induction.candidates import Veto
from ppdm_sql.induction.criteria import Ints
from ppdm_sql.induction.grow import Grown
from ppdm_sql.induction.nominal import Nominal, grow_nominal
from ppdm_sql.methods.atp.bins import AskedColumn
from ppdm_sql.source.encode import Lookup, joined_lookups
from ppdm_sql.source.relation import Source
from ppdm_sql.watching import Progress


def grow_asked(
    engine: Engine,
    source: Source,
    asked: Sequence[AskedColumn],
    target: Lookup,
    whole: Ints,
    *,
    min_leaf: int,
    max_depth: int | None,
    by_ratio: bool,
    confidence: float | None = None,
    veto: Veto | None = None,
    progress: Progress,
) -> list[Grown]:
    """The nodes, the root first; whole: rows per class of the table."""
    query = exp.Select().from_(source.relation.table("r"))
    query, codes = joined_lookups(engine, query, [*(one.lookup for one in asked), target], "r")
    nominal = [Nominal(one.lookup, code, one.size) for one, code in zip(asked, codes[:-1], strict=True)]
    return grow_nominal(
        engine, query, nominal, Nominal(target, codes[-1], len(whole)), whole, min_leaf=min_leaf, min_rows=2,
        confidence=confidence, by_ratio=by_ratio, max_depth=max_depth, veto=veto, progress=progress,
    )  # fmt: skip
