"""Naive Bayes: the counts and the answers are those of the definition, in SQL and in Python alike."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction

import pytest
from classifier_tables import TARGET, random_rows, store, strange_rows
from sqlglot import exp

from ppdm_sql.classifiers.domains import CategoricalDomain
from ppdm_sql.classifiers.naive_bayes import NaiveBayes, learn, predict_one, predict_query
from ppdm_sql.classifiers.values import UNIT
from ppdm_sql.statements.names import Name
from tests.oracles import naive_bayes as oracle


def told(model):
    """What the oracle knows of each attribute: the published boundaries, moments as text like the rows'."""
    return {
        attribute.name: None if isinstance(part.domain, CategoricalDomain) else list(part.domain.boundaries)
        for attribute, part in zip(model.attributes, model.parts, strict=True)
    }


def as_told(row):
    """Moments as text, as boundaries are: years 1 to 9999 sort alike."""
    return {
        name: str(value) if name in ("Größe 🙂", "ppdm_value") and value is not None else value
        for name, value in row.items()
    }


def answers(engine, query):
    """key -> (class, scores...) as the engine gives them."""
    return {row[0]: row[1:] for row in engine.fetch(query)}


@pytest.mark.parametrize(("seed", "bins", "laplace", "rare"), [(1, 4, 1, 5), (2, 30, 2, 1), (3, 3, 0, 3)])
def test_answers_are_those_of_the_definition(engine, make_table, seed, bins, laplace, rare):
    rows = random_rows(seed, rows=90)
    relation, attributes, target = store(engine, make_table, rows)
    model = learn(engine, relation, attributes, target, bins=bins, laplace=laplace, rare=rare)
    assert list(model.classes) == oracle.classes(rows, TARGET, rare)
    assert model.without_class == sum(row[TARGET] is None for row in rows)
    assert sum(model.priors) + model.without_class + model.of_rare_classes == len(rows)

    asked = rows[:40] + strange_rows(rows)
    everything, _, _ = store(engine, make_table, asked, "asked")
    found = answers(engine, predict_query(model, everything, ["key"], engine=engine, scores=True))
    seen = [as_told(row) for row in rows]
    for row in asked:
        shares = oracle.likelihoods(seen, told(model), TARGET, as_told(row), laplace=laplace, rare=rare)
        assert found[row["key"]][1:] == model.scores(row)
        assert found[row["key"]][0] == predict_one(model, row) == oracle.best(model.classes, shares)
        for score, share in zip(model.scores(row), shares, strict=True):
            assert share == 0 or math.isclose(score / UNIT, math.log(share), abs_tol=1e-7)
            assert share > 0 or score < -(1 << 50)


@pytest.mark.parametrize(("bins", "few"), [(2, 0), (5, 0), (7, 10_000)])
def test_boundaries_lie_in_the_gaps_and_are_nobodys_value(engine, make_table, monkeypatch, bins, few):
    monkeypatch.setattr("ppdm_sql.classifiers.cells._FEW", few)  # above it the bins are found in the database
    rows = random_rows(5, rows=90)
    relation, attributes, target = store(engine, make_table, rows)
    model = learn(engine, relation, attributes, target, bins=bins)
    kept = [as_told(row) for row in oracle.learned(rows, TARGET, 5)]
    for attribute, boundaries in told(model).items():
        if boundaries is None or attribute == "small":  # a short float's digits are not its value
            continue
        values = [row[attribute] for row in kept]
        gaps = oracle.gaps(values, bins)
        assert len(gaps) == len(boundaries)
        for (low, high), boundary in zip(gaps, boundaries, strict=True):
            assert low < boundary <= high
            if attribute == "ppdm" or (attribute == "select" and high - low > 1):  # another number is there
                assert boundary not in values


def test_gaussian_scores_are_those_of_the_density(engine, make_table):
    rows = random_rows(7, rows=60)
    relation, attributes, target = store(engine, make_table, rows)
    numeric = ("select", "ppdm_a0", "small")
    chosen = [info for info in attributes if info.name in numeric]
    model = learn(engine, relation, chosen, target, numeric="gaussian")
    kept = oracle.learned(rows, TARGET, 5)
    asked = rows + strange_rows(rows)
    everything, _, _ = store(engine, make_table, asked, "asked")
    found = answers(engine, predict_query(model, everything, ["key"], engine=engine, scores=True))
    for row in asked:
        assert found[row["key"]] == (model.predict(row), *model.scores(row))
        sums = [math.log(p) for p in oracle.likelihoods(rows, {}, TARGET, row, laplace=1, rare=5)]
        for name in numeric:
            logs = oracle.gaussian_logs(kept, name, TARGET, model.classes, row[name])
            sums = [total + log for total, log in zip(sums, logs, strict=True)]
        for score, expected in zip(model.scores(row), sums, strict=True):
            # a short float comes back as the number nearest to what was written
            assert math.isclose(score / UNIT, expected, rel_tol=1e-5, abs_tol=1e-5)


