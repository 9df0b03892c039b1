"""PRESERVE (model): a tree of the catalog comes out of the release whole, or nothing is published."""

from __future__ import annotations

import pytest

from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.models import library
from ppdm_sql.session import Session
from ppdm_sql.source.given import relation_of
from ppdm_sql.trees.tree_json import tree_text
from ppdm_sql.watching import silent

COLUMNS = {"age": "INTEGER", "ward": "TEXT", "illness": "TEXT", "back": "TEXT", "days": "INTEGER"}
SOURCE = "SELECT age, ward, {target} FROM people"
KEPT = {"prune": False, "exact": True, "exact_midpoints": True, "rare": 1, "min_leaf": 5}
POLICY = """
CREATE OR REPLACE TABLE open AS SELECT age, ward, illness, back, days FROM people
WITH ANONYMIZATION (
    ALGORITHM tpp {options} REQUIRE {required}
    QUASI IDENTIFIER (age, ward) SENSITIVE (illness) TARGET (back) INSENSITIVE (days)
    PRESERVE ({preserve}) ACCEPT RISK (boundaries) SUPERSEDES ALL
)
"""


def policy(preserve="m", required="k = 5", options=""):
    shifted = f"(numbers = shifted, {options.removeprefix('(')}" if options else "(numbers = shifted)"
    return POLICY.format(preserve=preserve, required=required, options=shifted)


