"""ppdm model with naive Bayes and rules, from the command that is typed to the table that is read."""

from __future__ import annotations

import json
import re

import duckdb
import pytest
from test_model_command import PEOPLE, asked, called

NAMES = {"likely": "naive_bayes", "by_rules": "conjunctive_rules"}
QUERY = "SELECT age, town, illness FROM people"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kinds")


@pytest.fixture(scope="module")
def shelf(folder):
    """One database with both models; the tests of this file add to it and take nothing away."""
    import contextlib

    with duckdb.connect(str(folder / "clinic.duckdb")) as con:
        con.execute(PEOPLE)
    with contextlib.chdir(folder):
        for name, inducer in NAMES.items():
            code, said = called("model", "train", name, "--from", QUERY, "--target", "illness", "--inducer", inducer)
            assert code == 0, said
            size = r"2 attributes" if inducer == "naive_bayes" else r"\d+ rules"
            assert re.fullmatch(rf"trained {name}: {size}, 400 rows\n", said)
    return folder


@pytest.fixture
def clinic(shelf, monkeypatch):
    monkeypatch.chdir(shelf)
    return shelf


def test_list_tells_how_large_they_are(clinic):
    said = called("model", "list")[1]
    assert re.search(r"likely +naive_bayes +illness +2 attributes +400 +5", said)
    assert re.search(r"by_rules +conjunctive_rules +illness +\d+ rules +400 +5", said)
    found = {model["name"]: model for model in json.loads(called("model", "list", "--json")[1])["models"]}
    assert found["likely"]["size"] == "2 attributes"
    assert found["likely"]["options"] == {
        "numeric": "bins", "bins": 10, "laplace": 1, "laplace_prior": True, "rare": 5,
    }  # fmt: skip
    assert "body" not in found["likely"]


def test_show_has_a_form_for_everybody(clinic):
    text = called("model", "show", "likely")[1].splitlines()
    assert text[0] == "illness: naive Bayes over 2 attributes, 400 rows"
    assert "  'gout': 152 rows (38 %)" in text
    assert any(re.match(r"  town = 'town 2': 4 times as frequent among 'flu' \(100 rows\)", line) for line in text)
    head, *rules = called("model", "show", "by_rules")[1].splitlines()
    assert head == f"illness: the first of {len(rules)} rules that applies decides"
    assert rules[0].startswith("1. IF ")
    assert [line.split(". ", 1)[1] for line in rules] == called("model", "show", "by_rules", "--as", "rules")[
        1
    ].splitlines()
    for name in NAMES:
        told = json.loads(called("model", "show", name, "--as", "json")[1])
        assert (told["format"], told["kind"]) == ("ppdm-model", "rules" if name == "by_rules" else "naive_bayes")
        code, said = called("model", "show", name, "--as", "svg")
        assert (code, "only a tree has a picture" in said) == (2, True)
    assert called("model", "show", "likely", "--as", "rules") == (
        2, "a naive Bayes model has no rules: use --as text",
    )  # fmt: skip


def test_predictions_are_those_of_the_sql_that_is_shown(clinic):
    for name in NAMES:
        told, code = f"told_{name}", called("model", "predict", name, "--from", "people", "--into", f"told_{name}")[0]
        assert code == 0
        sql = called("model", "show", name, "--as", "sql")[1]
        if name == "by_rules":
            query = f"SELECT count(*) FILTER ({sql} = ppdm_class), count(*) FILTER (ppdm_class = illness) FROM {told}"
            same, right = asked(clinic, query)[0]
            assert (same, right > 350) == (400, True)
        else:
            given = sql.replace('"ppdm_source"', '"people"')
            pairs = f"SELECT age, town, ppdm_class, round(ppdm_share, 9) FROM {told}"
            assert asked(clinic, f"SELECT count(*) FROM ({pairs} EXCEPT SELECT age, town, ppdm_class, round(ppdm_share, 9) FROM ({given}))") == [(0,)]  # fmt: skip
            assert asked(clinic, f"SELECT count(*) FROM {told} WHERE ppdm_class = illness")[0][0] > 350
        names = [row[0] for row in asked(clinic, f"SELECT column_name FROM (DESCRIBE {told})")]
        rule = ["ppdm_rule"] if name == "by_rules" else []
        assert names == ["id", "age", "town", "illness", *rule, "ppdm_class", "ppdm_share"]


def test_they_can_be_used_from_any_client(clinic):
    code, said = called("model", "install", "by_rules")
    assert (code, said.startswith("installed predict_by_rules(")) == (0, True)
    code, said = called("model", "install", "likely")
    assert (code, "create a view with --view and --from" in said) == (2, True)
    for name in NAMES:
        assert called("model", "install", name, "--view", f"v_{name}", "--from", "people", "--keep", "id")[0] == 0
    taken = re.search(r"\((.*)\)", called("model", "install", "by_rules", "--replace")[1]).group(1)
    rows = asked(clinic, f"SELECT predict_by_rules({taken}) = ppdm_class FROM people JOIN v_by_rules USING (id)")
    assert rows == [(True,)] * 400
    assert asked(clinic, "SELECT count(*) FROM v_likely WHERE ppdm_share BETWEEN 0.3 AND 1") == [(400,)]


def test_they_move_through_a_file(clinic):
    for name in NAMES:
        code, said = called("model", "export", name, f"{name}.json")
        assert (code, "not anonymized" in said) == (0, True)
        copy = json.loads(called("model", "import", f"{name}.json", "--name", f"{name}_copy", "--json")[1])
        assert (copy["inducer"], copy["rare"], copy["rows"]) == (NAMES[name], None, 400)
        told = [json.loads(called("model", "show", one, "--as", "json")[1])["model"] for one in (name, f"{name}_copy")]
        assert told[0] == told[1]
        assert called("model", "drop", f"{name}_copy") == (0, f"dropped {name}_copy\n")
    told = json.loads((clinic / "likely.json").read_text())
    del told["model"]["priors"]
    (clinic / "damaged.json").write_text(json.dumps(told))
    assert called("model", "import", "damaged.json", "--name", "x") == (2, 'the naive Bayes model: has no "priors"')


def test_an_audit_says_why_it_cannot(clinic):
    for name in NAMES:
        code, said = called("model", "audit", name, "--from", "people", "--k", "5")
        assert code == 2
        assert "the groups that the tests of a tree form" in said
        assert "is not measured" in said


def test_rare_and_raw_are_as_for_trees(clinic):
    train = ("model", "train", "r", "--from", QUERY, "--target", "illness", "--inducer", "naive_bayes", "--replace")
    assert "Hermitage" not in called("model", "show", "likely", "--as", "json")[1]
    code, said = called(*train, "--raw", "--json", "--option", "numeric=gaussian", "--option", "laplace=3")
    assert (code, "this is a raw model" in said) == (0, True)
    assert "Hermitage" in called("model", "show", "r", "--as", "json")[1]
    assert called(*train, "--rare", "101", "--json")[0] == 0
    assert "town 1" not in called("model", "show", "r", "--as", "json")[1]
    assert called(*train, "--option", "laplce=3") == (2, "naive_bayes has no option laplce: did you mean laplace?")
    assert called(*train, "--option", "numeric=norm") == (
        2,
        "numeric of naive_bayes must be bins or gaussian, not norm",
    )
    assert called(*train, "--raw", "--rare", "3")[0] == 2
