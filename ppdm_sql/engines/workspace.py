"""Working tables: each has a name of its own, and all of them are gone at the end.

    with engine.workspace() as work:
        codes = work.table("codes", query)  # CREATE TEMP TABLE ppdm_codes_17 AS ...
        labels = work.load("labels", {"part": parts, "label": texts})

Workspaces nest.  `engine.work` is the innermost one that is open, and what a function makes there lives until it ends.
Outside of any there is one that ends with the engine.  A name is used once in a process, so two functions, two plans
or two sessions over one connection never write into each other's tables.

What follows from a relation alone (look-up tables, codes) can be made once for several plans: a workspace that shares
a relation keeps what `once` makes of it.  The relation must not change meanwhile.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlglot import exp

from ppdm_sql.errors import EngineError
from ppdm_sql.statements.names import PREFIX, Name

if TYPE_CHECKING:
    import pyarrow as pa

    from ppdm_sql.engines.base import Engine

Made = TypeVar("Made")

_NUMBERS = itertools.count(1)

# The working tables with names for everybody: the rows of the release that is being made, one at a time, and the labels
# of these rows where numbers stand for them.
STAGE, STAGE_LABELS = Name(f"{PREFIX}stage"), Name(f"{PREFIX}stage_labels")


class Workspace:
    """The working tables of one piece of work."""

    def __init__(self, engine: Engine, outer: Workspace | None = None, shares: Collection[Name] = ()) -> None:
        self._engine, self._outer, self._shares = engine, outer, shares
        self._tables: list[Name] = []
        self._views: list[Name] = []
        self._dropped: list[Name] = []
        self._made: dict[Hashable, object] = {}

    @property
    def is_outermost(self) -> bool:
        """Whether it lasts as long as the engine."""
        return self._outer is None

    # -- making ------------------------------------------------------------------------------------

    def name(self, label: str) -> Name:
        """A name for a working table that is made later, perhaps several times: each replaces the one before."""
        self._tables.append(self._new_name(label))
        return self._tables[-1]

    def _new_name(self, label: str) -> Name:
        given = Name(f"{PREFIX}{label}_{next(_NUMBERS)}")
        self._engine.unmade.add(given)
        return given

    def table(self, label: str, query: exp.Query, *, analyze: bool = False, **params: Any) -> Name:
        """The rows of a query; analyze: it is joined later, and the planner has to know its size."""
        made = self.name(label)
        self._engine.create_table(made, query, temporary=True, **params)
        if analyze:
            self._engine.analyze(made)
        return made

    def load(self, label: str, columns: pa.Table | Mapping[str, Any], *, analyze: bool = False) -> Name:
        """A small table made in Python, as an Arrow table or by its columns."""
        import pyarrow as pa

        made = self.name(label)
        self._engine.load(made, columns if isinstance(columns, pa.Table) else pa.table(dict(columns)))
        if analyze:
            self._engine.analyze(made)
        return made

    def lend(self, label: str, columns: pa.Table | Mapping[str, Any], *, analyze: bool = False) -> Name:
        """A table made in Python that is only read; an engine of this process reads it where it is."""
        import pyarrow as pa

        made = self.name(label)
        self._engine.lend(made, columns if isinstance(columns, pa.Table) else pa.table(dict(columns)))
        if analyze:
            self._engine.analyze(made)
        return made

    def view_of_text(self, label: str, query: str) -> Name:
        """A view over a query the user wrote, kept to the letter."""
        made = self._new_name(label)
        self._engine.view_of_text(made, query)
        self._engine.unmade.discard(made)
        self._views.append(made)
        return made

    def adopt_view(self, view: Name) -> None:
        """Drops a view of a fixed name at the end, too; it may read tables of this workspace."""
        if view not in self._views:
            self._views.append(view)

    def recall(self, about: Hashable) -> Any:
        """What was made in a workspace that is still open; None where nothing was."""
        return next((one._made[about] for one in self._around() if about in one._made), None)

    def remember(self, about: Hashable, make: Callable[[], Made]) -> Made:
        """What was made in a workspace that is still open, or is made now; about: everything it depends on."""
        found = self.recall(about)
        if found is not None:
            return cast(Made, found)
        made = make()
        if not self.is_outermost:
            self._made[about] = made
        return made

    # -- sharing -----------------------------------------------------------------------------------

    def once(self, relation: Name, about: Hashable, make: Callable[[], Made]) -> Made:
        """What was made of a shared relation before, or is made now.

        about: everything it depends on except the relation.  What make() stores lives as long as it is shared.
        """
        keeper = self._keeper(relation)
        if keeper is None:
            return make()
        key = (relation, about)
        if key not in keeper._made:
            with _working_in(keeper):
                keeper._made[key] = make()
        return cast(Made, keeper._made[key])

    def shares(self, relation: Name) -> bool:
        """Whether several plans read this relation."""
        return self._keeper(relation) is not None

    def keeps(self, table: Name) -> bool:
        """Whether a working table is one that plans share."""
        around = [one for one in self._around() if one._shares]
        return any(table in one._tables for one in around)

    def _keeper(self, relation: Name) -> Workspace | None:
        return next((one for one in self._around() if relation in one._shares), None)

    def _around(self) -> Iterator[Workspace]:
        one: Workspace | None = self
        while one is not None:
            yield one
            one = one._outer

    # -- ending ------------------------------------------------------------------------------------

    def drop(self, table: Name) -> None:
        """Drops a large table before the end."""
        owner = next(one for one in self._around() if table in one._tables)
        owner._tables.remove(table)
        owner._dropped.append(table)
        self._engine.drop_table(table, temporary=True)

    def close(self) -> None:
        """Drops everything; the workspace is empty and can be used again."""
        tables, views = self._tables, self._views
        self._tables, self._views, self._dropped, self._made = [], [], [], {}
        self._engine.drop_working(tables, views)

    def close_after_failure(self) -> None:
        """Drops what there is.  A roll-back may have brought back tables, or taken them away."""
        self._tables += self._dropped
        with suppress(EngineError):  # in a failed transaction: its roll-back takes along what it made
            self.close()


@contextmanager
def _working_in(work: Workspace) -> Iterator[None]:
    """Makes a workspace the innermost one."""
    engine = work._engine
    former, engine.work = engine.work, work
    try:
        yield
    finally:
        engine.work = former


@contextmanager
def open_workspace(engine: Engine, shares: Collection[Name]) -> Iterator[Workspace]:
    """A workspace inside the one that is open; it ends with the block, however that ends."""
    work = Workspace(engine, engine.work, shares)
    with engine.facts.kept(), _working_in(work):
        try:
            yield work
        except BaseException:
            work.close_after_failure()
            raise
        work.close()


def renumber(statements: str) -> str:
    """Statements with their working tables numbered as they come: the same work gives the same text every time.

    >>> renumber('SELECT 1 FROM "ppdm_codes_17" JOIN "ppdm_labels_4" JOIN "ppdm_codes_17"')
    'SELECT 1 FROM "ppdm_codes_0" JOIN "ppdm_labels_1" JOIN "ppdm_codes_0"'
    """
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        return f"{found['label']}{numbers.setdefault(found[0], len(numbers))}"

    return re.sub(rf"\b(?P<label>{PREFIX}[a-z_]+_)\d+\b", number, statements)


def temporary_property() -> exp.Properties:
    return exp.Properties(expressions=[exp.TemporaryProperty()])
