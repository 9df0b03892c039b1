"""How a table of pseudo-rows differs from a table of people: by the comment it was stored with."""

from __future__ import annotations

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name

MARK = "ppdm_sql pseudo-data"


def is_pseudo(engine: Engine, relation: Name) -> bool:
    """Whether a relation carries the mark of pseudo-rows; a copy of them does not."""
    return (engine.comment_on(relation) or "").startswith(f"{MARK} ")
