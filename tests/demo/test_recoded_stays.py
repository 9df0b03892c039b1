"""The demo's table: what a model learned from a release is worth on stays that nobody published, told in its words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

from ppdm_sql import resources
from ppdm_sql.catalog import salt
from ppdm_sql.session import connect

FOLDER = resources.folder("sql") / "demo"
PRINTED = "age, sex, zip, ward, readmitted"
PUBLISHED, OTHERS = (f"CAST(substr(patient_id, 2) AS BIGINT) % 3 {what} 2" for what in ("<", "="))


def policy(method: str) -> str:
    text = (FOLDER / "patients.sql").read_text(encoding="utf-8").split("VERIFY")[0]
    text = text.replace("ALGORITHM mondrian", f"ALGORITHM {method}").replace("FROM patients\n", "FROM stays\n")
    if method == "mondrian":
        return text
    return text.replace("zip  HIERARCHY PREFIX (4, 3, 2)", "zip").replace("ward HIERARCHY 'ward.csv'", "ward")


@pytest.mark.duckdb
@pytest.mark.parametrize("method", ["mondrian", pytest.param("kactus2", marks=pytest.mark.wide)])
def test_a_model_of_the_release_is_within_a_point_on_raw_rows_in_its_words(method, tmp_path, monkeypatch):
    """Of what five folds inside the release give (mondrian 74.7 and 75.3 %, kactus2 74.8 and 75.7 %; majority 73.4 %).

    Which rows of a combination are made coarser follows the key of the database, so it is a fixed one here.  With eight
    keys the two differ by 0.6 to 1.1 points for kactus2, with five keys by 0.4 to 0.6 for mondrian.
    """
    monkeypatch.setattr(salt, "secrets", SimpleNamespace(token_hex=lambda number: "00" * number))
    monkeypatch.chdir(FOLDER)
    with connect(str(tmp_path / "x.duckdb"), create=True, out=tmp_path) as session:
        session.execute(resources.sql_text("demo/hospital"))
        connection = session.engine._connection
        connection.execute(f"CREATE TABLE stays AS SELECT * FROM patients WHERE {PUBLISHED}")
        session.execute(policy(method), file=str(FOLDER / "patients.sql"))
        released = connection.execute(f"SELECT {PRINTED} FROM patients_open").fetchall()
        others = connection.execute(f"SELECT * FROM patients WHERE {OTHERS}").fetchdf()
        done = session.export("patients_open", "open.parquet")
    with duckdb.connect() as analyst:
        analyst.execute(Path(done.recodes[0]).read_text(encoding="utf-8"))
        analyst.register("others", others)
        recoded = analyst.execute(f"SELECT {PRINTED} FROM recode_patients_open('others')").fetchall()
    assert len(recoded) == len(others)
    inside, outside = accuracies(released, recoded)
    assert outside > np.mean([row[-1] == "no" for row in recoded]) + 0.01
    assert abs(inside - outside) <= 0.01


def accuracies(released: Sequence[tuple], recoded: Sequence[tuple]) -> tuple[float, float]:
    """Of trees that learn from four fifths of a release: on the fifth that is left, and on other rows."""
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    rows, tested = (np.array([[str(value) for value in row] for row in table]) for table in (released, recoded))
    folds = np.array_split(np.random.default_rng(1).permutation(len(rows)), 5)
    inside, outside = [], []
    for number, fold in enumerate(folds):
        learned = rows[np.concatenate([one for other, one in enumerate(folds) if other != number])]
        encoder = OneHotEncoder(handle_unknown="ignore")
        model = DecisionTreeClassifier(min_samples_leaf=25, random_state=0)
        model.fit(encoder.fit_transform(learned[:, :-1]), learned[:, -1])
        for found, table in ((inside, rows[fold]), (outside, tested)):
            found.append(model.score(encoder.transform(table[:, :-1]), table[:, -1]))
    return float(np.mean(inside)), float(np.mean(outside))
