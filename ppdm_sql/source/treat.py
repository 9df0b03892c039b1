"""Treatments applied to a source before anything is counted: the relation that methods, guard and judge see has them.

The column of a PSEUDONYM holds pseudonyms, so that nothing can publish what it held; who it is stays in a column of our
own (PERSON), by which k counts people and releases are judged together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import Mistake, PolicyError, PpdmError
from ppdm_sql.policy.options import at
from ppdm_sql.policy.policy import Place, Policy
from ppdm_sql.policy.words import many
from ppdm_sql.source.relation import PERSON, Source, match
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.treatments import RowValue, Treatment

Secrets = Callable[[str | None], str]  # whose secret: that of the release (None), or a recipient's


def secrets_of(salt: str, release: str) -> Secrets:
    """The secrets of a release, worked out from the random key of the database; another purpose has another one."""

    def secret(recipient: str | None) -> str:
        scope = f"release|{release}" if recipient is None else f"recipient|{recipient}"
        return hashlib.sha256(f"treatment|{salt}|{len(scope)}|{scope}".encode()).hexdigest()

    return secret


@dataclass(frozen=True)
class _TreatedColumn:
    """A column to be treated."""

    name: str
    treatment: Treatment
    place: Place | None


def check_treatments(source: Source, policy: Policy, place: Place | None) -> None:
    """Refuses treatments of columns that cannot have them, before a row is read."""
    mistakes = list(_mistakes(source, policy, place))
    if mistakes:
        raise PolicyError(*mistakes, file=place.file if place else None)


def refuse_live_treatments(policy: Policy, place: Place | None) -> None:
    """The text of a LIVE view can be read by others, and would hold the secret."""
    if policy.treated:
        one = policy.treated[0]
        told = f"{one.treatment.word} is not for a LIVE view: publish a VIEW without LIVE, and REFRESH it"
        raise PolicyError(at(policy.treated_places.get(one.word, place), told), file=place.file if place else None)


def _mistakes(source: Source, policy: Policy, place: Place | None) -> Iterator[Mistake]:
    for one in policy.treated:
        where = policy.treated_places.get(one.word, place)
        name = match(one.word, source.query_columns)
        if name is None:
            yield at(where, f'{one.treatment.word}: the query has no column "{one.word.text}"')
            continue
        dropped = name in source.identifiers or name in source.key
        if name in source.quasi or dropped:
            reason = "not published" if dropped else "a QUASI IDENTIFIER, which its labels generalize"
            yield at(where, f'{one.treatment.word}: column "{name}" is {reason}: leave it out of {one.treatment.word}')
            continue
        if name == source.weight:
            yield at(where, f'{one.treatment.word}: column "{name}" is the WEIGHT COLUMN, which is not changed')
            continue
        if one.treatment.names_person is not (name == source.entity):
            yield at(where, f'{one.treatment.word}: column "{name}" is the ENTITY, which only a PSEUDONYM publishes')
            continue
        wrong = one.treatment.mistake(source.query_columns[name])
        if wrong is not None:
            yield at(where, f'column "{name}": {wrong}')


def treat(engine: Engine, source: Source, policy: Policy, secrets: Secrets, place: Place | None = None) -> Source:
    """The source with its columns treated; the same source where nothing is to be done."""
    if not policy.treated:
        return source
    columns = list(_columns(source, policy, place))
    values = {one.name: _value(engine, source, one, secrets) for one in columns}
    _refuse_rows(engine, source, columns, values)
    made = {one.name: one.treatment.expression(values[one.name]) for one in columns}
    persons = [one.name for one in columns if one.treatment.names_person]
    picked = [aliased(made.get(name, column(name, "r")), name) for name in source.columns]
    picked += [aliased(column(name, "r"), PERSON) for name in persons]
    query = exp.Select(expressions=picked).from_(source.relation.table("r"))
    relation = engine.work.table("treated", query, analyze=True)
    found = {info.name: info for info in engine.columns(relation)}
    treated = replace(
        source,
        relation=relation,
        before=source.columns,
        columns={name: found[name] for name in (*source.columns, *([PERSON] if persons else []))},
        treated={one.name: one.treatment for one in columns},
    )
    return _with_person(engine, treated, persons[0]) if persons else treated


def _columns(source: Source, policy: Policy, place: Place | None) -> Iterator[_TreatedColumn]:
    for one in policy.treated:
        name = match(one.word, source.query_columns)
        assert name is not None  # check_treatments saw it
        yield _TreatedColumn(name, one.treatment, policy.treated_places.get(one.word, place))


def _value(engine: Engine, source: Source, one: _TreatedColumn, secrets: Secrets) -> RowValue:
    secret = secrets(one.treatment.secret_scope)
    engine.hide(secret)  # it becomes part of statements, which are shown and logged
    person = None if source.entity is None else column(source.entity, "r")
    return RowValue(engine, column(one.name, "r"), source.info(one.name), person, secret)


def _refuse_rows(engine: Engine, source: Source, columns: list[_TreatedColumn], values: Mapping[str, RowValue]) -> None:
    """Refuses rows that a treatment would not protect; all of them are counted by one statement."""
    wrong = [(one, found) for one in columns if (found := one.treatment.wrong_rows(values[one.name])) is not None]
    if not wrong:
        return
    counts = [exp.Count(this=exp.Case().when(condition, exp.Literal.number(1))) for _, (condition, _) in wrong]
    numbers = map(int, engine.fetch_one(exp.Select(expressions=counts).from_(source.relation.table("r"))))
    mistakes = [
        at(
            one.place,
            f'{one.treatment.word}: column "{one.name}" has {many(count, "row")} with {told}: leave these rows '
            "out of the query, or the column out of the SELECT",
        )
        for (one, (_, told)), count in zip(wrong, numbers, strict=True)
        if count
    ]
    if mistakes:
        raise PolicyError(*mistakes, file=next((one.place.file for one in columns if one.place), None))


def _with_person(engine: Engine, source: Source, name: str) -> Source:
    """Who it is, in a column of our own; refused where two persons would have one pseudonym."""
    counted = [exp.Count(this=exp.Distinct(expressions=[column(one)])) for one in (name, PERSON)]
    pseudonyms, persons = engine.fetch_one(exp.Select(expressions=counted).from_(source.relation.table()))
    if pseudonyms != persons:
        raise PpdmError("two persons have the same pseudonym; nothing was published.  Name a recipient with FOR")
    made_of = {**source.made_of, **({PERSON: source.made_of[name]} if name in source.made_of else {})}
    origins = {**source.origins, PERSON: source.origins.get(name, name)}
    return replace(source, entity=PERSON, pseudonym=name, made_of=made_of, origins=origins)
