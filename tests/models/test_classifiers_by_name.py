"""Naive Bayes and rules under a name: what the database says of a row is what the model says of it in Python."""

from __future__ import annotations

import inspect
import math

import pytest
from model_tables import COLUMNS, OPTIONS, TABLE, TARGET, as_dict, some_rows, strange_rows
from sqlglot import exp

from ppdm_sql.classifiers import conjunctive_rules, naive_bayes
from ppdm_sql.classifiers.values import UNIT
from ppdm_sql.errors import PolicyError, PpdmError, Tampered
from ppdm_sql.models import library
from ppdm_sql.models.bayes_kind import BayesKind
from ppdm_sql.models.kinds import kind_of_inducer
from ppdm_sql.models.rules_kind import RulesKind
from ppdm_sql.policy.options import declared_options, default_options
from ppdm_sql.statements.names import Name, column

ROWS = some_rows(3)
SOURCE = "SELECT {} FROM people".format(
    ", ".join('"{}"'.format(name.replace('"', '""')) for name in TABLE if name != "key")
)
every_option = pytest.mark.parametrize("which", OPTIONS)
both = pytest.mark.parametrize("which", ["gaussian", "rules"])


@pytest.fixture
def people(engine, make_table) -> Name:
    return make_table(engine, "people", TABLE, ROWS)


def trained(engine, which, name="m", **more):
    inducer, options = OPTIONS[which]
    return library.train(engine, name, SOURCE, TARGET, inducer=inducer, options=options, **more)


def answers(engine, table, names):
    query = exp.Select(expressions=[column(name) for name in names]).from_(Name(table).table())
    return {row[0]: tuple(row[1:]) for row in engine.fetch(query)}


@every_option
def test_the_table_tells_what_the_model_says(engine, make_table, people, which):
    model = trained(engine, which)
    make_table(engine, "asked", TABLE, ROWS + strange_rows())
    done = library.predict_into(engine, model, "asked", "told", ["KEY"])
    assert done.rows == len(ROWS) + 2
    rule = ["ppdm_rule"] if which == "rules" else []
    assert [info.name for info in engine.columns(Name("told"))] == ["key", *rule, "ppdm_class", "ppdm_share"]
    found = answers(engine, "told", ["key", *rule, "ppdm_class", "ppdm_share"])
    for row in map(as_dict, ROWS + strange_rows()):
        *decided, label, share = found[row["key"]]
        assert label == model.learned.predict(row)
        if which == "rules":
            rule = model.learned.rules[decided[0] - 1]
            assert rule is model.learned.rule_of(row)
            assert math.isclose(share, max(rule.counts) / sum(rule.counts))
        else:
            weights = [math.exp((one - max(model.learned.scores(row))) / UNIT) for one in model.learned.scores(row)]
            expected = weights[model.learned.classes.index(label)] / sum(weights)
            assert math.isclose(share, expected, abs_tol=1e-9)
    assert len({one[-2] for one in found.values()}) > 1


@both
def test_what_is_kept_is_what_was_learned(engine, people, which):
    model = trained(engine, which)
    inducer, options = OPTIONS[which]
    learner = conjunctive_rules if which == "rules" else naive_bayes
    columns = {info.name: info for info in engine.columns(people)}
    settings = {**model.record.options}
    again = learner.learn(engine, people, [columns[name] for name in COLUMNS], columns[TARGET], **settings)
    assert model.learned == again
    assert library.load(engine, "m") == model
    assert (model.record.kind, model.record.inducer) == ("rules" if which == "rules" else "naive_bayes", inducer)
    assert settings == {**default_options(learner.learn), **settings}
    assert {name: str(settings[name]).lower() for name in options} == {k: str(v) for k, v in options.items()}
    left = sum(row[-1] in (None, "rare") for row in ROWS)
    assert (model.record.rows, model.record.left_out) == (len(ROWS) - left, left)
    assert (model.record.rare, model.record.is_raw) == (5, False)
    text, _ = library.export_text(engine, "m")
    other = library.import_model(engine, text, "copy")
    assert other.learned == model.learned
    assert (other.record.rows, other.record.left_out, other.record.rare) == (len(ROWS) - left, left, None)
    assert library.export_text(engine, "copy")[0] == text.replace('"name": "m"', '"name": "copy"', 1)
    assert [record.name for record in library.list_models(engine)] == ["copy", "m"]
    library.drop(engine, "m")
    with pytest.raises(PolicyError, match='no model "m"'):
        library.load(engine, "m")


