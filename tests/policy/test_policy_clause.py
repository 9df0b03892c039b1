"""The WITH ANONYMIZATION clause: what each part means, and what is refused, with its place."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ppdm_sql.policy import algorithms
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import (
    CalendarLadder,
    HierarchyFile,
    HierarchyTable,
    Inducer,
    IntervalLadder,
    Policy,
    PrefixLadder,
    Publish,
    Roles,
    Supersedes,
    Tuning,
)
from ppdm_sql.requirements import (
    Closeness,
    ConfidenceLimit,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.statements.names import Word
from tests.policy.marked import assert_mistakes


def policy_of(clause: str, kind: str = "TABLE") -> Policy:
    (found,) = parse(f"CREATE {kind} x AS SELECT 1 WITH ANONYMIZATION ({clause})")
    assert isinstance(found, Publish)
    return found.policy


def assert_refused(clause: str, *messages: str, kind: str = "TABLE") -> None:
    """The clause, as the only statement, has exactly these mistakes at its « marks."""
    assert_mistakes(f"CREATE {kind} x AS SELECT 1\nWITH ANONYMIZATION (\n{clause})", *messages)


A = Word("a")
ROLES = Roles(quasi=(A,))
BASE = "ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (a)"

GOOD = [
    (BASE, Policy("mondrian", (KAnonymity(5),), ROLES)),
    ("algorithm MONDRIAN require K = 5 quasi identifier (a)", Policy("mondrian", (KAnonymity(5),), ROLES)),
    ("QUASI IDENTIFIER (a) REQUIRE k=5 ALGORITHM mondrian", Policy("mondrian", (KAnonymity(5),), ROLES)),
    (f"{BASE} SEED 7", Policy("mondrian", (KAnonymity(5),), ROLES, seed=7)),
    (f"{BASE} SEED 0", Policy("mondrian", (KAnonymity(5),), ROLES)),
    (f"{BASE} SUPERSEDES", Policy("mondrian", (KAnonymity(5),), ROLES, supersedes=Supersedes())),
    (f"{BASE} SUPERSEDES ALL", Policy("mondrian", (KAnonymity(5),), ROLES, supersedes=Supersedes(everything=True))),
    (
        f'{BASE} supersedes (old, s."x ""y""", all) SEED 3',
        Policy(
            "mondrian",
            (KAnonymity(5),),
            ROLES,
            supersedes=Supersedes(((Word("old"),), (Word("s"), Word('x "y"', True)), (Word("all"),))),
            seed=3,
        ),
    ),
    (
        f"{BASE} ACCEPT RISK (Small_Table, linkage)",
        Policy("mondrian", (KAnonymity(5),), ROLES, accepted_risks=("small_table", "linkage")),
    ),
    (
        f'{BASE} GRANT SELECT TO analyst, "Seed", public SEED 1',
        Policy(
            "mondrian",
            (KAnonymity(5),),
            ROLES,
            seed=1,
            readers=(Word("analyst"), Word("Seed", quoted=True), Word("public")),
        ),
    ),
    (
        "ALGORITHM tpp (Depth = 3, x = -0.5, s = 'it''s', b = true, c = FALSE, w = Gain, l = (1, (two, 'three'))) "
        "REQUIRE k = 5 QUASI IDENTIFIER (a) PRESERVE (m, \"My tree\", id3 (depth = 2))",
        Policy(
            "tpp",
            (KAnonymity(5),),
            ROLES,
            options={
                "depth": Fraction(3),
                "x": Fraction(-1, 2),
                "s": "it's",
                "b": True,
                "c": False,
                "w": "Gain",
                "l": (Fraction(1), ("two", "three")),
            },
            preserve=(
                Inducer(Word("m")),
                Inducer(Word("My tree", quoted=True)),
                Inducer(Word("id3"), {"depth": Fraction(2)}),
            ),
        ),
    ),
    (
        'ALGORITHM mondrian REQUIRE k = 5 IDENTIFIER (name, "Order") QUASI IDENTIFIER (Age, group) SENSITIVE (s) '
        "TARGET (c) INSENSITIVE (i, j) ENTITY (person)",
        Policy(
            "mondrian",
            (KAnonymity(5),),
            Roles(
                identifiers=(Word("name"), Word("Order", quoted=True)),
                quasi=(Word("Age"), Word("group")),
                sensitive=(Word("s"),),
                target=Word("c"),
                insensitive=(Word("i"), Word("j")),
                entity=Word("person"),
            ),
        ),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("clause", "expected"), GOOD, ids=[clause[-40:] for clause, _ in GOOD])
