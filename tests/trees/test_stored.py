"""A tree in the catalog: what is loaded is what was saved, and a DBA can read it there."""

from __future__ import annotations

import hand
import pytest

from ppdm_sql.catalog import migrate, models
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.trees.stored import record_of, rows_of, tree_of


@pytest.fixture
def catalog(engine):
    migrate.migrate(engine)
    return engine


def saved(engine, name, tree, **more):
    with engine.transaction():
        models.save(engine, record_of(name, tree, rows=tree.root.rows), rows_of(tree), **more)


def loaded(engine, name):
    return tree_of(engine, models.find(engine, name))


def test_what_is_loaded_is_what_was_saved(catalog):
    for seed in range(6):
        tree = hand.a_tree(seed, nodes=(1, 60)[seed > 0], depth=9, regression=seed % 3 == 2)
        saved(catalog, f"model {seed} é", tree)
        assert repr(loaded(catalog, f"model {seed} é")) == repr(tree)  # repr: NaN equals nothing
    assert [found.name for found in models.list_models(catalog)] == [f"model {seed} é" for seed in range(6)]


def test_a_name_is_taken_until_it_is_replaced_or_dropped(catalog):
    first, second = hand.a_tree(1, nodes=5), hand.a_tree(2, nodes=20)
    saved(catalog, "m", first)
    with pytest.raises(PolicyError, match='model "m" already exists; --replace'):
        saved(catalog, "m", second)
    assert loaded(catalog, "m") == first
    saved(catalog, "m", second, replace=True)
    assert repr(loaded(catalog, "m")) == repr(second)  # it may name NaN, which equals nothing
    models.add_event(catalog, models.find(catalog, "m").model_id, "dropped")
    assert models.find(catalog, "m") is None
    saved(catalog, "m", first)
    assert loaded(catalog, "m") == first
    assert len(models.list_models(catalog)) == 1


def test_a_dba_can_read_what_a_tree_says(catalog):
    tree = hand.cut_tree("age", hand.Kind.INTEGER, "30.50", nulls=1)
    saved(catalog, "m", tree)
    read = catalog.pass_through(
        "SELECT n.attribute_name, n.threshold, b.condition, c.answer, c.rows FROM ppdm.model_node n JOIN ppdm.model_branch b"
        " ON b.model_id = n.model_id AND b.node = n.node JOIN ppdm.model_node c ON c.model_id = n.model_id AND c.node = b.child ORDER BY b.branch"
    )
    assert [tuple(row) for row in read.rows] == [
        ("age", "30.50", "age < 30.5", '"no"', 4),
        ("age", "30.50", "age >= 30.5 or NULL", '"yes"', 4),
    ]


def test_saving_takes_no_statement_per_node(catalog):
    said: list[str] = []
    catalog.on_statement = said.append
    saved(catalog, "m", hand.a_tree(3, nodes=400))
    assert len(said) < 45


@pytest.mark.duckdb
def test_rows_changed_by_hand_are_not_believed(duckdb_engine):
    catalog = duckdb_engine
    migrate.migrate(catalog)
    saved(catalog, "m", hand.a_tree(3, nodes=30))
    catalog.pass_through("UPDATE ppdm.model_count SET rows = rows + 1 WHERE node = 0")
    with pytest.raises(Tampered, match="damaged: .*do not add up"):
        loaded(catalog, "m")


@pytest.mark.duckdb
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE ppdm.model_node SET threshold = 'abc' WHERE threshold IS NOT NULL",
        "UPDATE ppdm.model_value SET value = '{'",
        "UPDATE ppdm.model_branch SET child = 999",
        "UPDATE ppdm.model_node SET attribute = 99 WHERE attribute IS NOT NULL",
        "UPDATE ppdm.model SET attributes = '[]'",
        "UPDATE ppdm.model SET attributes = 'no JSON'",
        "UPDATE ppdm.model SET target = '3'",
        "DELETE FROM ppdm.model_node",
    ],
)
def test_rows_that_make_no_tree_are_damaged(duckdb_engine, change):
    migrate.migrate(duckdb_engine)
    saved(duckdb_engine, "m", hand.a_tree(3, nodes=30))
    duckdb_engine.pass_through(change)
    with pytest.raises(Tampered, match='model "m": its rows in the catalog are damaged'):
        loaded(duckdb_engine, "m")
    assert [found.name for found in models.list_models(duckdb_engine)] == ["m"]


@pytest.mark.duckdb
def test_names_that_nobody_could_type_are_refused(duckdb_engine):
    migrate.migrate(duckdb_engine)
    for name in ["", "  ", "x" * 201, "a\nb", "a\0b"]:
        with pytest.raises(PolicyError, match="1 to 200 printable characters"):
            saved(duckdb_engine, name, hand.a_tree(1, nodes=5))


@pytest.mark.duckdb
def test_a_model_that_fails_half_way_leaves_nothing(duckdb_engine, monkeypatch):
    migrate.migrate(duckdb_engine)
    monkeypatch.setattr(models, "_add_event", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        saved(duckdb_engine, "m", hand.a_tree(1, nodes=5))
    assert duckdb_engine.pass_through("SELECT count(*) FROM ppdm.model").rows == [(0,)]
