"""Random tables and policies through the whole statement; every release is measured again by the naive definitions.

What is published holds every requirement, keeps every tree and every row; what is refused leaves nothing.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import oracles
import pyarrow as pa
import pytest
from tpp_cases import ID, Case, check_hull, check_ways, columns_used, random_case

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.session import Session
from ppdm_sql.statements.names import Name, identifier
from ppdm_sql.watching import silent
from tests.random_cases import arrow_table
from tests.sizes import are_many, seeds

HOSTILE = [
    'o"brien',
    "select",
    "two words",
    "ünï",
    "x; DROP TABLE t; --",
    "quasi",
    "s",
    "r",
    "c",
    "g0",
    "k",
    "(a)",
    "%s",
]
EXTRA = "extra"  # a float that only passes, NaN and all


@seeds(small=4, full=24, nightly=160)
def test_no_release_of_a_random_table_breaks_a_promise(tmp_path, seeds):
    with DuckDBEngine.open(":memory:", threads=1) as engine:
        session = Session(engine, out=tmp_path, show_values=False, progress=silent)
        found = Counter(outcome(session, number) for number in seeds)
    assert sum(found.values()) == len(seeds)
    if are_many(seeds):
        assert found["published"] >= 0.6 * len(seeds)
        assert found["refused"] > 0


def outcome(session: Session, number: int) -> str:
    """Publishes one table; 'published' when everything that was promised holds, 'refused' when nothing is out."""
    case, name = random_statement(number), f"o{number}"
    session.engine.load(Name("t"), arrow(case))
    try:
        release = session.publish(text(case, name))
    except (PolicyError, RequirementBreached):
        assert session.engine.relation_kind(Name(name)) is None
        assert must_or_may_be_refused(case)
        return "refused"
    assert not unfit(case), "a NULL or NaN among numbers has no place in an interval"
    names = list(release.record.columns)
    rows = [dict(zip(names, row, strict=True)) for row in session.engine.fetch(release.query)]
    check_rows(case, sorted(rows, key=lambda row: row[ID]), release.manifest["patterns"])
    check_requirements(case, rows)
    return "published"


# -- tables ----------------------------------------------------------------------------------------------


def random_statement(seed: object) -> Case:
    """A random case with hostile names, more requirements, persons, and now and then what tpp cannot take."""
    draw = random.Random(f"statement {seed}")
    case = random_case(seed)
    case.options.setdefault("max_leaves", Fraction(draw.randint(2, 6)))
    names = dict(zip([*case.quasi, "y", "s"], draw.sample(HOSTILE, len(case.quasi) + 2), strict=True))
    case.columns = {names[name]: kind for name, kind in case.columns.items()}
    case.rows = [{names[name]: value for name, value in row.items()} for row in case.rows]
    case.quasi, case.target, case.sensitive = [names[name] for name in case.quasi], names["y"], [names["s"]]
    case.requirements = (KAnonymity(draw.choice([2, 3, 5])), *draw.sample(DEMANDS, draw.choice([0, 1, 1, 2])))
    case.requirements = tuple({type(item): item for item in case.requirements}.values())  # each at most once
    if draw.random() < 0.15:
        case.entity = "who"
        case.columns["who"] = "text"
        for number, row in enumerate(case.rows):
            row["who"] = f"person {number // 2}"
    numbers = [name for name in case.quasi if case.columns[name] in ("integer", "float", "decimal", "date")]
    if numbers and draw.random() < 0.06:
        name = draw.choice(numbers)
        draw.choice(case.rows)[name] = math.nan if case.columns[name] == "float" else None
    for row in case.rows:
        row[EXTRA] = draw.choice([math.nan, math.inf, None, -0.0, 1.5])
    case.columns[EXTRA] = "float"
    return case


DEMANDS = [
    DistinctDiversity(2),
    SimpleDiversity(Fraction(6, 5)),
    SimpleDiversity(Fraction(3, 2)),
    RecursiveDiversity(Fraction(3), 2),
    ConfidenceLimit(Fraction(9, 10)),
    EntropyDiversity(Fraction(5, 4)),
    Closeness(Fraction(1, 2)),
]


def arrow(case: Case) -> pa.Table:
    kinds = {**case.columns, ID: "integer"}
    rows = [{ID: number, **row} for number, row in enumerate(case.rows)]
    return arrow_table(kinds, rows)


def text(case: Case, name: str) -> str:
    """The statement of a case."""

    def listed(names) -> str:
        return ", ".join(identifier(name).sql("duckdb") for name in names)

    def tree(inducer) -> str:
        options = ", ".join(f"{key} = {value}" for key, value in (inducer.options or {}).items())
        return f"{inducer.name} ({options})" if options else str(inducer.name)

    options = ", ".join(f"{key} = {str(value).lower()}" for key, value in case.options.items())
    passed = [ID, EXTRA]
    clauses = [
        f"ALGORITHM tpp (numbers = shifted, {options})",
        f"REQUIRE {', '.join(map(str, case.requirements))}",
        f"QUASI IDENTIFIER ({listed(case.quasi)}) SENSITIVE ({listed(case.sensitive)})",
        f"TARGET ({listed([case.target])}) INSENSITIVE ({listed(passed)})",
        f"ENTITY ({listed([case.entity])})" if case.entity else "",
        f"PRESERVE ({', '.join(map(tree, case.preserve))})",
        "ACCEPT RISK (boundaries, undeclared) SUPERSEDES ALL",
    ]
    return (
        f"CREATE TABLE {name} AS SELECT {listed([*case.columns, ID])} FROM t WITH ANONYMIZATION ({' '.join(clauses)})"
    )


# -- what must hold --------------------------------------------------------------------------------------


def check_rows(case: Case, rows: list[dict], patterns: list[dict]) -> None:
    """No row is lost, nothing but quasi-identifiers is changed, and every row goes its way in every tree."""
    pairs = list(zip(case.rows, rows, strict=True))
    used = {name for pattern in patterns for name in columns_used(pattern["root"])}
    for name in (case.target, *case.sensitive, EXTRA):
        assert all(repr(old[name]) == repr(new[name]) for old, new in pairs)
    for name in case.quasi:
        mapping: dict = {}
        for old, new in pairs:
            mapping.setdefault(old[name], set()).add(new[name])
        assert all(len(found) == 1 for found in mapping.values()), "the change is a function of the value"
        if name not in used:
            assert len({new[name] for _, new in pairs}) == 1
        elif case.columns[name] in ("integer", "decimal", "float", "date"):
            shown = [next(iter(mapping[value])) for value in sorted(mapping)]
            assert shown == sorted(shown), "the order is kept"
            check_hull(mapping)
    assert len(patterns) == len(case.preserve)
    for pattern in patterns:
        check_ways(pattern["root"], pairs)


def check_requirements(case: Case, rows: list[dict]) -> None:
    (secret,) = case.sensitive
    together = oracles.classes(rows, case.quasi)
    persons = {row[ID]: case.rows[row[ID]].get("who") for row in rows}
    everywhere = diversity_counts(rows, secret, rows)
    for held in together.values():
        counts = oracles.frequencies(row[secret] for row in held)
        for asked in case.requirements:
            assert holds(asked, held, counts, persons if case.entity else None, everywhere, secret, rows), asked


def diversity_counts(rows: list[dict], secret: str, everywhere: list[dict]) -> list[int]:
    values = sorted({row[secret] for row in everywhere})
    found = Counter(row[secret] for row in rows)
    return [found[value] for value in values]


def holds(asked, held, counts, persons, everywhere, secret, rows) -> bool:
    match asked:
        case KAnonymity(k=k):
            return (len(held) if persons is None else len({persons[row[ID]] for row in held})) >= k
        case DistinctDiversity(l=l):
            return oracles.distinct_values(counts) >= l
        case SimpleDiversity(l=l):
            return oracles.simple_ratio(counts) >= l
        case RecursiveDiversity(c=c, l=l):
            return oracles.recursive_holds(counts, c, l)
        case ConfidenceLimit(limit=limit):
            return oracles.confidence(counts) <= limit
        case EntropyDiversity(l=l):
            return oracles.entropy_reaches(counts, l)
        case Closeness(t=t):
            return oracles.equal_distance(diversity_counts(held, secret, rows), everywhere) <= t
    raise AssertionError(asked)


def unfit(case: Case) -> bool:
    """A NULL or NaN in a number."""
    numbers = [name for name in case.quasi if case.columns[name] in ("integer", "float", "decimal", "date")]
    return any(row[name] is None or row[name] != row[name] for name in numbers for row in case.rows)


def must_or_may_be_refused(case: Case) -> bool:
    """A refusal has a reason: values that cannot be cut, or a table that as one class breaks a requirement."""
    if unfit(case):
        return True
    whole = [{ID: number, **row} for number, row in enumerate(case.rows)]
    (secret,) = case.sensitive
    counts = oracles.frequencies(row[secret] for row in whole)
    everywhere = diversity_counts(whole, secret, whole)
    persons = {row[ID]: row.get("who") for row in whole} if case.entity else None
    return not all(holds(asked, whole, counts, persons, everywhere, secret, whole) for asked in case.requirements)


def test_the_naive_definitions_find_what_is_broken():
    """The check itself can fail: one row less, one row elsewhere, one class too small."""
    case = random_statement("broken")
    rows = [{ID: number, **row} for number, row in enumerate(case.rows)]
    with pytest.raises(AssertionError):
        check_requirements(case, rows)
    with pytest.raises(ValueError, match="shorter"):
        check_rows(case, rows[:-1], [])
