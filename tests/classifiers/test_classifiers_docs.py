"""docs/methods/classifiers.md says what the code does: its limits, its defaults, its example."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from ppdm_sql.classifiers import cells, conjunctive_rules, domains, gaussian, naive_bayes, values, votes
from ppdm_sql.models.bayes_kind import BayesKind
from ppdm_sql.models.rules_kind import RulesKind
from ppdm_sql.policy.options import Choice, Switch, declared_options, default_options

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "methods" / "classifiers.md").read_text(encoding="utf-8")
WORDS = " ".join(PAGE.split())


def default(learner, option):
    return inspect.signature(learner.learn).parameters[option].default


def test_limits_and_defaults_are_those_of_the_code():
    told = [
        int(number.replace(",", ""))
        for number in re.findall(r"[\d,]*\d", WORDS.partition("## Limits")[2].partition(". ")[0])
    ]
    assert told == [
        values.MOST_ATTRIBUTES, cells.MOST_CLASSES, naive_bayes.MOST_BINS, conjunctive_rules.MOST_BINS,
        cells.MOST_NAMED, conjunctive_rules.MOST_RULES,
    ]  # fmt: skip
    assert f"fewer than `rare` rows (default {default(naive_bayes, 'rare')})" in WORDS
    assert default(conjunctive_rules, "rare") == default(naive_bayes, "rare")
    assert f"`a = laplace` (default {default(naive_bayes, 'laplace')})" in WORDS
    assert f"at most `bins` bins (default {default(conjunctive_rules, 'bins')})" in WORDS
    assert f"`beam` best (1 to {conjunctive_rules.MOST_BEAM})" in WORDS
    assert f"within {values.TIE} units" in WORDS
    assert f"More than {domains.MOST_BRANCHES} categories" in WORDS
    assert f"at least {gaussian.LEAST_VARIANCE.numerator}/{gaussian.LEAST_VARIANCE.denominator:,} of" in WORDS
    assert values.MOST_WEIGHT == 512 * values.UNIT
    assert values.fixed_log(2.0**-20) == votes.FURTHEST


def test_the_options_by_name_are_those_of_the_inducers():
    """| `naive_bayes` | `bins` | 1 to 1000 | 10 |, and below it the inducer's other options."""
    told, inducers = {}, []
    for line in PAGE.partition("| inducer | option |")[2].partition("\n\n")[0].splitlines()[2:]:
        inducer, option, allowed, value = (cell.strip().strip("`") for cell in line.split("|")[1:-1])
        inducers = ["naive_bayes", "conjunctive_rules"] if inducer == "both" else [inducer] if inducer else inducers
        told |= {(name, option): (allowed, value) for name in inducers}
    known = {}
    for kind in (BayesKind(), RulesKind()):
        allowed = declared_options(kind.learner)
        for option, value in default_options(kind.learner).items():
            known[kind.inducers[0], option] = (_in_words(allowed[option]), str(value).lower())
    assert told == known


def _in_words(allowed):
    if isinstance(allowed, Choice):
        return ", ".join(allowed.words)
    if isinstance(allowed, Switch):
        return "true, false"
    most = f"{allowed.most:,}" if allowed.most > 1000 else allowed.most
    return f"from {allowed.least}" if allowed.most == 10**12 else f"{allowed.least} to {most}"


@pytest.mark.duckdb
def test_the_example_runs(duckdb_engine, make_table):
    rows = [(number, 20 + number, "AB"[number % 2], number > 20) for number in range(40)]
    columns = {"patient": "INTEGER", "age": "INTEGER", "ward": "TEXT", "readmitted": "BOOLEAN"}
    relation = make_table(duckdb_engine, "patients", columns, rows)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    scope = {"engine": duckdb_engine, "relation": relation}
    exec(example, scope)
    assert scope["naive_bayes"].predict_one(scope["model"], {"age": 58, "ward": "B"}) is True