def test_a_clause_becomes_a_policy(clause, expected):
    assert policy_of(clause) == expected


REQUIREMENTS = [
    ("k = 2", KAnonymity(2)),
    ("k = 1000000000", KAnonymity(10**9)),
    ("distinct_l = 3", DistinctDiversity(3)),
    ("simple_l = 2", SimpleDiversity(Fraction(2))),
    ("simple_l = 1.1", SimpleDiversity(Fraction(11, 10))),
    ("recursive_l = (0.1, 2)", RecursiveDiversity(Fraction(1, 10), 2)),
    ("entropy_l = 1.5", EntropyDiversity(Fraction(3, 2))),
    ("entropy_l = 1.000000000000000001", EntropyDiversity(1 + Fraction(1, 10**18))),
    ("confidence = 85 %", ConfidenceLimit(Fraction(17, 20))),
    ("confidence = 99.9%", ConfidenceLimit(Fraction(999, 1000))),
    ("t = 0.2", Closeness(Fraction(1, 5))),
    ("t = 1", Closeness(Fraction(1))),
    ("t = 0.1 equal", Closeness(Fraction(1, 10), "equal")),
    ("t = 0.1 Ordered", Closeness(Fraction(1, 10), "ordered")),
    ("t = 0.1 HIERARCHICAL", Closeness(Fraction(1, 10), "hierarchical")),
]


@pytest.mark.parametrize(("text", "expected"), REQUIREMENTS)
def test_a_requirement_is_exact(text, expected):
    found = policy_of(f"ALGORITHM mondrian REQUIRE {text} QUASI IDENTIFIER (a) SENSITIVE (s)").requirements
    assert found == (expected,)
    assert all(type(n) in (int, Fraction, str, type(None)) for n in vars(found[0]).values())


@pytest.mark.parametrize(("text", "expected"), REQUIREMENTS)
def test_a_requirement_prints_as_it_can_be_written(text, expected):
    found = policy_of(f"ALGORITHM mondrian REQUIRE {expected} QUASI IDENTIFIER (a) SENSITIVE (s)").requirements
    assert found == (expected,)


def test_requirements_keep_their_order():
    clause = "ALGORITHM mondrian REQUIRE t = 0.5, k = 3, distinct_l = 2 QUASI IDENTIFIER (a) SENSITIVE (s)"
    assert policy_of(clause).requirements == (Closeness(Fraction(1, 2)), KAnonymity(3), DistinctDiversity(2))


# No coercion: a number is no text, and more.
NOT_WHOLE = [
    "yes", "012", "1e3", "1e30", "-1", "+5", "2.5", "5.", ".5", '"5"', "'5'", "true", "null", "0", "1", "1_000",
    "0x10", "10abc", "1000000001", "99999999999999999999999999", "5'5'", "$$5$$", "five", "NaN", "infinity", "*",
    "- 5", "(5)", "１０",
]  # fmt: skip


