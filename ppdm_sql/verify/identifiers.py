"""K counts rows where no ENTITY is named.  Whether rows are people there is asked of the identifiers."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name
from ppdm_sql.verify.printed import Stored


def few_identifiers(
    engine: Engine, relation: Name, *, quasi: Sequence[str], identifier: str, k: int, least: int = 0
) -> tuple[int, int]:
    """How many classes have fewer than k different values of an identifier, and the rows in them.

    least: classes of fewer rows are not asked, where a policy allows them.
    """
    stored = Stored.look_up(engine, relation, [*quasi, identifier])
    source = stored.source(quasi, identifier=stored.entity(identifier))
    classes, rows = engine.fetch_one(source.statement("identifier_count"), k=k, least=least)
    return int(classes), int(rows)
