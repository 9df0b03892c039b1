"""A grid is the policy's own statement with other methods and requirements in it, and what it measures is true."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from sqlglot import exp

from ppdm_sql.catalog import evaluations, releases
from ppdm_sql.catalog.evaluations import EvaluationPoint
from ppdm_sql.cells import aggregate as aggregation
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate import bench as bench_module
from ppdm_sql.evaluate import points, run
from ppdm_sql.evaluate.bench import EvaluationBench, open_table
from ppdm_sql.evaluate.grid import choose_statement, points_of, read_grid, read_methods
from ppdm_sql.evaluate.learners import Score
from ppdm_sql.evaluate.protocol import read_protocol
from ppdm_sql.evaluate.run import Stopped, evaluate_policy
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import Place, Publish
from ppdm_sql.session import Session
from ppdm_sql.statements.names import SCHEMA, Name
from ppdm_sql.watching import silent

POLICY = """
CREATE OR REPLACE TABLE people_open AS SELECT age, "home town", sex, illness, paid FROM people
WITH ANONYMIZATION (
    ALGORITHM kactus2 (swap_threshold = 0.5) REQUIRE k = 3, simple_l = 1.1
    QUASI IDENTIFIER (age, "home town", sex) SENSITIVE (illness) TARGET (paid) ACCEPT RISK (swapping) SEED 4
);
"""
TYPES = {"age": "INTEGER", "home town": "TEXT", "sex": "TEXT", "illness": "TEXT", "paid": "TEXT"}


def published(text: str, dialect: str = "duckdb") -> Publish:
    (found,) = parse(text, dialect=dialect)
    assert isinstance(found, Publish)
    return found


def bare(statement: Publish) -> Publish:
    return replace(statement, text="", place=Place(1, 1), query=statement.query.strip())


def people(rows: int, seed: int = 1) -> list[tuple[object, ...]]:
    """Pay follows age and sex, with noise; NULLs and ties among the rest."""
    draw = random.Random(seed)
    made = []
    for _ in range(rows):
        age, sex = draw.randint(18, 77), draw.choice("fm")
        paid = (age > 45) ^ (sex == "f" and age > 60) ^ (draw.random() < 0.1)
        town = draw.choice(["Oslo", "Bergen", 'O\'Brien "x"', "Tromsø", None])
        made.append((age, town, sex, draw.choice(["flu", "cold", "ache"]), "well" if paid else "badly"))
    return made


@pytest.fixture
def clinic(duckdb_engine, make_table) -> DuckDBEngine:
    make_table(duckdb_engine, "people", TYPES, people(360))
    return duckdb_engine


# -- what is asked ---------------------------------------------------------------------------------------


def test_axes_are_read_with_the_numbers_of_the_policy_language():
    axes = read_grid(["k=5, 10,5", "recursive_l = (3, 2),(2.5,2)", "t=0.2 ordered", "CONFIDENCE=85 %"])
    assert {word: [str(one) for one in values] for word, values in axes.items()} == {
        "k": ["k = 5", "k = 10"],
        "recursive_l": ["recursive_l = (3, 2)", "recursive_l = (2.5, 2)"],
        "t": ["t = 0.2 ordered"],
        "confidence": ["confidence = 85 %"],
    }


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["k=1"], r"^--grid k: k is a whole number from 2"),
        (["k=5,x"], r"^--grid k: .* not x$"),
        (["k="], r"^--grid k: k is a whole number"),
        (["k=5,"], r"^--grid k: k is a whole number"),
        (["k"], r"^--grid k: a grid is written word=value,value, as in k=5,10,50$"),
        (["=5"], r"a grid is written"),
        (["simple=2"], r"^--grid simple: unknown requirement: did you mean simple_l\?$"),
        (["k=5", "K=10"], r"^--grid k: given twice"),
        (["recursive_l=3,2"], r"^--grid recursive_l: "),
        (["recursive_l=(3,2"], r"^--grid recursive_l: "),
        (["k=5; DROP TABLE people"], r"^--grid k: "),
    ],
)
def test_a_mistake_names_its_axis(texts, told):
    with pytest.raises(PolicyError, match=told):
        read_grid(texts)


def test_methods_are_known_and_there():
    assert read_methods("kactus2, TPP,kactus2") == ("kactus2", "tpp")
    with pytest.raises(PolicyError, match=r"^--method mondiran: unknown method: did you mean mondrian\?$"):
        read_methods("tpp,mondiran")
    with pytest.raises(PolicyError, match=r"^--method dmpd: it publishes several tables"):
        read_methods("dmpd")


def test_one_statement_of_a_file_is_meant():
    other = POLICY.replace("people_open", "s.other")
    both = parse(f"SELECT 1; {POLICY} {other}", dialect="duckdb")
    with pytest.raises(PolicyError, match=r"2 releases \(people_open, s\.other\): choose one with --release"):
        choose_statement(both)
    assert choose_statement(both, "s.other").text == published(other).text
    with pytest.raises(PolicyError, match=r"no release peopel; valid names: people_open, s\.other"):
        choose_statement(both, "peopel")
    with pytest.raises(PolicyError, match="publishes nothing"):
        choose_statement(parse("SELECT 1", dialect="duckdb"))


# -- the statements --------------------------------------------------------------------------------------


def test_a_point_is_the_policy_with_another_method_and_other_requirements():
    statement = published(POLICY)
    made = points_of(statement, ("kactus2", "mondrian"), read_grid(["t=0.5", "k=5,9"]), "duckdb")
    assert [(point.algorithm, point.k, point.position) for point in made] == [
        ("kactus2", 5, 1), ("kactus2", 9, 2), ("mondrian", 5, 3), ("mondrian", 9, 4),
    ]  # fmt: skip
    assert made[1].requirements == ("k = 9", "simple_l = 1.1", "t = 0.5")
    assert made[0].statement.policy.options == statement.policy.options
    assert made[2].statement.policy.options == {}
    assert made[2].left_out == ("the options of kactus2",)
    for point in made:
        assert point.statement.policy.roles == statement.policy.roles
        assert bare(published(point.statement.text)) == bare(point.statement)


def test_what_another_method_would_refuse_is_left_out():
    text = """CREATE VIEW o LIVE AS SELECT a, b, c FROM t WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 5
        QUASI IDENTIFIER (a HIERARCHY INTERVALS (5, 10), b) SENSITIVE (c HIERARCHY PREFIX (2, 1)))"""
    view, suppressed, model = points_of(published(text), ("mondrian", "kactus2", "kadet"), {}, "duckdb")
    assert view.statement.live
    assert not view.left_out
    assert suppressed.left_out == ("the HIERARCHY of quasi-identifiers", "LIVE")
    assert [word.text for word in suppressed.statement.policy.roles.hierarchies] == ["c"]
    assert (suppressed.statement.kind, model.statement.kind) == ("VIEW", "MODEL")
    text = """CREATE TABLE o AS SELECT a, b FROM t WITH ANONYMIZATION (ALGORITHM tpp REQUIRE k = 5
        QUASI IDENTIFIER (a) TARGET (b) PRESERVE (cart))"""
    kept, dropped = points_of(published(text), ("tpp", "mondrian"), {}, "duckdb")
    assert (len(kept.statement.policy.preserve), dropped.left_out) == (1, ("PRESERVE",))


def test_a_grid_is_bounded_and_protects_what_is_named():
    statement = published(POLICY)
    with pytest.raises(PolicyError, match=r"the grid has 1,001 points, more than 1,000"):
        points_of(statement, ("tpp",), read_grid([f"k={','.join(map(str, range(2, 1003)))}"]), "duckdb")
    nobody = published(POLICY.replace("SENSITIVE (illness)", "INSENSITIVE (illness)").replace(", simple_l = 1.1", ""))
    with pytest.raises(PolicyError, match=r"^--grid t: it protects SENSITIVE columns, and the policy has none$"):
        points_of(nobody, ("tpp",), read_grid(["t=0.1"]), "duckdb")


# -- what is measured ------------------------------------------------------------------------------------

SIMPLE = POLICY.replace("kactus2 (swap_threshold = 0.5)", "mondrian").replace("ACCEPT RISK (swapping)", "")
FIGURES = (
    "status", "holds", "rows", "suppressed_rows", "classes", "suppressed_cells", "information_loss", "discernibility",
    "classification_metric", "risk_max", "risk_mean", "tested", "accuracy", "auc", "reason", "statement",
)  # fmt: skip


def figures(point) -> dict[str, object]:
    return {name: getattr(point, name) for name in FIGURES}


def grid(engine, text=SIMPLE, **asked):
    defaults = {"methods": ("mondrian", "kactus2"), "grid": ("k=3,8",)}
    return evaluate_policy(engine, published(text, engine.dialect), **(defaults | asked))


@pytest.mark.parametrize(("learner", "relations"), [("none", 1), ("naive_bayes", 3)])
def test_a_grid_counts_every_relation_once(clinic, monkeypatch, learner, relations):
    """All methods and all k work on the same cells: those of the table, and with a learner of both of its parts."""
    counted = []
    plain = aggregation._Aggregation.run

    def counting(self):
        counted.append((self.source.relation, self.names))
        return plain(self)

    monkeypatch.setattr(aggregation._Aggregation, "run", counting)
    found = grid(clinic, methods=("mondrian", "kactus2", "tpp"), grid=("k=3,8",), learner=learner)
    assert len(found.points) == 6
    assert len(counted) == len({relation for relation, _ in counted}) == relations


def test_the_figures_are_those_of_the_release_that_would_be_published(clinic, tmp_path):
    found = grid(clinic, grid=("k=8",), learner="none")
    session = Session(clinic, out=tmp_path, show_values=False, progress=silent)
    for point in found.points:
        release = session.publish(point.statement.removesuffix(";"))
        assert (point.rows, point.classes, point.holds) == (release.rows, release.classes, True)
        assert point.risk_max == 1 / int(release.findings[0].achieved)
        squares = clinic.fetch(
            clinic_query('SELECT sum(n * n) FROM (SELECT count(*) n FROM people_open GROUP BY age, "home town", sex)')
        )[0][0]
        assert point.discernibility == float(squares) + point.suppressed_rows * 360
        session.drop("people_open")


def clinic_query(text: str):
    import sqlglot

    return sqlglot.parse_one(text, dialect="duckdb")


def test_nothing_is_published_and_no_working_table_is_left(clinic):
    found = grid(clinic, grid=("k=4",))
    stored = "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT temporary"
    assert [name for schema, name in clinic.fetch(clinic_query(stored)) if schema != SCHEMA] == ["people"]
    assert releases.list_releases(clinic) == []
    left = clinic.fetch(clinic_query("SELECT table_name FROM duckdb_tables() WHERE temporary"))
    assert not [name for (name,) in left if "bench" in name or "kept" in name]
    kept = evaluations.latest_for(clinic, Name("people_open"))
    assert [figures(point) for point in kept.points] == [figures(point) for point in found.points]
    assert kept.baseline.accuracy == found.baseline.accuracy


@pytest.mark.wide
def test_sharing_changes_no_figure(clinic):
    """The second k of a method finds look-ups, codes and trees of the first; alone it makes its own."""
    text = SIMPLE.replace("ALGORITHM mondrian", "ALGORITHM tpp").replace("SEED 4", "ACCEPT RISK (boundaries) SEED 4")
    methods = ("kactus2", "mondrian", "tpp")
    together = grid(clinic, text, methods=methods, grid=("k=2,9",), learner="naive_bayes")
    alone = [grid(clinic, text, methods=(one,), grid=("k=9",), learner="naive_bayes").points[0] for one in methods]
    assert [figures(point) for point in together.points[1::2]] == [figures(point) for point in alone]
    assert all(point.status == "measured" and point.accuracy > 0.5 for point in together.points)


def test_a_method_does_not_see_the_targets_it_is_tested_on(duckdb_engine, make_table):
    """The target is a coin: nobody can be right more often than every second time, unless it was looked at."""
    draw = random.Random(3)
    rows = [(age, "x", "m", "flu", draw.choice(["well", "badly"])) for age in range(600)]
    make_table(duckdb_engine, "people", TYPES, rows)
    text = SIMPLE.replace(", simple_l = 1.1", "").replace("SENSITIVE", "INSENSITIVE")
    honest = grid(duckdb_engine, text, methods=("mondrian", "kactus2"), grid=("k=2",), learner="naive_bayes")
    assert [point.tested for point in honest.points] == ["recoded", "recoded"]
    assert all(point.accuracy < 0.6 for point in (honest.baseline, *honest.points))
    # The classes are protected as well here, so that the method must look at them: at those of the training rows alone.
    protected = text.replace("INSENSITIVE (illness)", "SENSITIVE (paid) INSENSITIVE (illness)")
    asked = {"methods": ("mondrian", "kactus2"), "grid": ("k=2", "simple_l=1.01"), "learner": "naive_bayes"}
    assert all(point.accuracy < 0.6 for point in grid(duckdb_engine, protected, **asked).points)


def test_every_release_that_is_learned_from_is_one_of_the_training_rows(clinic, monkeypatch):
    """No row that is tested was in the hands of the method, whatever its requirements are about."""
    given = []
    made = points._make_release

    def watch(bench, point, source, private, into):
        given.append(table_rows(bench.engine, source.relation))
        return made(bench, point, source, private, into)

    monkeypatch.setattr(points, "_make_release", watch)
    monkeypatch.setattr(points.EvaluationBench, "score", lambda self, *a: Score(1, 1))
    text = SIMPLE.replace("TARGET (paid)", "").replace("SENSITIVE (illness)", "SENSITIVE (illness, paid) TARGET (paid)")
    grid(clinic, text, methods=("mondrian", "kactus2"), grid=("k=3",))
    sizes = [len(rows) for rows in given]
    assert sizes == [360, 240] * 2  # what is judged is made of all rows, what is learned from of two thirds


def test_the_commonest_class_is_what_an_accuracy_has_to_beat(clinic):
    found = grid(clinic, methods=("mondrian",), grid=("k=5",), protocol="kfold:3", learner="naive_bayes")
    bench = EvaluationBench(clinic, open_table(clinic, published(SIMPLE)), read_protocol("kfold:3"), None, 4)
    bench.deal(silent)
    shares = []
    for fold in bench.folds:
        seen, asked = (
            [row[4] for row in table_rows(clinic, name)] for name in (fold.train.relation, fold.test)
        )  # the fifth column is paid
        commonest = max(sorted(set(seen)), key=seen.count)
        shares.append(asked.count(commonest) / len(asked))
    bench.clear()
    assert found.majority_share == pytest.approx(sum(shares) / 3)
    assert (found.majority.auc, found.majority.status) == (0.5, "baseline")
    assert found.baseline.accuracy > found.majority_share + 0.05
    assert found.references == (found.majority, found.baseline)
    kept = evaluations.latest_for(clinic, Name("people_open"))
    assert (kept.majority.accuracy, kept.majority.auc) == (found.majority.accuracy, 0.5)
    assert [point.algorithm for point in kept.points] == ["mondrian"]


def test_a_point_that_cannot_be_published_is_a_result(clinic):
    text = SIMPLE.replace("ALGORITHM mondrian", "ALGORITHM tpp (numbers = shifted)")
    found = grid(clinic, text, methods=("mondrian", "tpp"), grid=("k=5,400",), learner="none")
    assert [point.status for point in found.points] == ["measured", "refused", "refused", "refused"]
    assert "400" in found.points[1].reason
    assert "ACCEPT RISK (boundaries)" in found.points[2].reason
    assert found.points[1].information_loss is None
    half = grid(clinic, methods=("kactus2",), grid=("k=250",)).points[0]  # the training rows are 240
    assert (half.status, half.holds, half.accuracy) == ("measured", True, None)
    assert half.reason.startswith("accuracy was not measured: ")


def test_accepted_risks_go_with_their_method(clinic):
    found = grid(clinic, POLICY, methods=("mondrian", "kactus2"), grid=(), learner="none")
    assert [point.status for point in found.points] == ["measured", "measured"]
    assert "ACCEPT" not in found.points[0].statement
    assert "ACCEPT RISK (swapping)" in found.points[1].statement


def test_without_target_accuracy_is_left_out(clinic):
    text = SIMPLE.replace("TARGET (paid)", "INSENSITIVE (paid)")
    found = grid(clinic, text, methods=("mondrian", "kactus2"), grid=("k=5",))
    assert found.learner is None
    assert (found.baseline.accuracy, found.points[0].accuracy, found.points[0].tested) == (None, None, None)
    assert found.majority is None
    assert (found.points[0].status, found.points[1].status) == ("measured", "refused")
    assert "TARGET" in found.points[1].reason
    assert grid(clinic, methods=("mondrian",), grid=("k=5",), learner="none").points[0].accuracy is None


def test_a_target_of_numbers_is_predicted_as_one(clinic):
    text = SIMPLE.replace('age, "home town", sex, illness, paid', '"home town", sex, illness, paid, age')
    text = text.replace('(age, "home town", sex)', '("home town", sex, paid)').replace("TARGET (paid)", "TARGET (age)")
    found = grid(clinic, text, methods=("mondrian",), grid=("k=5",))
    assert (found.learner, found.majority) == ("regression", None)
    assert found.points[0].accuracy is None
    assert 0 < found.points[0].r_squared < 1
    assert found.points[0].score == found.points[0].r_squared


@pytest.mark.wide
def test_every_fold_counts(clinic, monkeypatch):
    asked = []
    scored = points.EvaluationBench.score
    monkeypatch.setattr(points.EvaluationBench, "score", lambda self, *a: asked.append(scored(self, *a)) or asked[-1])
    found = grid(clinic, methods=("kactus2",), grid=("k=5",), protocol="kfold:3", learner="naive_bayes")
    raw, released = asked[:3], asked[3:]
    assert len(released) == 3
    for point, scores in ((found.baseline, raw), (found.points[0], released)):
        assert point.accuracy == pytest.approx(sum(float(one.accuracy) for one in scores) / 3)
        assert point.accuracy_spread > 0
    assert sum(one.rows for one in raw) == 360


@pytest.mark.wide
def test_five_times_two_halves(clinic):
    """Every row is once in each half of every repeat, and the halves of two repeats are not the same."""
    opened = open_table(clinic, published(SIMPLE))
    bench = EvaluationBench(clinic, opened, read_protocol("5x2"), None, 7)
    bench.deal(silent)
    halves = []
    for fold in bench.folds:
        tables = (table_rows(clinic, name) for name in (fold.train.relation, fold.test))
        train, test = ([row[:-1] for row in rows] for rows in tables)  # without the mark
        assert sorted(map(str, train + test)) == sorted(map(str, people(360)))
        assert (len(train), len(test)) == (180, 180)
        halves.append(sorted(map(str, test)))
    assert len(halves) == 10
    assert len(set(map(tuple, halves))) == 10
    bench.clear()


@pytest.mark.wide
def test_of_a_large_table_a_learner_sees_a_share(clinic, monkeypatch):
    """The release is that of all training rows, and every test row counts; what is learned from is a part of it."""
    seen = []

    def learn(engine, *, train, test, **asked):
        seen.append((len(table_rows(engine, train)), len(table_rows(engine, test))))
        return Score(1, 1)

    monkeypatch.setattr(bench_module, "learn_and_test", learn)
    grid(clinic, grid=("k=5",))
    assert seen == [(240, 120)] * 3
    seen.clear()
    monkeypatch.setattr(bench_module, "MOST_LEARNED", 90)
    found = grid(clinic, grid=("k=5",), again=True)
    assert seen == [(60, 120)] * 3  # a quarter of 240
    assert [point.rows for point in found.points] == [360, 360]


def table_rows(engine, name) -> list[tuple[object, ...]]:
    return engine.fetch(exp.select("*").from_(name.table()))


@pytest.mark.wide
def test_persons_are_counted_and_stay_together(duckdb_engine, make_table):
    rows = [(number // 3, *row) for number, row in enumerate(people(300))]
    make_table(duckdb_engine, "people", {"who": "INTEGER", **TYPES}, rows)
    text = SIMPLE.replace("SELECT age", "SELECT who, age").replace("SEED 4", "ENTITY (who) SEED 4")
    found = grid(duckdb_engine, text, grid=("k=4",), learner="naive_bayes")
    for point in found.points:
        assert point.holds
        assert point.risk_max <= 1 / 4


def test_a_model_is_a_point_too(clinic):
    text = SIMPLE.replace("people\n", 'people WHERE "home town" IS NOT NULL\n').replace(", simple_l = 1.1", "")
    found = grid(
        clinic, text.replace("SENSITIVE (illness)", "INSENSITIVE (illness)"), methods=("kadet",), grid=("k=5",)
    )
    (point,) = found.points
    assert (point.status, point.holds, point.tested) == ("measured", True, "model"), point.reason
    assert point.risk_max <= 0.2
    assert point.information_loss is None
    assert point.accuracy > 0.6
    assert point.statement.startswith("CREATE OR REPLACE MODEL people_open AS")


@pytest.mark.wide
def test_a_table_of_kadet_is_measured_as_a_table_and_taught_as_its_model(clinic):
    text = SIMPLE.replace("people\n", 'people WHERE "home town" IS NOT NULL\n').replace(", simple_l = 1.1", "")
    text = text.replace("ALGORITHM mondrian", "ALGORITHM kadet").replace("SENSITIVE (illness)", "INSENSITIVE (illness)")
    found = grid(clinic, text, methods=("kadet", "mondrian"), grid=("k=5",))
    shown, other = found.points
    assert (shown.status, shown.holds, shown.tested) == ("measured", True, "model"), shown.reason
    assert 0 < shown.information_loss <= 1
    assert shown.accuracy > 0.6
    assert shown.statement.startswith("CREATE OR REPLACE TABLE people_open AS")
    assert other.tested == "recoded"


def test_every_engine_measures_the_same(engine, make_table, duckdb_engine):
    text = SIMPLE.replace(", simple_l = 1.1", "")
    for one in {id(engine): engine, id(duckdb_engine): duckdb_engine}.values():
        make_table(one, "people", TYPES, people(120))
    asked = {"methods": ("mondrian", "kactus2"), "grid": ("k=4",), "learner": "naive_bayes"}
    here, there = grid(engine, text, **asked), grid(duckdb_engine, text, **asked)
    alike = [name for name in FIGURES if name not in ("statement", "reason")]
    for mine, theirs in zip(here.points, there.points, strict=True):
        assert {name: figures(mine)[name] for name in alike} == pytest.approx(
            {name: figures(theirs)[name] for name in alike}
        )


# -- going on --------------------------------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch) -> list[int]:
    """The positions that are measured, in a grid whose points cost nothing."""
    asked: list[int] = []

    def measured(bench, point):
        asked.append(point.position)
        if asked.count(0):
            asked.remove(0)
            raise KeyboardInterrupt
        return EvaluationPoint(point.position, "measured", point.algorithm, point.requirements, 2.0, k=point.k)

    monkeypatch.setattr(run, "measure_point", measured)
    monkeypatch.setattr(run, "baseline", lambda bench: EvaluationPoint(0, "baseline", None, (), 1.0))
    monkeypatch.setattr(run, "majority", lambda bench, position: None)
    return asked


def test_a_stopped_grid_goes_on_where_it_was(clinic, calls, monkeypatch):
    kept = evaluations.add_point

    def add(engine, evaluation_id, point):
        kept(engine, evaluation_id, point)
        if calls == [1, 2]:
            calls.append(0)  # someone stops it at the next one

    monkeypatch.setattr(evaluations, "add_point", add)
    with pytest.raises(
        Stopped, match=r"^Stopped after 3 of 5 points; results are saved. Run the same command again to continue.$"
    ):
        grid(clinic)
    assert calls == [1, 2, 3]
    found = grid(clinic)
    assert calls == [1, 2, 3, 3, 4]
    assert [point.position for point in found.points] == [1, 2, 3, 4]
    assert grid(clinic) == evaluations.find_same(clinic, found.fingerprint)
    assert calls == [1, 2, 3, 3, 4]


def test_other_questions_and_other_rows_are_measured_anew(clinic, calls):
    ids = {grid(clinic).evaluation_id}
    for asked in ({"seed": 5}, {"learner": "c45"}, {"protocol": "kfold:2"}, {"grid": ("k=3,9",)}, {"again": True}):
        ids.add(grid(clinic, **asked).evaluation_id)
    assert len(ids) == 6
    clinic.pass_through("UPDATE people SET sex = 'f' WHERE age = 50")
    assert grid(clinic).evaluation_id not in ids


def test_the_time_left_is_that_of_the_same_method(clinic, calls):
    heard = []
    grid(clinic, watch=heard.append)
    assert [(one.done, one.total) for one in heard] == [(0, 5), (0, 5), (1, 5), (2, 5), (3, 5), (4, 5)]
    assert [one.doing for one in heard][-1] == "kactus2, k = 8, simple_l = 1.1"
    assert [one.seconds_left for one in heard] == [None, None, None, 6.0, 4.0, 2.0]


def test_only_figures_are_kept(clinic):
    grid(clinic, learner="naive_bayes", grid=("k=300",))
    for table in ("evaluation", "evaluation_point"):
        rows = clinic.fetch(clinic_query(f"SELECT * FROM {SCHEMA}.{table}"))
        text = str(rows)
        assert not [value for value in ("Bergen", "Oslo", "Tromsø", "ache") if value in text]


def test_a_table_of_a_few_rows_is_refused(duckdb_engine, make_table):
    make_table(duckdb_engine, "people", TYPES, people(9))
    with pytest.raises(PolicyError, match="9 rows; an evaluation needs at least 10"):
        grid(duckdb_engine)
