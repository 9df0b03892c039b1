"""The one place that makes names: every identifier of every statement is quoted here."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

PREFIX = "ppdm_"
SCHEMA = "ppdm"


@dataclass(frozen=True)
class Word:
    """A name as a user wrote it: with quotes it is exact, without it the engine folds its case."""

    text: str
    quoted: bool = False

    def __str__(self) -> str:
        return f'"{self.text}"' if self.quoted else self.text


def is_same_word(one: Word, other: Word) -> bool:
    """Whether two words can mean the same column; case matters between two that are quoted.

    >>> is_same_word(Word("Age"), Word("age")), is_same_word(Word("Age", quoted=True), Word("age", quoted=True))
    (True, False)
    """
    both_exact = one.quoted and other.quoted
    return one.text == other.text or (not both_exact and one.text.casefold() == other.text.casefold())


@dataclass(frozen=True)
class Name:
    """The name of a relation, schema first: exact, as the engine stores it.

    >>> Name("open", "my table").table().sql("duckdb")
    '"open"."my table"'
    >>> Name()
    Traceback (most recent call last):
        ...
    ValueError: a relation's name must be table or schema.table
    """

    parts: tuple[str, ...]

    def __init__(self, *parts: str) -> None:
        if not 1 <= len(parts) <= 2 or not all(parts):
            raise ValueError("a relation's name must be table or schema.table")
        object.__setattr__(self, "parts", parts)

    @property
    def schema(self) -> str | None:
        return self.parts[0] if len(self.parts) == 2 else None

    @property
    def last(self) -> str:
        return self.parts[-1]

    def table(self, alias: str | None = None) -> exp.Table:
        schema = identifier(self.schema) if self.schema is not None else None
        named = exp.Table(this=identifier(self.last), db=schema)
        if alias is not None:
            named.set("alias", exp.TableAlias(this=identifier(alias)))
        return named

    def __str__(self) -> str:
        return ".".join(self.parts)


def own(name: str) -> Name:
    """One of our own working relations; only these are ever dropped or replaced without asking."""
    if not name.startswith(PREFIX):
        raise ValueError(f"{name} does not start with {PREFIX}")
    return Name(name)


def stand_in(word: str) -> Name:
    """A relation that a statement names and nothing here makes: WITH does, or the reader of the statement.

    >>> stand_in("source")
    Name(parts=('ppdm_source',))
    """
    return Name(f"{PREFIX}{word}")


def lacks(relation: Name | str) -> str:
    """How a message begins about a column that a relation has not: nobody knows our working relations by name.

    >>> lacks(Name("clinic", "people")), lacks(own("ppdm_model_source"))
    ('clinic.people has no column', 'the selected rows have no column')
    """
    ours = str(relation).startswith(PREFIX)
    return "the selected rows have no column" if ours else f"{relation} has no column"


def identifier(text: str) -> exp.Identifier:
    return exp.Identifier(this=text, quoted=True)


def column(name: str, table: str | None = None) -> exp.Column:
    """A column reference; both parts are data, never parsed.

    >>> column("(select 1)", "t").sql("duckdb")
    '"t"."(select 1)"'
    """
    return exp.Column(this=identifier(name), table=identifier(table) if table is not None else None)


def aliased(expression: exp.Expr, name: str) -> exp.Alias:
    return exp.Alias(this=expression, alias=identifier(name))