def people(rows=150):
    wards = ["north", "south", "east", None]
    found = []
    for number in range(rows):
        age, ward = 20 + number * 7 % 40, wards[number * 13 // 7 % 4]
        back = age > 41 if ward in ("north", None) else age > 30
        found.append((age, ward, f"ill {number % 3}", "yes" if back else "no", age // 4 + (ward == "east") * 9))
    return found


@pytest.fixture(scope="module")
def one_database():
    with DuckDBEngine.open(":memory:") as engine:
        yield engine


@pytest.fixture
def duck(one_database, make_table, tmp_path):
    return opened(one_database, make_table, tmp_path)


def opened(engine, make_table, folder):
    session = Session(engine, out=folder, show_values=False, progress=silent)
    for release in session.releases():
        session.drop(release.name)
    for model in session.models():
        library.drop(engine, model.name)
    engine.execute(_drop("people"))
    make_table(engine, "people", COLUMNS, people())
    return session


def _drop(name):
    from sqlglot import exp

    from ppdm_sql.statements.names import Name

    return exp.Drop(tables=[Name(name).table()], kind="TABLE", exists=True)


def train(session, name="m", inducer="cart", target="back", **options):
    return session.train(name, SOURCE.format(target=target), target, inducer=inducer, options=KEPT | options)


def grown_again(session, model):
    """The tree that the model's own inducer and settings grow from the release."""
    relation = relation_of(session.engine, SOURCE.format(target=model.tree.target.name).replace("people", "open"))
    columns = {info.name: info for info in session.engine.columns(relation)}
    attributes = [columns[one.name] for one in model.tree.attributes]
    chosen = settings(model.record.inducer, model.record.options)
    return induce(session.engine, relation, attributes, columns[model.tree.target.name], chosen).tree


def check_same(session, model):
    """Node for node: rows, thresholds and which categories go where; a label stands for the values it was made of."""
    again, kept = grown_again(session, model), model.tree
    assert [(node.parent, node.counts, node.children) for node in again.nodes] == [
        (node.parent, node.counts, node.children) for node in kept.nodes
    ]
    members = {
        shown: {row[0] for row in people_by(session, shown)}
        for (shown,) in fetch(session, "SELECT DISTINCT ward FROM open")
    }
    for one, two in zip(again.nodes, kept.nodes, strict=True):
        if two.split is None:
            assert one.split is None
        elif hasattr(two.split, "at"):
            assert (one.split.attribute, one.split.at) == (two.split.attribute, two.split.at)
        else:
            told = [set().union(*(members[label] for label in group)) for group in one.split.groups]
            assert all(set(group) <= side for group, side in zip(two.split.groups, told, strict=True))


def people_by(session, shown):
    """The wards that are published under a label: {east, south} or a name of its own."""
    names = [row[0] for row in fetch(session, "SELECT DISTINCT ward FROM people")]
    if shown is None or not shown.startswith("{"):
        return [(name,) for name in names if name == shown]
    inside = shown.strip("{}").split(", ")
    return [(name,) for name in names if (name or "NULL") in inside]


def fetch(session, text):
    return session.engine.pass_through(text, limit=10_000).rows


@pytest.mark.parametrize(
    ("inducer", "target", "options"),
    [
        ("cart", "back", {"max_leaves": 4}),
        ("cart", "back", {"criterion": "entropy"}),
        ("id3", "back", {"max_depth": 2}),
        ("regression", "days", {"max_leaves": 3}),
    ],
)
def test_the_model_comes_out_of_the_release(duck, inducer, target, options):
    model = train(duck, inducer=inducer, target=target, **options)
    assert len(model.tree.leaves) > 2
    release = duck.publish(policy(required="k = 2"))
    assert release.manifest["figures"]["leaves of tree 1"] == len(model.tree.leaves)
    assert release.manifest["figures"]["model of tree 1"] == "m"
    check_same(duck, model)
    assert duck.verify("open").holds


@pytest.mark.wide
@pytest.mark.postgres
def test_it_does_so_on_postgres_too(postgres_engine, make_table, tmp_path):
    session = opened(postgres_engine, make_table, tmp_path)
    model = train(session, max_leaves=4)
    session.publish(policy())
    check_same(session, model)
    assert session.verify("open").holds


def test_a_model_and_an_inducer_in_one_list(duck):
    """The model is kept whole, the other tree as far as it goes then."""
    model = train(duck, max_leaves=3)
    release = duck.publish(
        policy("m, id3 (max_leaves = 5, min_leaf = 5), regression (target = days, max_leaves = 3)", "k = 2")
    )
    figures = release.manifest["figures"]
    assert figures["leaves of tree 1"] == 3
    assert figures["leaves of tree 3"] >= 2
    check_same(duck, model)
    assert duck.verify("open").holds


@pytest.mark.wide
def test_two_models_with_columns_of_their_own(duck):
    """A model that looks at one column keeps its own order of columns."""
    duck.train("first", "SELECT ward, age, back FROM people", "back", inducer="cart", options=KEPT | {"max_leaves": 3})
    duck.train("second", "SELECT age, days FROM people", "days", inducer="regression", options=KEPT | {"max_leaves": 2})
    release = duck.publish(policy('"first", Second', "k = 2"))
    first, second = release.manifest["patterns"]
    assert [one["name"] for one in first["attributes"]] == ["ward", "age"]
    assert [one["name"] for one in second["attributes"]] == ["age"]
    assert duck.verify("open").holds


@pytest.mark.wide
def test_an_imported_model_is_one_like_any_other(duck):
    model = train(duck, max_leaves=4)
    library.import_model(duck.engine, tree_text(model.tree, "m"), "brought")
    duck.publish(policy("brought"))
    check_same(duck, model)


def test_a_model_of_other_rows_is_refused_in_counts(duck):
    train(duck, max_leaves=4)
    duck.engine.pass_through("DELETE FROM people WHERE age < 24")
    left = len(fetch(duck, "SELECT * FROM people"))
    with pytest.raises(RequirementBreached) as told:
        duck.publish(policy())
    assert 'model "m" does not come from these rows: ' in str(told.value)
    assert f"grown from 150 rows, the source has {left}; nothing was published" in str(told.value)
    duck.engine.pass_through("UPDATE people SET back = 'never' WHERE back = 'no'")
    with pytest.raises(RequirementBreached, match="it knows 2 classes, the source 2, and not the same"):
        duck.publish(policy())
    assert duck.releases() == []


def test_a_model_that_the_requirements_do_not_let_grow_is_refused(duck):
    leaves = len(train(duck).tree.leaves)
    with pytest.raises(RequirementBreached, match=f"its tree has {leaves} leaves, and after . one more split"):
        duck.publish(policy(required="k = 70"))
    assert duck.releases() == []


@pytest.mark.parametrize(
    ("made", "text", "message"),
    [
        ({"prune": True}, policy(), r"train it with prune = false"),
        ({"rare": 5, "exact_midpoints": False}, policy(), r"train it with exact_midpoints = true, rare = 1"),
        ({"inducer": "c45"}, policy(), "the correction of c45 counts"),
        ({}, policy("n"), "there is no model n"),
        ({}, policy("m (min_leaf = 3)"), "takes no options"),
        ({"max_leaves": 4}, policy(options="(max_leaves = 3)"), "has 4 leaves, but max_leaves of ALGORITHM tpp is 3"),
        ({}, policy(options="(on_failure = skip)"), "a model in PRESERVE is kept whole"),
        ({"target": "illness"}, policy(), '"illness" is SENSITIVE and the response of a preserved tree'),
        ({}, policy().replace("QUASI IDENTIFIER (age, ward)", "QUASI IDENTIFIER (age) INSENSITIVE (ward, days)")
         .replace("INSENSITIVE (days)", ""), 'model "m" uses "ward", which must be a QUASI IDENTIFIER'),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_refused_with_its_reason(duck, made, text, message):
    train(duck, **made)
    with pytest.raises(PolicyError, match=message):
        duck.publish(text)
    assert duck.releases() == []


@pytest.mark.parametrize("inducer", ["naive_bayes", "conjunctive_rules"])
def test_a_model_that_is_no_tree_cannot_be_kept(duck, inducer):
    duck.train("m", SOURCE.format(target="back"), "back", inducer=inducer)
    with pytest.raises(PolicyError, match='PRESERVE: model "m" is not a tree'):
        duck.publish(policy())
    assert duck.releases() == []


@pytest.mark.wide
def test_a_quoted_name_is_a_models_even_if_it_is_an_inducers(duck):
    train(duck, "cart", max_leaves=3)
    release = duck.publish(policy('"cart"'))
    assert release.manifest["figures"]["model of tree 1"] == "cart"
    assert "model of tree 1" not in duck.publish(policy("cart")).manifest["figures"]