@pytest.mark.parametrize("number", NOT_WHOLE)
@pytest.mark.parametrize("word", ["k", "distinct_l"])
def test_a_whole_number_is_not_guessed(word, number):
    assert_refused(
        f"ALGORITHM mondrian REQUIRE {word} = «{number} QUASI IDENTIFIER (a) SENSITIVE (s)",
        f"{word} is a whole number from 2 to 1,000,000,000",
    )


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ("simple_l = «1", "simple_l is a number above 1"),
        ("simple_l = «1e1", "simple_l is a number above 1"),
        ("simple_l = «1000000000.5", "simple_l is a number above 1"),
        ("entropy_l = «1", "entropy_l is a number above 1"),
        ("entropy_l = «0.5", "entropy_l is a number above 1"),
        ("entropy_l = «1.0000000000000000001", "entropy_l is a number above 1"),  # more digits than are kept
        ("recursive_l = «3", "expected ( after recursive_l ="),
        ("recursive_l = (3«)", "expected , between c and l of recursive_l, not the closing bracket"),
        ("recursive_l = («0, 2)", "c of recursive_l = (c, l) is a number above 0"),
        ("recursive_l = («-1, 2)", "c of recursive_l = (c, l) is a number above 0"),
        ("recursive_l = (3, «1)", "l of recursive_l = (c, l) is a whole number from 2"),
        ("recursive_l = (3, «2.5)", "l of recursive_l = (c, l) is a whole number from 2"),
        ("recursive_l = (3, 2«, 1)", "expected nothing after the l of recursive_l = (c, l), but found ,"),
        ("confidence = «0 %", "confidence is a percentage between 0 % and 100 %, both excluded"),
        ("confidence = «100 %", "confidence is a percentage between 0 % and 100 %, both excluded"),
        ("confidence = «-5 %", "confidence is a percentage between 0 % and 100 %, both excluded"),
        ("confidence = 0.85 «", "% is missing"),
        ("t = «0", "t is a number above 0, up to 1"),
        ("t = «1.1", "t is a number above 0, up to 1"),
        ("t = «1.", "t is a number above 0, up to 1"),
        ("t = «.2", "t is a number above 0, up to 1"),
        ("t = 0.2 «orderd", "unknown distance orderd: did you mean ordered?"),
        ("k «>= 5", "expected = after k, not >="),
        ("k «5", "expected = after k, not 5"),
        ("«l = 3", "unknown requirement l: did you mean distinct_l, simple_l, recursive_l or entropy_l?"),
        ("«k_anonymity = 3", "unknown requirement k_anonymity: did you mean k?"),
        ("«distint_l = 3", "unknown requirement distint_l: did you mean distinct_l?"),
        ("«banana = 3", "unknown requirement banana: valid options: k, distinct_l"),
        ('«"k" = 3', 'expected a requirement, such as k = 10, not "k"'),
        ("«", "expected a requirement, such as k = 10, not QUASI"),
        ("k = 5, «", "expected a requirement, such as k = 10, not QUASI"),
        ("k = 5, «k = 6", "k is required twice, first at 3:28"),
        ("k = 5 «distinct_l = 2", "a comma is missing before distinct_l"),
    ],
)
def test_a_wrong_requirement_is_named(requirement, message):
    gap = "" if requirement.endswith("«") else " "  # the mark stands right before QUASI
    assert_refused(f"ALGORITHM mondrian REQUIRE {requirement}{gap}QUASI IDENTIFIER (a) SENSITIVE (s)", message)


HIERARCHIES = [
    ("'Dir/it''s.csv'", HierarchyFile("Dir/it's.csv")),
    ("h", HierarchyTable((Word("h"),))),
    ('Lookup."Zip 1"', HierarchyTable((Word("Lookup"), Word("Zip 1", quoted=True)))),
    ('"INTERVALS"', HierarchyTable((Word("INTERVALS", quoted=True),))),
    ('"PREFIX"', HierarchyTable((Word("PREFIX", quoted=True),))),
    ("INTERVALS (5, 10, 20)", IntervalLadder((Fraction(5), Fraction(10), Fraction(20)))),
    ("intervals (0.5, 2.5) from -1.5", IntervalLadder((Fraction(1, 2), Fraction(5, 2)), Fraction(-3, 2))),
    ("PREFIX (4, 3, 1)", PrefixLadder((4, 3, 1))),
]


