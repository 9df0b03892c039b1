"""Whether k holds over all rows of a person, where pseudonyms say which rows are one person's."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.printed import Stored


def lonely_persons(engine: Engine, relation: Name, *, quasi: Sequence[str], pseudonym: str, k: int) -> tuple[int, int]:
    """How many persons share the classes of all their rows with fewer than k - 1 others, and their rows."""
    stored = Stored.look_up(engine, relation, [*quasi, pseudonym])
    source = stored.source(quasi, pseudonym=stored.text(pseudonym))
    _, persons, rows = engine.fetch_one(source.statement("pseudonym_ways"), k=k)
    return int(persons), int(rows)
