"""What was looked up about relations (kind, columns, the query of a view) is asked once, until it can have changed.

Facts are kept while a call of the session lasts, and no longer.  They are forgotten when a statement makes, drops or
changes a relation, when a text of the user runs, when the lock of the ledger is taken (what is decided under it is
looked up under it), and when a transaction ends.  Outside of a call nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from sqlglot import exp

from ppdm_sql.engines.columns import Row
from ppdm_sql.statements.names import PREFIX, Name

Found = TypeVar("Found")

# They change rows, or what is said about a relation; which relations there are stays the same.
_OF_ROWS = (exp.Query, exp.Insert, exp.Update, exp.Delete, exp.Copy, exp.Comment, exp.Analyze)
_DESCRIBES = (exp.AlterColumn, exp.AlterSet)  # an ALTER that leaves the relation its name


class RelationFacts:
    """What is known of relations now."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Name], Any] | None = None
        self._all: list[Row] | None = None
        self.pivoted: set[str] = set()  # folded names of tables whose columns this session made out of values

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Facts are kept until the end of the block; of blocks inside each other the outer one counts."""
        if self._known is not None:
            yield
            return
        self._known = {}
        try:
            yield
        finally:
            self._known = self._all = None

    def note_all(self, relations: list[Row]) -> None:
        """Keeps the list of all relations, in the engine's words, until any relation can have changed."""
        if self._known is not None:
            self._all = relations

    @property
    def all_relations(self) -> list[Row] | None:
        return self._all

    def recall(self, what: str, name: Name) -> Any:
        """What is known; None where nothing is."""
        return None if self._known is None else self._known.get((what, name))

    def find(self, what: str, name: Name, look: Callable[[], Found]) -> Found:
        """What is known of a relation, or what is found out now."""
        if self._known is None:
            return look()
        if (what, name) in self._known:
            return cast(Found, self._known[what, name])
        found = look()
        self.note(what, name, found)  # whatever look() forgot, this was found after it
        return found

    def find_all(
        self, what: str, names: Iterable[Name], look: Callable[[list[Name]], Mapping[Name, Found]]
    ) -> dict[Name, Found]:
        """The same for several relations; those that are not known yet are looked up together."""
        asked = list(dict.fromkeys(names))
        known = (
            {} if self._known is None else {name: found for (key, name), found in self._known.items() if key == what}
        )
        unknown = [name for name in asked if name not in known]
        found = dict(look(unknown)) if unknown else {}
        for name, one in found.items():
            self.note(what, name, one)
        return {name: found[name] if name in found else known[name] for name in asked}

    @property
    def is_kept(self) -> bool:
        """Whether facts are kept now."""
        return self._known is not None

    def names(self, what: str) -> list[Name]:
        """The relations of which this is known."""
        return [name for (key, name) in self._known or () if key == what]

    def note(self, what: str, name: Name, found: object) -> None:
        """Keeps what follows from a statement that was run."""
        if self._known is not None:
            self._known[what, name] = found

    def discard(self, what: str, name: Name) -> None:
        """Forgets one thing about a relation."""
        if self._known is not None:
            self._known.pop((what, name), None)

    def forget(self, name: Name | None = None) -> None:
        """Forgets everything, or what is known of one name."""
        self._keep(lambda known: name is not None and known.last.casefold() != name.last.casefold())

    def forget_shared(self) -> None:
        """Forgets what other sessions can change: everything but this session's own working relations."""
        self._keep(lambda known: known.schema is None and known.last.startswith(PREFIX))

    def _keep(self, wanted: Callable[[Name], bool]) -> None:
        self._all = None
        if self._known is not None:
            self._known = {key: found for key, found in self._known.items() if wanted(key[1])}

    def forget_after(self, statement: exp.Expr) -> None:
        """Forgets what a statement can have changed: what a relation that it makes or drops had as its name, or all."""
        if isinstance(statement, _OF_ROWS):
            return
        changed = _relations(statement)
        for one in changed:
            self.forget(Name(one.name))
        if not changed:
            self.forget()


def _relations(statement: exp.Expr) -> list[exp.Table]:
    """The tables and views that a statement makes, drops or describes; none where it does something else."""
    if isinstance(statement, exp.Alter) and all(isinstance(one, _DESCRIBES) for one in statement.args["actions"]):
        return [statement.this]
    if not isinstance(statement, exp.Create | exp.Drop) or statement.args.get("kind") not in ("TABLE", "VIEW"):
        return []
    if isinstance(statement, exp.Drop):
        return [one for one in statement.args.get("tables") or [] if isinstance(one, exp.Table)]
    made = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
    return [made] if isinstance(made, exp.Table) else []
