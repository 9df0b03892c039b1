"""What models that ATP publishes reveal, and one of them on its way from the statement to pseudo-rows."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from itertools import pairwise

import pyarrow as pa
import pytest

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.atp.bins import Bins, asked_columns, class_lookup
from ppdm_sql.session import Session
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.follow import follower
from ppdm_sql.trees.tree import Bands, Cut
from ppdm_sql.watching import silent

COLUMNS = ("age", "weight", "ward", "ill")


def statement(required: str, options: str = "", more: str = "") -> str:
    return (
        f"CREATE OR REPLACE MODEL ills AS SELECT {', '.join(COLUMNS)} FROM people WITH ANONYMIZATION ("
        f"ALGORITHM atp {f'({options})' if options else ''} REQUIRE {required} QUASI IDENTIFIER ({', '.join(COLUMNS[:-1])}) "
        f"SENSITIVE (ill) TARGET (ill) SUPERSEDES ALL {more})"
    )


def people(seed: int, rows: int = 120) -> list[dict]:
    """Ages and weights that no two people share: anyone who pins one of them has one person's value."""
    draw = random.Random(seed)
    ages, weights = draw.sample(range(1000, 99_000), rows), draw.sample(range(40_000, 140_000), rows)
    found = []
    for age, weight in zip(ages, weights, strict=True):
        ward = draw.choice("NESW")
        score = (40_000 < age < 60_000) + 0.8 * (70_000 < weight < 110_000) + 0.4 * (ward in "NE") + draw.random()
        found.append({"age": age, "weight": weight / 1000, "ward": ward, "ill": "yes" if score > 1.5 else "no"})
    return found


def load(session, rows: list[dict]) -> None:
    session.engine.drop_table(Name("people"))
    session.engine.load(Name("people"), pa.Table.from_pylist(rows), temporary=False)


def thresholds(tree, name: str) -> list[Decimal]:
    found = set()
    for node in tree.nodes:
        if isinstance(node.split, Cut | Bands) and tree.attributes[node.split.attribute].name == name:
            found.update((node.split.at,) if isinstance(node.split, Cut) else node.split.at)
    return sorted(found)


@pytest.mark.duckdb
@pytest.mark.parametrize("way", ["frequency", "width", "mdl"])
def test_a_threshold_is_no_midpoint_and_nobody_s_value(memory, way):
    """v1 + v2 of two neighbours must not follow from a threshold, nor any value of its own."""
    seen = 0
    for seed in range(2):
        rows = people(seed)
        load(memory, rows)
        memory.execute(statement("k = 5", f"binning = {way}, bins = 5"))
        tree = memory.model("ills").tree
        for name in ("age", "weight"):
            values = sorted(Decimal(str(row[name])) for row in rows)
            midpoints = {(one + two) / 2 for one, two in pairwise(values)}
            for at in thresholds(tree, name):
                assert at not in midpoints
                assert at not in values
                below = sum(value < at for value in values)
                assert 5 <= below <= len(values) - 5
                seen += 1
    assert seen


@pytest.mark.wide
@pytest.mark.duckdb
def test_the_people_around_a_border_can_move_without_moving_it(memory):
    """k people on either side pin a border: the k - 1 nearest of both take any values between, and it stays."""
    order = sorted(people(7), key=lambda row: row["age"])
    before = borders(memory, order)
    assert len(before) == 3
    for place in (30, 60, 90):  # four bins of 120 people
        moved = [dict(row) for row in order]
        low, high = order[place - 5]["age"], order[place + 4]["age"]
        draw = random.Random(place)
        for near, age in enumerate(sorted(draw.sample(range(low + 1, high), 8)), start=place - 4):
            moved[near]["age"] = age
        assert borders(memory, moved) == before


def borders(session, rows: list[dict]) -> tuple:
    load(session, rows)
    columns = {info.name: info for info in session.engine.columns(Name("people"))}
    classes = class_lookup(session.engine, Name("people"), columns["ill"])[0]
    bins = Bins(4, "frequency", 5, {})
    return asked_columns(session.engine, Name("people"), [columns["age"]], classes, bins)[0].cuts