def test_infinity_and_nan_have_no_part_in_the_moments(engine, make_table):
    rows = random_rows(8)
    relation, attributes, target = store(engine, make_table, rows)
    (info,) = [info for info in attributes if info.name == "ppdm"]
    model = learn(engine, relation, [info], target, numeric="gaussian")
    kept = oracle.learned(rows, TARGET, 5)
    finite = [row for row in kept if row["ppdm"] is not None and math.isfinite(row["ppdm"])]
    assert sum(moments[0] for moments in model.parts[0].moments) == len(finite) < len(kept)
    for odd in (math.nan, math.inf, -math.inf, None):
        assert model.scores({"ppdm": odd}) == model.prior_weights
    found = dict(engine.fetch(predict_query(model, relation, ["key"], engine=engine)))
    assert found == {row["key"]: model.predict(row) for row in rows}


EXTREMES = [0.0, -0.0, 5e-324, 1e-300, 1.0, 1e300, -1e300, 1.7e308, -1.7e308, math.inf, -math.inf, math.nan, None]


@pytest.mark.parametrize(
    "learned", [[0.0, 1e-300, -1e-300], [1e300, -1e300, 5e-324], [1.7e308, -1.7e308, 1.0], [1e9, 1e9 + 1e-6]]
)
def test_gaussian_numbers_at_the_ends_of_what_there_is(engine, make_table, learned):
    rows = [(value, "xyz"[place]) for place, value in enumerate(learned) for _ in range(6)]
    relation = make_table(engine, "t", {"n": "DOUBLE", "y": "TEXT"}, rows)
    asked = make_table(engine, "asked", {"n": "DOUBLE"}, [(value,) for value in [*EXTREMES, *learned]])
    attribute, target = engine.columns(relation)
    model = learn(engine, relation, [attribute], target, numeric="gaussian")
    found = engine.fetch(predict_query(model, asked, ["n"], engine=engine, scores=True))
    assert all((label, *scores) == (model.predict({"n": n}), *model.scores({"n": n})) for n, label, *scores in found)
    assert [model.predict({"n": value}) for value in learned] == list("xyz"[: len(learned)])


def test_the_vectors_of_the_mortgage_table(engine, make_table):
    """Three and three people; the products are known."""
    rows = [
        ("M", "Y", "good"),
        ("U", "Y", "good"),
        ("M", "N", "bad"),
        ("M", "N", "bad"),
        ("U", "Y", "bad"),
        ("U", "N", "bad"),
    ]
    relation = make_table(engine, "m", {"marital": "TEXT", "sports": "TEXT", "risk": "TEXT"}, rows)
    *attributes, target = engine.columns(relation)
    for laplace, asked, products in [
        (0, ("U", "Y"), {"good": Fraction(1, 6), "bad": Fraction(1, 12)}),
        (1, ("U", "Y"), {"good": Fraction(1, 8), "bad": Fraction(1, 9)}),
        (0, ("M", "N"), {"good": Fraction(0), "bad": Fraction(1, 4)}),
        (1, ("M", "N"), {"good": Fraction(1, 24), "bad": Fraction(2, 9)}),
    ]:
        model = learn(engine, relation, attributes, target, laplace=laplace, laplace_prior=False, rare=1)
        scores = dict(
            zip(model.classes, model.scores(dict(zip(("marital", "sports"), asked, strict=True))), strict=True)
        )
        for label, product in products.items():
            assert (
                scores[label] == -(1 << 52)
                if product == 0
                else math.isclose(scores[label] / UNIT, math.log(product), rel_tol=1e-8)
            )
        assert predict_one(model, {"marital": asked[0], "sports": asked[1]}) == max(products, key=products.get)


def test_shares_add_up_and_follow_the_scores(engine, make_table):
    rows = random_rows(9)
    relation, attributes, target = store(engine, make_table, rows)
    model = learn(engine, relation, attributes, target, numeric="gaussian")
    query = predict_query(model, relation, ["key", 'o"brien'], engine=engine, shares=True)
    for key, word, label, *shares in engine.fetch(query):
        scores = model.scores(rows[key])
        assert word == rows[key]['o"brien']
        assert math.isclose(sum(shares), 1.0)
        assert math.isclose(shares[model.classes.index(label)], max(shares), rel_tol=1e-5)
        expected = [math.exp((score - max(scores)) / UNIT) for score in scores]
        assert shares == pytest.approx([weight / sum(expected) for weight in expected], abs=1e-9)


