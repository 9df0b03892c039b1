"""A random table with a policy that it can mostly keep: the raw material of the nightly run.

The limits of a policy are drawn from what the table itself has.  k is small against the rows, and an l, a confidence
or a t is one that the whole table keeps with some room, so most policies are published, and with several classes.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import grammar
from ppdm_sql.policy.forms import Form, form_columns
from ppdm_sql.requirements import (
    AlphaShare,
    BetaLikeness,
    Closeness,
    ConfidenceLimit,
    DeltaDisclosure,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SetAnonymity,
    SimpleDiversity,
)
from ppdm_sql.statements.names import Word, identifier
from tests import oracles
from tests.nightly.judge import counts, held
from tests.random_cases import KINDS, NAMES, NUMERIC, TEXTS, arrow_table, domain_with_nan

TABLE_METHODS = ("mondrian", "kactus", "kactus2", "tpp", "kadet", "incognito", "tds", "tdr")
MODEL_METHODS = ("kadet", "ldm", "atp")
# How often each is drawn: three tables of each method for one model of each.
METHODS = [*(("TABLE", name) for name in TABLE_METHODS for _ in range(3)), *(("MODEL", name) for name in MODEL_METHODS)]
# Drawn only where --methods names them, so that a seed keeps its table.
OTHERS = [("TABLE", "hilbert"), ("TABLE", "koptimize")]

# What a method takes.
TAKES_NULL = ("mondrian", "kactus", "kactus2", "incognito", "tds", "tdr", "hilbert", "koptimize")
NEEDS_NO_TARGET = ("mondrian", "incognito", "hilbert")
TAKES_HIERARCHIES = ("mondrian", "incognito", "tds", "tdr", "hilbert", "koptimize")
LEAVES_ROWS_OUT = ("mondrian", "kactus", "kactus2", "incognito", "koptimize")
TAKES_SETS = ("tds", "tdr")  # k = 3 ON (a, b)
GROWS = ("mondrian", "kactus", "kactus2", "incognito", "tds", "tdr", "koptimize")

ROOT = "*"  # of every hierarchy
MOST_SUBSETS = 10  # values of a text column that tpp takes with three classes
FEW_NULLS, ROW, TARGET, WORDS, NUMBERS, PERSON, VISIT = 0.15, "row", "y", "s", "m", "who", "visit"
MOST_NIGHTS = 4
CHANGES = (
    "", "CHANGES (gone = together, changed = again)", "CHANGES (gone = withdraw)", "CHANGES (changed = again)",
    "CHANGES (late = wait (loss = 0.4, nights = 2), gone = together)",
)  # fmt: skip


@cache
def both_readings() -> bool:
    """Whether a policy can choose how a sensitive NULL is read; where it cannot, NULL is a value."""
    text = (
        "CREATE TABLE o AS SELECT a, s FROM t WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 2, distinct_l = 2 "
        "QUASI IDENTIFIER (a) SENSITIVE (s NULLS AS VALUE))"
    )
    try:
        grammar.parse(text)
    except PolicyError:
        return False
    return True


@dataclass(frozen=True)
class Case:
    """A table, a policy and all that is needed to judge what is published."""

    seed: int
    kind: str  # TABLE or MODEL
    method: str
    columns: dict[str, str]  # name -> kind, a key of ARROW
    rows: list[dict[str, object]]
    quasi: list[str]
    sensitive: list[str]
    requirements: list[Requirement]
    nulls_as_value: bool  # how a sensitive NULL is read
    entity: str | None = None
    has_target: bool = False
    hierarchies: dict[str, list[list[str]]] = field(default_factory=dict)  # column -> value, label, root
    forms: dict[str, Form] = field(default_factory=dict)
    tunings: dict[str, str] = field(default_factory=dict)  # ORDER and WEIGHT of a column
    most_left_out: int | None = None  # SUPPRESS AT MOST so many percent
    nights: tuple[list[dict[str, object]], ...] = ()  # of a growing release: its table on every night but the first
    changes: str = ""  # what becomes of rows that change or leave

    @property
    def private(self) -> list[str]:
        """Attributes of a model that an attacker does not know."""
        known = {*self.quasi, TARGET, self.entity, ROW}
        return [name for name in self.columns if name not in known] if self.kind == "MODEL" else []

    def arrow(self, rows: Sequence[dict[str, object]] | None = None) -> pa.Table:
        return arrow_table(self.columns, self.rows if rows is None else rows)

    def text(self, table: str, release: str, hierarchy: dict[str, str]) -> str:
        """The policy; hierarchy: column -> the table with its labels."""

        def listed(names: Sequence[str], reading: str = "") -> str:
            along = {name: f" HIERARCHY {hierarchy[name]}" if name in hierarchy else "" for name in names}
            along = {name: f"{words}{self.tunings.get(name, '')}" for name, words in along.items()}
            along |= {name: f"{along[name]} AS {form.value}" for name, form in self.forms.items() if name in along}
            return ", ".join(f"{identifier(name).sql('duckdb')}{along[name]}{reading}" for name in names)

        rest = [n for n in self.columns if n not in {*self.quasi, *self.sensitive, self.entity, VISIT}]
        rest = [name for name in rest if not (self.has_target and name == TARGET)]
        reading = " NULLS AS VALUE" if self.nulls_as_value and both_readings() else ""
        parts = [
            f"ALGORITHM {self.method} REQUIRE {', '.join(map(str, self.requirements))}",
            f"QUASI IDENTIFIER ({listed(self.quasi)})",
            f"SENSITIVE ({listed(self.sensitive, reading)})" if self.sensitive else "",
            f"TARGET ({TARGET})" if self.has_target else "",
            f"ENTITY ({self.entity})" if self.entity else "",
            f"INSENSITIVE ({listed(rest)})" if rest else "",
            f"SUPPRESS AT MOST {self.most_left_out} %" if self.most_left_out is not None else "",
            f"KEY ({VISIT}) {self.changes}" if self.nights else "",
            f"ACCEPT RISK ({self._risks})",
        ]
        picked = ", ".join(identifier(name).sql("duckdb") for name in self.columns)
        wanted = " ".join(part for part in parts if part)
        grows = " GROWING" if self.nights else ""
        return f"CREATE {self.kind} {release}{grows} AS SELECT {picked} FROM {table} WITH ANONYMIZATION ({wanted})"

    @property
    def _risks(self) -> str:
        """The number of a row, by which it is judged, is one of its own in every row."""
        if self.kind == "MODEL":
            return "rare_classes"
        return "boundaries, undeclared" if self.method == "tpp" else "undeclared"

    @property
    def shown(self) -> list[str]:
        """The columns that the quasi-identifiers become."""
        return [made for name in self.quasi for made in form_columns(name, self.forms.get(name))]

    @property
    def features(self) -> list[str]:
        """What the summary counts."""
        found = ["entity"] if self.entity else []
        found += sorted({f"as {form.value.lower()}" for form in self.forms.values()})
        found += sorted({words.split()[0].lower() for words in self.tunings.values()})
        found += ["suppress at most"] if self.most_left_out is not None else []
        found += ["hierarchy"] if self.hierarchies else []
        found += ["null quasi-identifier"] if _has_null(self.rows, self.quasi) else []
        if _has_null(self.rows, self.sensitive):
            found.append("sensitive null as value" if self.nulls_as_value else "sensitive null as unknown")
        found += [f"growing, {len(self.nights) + 1} nights"] if self.nights else []
        return found + [_feature(item) for item in self.requirements]


def _feature(item: Requirement) -> str:
    if isinstance(item, SetAnonymity):
        return "k on"
    return f"t {item.distance}" if isinstance(item, Closeness) else item.word


def _has_null(rows: Sequence[dict[str, object]], names: Sequence[str]) -> bool:
    return any(row[name] is None for row in rows for name in names)


# -- drawing ---------------------------------------------------------------------------------------------


def methods_named(words: str) -> list[tuple[str, str]]:
    """What is drawn where the words name methods, with a comma between them; none: the usual ones.

    >>> methods_named("hilbert,tds")
    [('TABLE', 'tds'), ('TABLE', 'tds'), ('TABLE', 'tds'), ('TABLE', 'hilbert')]
    """
    every = [*METHODS, *OTHERS]
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    unknown = sorted(set(wanted) - {name for _, name in every})
    if unknown:
        known = ", ".join(dict.fromkeys(name for _, name in every))
        raise SystemExit(f"--methods: no cases are drawn for {', '.join(unknown)}; valid methods: {known}")
    return [one for one in every if one[1] in wanted] if wanted else METHODS


def random_case(seed: int, methods: str = "") -> Case:
    rng = random.Random(f"nightly {seed}")
    kind, method = rng.choice(methods_named(methods))
    takes_null = method in TAKES_NULL
    domains = _domains(rng, method, kind)
    quasi = list(domains)
    rows = [
        _row(rng, number, domains, FEW_NULLS if takes_null and rng.random() < 0.5 else 0)
        for number in range(rng.randint(16, 90))
    ]
    columns = {ROW: "integer", **{name: _kind_of(rows, name) for name in quasi}}
    columns |= {TARGET: "text", WORDS: "text", NUMBERS: "integer"}
    # A model shows no row number, and a tree could ask for it.
    dropped = {ROW, NUMBERS} if kind == "MODEL" else set()
    if kind == "MODEL" and method != "kadet":
        dropped |= {WORDS}
    sensitive = _sensitive(rng, kind, method)
    entity = _add_persons(rng, rows, columns, kind, method)
    value = not both_readings() or rng.random() < 0.3
    _set_secrets(rng, rows, nulls=method in TAKES_NULL and rng.random() < 0.5)
    has_target = method not in NEEDS_NO_TARGET or rng.random() < 0.3
    hierarchies = _hierarchies(rng, rows, columns, quasi if method in TAKES_HIERARCHIES else [], sensitive)
    case = Case(
        seed,
        kind,
        method,
        {name: words for name, words in columns.items() if name not in dropped},
        rows,
        quasi,
        sensitive,
        [],
        value,
        entity,
        has_target,
        hierarchies,
    )
    case.requirements.extend(_requirements(rng, case))
    case = _with_wishes(case)
    if not any(isinstance(item, Closeness) and item.distance == "hierarchical" for item in case.requirements):
        case.hierarchies.pop(WORDS, None)
    return _with_nights(case)


def _with_nights(case: Case) -> Case:
    """Some releases grow: rows come, leave and change from night to night, and a row keeps its person."""
    rng = random.Random(f"nightly nights {case.seed}")
    if case.kind == "MODEL" or case.method not in GROWS or rng.random() > 0.4:
        return case
    rows = [{**row, VISIT: row[ROW]} for row in case.rows]
    start = len(rows) * rng.randint(50, 80) // 100
    there, late = rows[:start], rows[start:]
    nights = []
    for _ in range(rng.randint(1, MOST_NIGHTS - 1)):
        number = rng.randint(0, len(late))
        there, late = [*there, *late[:number]], late[number:]
        leaving = set(rng.sample(range(len(there)), rng.choice((0, 0, 2, len(there) // 3))))
        there = [row for place, row in enumerate(there) if place not in leaving]
        for place in rng.sample(range(len(there)), rng.choice((0, 0, 2, len(there) // 3))):
            other = rng.choice(there)
            there[place] = {**other, **{name: there[place].get(name) for name in (ROW, VISIT, PERSON)}}
        nights.append(there)
    columns = {**case.columns, VISIT: "integer"}
    return replace(case, rows=rows[:start], columns=columns, nights=tuple(nights), changes=rng.choice(CHANGES))


def _domains(rng: random.Random, method: str, kind: str) -> dict[str, list[object]]:
    names = rng.sample(NAMES, 4) if rng.random() < 0.3 else [f"q{number}" for number in range(4)]
    kinds = ("integer", "text", "boolean") if kind == "MODEL" and method == "kadet" else KINDS
    found = {}
    for name in names[: rng.choice((1, 2, 2, 3, 4))]:
        values = domain_with_nan(rng.choice(kinds), rng)
        plain = [one for one in values if not isinstance(one, float) or math.isfinite(one)]
        found[name] = values if method in TAKES_NULL else plain
        if method == "tpp" and isinstance(values[0], str):
            found[name] = values[:MOST_SUBSETS]
    return found


def _row(rng: random.Random, number: int, domains: dict[str, list[object]], nulls: float) -> dict[str, object]:
    """The class and the secret lean on the quasi-identifiers, so that trees are worth growing."""
    places = {name: int(len(values) * rng.random() ** 1.5) for name, values in domains.items()}
    row: dict[str, object] = {ROW: number}
    row |= {name: None if rng.random() < nulls else domains[name][place] for name, place in places.items()}
    leaning = sum(places.values()) // 2
    row[TARGET] = "NYZ"[leaning % 3 if rng.random() < 0.7 else rng.randrange(2)]
    return row


def _kind_of(rows: Sequence[dict[str, object]], name: str) -> str:
    known = next((row[name] for row in rows if row[name] is not None), "")
    names = {"int": "integer", "Decimal": "decimal", "str": "text", "bool": "boolean", "datetime": "timestamp"}
    word = type(known).__name__
    return names.get(word, word)


def _sensitive(rng: random.Random, kind: str, method: str) -> list[str]:
    if kind == "MODEL":
        return [TARGET] if method != "kadet" or rng.random() < 0.7 else [TARGET, WORDS]
    if method == "kadet":
        return rng.choice(([TARGET], [WORDS]))
    return rng.choice(([WORDS], [WORDS], [NUMBERS], [WORDS, NUMBERS]))


def _set_secrets(rng: random.Random, rows: list[dict[str, object]], *, nulls: bool) -> None:
    words = rng.sample([text for text in TEXTS if text != ROOT], rng.randint(2, 6))
    numbers = [rng.randint(-3, 9) for _ in range(rng.randint(2, 7))]
    share = rng.choice((0.05, 0.2)) if nulls else 0
    for row in rows:
        row[WORDS] = None if rng.random() < share else _pick(rng, words)
        row[NUMBERS] = None if rng.random() < share else _pick(rng, numbers)


def _pick(rng: random.Random, pool: Sequence[object]) -> object:
    """The first ones are more frequent."""
    return pool[int(len(pool) * rng.random() ** 1.3)]


def _add_persons(
    rng: random.Random, rows: list[dict[str, object]], columns: dict[str, str], kind: str, method: str
) -> str | None:
    """Some people have several rows, a few rows are nobody's."""
    if rng.random() > 0.3 or (kind == "MODEL" and method != "kadet"):
        return None
    columns[PERSON] = "integer"
    people = rng.randint(len(rows) * 2 // 3, len(rows))
    for row in rows:
        row[PERSON] = None if rng.random() < 0.02 else rng.randrange(people)
    return PERSON


def _hierarchies(
    rng: random.Random,
    rows: list[dict[str, object]],
    columns: dict[str, str],
    quasi: Sequence[str],
    sensitive: Sequence[str],
) -> dict[str, list[list[str]]]:
    """Trees of one level below the root, over quasi-identifiers of text and over the sensitive words."""
    texts = [name for name in quasi if columns[name] == "text" and rng.random() < 0.5]
    if WORDS in sensitive:
        texts.append(WORDS)
    found = {}
    for name in texts:
        values = dict.fromkeys(str(row[name]) for row in rows if row[name] is not None)
        if values and ROOT not in values:  # a label must not be spelled like a value
            lines = [[value, f"part {rng.randint(1, 2)}", ROOT] for value in values]
            if len({line[1] for line in lines}) < len(lines):  # a level that joins nothing is refused
                found[name] = lines
    return found


def _with_wishes(case: Case) -> Case:
    """What a policy may ask for besides requirements; drawn by itself, so that a seed keeps its table."""
    rng = random.Random(f"nightly wishes {case.seed}")
    if case.kind == "MODEL":
        return case
    forms, tunings = {}, {}
    for name in case.quasi:
        known = [row[name] for row in case.rows if row[name] is not None]
        is_finite = all(not isinstance(value, float) or math.isfinite(value) for value in known)
        if (
            case.columns[name] in NUMERIC
            and known
            and is_finite
            and name not in case.hierarchies
            and rng.random() < 0.3
        ):
            forms[name] = rng.choice((Form.RANGE, Form.MIDPOINT))
        if case.method not in ("mondrian", "incognito"):
            continue
        if (
            case.method == "mondrian"
            and case.columns[name] == "text"
            and known
            and name not in case.hierarchies
            and rng.random() < 0.4
        ):
            values = sorted({str(value) for value in known})
            rng.shuffle(values)
            tunings[name] = f" ORDER ({', '.join(exp.Literal.string(value).sql('duckdb') for value in values)})"
        elif rng.random() < 0.3:
            tunings[name] = f" WEIGHT {rng.choice((0.5, 2, 10))}"
    most = rng.choice((0, 1, 5, 20)) if case.method in LEAVES_ROWS_OUT and rng.random() < 0.4 else None
    return replace(case, forms=forms, tunings=tunings, most_left_out=most)


# -- limits a table can keep -------------------------------------------------------------------------------


def _requirements(rng: random.Random, case: Case) -> Iterator[Requirement]:
    others = _others(rng, case)
    most = max(2, min(8, len(case.rows) // 10))
    sets = list(_sets(rng, case, most)) if case.method in TAKES_SETS and rng.random() < 0.4 else []
    # Without a k about all of them, every quasi-identifier must be in some set.
    covered = {word.text for item in sets for word in item.on} == set(case.quasi)
    if not (others or covered) or rng.random() < (0.5 if covered else 0.9):
        yield KAnonymity(rng.randint(2, most))
    elif sets and not covered:
        yield SetAnonymity(rng.randint(2, most), tuple(Word(name, quoted=True) for name in case.quasi))
    yield from sets
    yield from others


def _sets(rng: random.Random, case: Case, most: int) -> Iterator[SetAnonymity]:
    """Sets of quasi-identifiers, each with a k of its own; no set twice."""
    drawn = {tuple(sorted(rng.sample(case.quasi, rng.randint(1, len(case.quasi))))) for _ in range(rng.randint(1, 3))}
    for names in sorted(drawn):
        yield SetAnonymity(rng.randint(2, most + 2), tuple(Word(name, quoted=True) for name in names))


def _others(rng: random.Random, case: Case) -> list[Requirement]:
    counted = [counts(held([row[name] for row in case.rows], case.nulls_as_value)) for name in case.sensitive]
    if not all(counted):
        return []
    found: list[Requirement] = []
    least = min(map(len, counted))
    if least >= 2:
        found.append(DistinctDiversity(rng.randint(2, min(least, 3))))
    ratio = min(map(oracles.simple_ratio, counted))
    found += [SimpleDiversity(l) for l in _between(rng, ratio)]
    found += [EntropyDiversity(l) for l in _between(rng, Fraction(min(map(_effective, counted))))]
    share = max(map(oracles.confidence, counted))
    if share < Fraction(95, 100):
        found.append(ConfidenceLimit(_cents(share + (1 - share) * Fraction(rng.randint(40, 80), 100))))
    l = rng.choice((2, 2, 3))
    tails = [oracles.recursive_ratio(counts, l) for counts in counted]
    if None not in tails:
        found.append(RecursiveDiversity(_cents(max(tails) * rng.randint(2, 4)) + Fraction(1, 2), l))
    if case.kind == "TABLE" and case.method != "kadet":
        found += [_closeness(rng, case)] * 3
        found.append(BetaLikeness(Fraction(rng.randint(30, 300), 100)))
        found.append(DeltaDisclosure(Fraction(rng.randint(60, 250), 100)))
        if share < Fraction(95, 100):
            found.append(AlphaShare(_cents(share + (1 - share) * Fraction(rng.randint(40, 80), 100))))
    picked = rng.sample(found, min(len(found), rng.choice((0, 1, 1, 1, 2))))
    return list({type(item): item for item in picked}.values())


def _closeness(rng: random.Random, case: Case) -> Closeness:
    t = Fraction(rng.randint(25, 90), 100)
    if case.sensitive == [NUMBERS]:
        return Closeness(t, rng.choice(("ordered", "equal", None)))
    if case.sensitive == [WORDS] and WORDS in case.hierarchies:
        return Closeness(t, rng.choice(("hierarchical", "equal")))
    return Closeness(t, "equal")


def _between(rng: random.Random, whole: Fraction) -> list[Fraction]:
    """An l above 1 that the whole table keeps with room to spare."""
    l = _cents(1 + (whole - 1) * Fraction(rng.randint(25, 65), 100))
    return [l] if l > 1 else []


def _cents(number: Fraction) -> Fraction:
    return Fraction(math.floor(number * 100), 100)


def _effective(counts: Sequence[int]) -> float:
    n = sum(counts)
    return math.exp(-sum(count / n * math.log(count / n) for count in counts))