@pytest.mark.parametrize("inducer", ["naive_bayes", "conjunctive_rules"])
def test_rare_values_are_named_only_when_asked_for(engine, make_table, inducer):
    rows = [("common", "no")] * 9 + [("often", "yes")] * 8 + [("hermit", "odd")] * 4
    make_table(engine, "people", {"w": "TEXT", "y": "TEXT"}, rows)
    stored = exp.Select(expressions=[column("body"), column("classes")]).from_(Name("ppdm", "model").table())
    careful = library.train(engine, "careful", "people", "y", inducer=inducer)
    assert not [row for row in engine.fetch(stored) if "hermit" in str(row) or "odd" in str(row)]
    assert (careful.record.rows, careful.record.left_out) == (17, 4)
    raw = library.train(engine, "raw", "people", "y", inducer=inducer, rare=1, options={})
    assert raw.record.is_raw
    assert [row for row in engine.fetch(stored) if "odd" in row[1]]
    if inducer == "naive_bayes":  # a list names what its rules need
        assert [row for row in engine.fetch(stored) if "hermit" in row[0]]
    assert raw.learned.predict({"w": "hermit"}) == "odd"


@both
def test_a_view_says_the_same_and_a_macro_where_it_can(engine, people, which):
    model = trained(engine, which)
    library.predict_into(engine, model, "people", "told", ["key"])
    assert library.install(engine, "m", view="seen_by_m", source="people", keep=["key"], replace=False) == "seen_by_m"
    names = ["key", "ppdm_class", "ppdm_share"]
    assert answers(engine, "seen_by_m", names) == answers(engine, "told", names)
    library.install(engine, "m", view="seen_by_m", source="people", keep=["key"], replace=True)
    with pytest.raises(PolicyError, match="already exists"):
        library.install(engine, "m", view="people", source="people", keep=[], replace=True)
    if which != "rules":
        with pytest.raises(PolicyError, match="not a single expression"):
            library.install(engine, "m", view=None, source=None, keep=[], replace=False)
    elif not engine.has_macros:
        with pytest.raises(PolicyError, match="has no macros"):
            library.install(engine, "m", view=None, source=None, keep=[], replace=False)
    else:
        library.install(engine, "m", view=None, source=None, keep=[], replace=False)
        taken = [column(model.learned.attributes[used].name) for used in model.learned.used_attributes()]
        said = exp.Anonymous(this="predict_m", expressions=taken)
        query = exp.Select(expressions=[column("key"), said]).from_(Name("people").table())
        assert dict(engine.fetch(query)) == {key: label for key, (label, _) in answers(engine, "told", names).items()}


# Trained on the first column, asked about the second: the same values in another type.
OTHER_TYPES = [
    ("INTEGER", "BIGINT", list(range(-5, 25))),
    ("INTEGER", "DOUBLE", list(range(-5, 25))),
    ("DOUBLE", "INTEGER", [n * 0.75 - 3 for n in range(40)]),
    ("DOUBLE", "DECIMAL(8, 1)", [n * 0.35 - 3 for n in range(40)]),
    ("DECIMAL(8, 3)", "DECIMAL(6, 1)", [n * 0.125 for n in range(40)]),
    ("REAL", "DOUBLE", [n * 0.25 for n in range(40)]),
]


