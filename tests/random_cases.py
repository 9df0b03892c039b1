"""What random tests draw from, and how a drawn case is run: one place for all of them and for make nightly.

Values that are easy to confuse (look-alike texts, NaN, -0.0, borders of types), names that are hard to quote, small
domains of every kind with many ties, and hierarchies over them.  A folder's own module draws whole cases from these,
because methods differ in what they take.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.methods.base import Job, Method
from ppdm_sql.methods.plan import ENTITY, PART, Private, TablePlan
from ppdm_sql.policy.policy import Policy, Roles
from ppdm_sql.requirements import (
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Word, column, own
from tests import oracles

NAN, INF = math.nan, math.inf
TEXTS = (
    "Ann", "ANN", "ann", "ann ", " ann", "ann\u200b", "\u00e9", "e\u0301", "\ufb01", "fi", "\u00df", "ss", "*", "?",
    "NULL", "None", "", " ", "-", "=", "O'Brien", 'a"b', "%", "%s", "$k", ":l", "\\", "{x}", "\u6f22", "\U0001f642",
    "1", "01", "1.0", "[1-2]", "'; DROP TABLE t; --", "\t", "\n", "true", "nan",
)  # fmt: skip
NAMES = (
    "age", "zip", 'o"brien', "order", "source", "quasi", "sensitive", "entity", "hierarchy", "path", "n", "r", "l0",
    "c", "k", "(select 1)", "a.b", "\u65e5\u672c", "x; DROP TABLE t", "%s", "%(k)s", "$l", ":k", "'", "group", " ",
    "-- x", "\U0001f642", "*",
)  # fmt: skip
# A policy refuses them; what is verified may have them all the same.
RESERVED_NAMES = ("ppdm_q1", "ppdm_count", "ppdm_value", "ppdm_size", "ppdm_leaf")
VALUES: dict[str, tuple[object, ...]] = {
    "TEXT": TEXTS,
    "SMALLINT": (-32768, -1, 0, 7, 32767),
    "INTEGER": (-1, 0, 1, 2, 10, 2**31 - 1),
    "BIGINT": (0, 1, 2**53, 2**53 + 1, -(2**62), -(2**63), 2**63 - 1),
    "DOUBLE": (0.0, -0.0, NAN, INF, -INF, 1.5, 1e-320, 0.1, 0.1 + 0.2, 0.3),
    "DECIMAL(38, 18)": (
        Decimal("1.000000000000000000"),
        Decimal("1.000000000000000001"),
        Decimal("-2.500000000000000000"),
    ),
    "DECIMAL(10, 2)": (Decimal("0.00"), Decimal("1.00"), Decimal("1.50"), Decimal("-3.25")),
    "BOOLEAN": (True, False),
    "DATE": (date(1970, 1, 1), date(2024, 2, 29), date(1899, 12, 31)),
    "TIMESTAMP": (datetime(2024, 2, 29, 8, 30), datetime(2024, 2, 29, 8, 30, 0, 1), datetime(1969, 12, 31, 23)),
}
ORDERED = tuple(kind for kind in VALUES if kind not in ("TEXT", "BOOLEAN"))


def draw_pool(rng: random.Random, values: Sequence[object], size: int) -> list[object]:
    """A few of the values, now and then with NULL."""
    picked = rng.sample(values, min(size, len(values)))
    return [*picked, None] if rng.random() < 0.4 else picked


def add_nulls(rng: random.Random, pool: list[object]) -> list[object]:
    """Some sensitive columns are mostly NULL, so that classes without a known value occur."""
    return [*pool, *([None] * rng.randint(1, 6))] if rng.random() < 0.3 else pool


def pick(rng: random.Random, pool: Sequence[object]) -> object:
    """The first values are more frequent than the others."""
    return pool[min(int(rng.expovariate(1.0)), len(pool) - 1)] if rng.random() < 0.5 else rng.choice(pool)


# -- small domains, for methods ----------------------------------------------------------------------------

ARROW = {
    "integer": pa.int64(),
    "decimal": pa.decimal128(12, 2),
    "float": pa.float64(),
    "text": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "zoned": pa.timestamp("us", tz="UTC"),
    "real": pa.float32(),
}
KINDS = ("integer", "integer", "decimal", "float", "text", "text", "boolean", "date", "timestamp")
NUMERIC = ("integer", "decimal", "float", "date", "timestamp")
# The last ones look like what a method prints.
WORDS = (
    "a", "b", "B", "c,d", "", " ", "\u00e9", "z" * 5, "\u03a9", "a\\", "none", "NULL",
    "*", "{x}", "...", "(missing)", "< 3",
)  # fmt: skip
SOURCE = own("ppdm_case")


def domain(kind: str, rng: random.Random) -> list[Any]:
    """A few values of a kind, near each other or far apart."""
    many = rng.choice([2, 3, 4, 9, 25])
    match kind:
        case "integer":
            wide = rng.choice([10, 100, 10_000])
            return [rng.randint(-wide // 3, wide) for _ in range(many)]
        case "decimal":
            return [Decimal(rng.randint(-3000, 9000)).scaleb(-2) for _ in range(many)]
        case "float":
            return [rng.choice([0.1, 0.5, 1.0, 3.75]) * rng.randint(-9, 99) for _ in range(many)]
        case "text":
            return rng.sample(WORDS, min(many, len(WORDS)))
        case "boolean":
            return [True, False]
        case "date":
            start = date(1950, 1, 1) + timedelta(days=rng.randint(0, 20_000))
            return [start + timedelta(days=rng.randint(0, rng.choice([5, 60, 900, 20_000]))) for _ in range(many)]
        case "timestamp":
            start = datetime(1999, 12, 31) + timedelta(seconds=rng.randint(0, 10**8))
            span = rng.choice([1, 3600, 10**7])
            return [start + timedelta(microseconds=rng.randint(0, span * 10**6)) for _ in range(many)]
    raise ValueError(kind)


def domain_with_nan(kind: str, rng: random.Random) -> list[Any]:
    """The same, with what a float can be besides a number."""
    return domain(kind, rng) + ([NAN, INF] if kind == "float" else [])


def hierarchy_lines(values: Iterable[object], rng: random.Random) -> list[list[str]]:
    """A random tree over the values of a domain, one or two levels below the root."""
    leaves = list(dict.fromkeys(values))
    middle = rng.randint(1, max(1, len(leaves)))
    lines = []
    for leaf in leaves:
        group = rng.randrange(middle)
        lines.append([str(leaf), f"g{group}", f"h{group % 2}", "*"])
    return lines if rng.random() < 0.5 else [[leaf, low, root] for leaf, low, _, root in lines]


# -- running a case ----------------------------------------------------------------------------------------


def roles_of(
    columns: Iterable[str], quasi: Sequence[str], sensitive: Sequence[str], target: str | None, entity: str | None
) -> Roles:
    """The roles of a policy; every other column is insensitive."""

    def exact(names: Iterable[str]) -> tuple[Word, ...]:
        return tuple(Word(name, quoted=True) for name in names)

    given = {*quasi, *sensitive, target, entity}
    return Roles(
        quasi=exact(quasi),
        sensitive=exact(sensitive),
        insensitive=exact(name for name in columns if name not in given),
        target=Word(target, quoted=True) if target else None,
        entity=Word(entity, quoted=True) if entity else None,
    )


def arrow_table(columns: Mapping[str, str], rows: Sequence[Mapping[str, object]]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], ARROW[kind]) for name, kind in columns.items()})


def run_method(
    engine: Engine, method: Method, policy: Policy, columns: Mapping[str, str], rows: Sequence[Mapping[str, object]],
    trees: Mapping[str, Hierarchy] | None = None, identity: str = "id",
) -> tuple[TablePlan, list[dict[str, Any]]]:  # fmt: skip
    """The plan of a method for a table, and the plan's rows with their part, person and key."""
    engine.load(SOURCE, arrow_table(columns, rows))
    infos = [ColumnInfo(name, Kind(kind), kind) for name, kind in columns.items()]
    source = resolve(SOURCE, infos, policy, ("t",))
    job = Job(engine, source, policy, trees or {}, Private({"ppdm_key0": column(identity, "r")}))
    plan = method.table(job)
    names = [*plan.published, PART, *([ENTITY] if policy.roles.entity else []), "ppdm_key0"]
    return plan, [dict(zip(names, row, strict=True)) for row in engine.fetch(plan.wide())]


def is_diverse(requirement: Requirement, values: Iterable[object]) -> bool | None:
    """Whether the sensitive values of a class meet a requirement by its definition; None for one about all classes."""
    counts = oracles.frequencies(values)
    match requirement:
        case DistinctDiversity(l=l):
            return oracles.distinct_values(counts) >= l
        case SimpleDiversity(l=l):
            return oracles.simple_ratio(counts) >= l
        case RecursiveDiversity(c=c, l=l):
            return oracles.recursive_holds(counts, c, l)
        case EntropyDiversity(l=l):
            return oracles.entropy_reaches(counts, l)
        case ConfidenceLimit(limit=limit):
            return oracles.confidence(counts) <= limit
    return None
