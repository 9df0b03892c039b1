"""A statement written back as text: what `ppdm evaluate` and `ppdm advise` give people to paste.

Only statements that were read, or put together from parts that were read, come here; reading the text again gives
the same statement.  The query stands as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.policy.changes import changes_text
from ppdm_sql.policy.policy import (
    CalendarLadder,
    HierarchyFile,
    HierarchySource,
    HierarchyTable,
    Inducer,
    IntervalLadder,
    OptionValue,
    PlacedWord,
    Policy,
    PrefixLadder,
    Publish,
    Supersedes,
    Tuning,
)
from ppdm_sql.requirements import Requirement, SetAnonymity, decimal
from ppdm_sql.requirements.loss import LossLimit
from ppdm_sql.statements.names import Word, identifier

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VALUES = frozenset({"true", "false", "null"})  # as words they are no texts


def render_statement(statement: Publish, dialect: str) -> str:
    """The statement in the policy language, its names and texts quoted as this dialect quotes.

    >>> from ppdm_sql.policy.grammar import parse
    >>> text = '''create table o as select a, "b c" from t with anonymization (algorithm mondrian (max_parts = 9)
    ...     require k = 5, simple_l = 1.5 quasi identifier (a hierarchy intervals (5, 10)) sensitive ("b c") seed 7)'''
    >>> print(render_statement(parse(text, dialect="duckdb")[0], "duckdb"))
    CREATE TABLE o AS
    select a, "b c" from t
    WITH ANONYMIZATION (
        ALGORITHM mondrian (max_parts = 9)
        REQUIRE k = 5, simple_l = 1.5
        QUASI IDENTIFIER (a HIERARCHY INTERVALS (5, 10))
        SENSITIVE ("b c")
        SEED 7
    );
    """
    said = ["CREATE", *(["OR REPLACE"] if statement.replace else []), statement.kind]
    said += [_name(statement.name, dialect), *(["LIVE"] if statement.live else [])]
    said += [*(["GROWING"] if statement.growing else []), "AS"]
    clauses = [f"    {clause}" for clause in _clauses(statement.policy, dialect)]
    return "\n".join([" ".join(said), statement.query.strip(), "WITH ANONYMIZATION (", *clauses, ");"])


def _clauses(policy: Policy, dialect: str) -> Iterator[str]:
    roles = policy.roles
    yield f"ALGORITHM {policy.algorithm}" + (f" {_options(policy.options, dialect)}" if policy.options else "")
    asked = [
        *(_requirement(item, dialect) for item in policy.requirements),
        *(_loss(limit, dialect) for limit in policy.loss_limits),
    ]
    yield f"REQUIRE {', '.join(asked)}"
    lists = {
        "IDENTIFIER": roles.identifiers,
        "QUASI IDENTIFIER": roles.quasi,
        "SENSITIVE": roles.sensitive,
        "TARGET": (roles.target,) if roles.target is not None else (),
        "INSENSITIVE": roles.insensitive,
        "ENTITY": (roles.entity,) if roles.entity is not None else (),
        "KEY": roles.key,
    }
    for role, words in lists.items():
        laddered = role in ("QUASI IDENTIFIER", "SENSITIVE")
        columns = [_column(word, roles.hierarchies.get(word) if laddered else None, dialect) for word in words]
        if role == "QUASI IDENTIFIER":
            tunings = [_tuning(roles.tunings.get(word), dialect) for word in words]
            columns = [column + tuning for column, tuning in zip(columns, tunings, strict=True)]
            forms = [f" AS {roles.forms[word].value}" if word in roles.forms else "" for word in words]
            columns = [column + form for column, form in zip(columns, forms, strict=True)]
        if role == "SENSITIVE":
            readings = [" NULLS AS VALUE" if word in roles.nulls_as_value else "" for word in words]
            columns = [column + reading for column, reading in zip(columns, readings, strict=True)]
        if columns:
            yield f"{role} ({', '.join(columns)})"
    if roles.weight is not None:
        yield f"WEIGHT COLUMN {_word(roles.weight, dialect)}"
    for name in dict.fromkeys(one.treatment.word for one in policy.treated):
        listed = [one for one in policy.treated if one.treatment.word == name]
        yield f"{name} ({', '.join(f'{_word(one.word, dialect)} {one.treatment}'.strip() for one in listed)})"
    changes = changes_text(policy.changes)
    if changes is not None:
        yield changes
    if policy.preserve:
        yield f"PRESERVE ({', '.join(_inducer(one, dialect) for one in policy.preserve)})"
    if policy.supersedes is not None:
        yield f"SUPERSEDES{_superseded(policy.supersedes, dialect)}"
    if policy.accepted_risks:
        yield f"ACCEPT RISK ({', '.join(policy.accepted_risks)})"
    if policy.suppress is not None:
        yield f"SUPPRESS AT MOST {decimal(policy.suppress * 100)} %"
    if policy.seed:
        yield f"SEED {policy.seed}"
    if policy.readers:
        yield f"GRANT SELECT TO {', '.join(_word(word, dialect) for word in policy.readers)}"


def _requirement(found: Requirement, dialect: str) -> str:
    if not isinstance(found, SetAnonymity):
        return str(found)
    return f"k = {found.k} ON ({', '.join(_word(word, dialect) for word in found.on)})"


def _loss(found: LossLimit, dialect: str) -> str:
    where = "" if found.column is None else f" ({_word(found.column, dialect)})"
    return f"loss{where} <= {decimal(found.limit)}"


def _superseded(found: Supersedes, dialect: str) -> str:
    if found.everything:
        return " ALL"
    return f" ({', '.join(_name(name, dialect) for name in found.names)})" if found.names else ""


def _column(word: Word, hierarchy: HierarchySource | None, dialect: str) -> str:
    return _word(word, dialect) + (f" HIERARCHY {_hierarchy(hierarchy, dialect)}" if hierarchy is not None else "")


def _hierarchy(found: HierarchySource, dialect: str) -> str:
    match found:
        case HierarchyFile(path, otherwise):
            return _text(path, dialect) + _otherwise(otherwise, dialect)
        case HierarchyTable(name, otherwise):
            return _name(name, dialect) + _otherwise(otherwise, dialect)
        case CalendarLadder(periods):
            return f"CALENDAR ({', '.join(periods)})"
        case IntervalLadder(widths, anchor):
            start = f" FROM {decimal(anchor)}" if anchor else ""
            return f"INTERVALS ({', '.join(map(decimal, widths))}){start}"
        case PrefixLadder(lengths):
            return f"PREFIX ({', '.join(map(str, lengths))})"


def _otherwise(label: str | None, dialect: str) -> str:
    return "" if label is None else f" ELSE {_text(label, dialect)}"


def _tuning(found: Tuning | None, dialect: str) -> str:
    if found is None:
        return ""
    order = f" ORDER ({', '.join(_text(text, dialect) for text in found.order)})" if found.order else ""
    weight = f" WEIGHT {decimal(found.weight)}" if found.weight != 1 else ""
    return order + weight + (f" AT MOST LEVEL {found.most_level}" if found.most_level is not None else "")


def _inducer(found: Inducer, dialect: str) -> str:
    return _word(found.name, dialect) + (f" {_options(found.options, dialect)}" if found.options is not None else "")


def _options(found: Mapping[str, OptionValue], dialect: str) -> str:
    return f"({', '.join(f'{name} = {_value(value, dialect)}' for name, value in found.items())})"


def _value(value: OptionValue, dialect: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return decimal(value)
    if isinstance(value, tuple):
        return f"({', '.join(_value(one, dialect) for one in value)})"
    if isinstance(value, PlacedWord) and value.quoted:
        return _word(Word(str(value), quoted=True), dialect)
    return value if _PLAIN.fullmatch(value) and value.lower() not in _VALUES else _text(value, dialect)


def _name(words: Sequence[Word], dialect: str) -> str:
    return ".".join(_word(word, dialect) for word in words)


def _word(word: Word, dialect: str) -> str:
    return identifier(word.text).sql(dialect) if word.quoted else word.text


def _text(text: str, dialect: str) -> str:
    return exp.Literal.string(text).sql(dialect)