def test_a_long_sum_is_made_in_parts(engine, make_table, monkeypatch):
    rows = random_rows(10, rows=60)
    relation, attributes, target = store(engine, make_table, rows)
    model = learn(engine, relation, attributes, target)
    monkeypatch.setattr("ppdm_sql.classifiers.bayes_query._MOST_TERMS", 2)
    query = predict_query(model, relation, ["key"], engine=engine, scores=True)
    assert answers(engine, query) == {row["key"]: (model.predict(row), *model.scores(row)) for row in rows}


def test_no_score_is_added_up_twice(engine, make_table):
    """An engine that copies a subquery's expressions to where they are used would do so classes^2 times."""
    rows = [(n % 7, "abcdef"[n % 6]) for n in range(60)]
    relation = make_table(engine, "t", {"n": "INTEGER", "y": "TEXT"}, rows)
    attribute, target = engine.columns(relation)
    query = predict_query(learn(engine, relation, [attribute], target), relation, ["n"], engine=engine, shares=True)
    layers = list(query.find_all(exp.Subquery))
    assert len(layers) > 3
    assert all((layer.this.args.get("offset") is not None) == engine.repeats_subqueries for layer in layers)
    assert len(engine.fetch(query)) == len(rows)


def test_exact_ties_go_to_the_first_class(engine, make_table):
    """1/2 * 1/2 and 1 * 1/4 are the same product by different logarithms."""
    pairs = [("b", 0, 0)] * 4 + [("b", 0, 1)] * 4 + [("b", 1, 0)] * 4 + [("b", 1, 1)] * 4
    pairs += [("a", 0, place) for place in (0, 1, 2, 3) for _ in range(4)]
    relation = make_table(
        engine, "t", {"y": "TEXT", "u": "TEXT", "v": "TEXT"}, [(y, str(u), str(v)) for y, u, v in pairs]
    )
    target, *attributes = engine.columns(relation)
    model = learn(engine, relation, attributes, target, laplace=0, rare=1)
    scores = model.scores({"u": "0", "v": "0"})
    assert abs(scores[0] - scores[1]) < 10
    assert predict_one(model, {"u": "0", "v": "0"}) == "a"
    found = {row[:2]: row[2] for row in engine.fetch(predict_query(model, relation, ["u", "v"], engine=engine))}
    assert found["0", "0"] == "a"
    assert found["1", "0"] == "b"


def test_rare_categories_and_classes_are_not_named(engine, make_table):
    rows = (
        [("common", "x")] * 10
        + [("seldom", "x")] * 4
        + [("common", "y")] * 9
        + [("other", "y")] * 3
        + [("common", "z")] * 4
    )
    relation = make_table(engine, "t", {"w": "TEXT", "y": "TEXT"}, rows)
    attribute, target = engine.columns(relation)
    model = learn(engine, relation, [attribute], target, rare=5)
    assert model.parts[0].domain.values == ("common",)
    assert model.parts[0].counts == ((10, 9), (4, 3))
    assert (model.classes, model.priors, model.of_rare_classes) == (("x", "y"), (14, 12), 4)
    assert "seldom" not in json.dumps(model.to_dict())


@pytest.mark.parametrize("numeric", ["bins", "gaussian"])
def test_a_model_survives_json(duckdb_engine, make_table, numeric):
    rows = random_rows(11)
    relation, attributes, target = store(duckdb_engine, make_table, rows)
    model = learn(duckdb_engine, relation, attributes, target, numeric=numeric)
    again = NaiveBayes.from_dict(json.loads(json.dumps(model.to_dict())))
    assert again == model
    assert [again.scores(row) for row in rows] == [model.scores(row) for row in rows]


def test_nothing_of_ours_is_left_behind(engine, make_table):
    rows = random_rows(12)
    relation, attributes, target = store(engine, make_table, rows)
    heard: list[str] = []
    engine.on_statement = heard.append
    learn(engine, relation, attributes, target)
    engine.on_statement = None
    made = {name for sql in heard for name in re.findall(r"TABLE .?(ppdm_cells_[0-9]+)", sql)}
    assert len(made) == len(attributes)
    assert [name for name in made if engine.relation_kind(Name(name))] == []


@pytest.mark.duckdb
def test_text_is_compared_by_its_bytes_whatever_its_collation(duckdb_engine):
    duckdb_engine.pass_through("CREATE TABLE t (w VARCHAR COLLATE NOCASE, y VARCHAR COLLATE NOCASE)")
    duckdb_engine.pass_through("INSERT INTO t SELECT v.* FROM (VALUES ('a', 'x'), ('A', 'X')) AS v, range(8)")
    relation = Name("t")
    attribute, target = duckdb_engine.columns(relation)
    model = learn(duckdb_engine, relation, [attribute], target)
    assert model.parts[0].domain.values == ("A", "a")
    assert model.classes == ("X", "x")
    found = set(duckdb_engine.fetch(predict_query(model, relation, ["w"], engine=duckdb_engine)))
    assert found == {("a", "x"), ("A", "X")}