@pytest.mark.parametrize(("text", "expected"), HIERARCHIES)
@pytest.mark.parametrize("role", ["QUASI IDENTIFIER", "SENSITIVE"])
def test_a_column_has_its_hierarchy(role, text, expected):
    other = "QUASI IDENTIFIER (q)" if role == "SENSITIVE" else ""
    roles = policy_of(f'ALGORITHM mondrian REQUIRE k = 5 {other} {role} (b, "C" HIERARCHY {text}, d)').roles
    assert roles.hierarchies == {Word("C", quoted=True): expected}
    listed = roles.sensitive if role == "SENSITIVE" else roles.quasi
    assert listed == (Word("b"), Word("C", quoted=True), Word("d"))


def test_what_is_said_behind_a_quasi_identifier():
    policy = policy_of(
        "ALGORITHM mondrian REQUIRE k = 5 SUPPRESS AT MOST 2.5 % QUASI IDENTIFIER (a ORDER ('lo', 'hi') WEIGHT 1.5, "
        "b HIERARCHY calendar (month, YEAR) AT MOST LEVEL 1, c HIERARCHY t ELSE '*' WEIGHT 2, d)"
    )
    roles = policy.roles
    assert policy.suppress == Fraction(1, 40)
    assert roles.tunings == {
        Word("a"): Tuning(order=("lo", "hi"), weight=Fraction(3, 2)),
        Word("b"): Tuning(most_level=1),
        Word("c"): Tuning(weight=Fraction(2)),
    }
    assert roles.hierarchies == {
        Word("b"): CalendarLadder(("month", "year")),
        Word("c"): HierarchyTable((Word("t"),), "*"),
    }


@pytest.mark.parametrize("bound", ["«101 %", "«-1 %", "«x %"])
def test_a_bound_of_rows_left_out_is_a_percentage(bound):
    assert_refused(
        f"ALGORITHM mondrian REQUIRE k = 5 SUPPRESS AT MOST {bound} QUASI IDENTIFIER (a)",
        "SUPPRESS AT MOST takes a percentage from 0 to 100",
    )


