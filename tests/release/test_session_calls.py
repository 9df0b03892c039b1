"""What the Python calls say to arguments they cannot use."""

from __future__ import annotations

import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.release.results import Passed, Published, Verified
from tests.release.conftest import policy


def test_run_takes_one_statement_as_a_text(duck):
    assert isinstance(duck.run(policy()), Published)
    found = duck.run("VERIFY people_open;")
    assert isinstance(found, Verified)
    assert found.holds
    assert isinstance(duck.run("SELECT 1"), Passed)
    assert isinstance(duck.run(duck.parse("VERIFY people_open")[0]), Verified)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("SELECT 1; SELECT 2", "run takes one statement, not 2; execute runs several"),
        ("", "run takes one statement, not 0"),
        (None, "run takes one statement, as text or from parse.., not NoneType"),
        (["VERIFY people_open"], "not list"),
    ],
)
def test_run_refuses_what_is_not_one_statement(duck, given, message):
    with pytest.raises(PolicyError, match=message):
        duck.run(given)


@pytest.mark.parametrize("models", [[], (), [None], None, 5, [["m"]]])
def test_an_audit_is_of_a_model(duck, models):
    with pytest.raises(PolicyError, match="an audit takes one model or several"):
        duck.audit(models, "people")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": "a"}, "k of an audit must be a whole number of at least 1"),
        ({"k": 2.5}, "k of an audit"),
        ({"k": True}, "k of an audit"),
        ({"k": 0}, "k of an audit"),
        ({"groups": -1}, "groups of an audit must be a whole number of at least 0"),
        ({"groups": "all"}, "groups of an audit"),
    ],
)
def test_the_numbers_of_an_audit_are_whole(duck, given, message):
    duck.train("m", "SELECT age, sex, illness FROM people", "illness", rare=5)
    with pytest.raises(PolicyError, match=message):
        duck.audit("m", "people", **given)
    assert duck.audit(["m", duck.model("m")], "people", k=5, groups=None).below is not None