@pytest.mark.duckdb
def test_what_the_paper_s_estimates_let_through_is_counted_and_refused(memory):
    """The misses of two branches lie on one class; equation 2 spreads them and is content."""
    counts = {"N": {"a": 3, "b": 3}, "W": {"a": 2, "b": 3}, "S": {"a": 2, "b": 2, "c": 4}}
    rows = [
        {"age": 40, "weight": 70.0, "ward": ward, "ill": ill}
        for ward, held in counts.items()
        for ill, number in held.items()
        for _ in range(number)
    ]
    load(memory, rows)
    with pytest.raises(RequirementBreached, match="1 of 2 leaves with 11 rows whose true class counts"):
        memory.execute(statement("simple_l = 2", "counts = paper"))
    assert memory.models() == []
    memory.execute(statement("simple_l = 2"))
    tree = memory.model("ills").tree
    assert sorted(leaf.counts for leaf in tree.leaves) == [(3, 3, 0), (4, 5, 4)]
    assert all(2 * max(leaf.counts) <= leaf.rows for leaf in tree.leaves)


@pytest.mark.wide
@pytest.mark.duckdb
def test_random_tables_by_estimates_never_leave_with_a_breach(memory):
    """Whatever equation 2 says, what is published holds on the rows, leaf by leaf."""
    published = refused = 0
    for seed in range(8):
        draw = random.Random(seed)
        rows = [
            {"age": draw.randint(20, 60), "weight": float(draw.randint(50, 99)), "ward": draw.choice("NESW"),
             "ill": draw.choice(["a", "a", "b", "b", "c", "d"])}
            for _ in range(60)
        ]  # fmt: skip
        load(memory, rows)
        try:
            memory.execute(statement("k = 2, simple_l = 2", "counts = paper, form = c45, bins = 3"))
        except RequirementBreached:
            refused += 1
            continue
        tree = memory.model("ills").tree
        end = follower(tree)
        held: dict[int, list[str]] = {}
        for row in rows:
            held.setdefault(end(row), []).append(row["ill"])
        assert all(2 * max(map(here.count, here)) <= len(here) for here in held.values())
        published += 1
    assert published
    assert refused


@pytest.mark.duckdb
def test_a_value_that_one_person_has_is_named_nowhere(db, tmp_path):
    """The canary must not be in the model file, the manifest, the script or the pseudo-rows."""
    rows = [*people(3), {"age": 424242, "weight": 987.654, "ward": "CANARY", "ill": "yes"}]
    load(db, rows)
    db.execute(statement("k = 5", "bins = 4"))
    db.export("ills", "ills.json")
    db.execute("CREATE TABLE pseudo AS PSEUDO DATA FROM MODEL ills WITH (rows = 500, seed = 1)")
    db.export("pseudo", "pseudo.csv")
    told = [path.read_bytes() for path in tmp_path.iterdir() if path.suffix in (".json", ".csv", ".sql")]
    assert len(told) >= 4
    for secret in (b"CANARY", b"424242", b"987.654"):
        assert not any(secret in text for text in told)


def test_from_the_statement_to_pseudo_rows(engine, make_table, tmp_path):
    """A verified, exported model with bands, and rows from it that end where its leaves say."""
    rows = people(1, rows=300)
    types = {"age": "INTEGER", "weight": "DOUBLE", "ward": "TEXT", "ill": "TEXT"}
    make_table(engine, "people", types, [tuple(row.values()) for row in rows])
    session = Session(engine, out=tmp_path, show_values=False, progress=silent)
    release = session.publish(statement("k = 4, simple_l = 1.2", "bins = 5"))
    assert [(finding.requirement, finding.holds) for finding in release.findings] == [
        ("k = 4", True), ("simple_l = 1.2", True)
    ]  # fmt: skip
    tree = session.model("ills").tree
    assert any(isinstance(node.split, Bands) for node in tree.nodes)
    assert session.verify("ills").holds
    session.export("ills", "ills.json")
    file = json.loads((tmp_path / "ills.json").read_text())
    assert file["version"] == 2
    made, base = "pseudo", "based"
    session.execute(f"CREATE TABLE {made} AS PSEUDO DATA FROM MODEL ills WITH (algorithm = pgen, rows = 300, seed = 3)")
    session.execute(
        f"CREATE TABLE {base} AS PSEUDO DATA FROM MODEL ills WITH (algorithm = basegen, rows = 200, seed = 3)"
    )
    end = follower(tree)
    ends: dict[int, int] = {}
    for row in session.release(made).df().to_dict("records"):
        where = end({name: row.get(name, 0) for name in COLUMNS})
        ends[where] = ends.get(where, 0) + 1
    assert ends == {leaf.number: leaf.rows for leaf in tree.leaves}
    for row in session.release(base).df().to_dict("records"):
        assert row["ill"] == tree.prediction(tree.nodes[end({name: row.get(name, 0) for name in COLUMNS})])