def test_a_sensitive_column_says_that_its_nulls_are_values():
    text = (
        "ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (q) SENSITIVE (a nulls as value, b, nulls NULLS AS VALUE, "
    )
    roles = policy_of(
        f"{text} c HIERARCHY nulls NULLS AS VALUE, d HIERARCHY INTERVALS (5) FROM 1 NULLS AS VALUE)"
    ).roles
    assert roles.nulls_as_value == (Word("a"), Word("nulls"), Word("c"), Word("d"))
    assert roles.hierarchies[Word("c")] == HierarchyTable((Word("nulls"),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a HIERARCHY «''", "the hierarchy's file has no name"),
        ("a HIERARCHY 'f.csv' ELSE «' '", "the label behind ELSE is empty"),
        ("a HIERARCHY CALENDAR (month, «yeer)", "yeer is no period of CALENDAR: did you mean year?"),
        ("a HIERARCHY CALENDAR «(year, month)", "the periods of CALENDAR become longer"),
        ("a WEIGHT «0", "WEIGHT is a number above 0 and at most 1000"),
        ("a WEIGHT 2 «WEIGHT 3", "WEIGHT is written twice behind one column"),
        ("a ORDER «('x', 'y', 'x')", "ORDER names a value twice"),
        ("a HIERARCHY PREFIX (2) ORDER «('x')", "a column with a HIERARCHY takes no ORDER"),
        ("a «AT MOST LEVEL 1", "AT MOST LEVEL needs a HIERARCHY behind the column"),
        ("a HIERARCHY INTERVALS (5, 10) AT MOST LEVEL «4", "the hierarchy has no level 4: its highest one is 3"),
        (
            "a HIERARCHY«",
            "expected a 'file.csv', a table, INTERVALS (...), PREFIX (...) or CALENDAR (...), not the closing bracket",
        ),
        ("a HIERARCHY «5", "expected a 'file.csv', a table, INTERVALS (...), PREFIX (...) or CALENDAR (...), not 5"),
        (
            "a HIERARCHY «x.y.z",
            "a 'file.csv', a table, INTERVALS (...), PREFIX (...) or CALENDAR (...) must be table or schema.table",
        ),
        ("a HIERARCHY «INTERVAL (5)", "unknown hierarchy INTERVAL: did you mean INTERVALS?"),
        ("a HIERARCHY INTERVALS«", "expected ( after INTERVALS (quote a table of that name)"),
        ("a HIERARCHY INTERVALS («0)", "the width of an interval must be a number above 0"),
        ("a HIERARCHY INTERVALS «(10, 5)", "each width of INTERVALS must be a multiple of the one before"),
        ("a HIERARCHY INTERVALS «(10, 25)", "each width of INTERVALS must be a multiple of the one before"),
        ("a HIERARCHY INTERVALS «(5, 5)", "each width of INTERVALS must be a multiple of the one before"),
        ("a HIERARCHY INTERVALS (5) FROM «x", "INTERVALS start FROM a number, not x"),
        ("a HIERARCHY PREFIX («0)", "the length of a prefix must be a whole number from 1"),
        ("a HIERARCHY PREFIX «(1, 3)", "the lengths of PREFIX must be in descending order"),
        ("a HIERARCHY PREFIX «(3, 3)", "the lengths of PREFIX must be in descending order"),
        (
            "a HIERARCHY PREFIX («2.5, «x)",
            "the length of a prefix must be a whole number from 1|the length of a prefix",
        ),
        ("a «HEIRARCHY 'x'", "expected HIERARCHY after the column a, or , or ), not HEIRARCHY"),
        ("a «b", "expected HIERARCHY after the column a, or , or ), not b"),
        ("a «5", "expected , or ), not 5"),
        ("a «b (5, 10), c", "expected HIERARCHY after the column a, or , or ), not b"),
        ("«*", "QUASI IDENTIFIER must name every column: a * would also publish columns that are added later"),
        ("t«.a", "write a column as the query returns it, without its table"),
        ("«'a'", "expected a column, not a string (a string is not a name)"),
        ('«""', "a column cannot have an empty name"),
        ("a, «", "expected a column, not the closing bracket"),
        ("«", "expected a column, not the closing bracket"),
        ("«5, «'x', a, «*", "expected a column, not 5|expected a column, not a string|QUASI IDENTIFIER must name"),
        ("a, «A", "the column A is listed twice as QUASI IDENTIFIER, first at 3:52"),
        ('a, «"a"', 'the column "a" is listed twice as QUASI IDENTIFIER, first at 3:52'),
    ],
)
def test_a_wrong_column_is_named(text, message):
    assert_refused(f"ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER ({text})", *message.split("|"))


ONE = {
    "IDENTIFIER": "IDENTIFIER ({})",
    "QUASI IDENTIFIER": "QUASI IDENTIFIER (q, {})",
    "SENSITIVE": "SENSITIVE ({})",
    "TARGET": "TARGET ({})",
    "INSENSITIVE": "INSENSITIVE ({})",
    "ENTITY": "ENTITY ({})",
}
PAIRS = [(one, other) for one in ONE for other in ONE if one != other]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_only_a_target_has_a_second_role(first, second):
    quasi = "" if "QUASI IDENTIFIER" in (first, second) else "QUASI IDENTIFIER (q)"
    clause = f"ALGORITHM mondrian REQUIRE k = 5 {quasi} {ONE[first].format('Col')} {ONE[second].format('«col')}"
    if {first, second} in ({"TARGET", "SENSITIVE"}, {"TARGET", "QUASI IDENTIFIER"}):
        assert policy_of(clause.replace("«", "")).roles.target in (Word("Col"), Word("col"))
    else:
        assert_refused(clause, f"the column col is {second} here and {first} at 3:")


@pytest.mark.parametrize(("one", "other"), [("Ab", '"Ab"'), ("Ab", '"ab"'), ('"AB"', "Ab"), ('"aB"', '"aB"')])
def test_a_bare_word_may_be_any_folding_of_a_quoted_one(one, other):
    assert_refused(
        f"ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER ({one}) INSENSITIVE («{other})",
        f"the column {other} is INSENSITIVE here and QUASI IDENTIFIER at 3:52",
    )


