"""Evaluations are kept point by point, found again by what they asked, and read by the release they speak of."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from ppdm_sql.catalog import evaluations, migrate
from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
from ppdm_sql.catalog.store import new_id
from ppdm_sql.statements.names import SCHEMA, Name

EVALUATION = Evaluation(
    fingerprint="f1", schema_name="clinic", relation_name="patients_open", policy_text="CREATE TABLE ...",
    methods=("kactus2", "mondrian"), grid={"k": ["k = 5", "k = 10"]}, protocol="holdout", learner="c45", seed=2**80,
    planned=4, rows=1200,
)  # fmt: skip
BASELINE = EvaluationPoint(0, "baseline", None, (), 0.5, rows=1200, accuracy=0.875, tested="outside")
FULL = EvaluationPoint(
    1, "measured", "kactus2", ("k = 5", "recursive_l = (3, 2)"), 1.25, k=5, statement="CREATE ...", holds=True,
    rows=1190, suppressed_rows=10, classes=40, suppressed_cells=0.25, information_loss=0.5, discernibility=1e15,
    classification_metric=0.125, risk_max=0.2, risk_mean=0.0625, tested="outside", accuracy=0.75, accuracy_spread=0.5,
    auc=0.625, r_squared=None, folds=(Fraction(2, 3), Fraction(5, 6)), workload_error=1.5, workload_answered=0.75,
)  # fmt: skip
REFUSED = EvaluationPoint(2, "refused", "kactus2", ("k = 10",), 0.25, reason="no TARGET", k=10)


def begun(engine, **changes) -> Evaluation:
    return evaluations.start(engine, replace(EVALUATION, **({"evaluation_id": new_id()} | changes)))


def test_every_field_comes_back(catalog):
    started = begun(catalog)
    for point in (FULL, BASELINE, REFUSED):
        evaluations.add_point(catalog, started.evaluation_id, point)
    found = evaluations.find_same(catalog, "f1")
    assert found == replace(started, baseline=BASELINE, points=(FULL, REFUSED))
    assert found.measured_positions == {0, 1, 2}
    assert evaluations.points(catalog, started.evaluation_id) == [BASELINE, FULL, REFUSED]


def test_the_newest_one_is_found_by_what_it_asked_and_by_its_release(catalog):
    begun(catalog)
    other = begun(catalog, fingerprint="f2", relation_name="wards_open")
    again = begun(catalog)
    evaluations.add_point(catalog, again.evaluation_id, FULL)
    assert evaluations.find_same(catalog, "f1").evaluation_id == again.evaluation_id
    assert evaluations.find_same(catalog, "f2") == other
    assert evaluations.find_same(catalog, "f3") is None
    assert evaluations.latest_for(catalog, Name("clinic", "patients_open")).points == (FULL,)
    assert evaluations.latest_for(catalog, Name("clinic", "wards_open")) == other
    assert evaluations.latest_for(catalog, Name("ward", "wards_open")) is None


def test_a_name_without_schema_is_that_of_the_current_one(catalog):
    begun(catalog, schema_name=None, relation_name="here_open")
    found = evaluations.latest_for(catalog, Name("here_open"))
    assert found.schema_name is not None
    assert evaluations.latest_for(catalog, found.name) == found


def test_of_two_sessions_at_the_same_point_the_first_counts(catalog):
    started = begun(catalog)
    later = replace(FULL, accuracy=0.5, finished_at=FULL.finished_at.replace(year=FULL.finished_at.year + 1))
    for point in (later, FULL):
        evaluations.add_point(catalog, started.evaluation_id, point)
    assert evaluations.points(catalog, started.evaluation_id) == [FULL]


def test_texts_of_all_kinds_are_kept(catalog, hostile):
    for text in hostile:
        started = begun(catalog, policy_text=text, fingerprint=text, relation_name=text)
        point = replace(REFUSED, reason=text, statement=text, requirements=(text,))
        evaluations.add_point(catalog, started.evaluation_id, point)
        assert evaluations.find_same(catalog, text).points == (point,)
        assert evaluations.latest_for(catalog, Name("clinic", text)).policy_text == text


def test_a_database_without_these_tables_has_no_evaluation(engine, files):
    assert evaluations.latest_for(engine, Name("patients_open")) is None
    for later in sorted(files.glob("*.sql"))[5:]:
        later.unlink()
    migrate.migrate(engine)
    assert engine.relation_kind(Name(SCHEMA, "evaluation")) is None
    assert evaluations.latest_for(engine, Name("patients_open")) is None


@pytest.mark.parametrize(
    ("point", "score"), [(FULL, 0.75), (REFUSED, None), (replace(FULL, accuracy=None, r_squared=0.25), 0.25)]
)
def test_the_score_is_what_a_learner_kept(point, score):
    assert point.score == score


def test_a_notebook_shows_the_points_with_every_name_escaped():
    shown = replace(EVALUATION, relation_name="<script>", baseline=BASELINE, points=(FULL, REFUSED))._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert shown.count("<tr>") == 4
    for text in ("raw data", "kactus2", "recursive_l = (3, 2)", "holds", "refused", "1,190", "0.500", "75.00%"):
        assert text in shown, text
