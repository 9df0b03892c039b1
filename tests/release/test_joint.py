"""Two good releases can make a bad one: what is out from a table is judged together."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from sqlglot import exp

from ppdm_sql.catalog import migrate
from ppdm_sql.catalog.ledger import link_name
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.planning import joint
from ppdm_sql.planning.people import Keys
from ppdm_sql.planning.staging import STAGE
from ppdm_sql.statements.names import Name, column
from tests.records import ONE_TABLE, roles_record
from tests.release.conftest import COLUMNS, people, policy
from tests.sizes import seeds


def other(text: str = "", **replaced: str) -> str:
    return policy(text, **{"people_open": "people_too", **replaced})


def test_another_recoding_of_the_same_table_is_refused(session):
    session.publish(policy())
    with pytest.raises(RequirementBreached, match="joint class(es)? of fewer than 5"):
        session.publish(
            other(
                **{
                    "(age, sex, zip)": "(zip, age)",
                    "illness FROM": "illness FROM",
                    "age, sex, zip, illness": "age, zip, illness",
                }
            )
        )
    assert [str(item.name.last) for item in session.releases()] == ["people_open"]


def test_the_same_recoding_under_another_name_is_no_new_knowledge(session):
    session.publish(policy())
    session.publish(other())
    assert len(session.releases()) == 2


def test_supersedes_says_that_nobody_holds_the_former(session):
    session.publish(policy())
    session.publish(other("SUPERSEDES ALL", **{"k = 5": "k = 9"}))
    assert [item.relation_name for item in session.releases()] == ["people_too"]


def test_the_risk_can_be_accepted_by_name_and_is_then_in_the_manifest(session):
    session.publish(policy())
    planned = session.plan(other("ACCEPT RISK (joint)", **{"k = 5": "k = 9"}))
    assert planned.holds
    assert planned.sample
    assert planned.joint_verdict(planned.joint[0]) == "does not hold, which the statement accepts"
    refused = session.plan(other(**{"k = 5": "k = 9"}))
    assert not refused.holds
    assert refused.joint_verdict(refused.joint[0]) == "would be refused"
    release = session.publish(other("ACCEPT RISK (joint)", **{"k = 5": "k = 9"}))
    (outcome,) = release.manifest["joint"]
    assert not outcome["holds"]
    assert outcome["with"][0].endswith("people_open")
    assert release.manifest["policy"]["accepted_risks"] == ["joint"]


def test_a_release_of_other_people_does_not_matter(duck, make_table):
    """Their numbers are the same by chance: nothing else of them is."""
    duck.publish(policy())
    make_table(duck.engine, "others", COLUMNS, people(seed=99))
    duck.publish(other(**{"FROM people": "FROM others", "k = 5": "k = 9"}))


def test_a_view_does_not_hide_its_table(duck):
    duck.publish(policy())
    duck.execute("CREATE VIEW hidden AS SELECT * FROM people")
    with pytest.raises(RequirementBreached, match="joint class(es)?"):
        duck.publish(other(**{"FROM people": "FROM hidden", "k = 5": "k = 9"}))


def test_one_person_more_is_refused_without_supersedes(duck):
    """Differencing: what the second release has and the first has not is that person."""
    duck.publish(policy())
    duck.export("people_open", "open.csv")
    duck.execute("INSERT INTO people VALUES (5000, 'New', 40, 'f', '10001', 'flu')")
    with pytest.raises(RequirementBreached, match="together with"):
        duck.execute("REFRESH people_open")
    duck.publish(policy("SUPERSEDES"))


def test_without_a_common_key_the_answer_is_no(duck):
    duck.publish(policy())
    with pytest.raises(RequirementBreached, match="have no key in common"):
        duck.publish(other(**{"SELECT id, name, age": "SELECT age", "IDENTIFIER (id, name)\n    QUASI": "QUASI"}))


def test_a_person_with_several_rows_does_not_breach_by_republishing(duck):
    duck.execute("INSERT INTO people SELECT id, name, age + 1, sex, zip, 'cold' FROM people")
    text = {"IDENTIFIER (id, name)": "IDENTIFIER (name)"}
    duck.publish(policy("ENTITY (id)", **text))
    duck.publish(policy("ENTITY (id)", **text))
    duck.publish(other("ENTITY (id)", **text))


def test_an_exported_release_counts_even_after_it_was_dropped(duck):
    duck.publish(policy())
    duck.export("people_open", "open.csv")
    dropped = duck.drop("people_open")
    assert dropped.exports == 1
    with pytest.raises(RequirementBreached, match="joint class(es)?"):
        duck.publish(other(**{"k = 5": "k = 9"}))


def test_a_dropped_release_that_was_never_exported_does_not_count(duck):
    duck.publish(policy())
    duck.drop("people_open")
    duck.publish(other(**{"k = 5": "k = 9"}))


def test_a_replaced_release_still_counts(duck):
    """Replaced without SUPERSEDES: anyone who has the export of the former one has it still."""
    duck.publish(policy("ACCEPT RISK (joint)"))
    duck.export("people_open", "open.csv")
    duck.publish(policy("ACCEPT RISK (joint)", **{"k = 5": "k = 9"}))
    with pytest.raises(RequirementBreached):
        duck.publish(other(**{"k = 5": "k = 7"}))
    assert [item.state for item in duck.releases(include_gone=True)] == ["live", "replaced"]


# -- rows of nobody ----------------------------------------------------------------------------------------

VISITS = {"who": "INTEGER", "zip": "TEXT", "town": "TEXT", "year": "INTEGER", "ill": "TEXT"}
OF_PERSONS = """CREATE TABLE {name} AS SELECT who, {quasi}, ill FROM visits WHERE year >= {year} WITH ANONYMIZATION (
    ALGORITHM mondrian REQUIRE k = 5 ENTITY (who) QUASI IDENTIFIER ({quasi}) SENSITIVE (ill) SEED 7)"""


def visits(early: list[int | None], late: list[int | None]) -> list[tuple]:
    return [
        (who, "x", "y", year, "flu" if number % 2 else "cold")
        for year, persons in ((1, early), (2, late))
        for number, who in enumerate(persons)
    ]


@pytest.fixture
def two_years(engine, make_table, open_session):
    """A release of both years and one of the second alone, whose rows have a common key, or a common person only."""

    def published(early, late, quasi):
        make_table(engine, "visits", VISITS, visits(early, late))
        session = open_session(engine)
        session.publish(OF_PERSONS.format(name="both", quasi="zip", year=1))
        return session.publish(OF_PERSONS.format(name="second", quasi=quasi, year=2))

    return published


@pytest.mark.parametrize("quasi", ["zip", "town"])
def test_an_unknown_person_does_not_fill_a_joint_class(two_years, quasi):
    """The first year has four persons: a row of nobody makes them no fifth one, as in a release by itself."""
    with pytest.raises(RequirementBreached, match="1 joint class of fewer than 5"):
        two_years([1, 2, 3, 4, None], [5, 6, 7, 8, 9, 10], quasi)


@pytest.mark.parametrize("quasi", ["zip", "town"])
def test_unknown_persons_are_hidden_by_known_ones(two_years, quasi):
    two_years([1, 2, 3, 4, 5, None], [6, 7, 8, 9, 10, None, None], quasi)


@pytest.mark.parametrize("quasi", ["zip", "town"])
def test_a_joint_class_of_unknown_persons_alone_is_too_small(two_years, quasi):
    """All known persons are in both: what the first year has alone are rows of nobody, however many."""
    known = [1, 2, 3, 4, 5]
    with pytest.raises(RequirementBreached, match="1 joint class of fewer than 5"):
        two_years([*[None] * 20], [*known, None], quasi)


@pytest.mark.parametrize("quasi", ["zip", "town"])
def test_the_same_rows_of_nobody_in_both_are_no_new_knowledge(two_years, quasi):
    two_years([], [1, 2, 3, 4, 5, None, None], quasi)


def test_a_release_of_unknown_persons_alone_is_refused(duckdb_engine, make_table, open_session):
    make_table(duckdb_engine, "visits", VISITS, visits([None] * 20, [1, 2, 3, 4, None]))
    with pytest.raises(RequirementBreached, match="k = 5"):
        open_session(duckdb_engine).publish(OF_PERSONS.format(name="both", quasi="zip", year=1))


NUMBERS = ("ppdm_key0", "ppdm_key1", "ppdm_person", "ppdm_quasi", "ppdm_part")
LINK = dict.fromkeys(NUMBERS, "BIGINT")


def linked(draw: random.Random, *, by_key: bool) -> list[tuple[int | None, int, int]]:
    """Rows as (person, the rest of the key, class); about a fifth are of nobody.  By key: a class is one of keys."""
    rows = [
        (draw.choice([None, *range(1, 5)]), draw.randint(1, 2), draw.randint(1, 3)) for _ in range(draw.randint(3, 12))
    ]
    parts = {row[:2]: row[2] for row in rows}
    return [(*row[:2], parts[row[:2]]) for row in rows] if by_key else rows


def pairings(mine: list, theirs: list) -> Iterator[list[tuple]]:
    """Every way in which rows of one release can be rows of the other: as many as there can be."""
    if len(mine) < len(theirs):
        yield from ([(one, other) for other, one in pairs] for pairs in pairings(theirs, mine))
        return
    padded = [*theirs, *[None] * (len(mine) - len(theirs))]
    yield from (list(zip(mine, order, strict=True)) for order in set(itertools.permutations(padded)))


def worlds(mine: list, theirs: list, key) -> Iterator[list[tuple]]:
    """Every way in which the rows of a person can be the same rows: first by key, then what is left over of a person."""
    keys = sorted({key(row) for row in [*mine, *theirs]}, key=str)
    each = [list(pairings(*([row for row in rows if key(row) == one] for rows in (mine, theirs)))) for one in keys]
    for world in itertools.product(*each):
        pairs = [pair for some in world for pair in some]
        whole = [pair for pair in pairs if None not in pair]
        left, right = ([pair[side] for pair in pairs if pair[1 - side] is None] for side in (0, 1))
        nobodies = any(row[0] is None for row in [*mine, *theirs])
        rest = (
            [[*((row, None) for row in left), *((None, row) for row in right)]] if nobodies else pairings(left, right)
        )
        yield from ([*whole, *more] for more in rest)


def joint_classes(left, right, key) -> dict[tuple, set]:
    """By definition: every pair of classes that a row can be in, and the known persons who are in it in any case."""
    found = defaultdict(set)
    for who in {row[0] for row in [*left, *right]}:
        mine, theirs = ([row for row in rows if row[0] == who] for rows in (left, right))
        told = [{(a and a[2], b and b[2]) for a, b in world} for world in worlds(mine, theirs, key)]
        for pair in set.union(*told):
            found[pair] |= {who} if who is not None and all(pair in world for world in told) else set()
    return found


def person(row):
    return row[0]


def person_and_rest(row):
    return row[:2]


@pytest.mark.parametrize("key", [person_and_rest, person])
@seeds(small=4, full=20, nightly=400)
def test_joint_classes_are_those_of_the_definition(engine, make_table, key, seeds):
    migrate.ensure(engine)
    nobody = engine.fetch_one(exp.Select(expressions=[joint.nobody(engine)]))[0]
    keys = Keys(("who", "rest") if key is person_and_rest else ("who", "mine"), ("who",), some_rows=True)
    other = SimpleNamespace(
        release_id="0", k_promised=3, manifest=ONE_TABLE, name=Name("other"), kind="TABLE", stated_name="other", key_columns=("who", "rest"),
        roles=roles_record(entity="who", person_columns=("who",)),
    )  # fmt: skip
    for turn in seeds:
        draw = random.Random(turn)
        by_key = key is person_and_rest and turn % 2 == 0
        left, right = linked(draw, by_key=by_key), linked(draw, by_key=by_key)
        for relation, rows, temporary in ((STAGE, left, True), (Name("ppdm", "ppdm_all"), right, False)):
            stored = [(who or 0, rest, nobody if who is None else who, rest, part) for who, rest, part in rows]
            make_table(engine, relation, LINK, stored, temporary=temporary)
        counted = exp.Select(expressions=[*map(column, LINK), exp.alias_(exp.Count(this=exp.Star()), joint.ROWS)])
        engine.create_table(link_name("0"), counted.from_("ppdm.ppdm_all").group_by(*map(column, LINK)))
        (found,) = joint.judge_jointly(engine, [other], keys, 3, persons=True)
        expected = joint_classes(left, right, key)
        small = sum(len(known) < 3 for known in expected.values())
        # where one key is in several classes a person can be certain to be in a pair by this key or by that
        assert found.classes == small if by_key or key is person else found.classes >= small
        engine.drop_table(link_name("0"))
        engine.drop_table(Name("ppdm", "ppdm_all"))


def test_the_first_breach_ends_the_joining(duckdb_engine, make_table):
    """Both releases cut the eight people otherwise than the new one: the first says enough."""
    migrate.ensure(duckdb_engine)
    make_table(duckdb_engine, STAGE, LINK, [(n, n, n, n, n % 2) for n in range(8)], temporary=True)
    others = []
    for release_id, name in (("0", "first"), ("1", "second")):
        rows = [(n, n, n, n, n % 3, 1) for n in range(8)]
        make_table(duckdb_engine, link_name(release_id), {**LINK, joint.ROWS: "BIGINT"}, rows)
        others.append(
            SimpleNamespace(
                release_id=release_id,
                k_promised=3,
                manifest=ONE_TABLE,
                name=Name(name),
                kind="TABLE",
                stated_name=name,
                key_columns=("who", "rest"),
                roles=roles_record(entity="who", person_columns=("who",)),
            )
        )
    found = joint.judge_jointly(duckdb_engine, others, Keys(("who", "rest"), ("who",)), 3, persons=True)
    assert [(outcome.releases, outcome.holds) for outcome in found] == [(("first",), False)]


@pytest.mark.parametrize(("content", "holds"), [("same", True), ("other", False), (None, False)])
def test_a_release_of_exactly_these_rows_adds_nothing(duckdb_engine, make_table, content, holds):
    """Two equal rows of nobody are in two classes: which of them is where cannot be seen in the links."""
    migrate.ensure(duckdb_engine)
    rows = [(n, n, n, n, n % 2) for n in range(1, 9)] + [(0, 0, 0, 0, 0), (0, 0, 0, 0, 1)]
    make_table(duckdb_engine, STAGE, LINK, rows, temporary=True)
    make_table(duckdb_engine, link_name("0"), {**LINK, joint.ROWS: "BIGINT"}, [(*row, 1) for row in rows])
    record = SimpleNamespace(
        release_id="0", k_promised=3, name=Name("other"), kind="TABLE", stated_name="other", key_columns=("who", "rest"),
        roles=roles_record(entity="who", person_columns=("who",)), content_hash=content, manifest=ONE_TABLE,
    )  # fmt: skip
    (found,) = joint.judge_jointly(
        duckdb_engine, [record], Keys(("who", "rest"), ("who",)), 3, persons=True, content="same"
    )
    assert found.holds is holds


def test_the_same_rows_of_another_person_are_told_by_the_difference(duckdb_engine, make_table):
    """Person 9 has come instead of person 1, and every printed row is as before."""
    migrate.ensure(duckdb_engine)
    rows = [(n, n, n, n, n % 2) for n in range(1, 9)]
    make_table(duckdb_engine, STAGE, LINK, [(9, 9, 9, 9, 1), *rows[1:]], temporary=True)
    make_table(duckdb_engine, link_name("0"), {**LINK, joint.ROWS: "BIGINT"}, [(*row, 1) for row in rows])
    record = SimpleNamespace(
        release_id="0", k_promised=3, name=Name("other"), kind="TABLE", stated_name="other", key_columns=("who", "rest"),
        roles=roles_record(entity="who", person_columns=("who",)), content_hash="same", manifest=ONE_TABLE,
    )  # fmt: skip
    keys = Keys(("who", "rest"), ("who",))
    (found,) = joint.judge_jointly(duckdb_engine, [record], keys, 3, persons=True, content="same")
    assert not found.holds