def test_three_roles_are_too_many():
    assert_refused(
        "ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER (c) TARGET (c) SENSITIVE («c)",
        "the column c is SENSITIVE here and QUASI IDENTIFIER at 3:52",
    )


@pytest.mark.parametrize(("one", "other"), [('"A"', '"a"'), ("a", '"_A"'), ("a", "b")])
def test_different_columns_may_have_different_roles(one, other):
    policy_of(f"ALGORITHM mondrian REQUIRE k = 5 QUASI IDENTIFIER ({one}) INSENSITIVE ({other})")


MISTAKES = [
    ("«REQUIER k = 10", "unknown clause REQUIER: did you mean REQUIRE?"),
    ("REQUIRE k = 5 «SENSITVE (s)", "unknown clause SENSITVE: did you mean SENSITIVE?"),
    ("REQUIRE k = «yes «SENSITVE («5)", "k is a whole|unknown clause SENSITVE|expected a column, not 5"),
    ("REQUIRE k = 5 «BANANA (s)", "unknown clause BANANA: valid options: ALGORITHM, REQUIRE"),
    ("REQUIRE k = 5, «SENSITIVE (s)", "expected a requirement, such as k = 10, not SENSITIVE"),
    ("REQUIRE k = 5 SENSITIVE (s)«, TARGET (c)", "clauses are not separated by commas"),
    ("REQUIRE k = 5 «7", "expected a clause, such as REQUIRE k = 10, not 7"),
    ("REQUIRE k = 5 «'x' SEED «y", "expected a clause, such as REQUIRE k = 10, not a string|SEED must be a whole"),
    ("REQUIRE k = 5 «REQUIRE k = «x", "REQUIRE is written twice, first at 3:20|k is a whole number"),
    ("REQUIRE k = 5 SEED «01 «FOO (x)", "SEED must be a whole number from 0|unknown clause FOO: valid options:"),
    ("REQUIRE k = 5 SEED «-1", "SEED must be a whole number from 0"),
    ("REQUIRE k = 5 SEED «9223372036854775808", "SEED must be a whole number from 0"),
    ("REQUIRE k = 5 TARGET (c, «d)", "TARGET takes one column, not 2"),
    ("REQUIRE k = 5 ENTITY (c, «d)", "ENTITY takes one column, not 2"),
    ("REQUIRE k = 5 WEIGHT «w", "expected COLUMN after WEIGHT, not w"),
    ("REQUIRE k = 5 WEIGHT COLUMN «(w)", "expected a column after WEIGHT COLUMN, without brackets, not ("),
    ("REQUIRE k = 5 WEIGHT COLUMN t«.w", "write a column as the query returns it, without its table"),
    ("REQUIRE k = 5 SENSITIVE (w) WEIGHT COLUMN «w", "the column w is WEIGHT COLUMN here and SENSITIVE at"),
    ("REQUIRE k = 5 «WEIGHT COLUMN w ENTITY (e)", "WEIGHT COLUMN counts every row as a person"),
    ("REQUIRE k = 5 «WEIGHT COLUMN w PSEUDONYM (e)", "WEIGHT COLUMN counts every row as a person"),
    ("REQUIRE k = 5, unique = 1 % FRACTION 10 % «WEIGHT COLUMN w", "WEIGHT COLUMN and unique ... FRACTION both say"),
    ("REQUIRE k = 5 TARGET (c «HIERARCHY 'x')", "TARGET takes no HIERARCHY"),
    (
        "REQUIRE k = 5 TARGET (c «NULLS AS VALUE)",
        "TARGET takes no NULLS AS VALUE, which says how the NULLs of a SENSITIVE",
    ),
    ("REQUIRE k = 5 SENSITIVE (c «NULL AS VALUE)", "expected NULLS in NULLS AS VALUE, not NULL"),
    ("REQUIRE k = 5 SENSITIVE (c NULLS «VALUE)", "expected AS after NULLS, not VALUE"),
    ("REQUIRE k = 5 SENSITIVE (c NULLS AS «VALUES)", "expected VALUE after NULLS AS, not VALUES"),
    ("REQUIRE k = 5 SENSITIVE (c NULLS AS VALUE «HIERARCHY 'x')", "expected , or ), not HIERARCHY"),
    ("REQUIRE k = 5 TARGET «c", "expected ( after TARGET, not c"),
    ("REQUIRE k = 5 TARGET «c «SENSITVE (s)", "expected ( after TARGET, not c|unknown clause SENSITVE"),
    ("REQUIRE k = 5 ACCEPT «RISKS (x)", "expected RISK after ACCEPT, not RISKS"),
    ("REQUIRE k = 5 ACCEPT «(x)", "expected RISK after ACCEPT, not ("),
    ("REQUIRE k = 5 ACCEPT RISK («'x')", "expected the name of a risk, not a string"),
    ("REQUIRE k = 5 GRANT SELECT «a", "expected TO after SELECT, not a"),
    ("REQUIRE k = 5 GRANT SELECT TO «SEED 7", "expected a role, not SEED (quote a role of that name)"),
    ("REQUIRE k = 5 GRANT SELECT TO a, «'b'", "expected a role, not a string"),
    ("REQUIRE k = 5 «PRESERVE (m)", "PRESERVE needs ALGORITHM tpp: mondrian preserves no tree"),
    ("REQUIRE k = 5 PRESERVE («5)", "expected a model or a learner, not 5"),
    ("REQUIRE k = 5 SUPERSEDES («)", "expected the name of a release, not the closing bracket"),
    ("REQUIRE k = 5 SUPERSEDES (a, «'b')", "expected the name of a release, not a string (a string is not a name)"),
    ("REQUIRE k = 5 SUPERSEDES («a.b.c)", "the name of a release must be table or schema.table, not 3 names"),
    ("REQUIRE k = 5 SUPERSEDES ALL «(x)", "SUPERSEDES ALL has no list of releases: write SUPERSEDES ALL or"),
    ("REQUIRE k = 5 «SUPERCEDES", "unknown clause SUPERCEDES: did you mean SUPERSEDES?"),
]


