"""A stored relation as its recipient reads it: values differ if the texts they are printed as differ.

SQL's own equality is coarser than the eye's: a NOCASE column groups 'Ann' with 'ANN', a float groups 0.0 with
-0.0, a NUMERIC groups 1.0 with 1.00, and all of them are published apart.  So quasi-identifiers are grouped by
their exact text.  Integers, booleans and dates are left as they are: one value has one text there, and the
grouping is quicker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql import resources
from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.load import bind, parse_statement
from ppdm_sql.statements.names import Name, aliased, column

_ONE_TEXT_PER_VALUE = frozenset({Kind.INTEGER, Kind.BOOLEAN, Kind.DATE})


@dataclass(frozen=True)
class Stored:
    """A relation with the kinds of its columns as they are stored, whatever a policy says of the source."""

    engine: Engine
    relation: Name
    kinds: Mapping[str, Kind]

    @classmethod
    def look_up(cls, engine: Engine, relation: Name, needed: Iterable[str]) -> Stored:
        """The relation, once all the columns that are needed were found in it and can be compared."""
        columns = engine.columns(relation)
        kinds = {info.name: info.kind for info in columns}
        own = engine.ranges  # a range has one text
        ranges = {info.name for info in columns if own is not None and own.has_type(info.declared)}
        if not kinds:
            raise PolicyError(f"relation {relation} does not exist")
        wanted = list(dict.fromkeys(needed))
        missing = [f"{relation} has no column {name}" for name in wanted if name not in kinds]
        strange = [
            f"column {name} of {relation} has a type that cannot be compared as text"
            for name in wanted
            if kinds.get(name) is Kind.UNSUPPORTED and name not in ranges
        ]
        if missing or strange:
            raise PolicyError(*missing, *strange)
        return cls(engine, relation, kinds)

    def text(self, name: str) -> exp.Expr:
        """What a reader sees of a column, byte for byte."""
        return self.engine.exact_text(exp.cast(column(name), "TEXT"))

    def quasi(self, name: str) -> exp.Expr:
        """An expression that is equal for two rows exactly when the column is printed alike."""
        return column(name) if self.kinds[name] in _ONE_TEXT_PER_VALUE else self.text(name)

    def sensitive(self, name: str) -> exp.Expr:
        """A sensitive value: words by their bytes, numbers and moments as such.

        Here the coarser equality is the careful one: 0.0 and -0.0 are one salary, not two that hide each other.
        """
        return self.text(name) if self.kinds[name] is Kind.TEXT else column(name)

    def entity(self, name: str) -> exp.Expr:
        """A person, told apart as the database does: counting too few of them is the careful mistake."""
        return column(name)

    def texts(self, quasi: Sequence[str], **others: exp.Expr) -> exp.Subquery:
        """The same with every quasi-identifier as its text, to be compared with texts of another relation."""
        columns = [aliased(self.text(real), f"ppdm_q{place}") for place, real in enumerate(quasi, start=1)]
        columns += [aliased(expression, name) for name, expression in others.items()]
        rows = exp.Select(expressions=columns).from_(self.relation.table())
        return exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("source")))

    def source(self, quasi: Sequence[str], **others: exp.Expr) -> Printed:
        """The columns a measure needs, under names of our own, so that no name of the data reaches its statement."""
        names = [f"ppdm_q{place}" for place in range(1, len(quasi) + 1)]
        columns = [aliased(self.quasi(real), name) for real, name in zip(quasi, names, strict=True)]
        if not quasi:  # no quasi-identifier: one class holds every row
            names, columns = ["ppdm_q0"], [aliased(exp.Literal.number(0), "ppdm_q0")]
        columns += [aliased(expression, name) for name, expression in others.items()]
        rows = exp.Select(expressions=columns).from_(self.relation.table())
        return Printed(exp.Subquery(this=rows, alias=exp.TableAlias(this=exp.to_identifier("source"))), tuple(names))


@dataclass(frozen=True)
class Printed:
    """The subquery that replaces `source` in a statement of sql/verify/, and its quasi-identifiers."""

    rows: exp.Subquery
    quasi: tuple[str, ...]

    def statement(self, name: str, relations: Mapping[str, exp.Expr] | None = None) -> exp.Query:
        """The statement of sql/verify/<name>.sql over these rows."""
        return self.fill(resources.sql_text(f"verify/{name}"), relations)

    def fill(self, text: str, relations: Mapping[str, exp.Expr] | None = None) -> exp.Query:
        """A statement's text over these rows."""
        # The rows go in last: a column of the data may be called `quasi` too.
        tree = bind(parse_statement(text), relations, {"quasi": self.quasi})
        for table in list(tree.find_all(exp.Table)):
            if table.name == "source":
                table.replace(self.rows.copy())
        return tree
