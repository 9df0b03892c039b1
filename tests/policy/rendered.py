"""Random legal policies as text: written by rules of their own, not by the parser's."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hypothesis import strategies as st

from ppdm_sql.policy import algorithms
from ppdm_sql.policy.policy import (
    HierarchyFile,
    HierarchySource,
    HierarchyTable,
    Inducer,
    IntervalLadder,
    OptionValue,
    Policy,
    PrefixLadder,
    Roles,
    Supersedes,
)
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    Requirement,
    SimpleDiversity,
)
from ppdm_sql.requirements.loss import LossLimit
from ppdm_sql.statements.names import Word

RESERVED = (
    *("select", "order", "group", "by", "from", "with", "where", "table", "user", "primary", "end", "as", "null", "on"),
    *("true", "case", "anonymization", "hierarchy", "k", "t", "identifier", "quasi", "sensitive", "target", "seed"),
    *("algorithm", "require", "to", "live", "model", "view", "explain", "nulls", "value"),
)

# Anything a database stores as a name; NUL and half surrogates are refused for the whole file.
_hostile = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=12)
_bare = st.from_regex(r"[A-Za-z_][A-Za-z0-9_$]{0,8}", fullmatch=True) | st.sampled_from([*RESERVED, "é", "日本", "😀x"])
_awkward = st.sampled_from(['"', '""', "'", "a.b", "a;b", "--", "/*", "WITH ANONYMIZATION (", ") ", "$$", "a\nb", " "])
words = st.builds(Word, _bare) | st.builds(lambda text: Word(text, quoted=True), _hostile | _awkward)
# Roles in GRANT have no bracket, so clause words are quoted there.
_role_words = words.filter(lambda w: w.quoted or w.text.lower() not in {*RESERVED, "grant", "accept", "entity"})


def numbers(least: Fraction, most: Fraction, places: int = 6) -> st.SearchStrategy[Fraction]:
    """Decimals of up to so many places; both ends excluded."""
    scale = 10**places
    return st.integers(int(least * scale) + 1, int(most * scale) - 1).map(lambda n: Fraction(n, scale))


_big = Fraction(10**6)
_requirements: list[st.SearchStrategy[Requirement]] = [
    st.builds(KAnonymity, st.integers(2, 10**9)),
    st.builds(DistinctDiversity, st.integers(2, 10**9)),
    st.builds(SimpleDiversity, numbers(Fraction(1), _big)),
    st.builds(RecursiveDiversity, numbers(Fraction(0), _big), st.integers(2, 10**9)),
    st.builds(EntropyDiversity, numbers(Fraction(1), _big)),
    st.builds(ConfidenceLimit, numbers(Fraction(0), Fraction(1))),
    st.builds(
        Closeness, numbers(Fraction(0), Fraction(1)), st.sampled_from([None, "equal", "ordered", "hierarchical"])
    ),
]
_strings = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
_scalars: st.SearchStrategy[OptionValue] = (
    numbers(-_big, _big)
    | _strings
    | st.booleans()
    | st.from_regex(r"[A-Za-z_]{1,8}", fullmatch=True).filter(lambda w: w.lower() not in ("true", "false", "null"))
)
_values: st.SearchStrategy[OptionValue] = st.recursive(
    _scalars, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=4
)
_options = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), _values, min_size=1, max_size=3)
_multiples = st.lists(st.integers(2, 5), max_size=3)


def _ladder(first: Fraction, factors: list[int], anchor: Fraction) -> IntervalLadder:
    widths = [first]
    for factor in factors:
        widths.append(widths[-1] * factor)
    return IntervalLadder(tuple(widths), anchor)


_relations = (
    st.lists(words, min_size=1, max_size=2)
    .map(tuple)
    .filter(lambda parts: parts[0].quoted or parts[0].text.upper() not in ("AS", "LIVE", "TO", "WITH", "FROM"))
)
_supersedes = (
    st.none()
    | st.just(Supersedes(everything=True))
    | st.lists(_relations, max_size=2).map(lambda names: Supersedes(tuple(names)))
)
_hierarchies: st.SearchStrategy[HierarchySource] = (
    st.builds(HierarchyFile, _strings.filter(bool))
    | _relations.map(HierarchyTable)
    | st.builds(_ladder, numbers(Fraction(0), _big), _multiples, numbers(-_big, _big))
    | st.sets(st.integers(1, 99), min_size=1, max_size=4).map(lambda s: PrefixLadder(tuple(sorted(s, reverse=True))))
)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """A legal policy of a table: every column once, or a second time as the target."""
    columns = draw(st.lists(words, min_size=2, max_size=8, unique_by=lambda word: word.text.lower()))
    cuts = sorted(draw(st.lists(st.integers(2, len(columns)), min_size=2, max_size=2)))
    quasi, sensitive = tuple(columns[:1]), tuple(columns[1:2])
    identifiers, insensitive, more = columns[2 : cuts[0]], columns[cuts[0] : cuts[1]], columns[cuts[1] :]
    quasi += tuple(more[1:])
    entity = more[0] if more else None
    target = draw(st.sampled_from([None, *quasi, *sensitive]))
    laddered = draw(st.sets(st.sampled_from([*quasi, *sensitive])))
    algorithm = draw(st.sampled_from(algorithms.makers_of("TABLE")))
    inducers = st.lists(st.builds(Inducer, words, st.none() | _options), max_size=2)
    picked = draw(st.lists(st.sampled_from(_requirements), min_size=1, unique_by=id))
    return Policy(
        algorithm=algorithm,
        requirements=tuple(draw(one) for one in picked),
        loss_limits=tuple(
            LossLimit(draw(numbers(Fraction(0), Fraction(1))), column)
            for column in draw(st.sets(st.sampled_from([None, *quasi])))
        ),
        roles=Roles(
            identifiers=tuple(identifiers),
            quasi=quasi,
            sensitive=sensitive,
            target=target,
            insensitive=tuple(insensitive),
            entity=entity,
            hierarchies={word: draw(_hierarchies) for word in [*quasi, *sensitive] if word in laddered},
            nulls_as_value=draw(st.sampled_from([(), sensitive])),
            weight=draw(st.sampled_from([None, *insensitive])) if entity is None and algorithm != "dmpd" else None,
        ),
        options=draw(st.just({}) | _options),
        preserve=tuple(draw(inducers)) if algorithm == "tpp" else (),
        supersedes=draw(_supersedes),
        accepted_risks=tuple(draw(st.lists(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), max_size=2))),
        seed=draw(st.integers(0, 2**63 - 1)),
        readers=tuple(draw(st.lists(_role_words, max_size=2))),
    )


def word(found: Word) -> str:
    return '"' + found.text.replace('"', '""') + '"' if found.quoted else found.text


def string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def number(value: Fraction) -> str:
    """The decimal, by long division."""
    whole, rest = divmod(abs(value.numerator), value.denominator)
    digits = ""
    while rest:
        digit, rest = divmod(rest * 10, value.denominator)
        digits += str(digit)
    return ("-" if value < 0 else "") + str(whole) + ("." + digits if digits else "")


def option_value(value: OptionValue) -> str:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(option_value, value)) + ")"
    return number(value) if isinstance(value, Fraction) else string(value)


def options(found: dict[str, OptionValue]) -> str:
    return "(" + ", ".join(f"{name} = {option_value(value)}" for name, value in found.items()) + ")"


def hierarchy(source: HierarchySource) -> str:
    match source:
        case HierarchyFile(path):
            return string(path)
        case HierarchyTable(name):
            return ".".join(map(word, name))
        case IntervalLadder(widths, anchor):
            return f"INTERVALS ({', '.join(map(number, widths))}) FROM {number(anchor)}"
        case PrefixLadder(lengths):
            return f"PREFIX ({', '.join(map(str, lengths))})"


def requirement(found: Requirement) -> str:
    match found:
        case KAnonymity(k):
            return f"k = {k}"
        case DistinctDiversity(l):
            return f"distinct_l = {l}"
        case SimpleDiversity(l):
            return f"simple_l = {number(l)}"
        case RecursiveDiversity(c, l):
            return f"recursive_l = ({number(c)}, {l})"
        case EntropyDiversity(l):
            return f"entropy_l = {number(l)}"
        case ConfidenceLimit(limit):
            return f"confidence = {number(limit * 100)} %"
        case Closeness(t, distance):
            return f"t = {number(t)} {distance or ''}"


def loss(found: LossLimit) -> str:
    return f"loss {f'({word(found.column)})' if found.column else ''} <= {number(found.limit)}"


def superseded(found: Supersedes) -> str:
    names = ", ".join(".".join(map(word, name)) for name in found.names)
    return "ALL" if found.everything else f"({names})" if names else ""


def clauses(policy: Policy) -> list[str]:
    """The clauses of a policy, in one of their orders."""
    roles = policy.roles

    def columns(name: str, listed: tuple[Word, ...]) -> list[str]:
        laddered = [
            word(w)
            + (f" HIERARCHY {hierarchy(roles.hierarchies[w])}" if w in roles.hierarchies else "")
            + (" NULLS AS VALUE" if name == "SENSITIVE" and w in roles.nulls_as_value else "")
            for w in listed
        ]
        return [f"{name} ({', '.join(laddered)})"] if listed else []

    def plain(name: str, found: Word | None) -> list[str]:
        return [f"{name} ({word(found)})"] if found else []

    inducers = [word(i.name) + (options(dict(i.options)) if i.options is not None else "") for i in policy.preserve]
    return [
        f"ALGORITHM {policy.algorithm} {options(dict(policy.options)) if policy.options else ''}",
        f"REQUIRE {', '.join([*map(requirement, policy.requirements), *map(loss, policy.loss_limits)])}",
        *columns("IDENTIFIER", roles.identifiers),
        *columns("QUASI IDENTIFIER", roles.quasi),
        *columns("SENSITIVE", roles.sensitive),
        *plain("TARGET", roles.target),
        *columns("INSENSITIVE", roles.insensitive),
        *plain("ENTITY", roles.entity),
        *([f"WEIGHT COLUMN {word(roles.weight)}"] if roles.weight is not None else []),
        *([f"PRESERVE ({', '.join(inducers)})"] if inducers else []),
        *([f"SUPERSEDES {superseded(policy.supersedes)}"] if policy.supersedes else []),
        *([f"ACCEPT RISK ({', '.join(policy.accepted_risks)})"] if policy.accepted_risks else []),
        f"SEED {policy.seed}",
        *([f"GRANT SELECT TO {', '.join(map(word, policy.readers))}"] if policy.readers else []),
    ]


QUERIES = (
    "SELECT age FROM t",
    "FROM t",
    "WITH c AS (SELECT ';' AS a) SELECT a FROM c",
    "SELECT 'WITH ANONYMIZATION (' -- ; WITH ANONYMIZATION (\n AS a",
    '(SELECT "WITH ANONYMIZATION" FROM "a;b") UNION SELECT $$;$$',
)


def statement(
    name: tuple[Word, ...], query: str, clause: list[str], gap: str = " ", keyword: Callable[[str], str] = str.upper
) -> str:
    head = f"{keyword('create')}{gap}{keyword('table')} {'.'.join(map(word, name))} {keyword('as')}{gap}{query}"
    return f"{head}{gap}{keyword('with')}{gap}{keyword('anonymization')}{gap}({gap}{gap.join(clause)}{gap})"
