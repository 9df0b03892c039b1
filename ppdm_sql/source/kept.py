"""What follows from a relation alone, made once while several plans are made from it: look-ups, codes, trees.

A method that is tried with ten values of k reads its source ten times for the same look-up tables and the same codes.
Inside `keeping` what was made of the named relations stays and is taken again.  They must not change meanwhile.
Outside of it everything is made anew, under the names it always had.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar, cast

from ppdm_sql.engines.base import Engine
from ppdm_sql.statements.names import Name, own

Made = TypeVar("Made")


class _Kept:
    def __init__(self, engine: Engine, relations: Collection[Name]) -> None:
        self.engine, self.relations = engine, relations
        self.found: dict[Hashable, object] = {}
        self.tables: list[Name] = []


_KEPT: ContextVar[_Kept | None] = ContextVar("ppdm_kept", default=None)


@contextmanager
def keeping(engine: Engine, relations: Collection[Name]) -> Iterator[None]:
    """Keeps what is made of these relations, which may come to be more, until the end; then its tables are dropped."""
    kept = _Kept(engine, relations)
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)
        for table in kept.tables:
            engine.drop_table(table, temporary=True)


def once(engine: Engine, relation: Name, about: Hashable, make: Callable[[], Made]) -> Made:
    """What was made of a kept relation, or is made now.  about: everything it depends on beside the relation."""
    kept = _of(engine, relation)
    if kept is None:
        return make()
    key = (relation, about)
    if key not in kept.found:
        kept.found[key] = make()
    return cast(Made, kept.found[key])


def table_for(engine: Engine, relation: Name, name: str) -> Name:
    """The working table of this name; of a kept relation one that nothing else is written into."""
    kept = _of(engine, relation)
    if kept is None:
        return own(name)
    kept.tables.append(own(f"{name}_kept{len(kept.tables)}"))
    return kept.tables[-1]


def is_kept(engine: Engine, table: Name) -> bool:
    """Whether a working table stays as it is."""
    kept = _KEPT.get()
    return kept is not None and kept.engine is engine and table in kept.tables


def _of(engine: Engine, relation: Name) -> _Kept | None:
    kept = _KEPT.get()
    return kept if kept is not None and kept.engine is engine and relation in kept.relations else None