@pytest.mark.parametrize(("clause", "messages"), MISTAKES)
def test_a_wrong_clause_is_named_and_the_rest_is_still_read(clause, messages):
    assert_refused(f"ALGORITHM mondrian {clause} QUASI IDENTIFIER (q)", *messages.split("|"))


def test_roles_are_not_let_in_to_a_model():
    """It is no relation: nobody could be given the right to read it."""
    clause = "ALGORITHM ldm REQUIRE k = 5 QUASI IDENTIFIER (q) TARGET (c) «GRANT SELECT TO a SEED 1"
    assert_refused(clause, "GRANT SELECT TO needs a TABLE or VIEW: a MODEL is stored in the catalog", kind="MODEL")


@pytest.mark.parametrize(
    ("quasi", "message"),
    [
        ("«QUASY IDENTIFIER (q)", "unknown clause QUASY: did you mean QUASI IDENTIFIER?"),
        ("«QUASI_IDENTIFIER (q)", "unknown clause QUASI_IDENTIFIER: did you mean QUASI IDENTIFIER?"),
        ("QUASI «IDENTIFIERS (q)", "expected IDENTIFIER after QUASI, not IDENTIFIERS"),
        ("QUASI «-IDENTIFIER (q)", "expected IDENTIFIER after QUASI, not -"),
        ("QUASI IDENTIFIER «q", "expected ( after QUASI IDENTIFIER, not q"),
    ],
)
def test_a_misspelt_quasi_identifier_is_not_also_missing(quasi, message):
    assert_refused(f"ALGORITHM mondrian REQUIRE k = 5 {quasi}", message)