@pytest.mark.parametrize("inducer", ["naive_bayes", "conjunctive_rules"])
@pytest.mark.parametrize(("learned", "asked", "values"), OTHER_TYPES)
def test_columns_of_another_type_are_compared_as_numbers(duckdb_engine, make_table, inducer, learned, asked, values):
    from decimal import Decimal

    from tests.conftest import arrow_type

    def of_type(kind, value):
        if kind.startswith("DECIMAL"):
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-arrow_type(kind).scale))
        return int(value) if kind in ("INTEGER", "BIGINT") else float(value)

    engine, middle = duckdb_engine, sorted(values)[len(values) // 2]
    rows = [(of_type(learned, value), "low" if value < middle else "high") for value in values for _ in range(3)]
    make_table(engine, "seen", {"n": learned, "y": "TEXT"}, rows)
    model = library.train(engine, "m", "seen", "y", inducer=inducer, rare=1)
    told = [(of_type(asked, value),) for value in values]
    make_table(engine, "asked", {"n": asked}, told)
    library.predict_into(engine, model, "asked", "told")
    found = answers(engine, "told", ["n", "ppdm_class"])
    assert found == {n: (model.learned.predict({"n": n}),) for (n,) in told}
    assert {label for (label,) in found.values()} == {"low", "high"}


@pytest.mark.parametrize("inducer", ["naive_bayes", "conjunctive_rules"])
def test_what_does_not_fit_is_refused_before_anything_is_made(engine, make_table, people, inducer):
    model = library.train(engine, "m", SOURCE, TARGET, inducer=inducer)
    make_table(engine, "few", {"key": "INTEGER"}, [(1,)])
    make_table(engine, "wrong", {**TABLE, "select": "TEXT"}, [(*row[:2], str(row[2]), *row[3:]) for row in ROWS[:3]])
    for source, message in (("few", "which the model needs"), ("wrong", "was trained on a column of kind integer")):
        if inducer == "naive_bayes" or source == "few":
            with pytest.raises(PolicyError, match=message):
                library.predict_into(engine, model, source, "told")
    with pytest.raises(PolicyError, match="reserved for ppdm_sql"):
        library.train(engine, "x", 'SELECT "key" AS ppdm_key, flag FROM people', "flag", inducer=inducer)
    with pytest.raises(PolicyError, match="a class must be text"):
        library.train(engine, "x", people.last, "seen", inducer=inducer)
    with pytest.raises(PolicyError, match="to keep"):
        library.predict_into(engine, model, "people", "told", ["nothing"])
    assert engine.relation_kind(Name("told")) is None
    assert [record.name for record in library.list_models(engine)] == ["m"]


@pytest.mark.parametrize(
    ("inducer", "options", "message"),
    [
        ("naive_baies", {}, "unknown learner naive_baies: did you mean naive_bayes?"),
        ("naive_bayes", {"laplce": 1}, "naive_bayes has no option laplce: did you mean laplace?"),
        ("naive_bayes", {"min_leaf": 1}, "naive_bayes has no option min_leaf; valid options: numeric, bins, laplace"),
        ("naive_bayes", {"numeric": "normal"}, "numeric of naive_bayes must be bins or gaussian, not normal"),
        (
            "naive_bayes",
            {"laplace": "half"},
            "laplace of naive_bayes must be a whole number from 0 to 1,000,000, not half",
        ),
        (
            "naive_bayes",
            {"laplace_prior": "perhaps"},
            "laplace_prior of naive_bayes must be true or false, not perhaps",
        ),
        ("naive_bayes", {"bins": 0}, "bins of naive_bayes must be a whole number from 1 to 1,000, not 0"),
        ("conjunctive_rules", {"max_rule": 1}, "did you mean max_rules?"),
        ("conjunctive_rules", {"beam": 9}, "beam of conjunctive_rules must be a whole number from 1 to 5, not 9"),
        (
            "conjunctive_rules",
            {"max_tests": 1.5},
            "max_tests of conjunctive_rules must be a whole number from 1 to 1,000, not 1.5",
        ),
        ("conjunctive_rules", {"bins": 256}, "bins of conjunctive_rules must be a whole number from 1 to 255, not 256"),
        ("c45", {"laplace": 1}, "c45 has no option laplace"),
    ],
)
def test_options_are_checked_before_any_work(duckdb_engine, inducer, options, message):
    with pytest.raises(PolicyError, match=message):
        library.train(duckdb_engine, "m", "nowhere", "y", inducer=inducer, options=options)


def test_every_option_of_a_learner_can_be_set():
    for kind in (BayesKind(), RulesKind()):
        taken = inspect.signature(kind.learner).parameters.values()
        by_name = [one.name for one in taken if one.kind is inspect.Parameter.KEYWORD_ONLY]
        assert list(declared_options(kind.learner)) == by_name
        assert kind.settings(kind.inducers[0], {}).options == default_options(kind.learner)
        assert isinstance(kind_of_inducer(kind.inducers[0]), type(kind))


@pytest.mark.duckdb
@both
def test_a_body_that_somebody_changed_is_refused(duckdb_engine, make_table, which):
    make_table(duckdb_engine, "people", TABLE, ROWS)
    trained(duckdb_engine, which)
    duckdb_engine.pass_through("UPDATE ppdm.model SET body = replace(body, '\"classes\"', '\"lasses\"')")
    with pytest.raises(Tampered, match="damaged: .*has an entry that this version does not know"):
        library.load(duckdb_engine, "m")


@pytest.mark.duckdb
def test_a_kind_of_a_later_version_is_told_apart(duckdb_engine, make_table):
    make_table(duckdb_engine, "people", TABLE, ROWS)
    trained(duckdb_engine, "rules")
    duckdb_engine.pass_through("UPDATE ppdm.model SET kind = 'forest'")
    with pytest.raises(PpdmError, match="this version has no kind of model forest"):
        library.load(duckdb_engine, "m")


@pytest.mark.duckdb
def test_a_failed_training_keeps_the_former_model(duckdb_engine, make_table):
    make_table(duckdb_engine, "people", TABLE, ROWS)
    first = trained(duckdb_engine, "rules")
    with pytest.raises(PpdmError, match="enough rows"):
        library.train(duckdb_engine, "m", f'{SOURCE} WHERE "key" > 5000', TARGET, inducer="naive_bayes", replace=True)
    assert library.load(duckdb_engine, "m").learned == first.learned
    with pytest.raises(PolicyError, match="already exists"):
        trained(duckdb_engine, "bins")
    assert trained(duckdb_engine, "bins", replace=True).record.kind == "naive_bayes"


@pytest.mark.duckdb
def test_a_model_too_large_to_hand_over_is_not_kept(duckdb_engine, make_table, monkeypatch):
    make_table(duckdb_engine, "people", TABLE, ROWS)
    monkeypatch.setattr("ppdm_sql.trees.exchange.MOST_BYTES", 500)
    with pytest.raises(PolicyError, match="the model would take more than"):
        trained(duckdb_engine, "bins")
    assert library.list_models(duckdb_engine) == []


def test_pseudo_rows_name_everything(duckdb_engine, make_table):
    make_table(duckdb_engine, "people", TABLE, ROWS)
    options = {"laplace": "3"}
    model = library.train_on(
        duckdb_engine, "m", Name("people"), [*COLUMNS, TARGET], TARGET,
        inducer="naive_bayes", source="people", options=options,
    )  # fmt: skip
    assert (model.learned.laplace, model.record.rare) == (3, 1)
    assert {attribute.name for attribute in model.learned.attributes} == set(COLUMNS)
    with pytest.raises(PolicyError, match="rare protects the rows of people"):
        library.train_on(
            duckdb_engine, "x", Name("people"), [TARGET], TARGET, inducer="c45", source="people", options={"rare": 5}
        )