@pytest.mark.parametrize(
    ("algorithm", "kind", "message"),
    [
        ("«mondiran", "TABLE", "unknown algorithm mondiran: did you mean mondrian?"),
        ("«qqq", "TABLE", "unknown algorithm qqq: valid options: mondrian"),
        ("«ldm", "TABLE", "ldm makes no TABLE; valid algorithms: mondrian"),
        ("«mondrian", "MODEL", "mondrian makes no MODEL; valid algorithms: kadet, ldm, atp"),
        ("«'K-ANONYMITY'", "TABLE", "expected an algorithm, such as mondrian, not a string"),
        ("«", "TABLE", "expected an algorithm, such as mondrian, not REQUIRE"),
        ("tds (a = «)", "TABLE", "the value of an option must be a number"),
        ("tds (a = «null)", "TABLE", "the value of an option must be a number"),
        ('tds (a = «"x")', "TABLE", "the value of an option must be a number"),
        ("tds (a = «1e3)", "TABLE", "the value of an option must be a number"),
        ("tds (a = «007)", "TABLE", "the value of an option must be a number"),
        ("tds (a = («))", "TABLE", "the value of an option must be a number"),
        ("tds (a «5)", "TABLE", "expected = after the option a, not 5"),
        ("tds («)", "TABLE", "expected the name of an option, not the closing bracket"),
        ("tds (a = 1, «A = 2)", "TABLE", "the option A is written twice"),
        ("tds (a = 1 «b = 2)", "TABLE", "expected , or ), not b"),
    ],
)
def test_a_wrong_algorithm_is_named(algorithm, kind, message):
    assert_refused(f"ALGORITHM {algorithm} REQUIRE k = 5 QUASI IDENTIFIER (q)".replace("« ", "«"), message, kind=kind)


@pytest.mark.parametrize("algorithm", algorithms.words())
def test_every_known_algorithm_is_read_where_it_fits(algorithm):
    for kind in algorithms.releases_of(algorithm):
        assert policy_of(f"ALGORITHM {algorithm} REQUIRE k = 5 QUASI IDENTIFIER (q)", kind).algorithm == algorithm


def test_what_is_missing_is_told_at_the_clause():
    assert_mistakes(
        "CREATE TABLE x AS SELECT 1\n  «««WITH ANONYMIZATION ()",
        "ALGORITHM is missing, as in ALGORITHM mondrian",
        "REQUIRE is missing, as in REQUIRE k = 10",
        "QUASI IDENTIFIER is missing, as in QUASI IDENTIFIER (age, zip)",
    )


def test_mistakes_come_in_the_order_of_the_text():
    assert_mistakes(
        "CREATE TABLE x AS SELECT 1 «WITH ANONYMIZATION (REQUIRE k = «0 QUASI IDENTIFIER (q))",
        "ALGORITHM is missing",
        "k is a whole number",
    )


@pytest.mark.parametrize("requirement", [text for text, found in REQUIREMENTS if not isinstance(found, KAnonymity)])
def test_a_requirement_on_values_needs_a_sensitive_column(requirement):
    assert_refused(
        f"ALGORITHM mondrian «REQUIRE k = 5, {requirement} QUASI IDENTIFIER (q)",
        f"SENSITIVE is missing: {requirement.split()[0]} protects the columns listed there",
    )


def test_the_mistakes_of_all_statements_come_together():
    assert_mistakes(
        "CREATE TABLE a AS SELECT 1 WITH ANONYMIZATION (ALGORITHM «mondiran REQUIRE k = «0 QUASI IDENTIFIER (q));\n"
        "SELECT 1;\n"
        "CREATE «TEMP TABLE b AS SELECT 1 WITH ANONYMIZATION (ALGORITHM tds REQUIRE k = 5 QUASI IDENTIFIER («*))",
        "unknown algorithm mondiran",
        "k is a whole number",
        "a release cannot be created as TEMP: write CREATE [OR REPLACE] TABLE, VIEW or MODEL",
        "QUASI IDENTIFIER must name every column",
    )
