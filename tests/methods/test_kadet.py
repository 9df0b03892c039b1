"""kadet by hand: the examples of the paper, what it must not print, and what it refuses."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from kadet_cases import Case, audited_spans, is_fine, random_case

from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.induction.inducers import induce, settings
from ppdm_sql.methods.kadet import split_queue as kadet_queue
from ppdm_sql.methods.registry import method_named
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.options import declared_options
from ppdm_sql.requirements import KAnonymity, SimpleDiversity
from ppdm_sql.trees.audit import audit
from ppdm_sql.trees.follow import prediction
from ppdm_sql.trees.tree import Cut
from tests.public_data import DATA, needs_data

MORTGAGE = [
    ("U", "Yes", "good"), ("M", "Yes", "good"), ("M", "No", "bad"),
    ("M", "No", "bad"), ("U", "Yes", "bad"), ("U", "No", "bad"),
]  # fmt: skip


def case_of(names, rows, public, require, **more):
    """The last name is the class; numbers are cut, words are not."""
    names = [*names[:-1], "cls"]
    columns = {"id": "INTEGER"} | {
        name: "INTEGER" if isinstance(rows[0][place], int) else "TEXT" for place, name in enumerate(names)
    }
    table = [{"id": number, **dict(zip(names, row, strict=True))} for number, row in enumerate(rows)]
    return Case(columns, table, public, require, **more)


def mortgage(require, form="c45", **more):
    options = {"form": form, "prune": "false"}
    return case_of(["marital", "sports", "risk"], MORTGAGE, ["marital"], require, options=options, **more)


# -- the examples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["id3", "c45"])
def test_the_mortgage_example_has_two_spans_of_three(engine, make_table, form):
    """Friedman et al., table 1: leaves of one and two rows, and nobody is distinguished from two others."""
    case = mortgage("k = 3", form)
    tree = (plan := case.run(engine, make_table)[0]).tree
    root, no, yes = tree.nodes[:3]
    assert tree.attributes[root.split.attribute].name == "sports"
    assert math.isclose(root.gain / 6, 0.459148, abs_tol=1e-6)
    assert root.split.groups == (("No",), ("Yes",))
    assert no.is_leaf
    assert tree.attributes[yes.split.attribute].name == "marital"
    assert math.isclose(yes.gain / 3, 0.251629, abs_tol=1e-6)
    assert [node.counts for node in tree.leaves] == [(3, 0), (0, 1), (1, 1)]
    assert audited_spans(engine, tree, case) == {frozenset({1, 2, 3}), frozenset({0, 4, 5})}
    assert plan.figures["k of the model"] == 3
    assert plan.figures["spans"] == 2
    assert plan.figures["exposed rows"] == 0
    assert plan.figures["max confidence"] == Fraction(2, 3)
    assert plan.public == ("marital",)


@pytest.mark.duckdb
def test_with_a_greater_k_the_public_test_is_dropped(duckdb_engine, make_table):
    """Sports as a number: three rows have each of its words, which with k = 4 are not to be named."""
    rows = [(marital, int(sports == "Yes"), risk) for marital, sports, risk in MORTGAGE]
    case = case_of(["marital", "sports", "risk"], rows, ["marital"], "k = 4", options={"prune": "false"})
    plan = case.run(duckdb_engine, make_table)[0]
    assert [node.counts for node in plan.tree.leaves] == [(3, 0), (1, 2)]
    assert plan.figures["spans"] == 1
    assert plan.figures["k of the model"] == 6
    assert plan.figures["candidates dropped"] == 1
    assert len(replace(mortgage("k = 4"), table="words").run(duckdb_engine, make_table)[0].tree.nodes) == 1


WARDS = [(ward, cls) for ward, cls, number in (("a", "good", 5), ("b", "bad", 6), ("c", "good", 2), ("d", "bad", 2))
         for _ in range(number)]  # fmt: skip


@pytest.mark.parametrize(
    ("k", "named", "sizes"),
    [
        (2, ["a", "b", "c", "d"], [5, 6, 2, 2]),
        (3, ["a", "b", None], [5, 6, 4]),  # c and d are four people together
        (5, ["b", None], [6, 9]),  # four are too few: the next smaller value goes with them
        (7, [], [15]),
    ],
)
def test_public_values_of_few_people_go_on_together(engine, make_table, k, named, sizes):
    """Without a hierarchy one rare value does not cost the attribute; the others are as many as before."""
    case = case_of(["ward", "cls"], WARDS, ["ward"], f"k = {k}", options={"prune": "false"}, table=f"wards_{k}")
    plan = case.run(engine, make_table)[0]
    split = plan.tree.nodes[0].split
    assert [sum(leaf.counts) for leaf in plan.tree.leaves] == sizes
    assert plan.figures["k of the model"] == min(sizes)
    if named:
        assert [group[0] if group else None for group in split.groups] == named
        assert split.others == (named.index(None) if None in named else None)
        found = sorted(len(span) for span in audited_spans(engine, plan.tree, case))
        assert found == sorted(sizes)
    else:
        assert split is None


@needs_data
@pytest.mark.wide
def test_adult_without_hierarchies_is_worth_publishing(duckdb_engine, make_table):
    """k = 100 over eight public columns: tested on rows that were not published."""
    names = ["age", "workclass", "education", "marital_status", "occupation", "race", "sex", "native_country", "income"]
    known = "workclass IS NOT NULL AND occupation IS NOT NULL AND native_country IS NOT NULL"
    parts = [
        duckdb.sql(f"SELECT * FROM read_csv('{DATA / f'adult_{part}.csv'}', header = true) WHERE {known}")
        .select(*names)
        .fetchall()
        for part in ("train", "test")
    ]
    case = case_of(names, parts[0], names[:-1], "k = 100", options={"borders": "pinned"}, table="adult")
    tree = case.run(duckdb_engine, make_table)[0].tree
    right = sum(prediction(tree, dict(zip(names, row, strict=True))) == row[-1] for row in parts[1])
    assert right / len(parts[1]) > 0.82


@pytest.mark.duckdb
def test_a_public_class_parts_people_too(duckdb_engine, make_table):
    with pytest.raises(
        RequirementBreached, match=r'k = 3 cannot be met: the class "cls" is public, and 1 of its'
    ) as no:
        mortgage("k = 3", class_is_public=True).run(duckdb_engine, make_table)
    assert "good" not in str(no.value)
    case = mortgage("k = 2", class_is_public=True, table="again")
    plan = case.run(duckdb_engine, make_table)[0]
    assert len(plan.tree.leaves) == 2
    assert audited_spans(duckdb_engine, plan.tree, case) == {frozenset({0, 1}), frozenset({2, 3, 4, 5})}
    assert plan.class_is_public


@pytest.mark.duckdb
def test_leaves_of_k_rows_do_not_make_spans_of_k(duckdb_engine, make_table):
    """All leaves of q, p1, p2 would have three rows, and one person would be alone in his span."""
    counts = {(0, 0, 0): 3, (0, 1, 0): 3, (1, 0, 0): 3, (1, 0, 1): 2, (1, 1, 1): 1}
    rows = [
        (f"q{q}", f"a{a}", f"b{b}", f"c{q}{a if q == 0 else b}") for (q, a, b), n in counts.items() for _ in range(n)
    ]
    case = case_of(["q", "p1", "p2", "cls"], rows, ["p1", "p2"], "k = 3", options={"form": "id3"})
    plan = case.run(duckdb_engine, make_table)[0]
    assert {plan.tree.attributes[number].name for number in plan.tree.used_attributes()} == {"q", "p1"}
    assert plan.figures["k of the model"] >= 3


@pytest.mark.duckdb
def test_raising_a_branch_would_single_somebody_out(duckdb_engine, make_table):
    """Why pruning only ever makes leaves: the test of a branch, asked at the root, parts other people."""
    rows = [("a1", "b0", "x")] * 3 + [("a1", "b1", "y")] * 3 + [("a0", "b0", "z")] * 2 + [("a0", "b2", "z")]
    case = case_of(["a", "b", "cls"], rows, ["a", "b"], "k = 3", options={"form": "id3"})
    plan, source, _ = case.run(duckdb_engine, make_table)
    assert plan.figures["k of the model"] == plan.figures["spans"] == 3
    low = next(node for node in plan.tree.nodes if node.depth == 1 and not node.is_leaf)
    leaves = [replace(plan.tree.nodes[n], number=place, parent=0, depth=1) for place, n in enumerate(low.children, 1)]
    root = replace(low, number=0, parent=None, depth=0, children=(1, 2))
    raised = replace(plan.tree, nodes=(root, *leaves))
    assert audit(duckdb_engine, raised, source.relation, public=["a", "b"]).k == 1


@pytest.mark.duckdb
def test_a_confidence_keeps_a_group_from_having_one_class(duckdb_engine, make_table):
    rows = [("M", "bad")] * 3 + [("U", "good")] * 2 + [("U", "bad")]
    make = lambda require, name: case_of(  # noqa: E731
        ["marital", "cls"], rows, ["marital"], require, options={"prune": "false", "borders": "pinned"}, table=name
    ).run(duckdb_engine, make_table)[0]  # fmt: skip
    assert make("k = 3", "one").figures["exposed rows"] == 3
    held = make("k = 3, confidence = 85 %", "two")
    assert len(held.tree.nodes) == 1
    assert held.figures["exposed rows"] == 0
    assert held.figures["max confidence"] == Fraction(2, 3)
    assert [risk.name for risk in held.risks] == ["refusals"]


@pytest.mark.duckdb
@pytest.mark.parametrize(("k", "at"), [(2, "2.5"), (3, "3.5"), (4, None)])
def test_thresholds_leave_k_on_both_sides(duckdb_engine, make_table, k, at):
    """The best cut is after 1; the nearest that may be is taken."""
    rows = [(n, "a" if n == 1 else "b") for n in range(1, 7)]
    case = case_of(["x", "cls"], rows, ["x"], f"k = {k}", options={"prune": "false"})
    tree = case.run(duckdb_engine, make_table)[0].tree
    assert (tree.root.split.at if at else tree.root.split) == (at and Decimal(at))


@pytest.mark.duckdb
def test_a_public_cut_lies_between_values_of_everybody_it_parts(duckdb_engine, make_table):
    """Below q = y nobody is between 10 and 50; those of q = x who are may be there for all an attacker knows."""
    rows = [("y", 10, "a")] * 2 + [("y", 50, "b")] * 2
    rows += [("x", x, "c") for x in (10, 20, 30, 40, 50)]
    case = case_of(["q", "x", "cls"], rows, ["x"], "k = 4", options={"form": "id3"})
    plan = case.run(duckdb_engine, make_table)[0]
    cut = next(node.split for node in plan.tree.nodes if isinstance(node.split, Cut))
    assert 20 < cut.at <= 30  # four people below, five above
    assert plan.figures["k of the model"] == 4


# -- generalization and names ----------------------------------------------------------------------------


@pytest.mark.duckdb
def test_a_breaching_attribute_is_asked_one_level_up(duckdb_engine, make_table):
    rows = [("ash", "y")] * 4 + [("oak", "y")] + [("fir", "n")] * 3 + [("yew", "n")] * 2
    lines = [["ash", "leafy", "*"], ["oak", "leafy", "*"], ["elm", "leafy", "*"], ["fir", "needles", "*"], ["yew", "needles", "*"]]  # fmt: skip
    case = case_of(["tree", "cls"], rows, ["tree"], "k = 5", hierarchies={"tree": lines}, options={"prune": "false"})
    plan = case.run(duckdb_engine, make_table)[0]
    assert plan.tree.root.split.labels == ("leafy", "needles")
    assert plan.tree.root.split.groups == (("ash", "elm", "oak"), ("fir", "yew"))  # elm, too: nobody has it
    assert plan.figures["k of the model"] == 5
    assert plan.figures["candidates dropped"] == 0


@pytest.mark.duckdb
def test_values_that_few_rows_have_are_never_named(duckdb_engine, make_table):
    """Public ones breach; private ones are put together in the branch of all others."""
    rows = [("p", "often", "y")] * 6 + [("p", "seldom", "n")] + [("p", "once", "n")]
    case = case_of(["p", "q", "cls"], rows, ["p"], "k = 3", options={"prune": "false"})
    tree = case.run(duckdb_engine, make_table)[0].tree
    assert tree.root.split.groups == (("often",), ())
    assert tree.root.split.others == 1
    public = replace(case, public=["p", "q"], table="again").run(duckdb_engine, make_table)[0].tree
    assert len(public.nodes) == 1


@pytest.mark.duckdb
def test_private_tests_alone_leave_one_span(duckdb_engine, make_table):
    rng = random.Random(3)
    rows = [("p", rng.choice("xyz"), rng.randrange(9), rng.choice("ab")) for _ in range(40)]
    for known, spans in ((False, 1), (True, 2)):
        case = case_of(
            ["p", "q", "r", "cls"], rows, ["p"], "k = 3", class_is_public=known, table=f"t{spans}",
            options={"prune": "false"},
        )  # fmt: skip
        plan = case.run(duckdb_engine, make_table)[0]
        assert len(plan.tree.leaves) > 5
        assert plan.figures["spans"] == spans


# -- properties ------------------------------------------------------------------------------------------


@pytest.mark.duckdb
@pytest.mark.parametrize("seed", range(2))
def test_with_k_of_one_it_is_plain_id3(duckdb_engine, make_table, seed):
    case = replace(random_case(seed), options={"form": "id3"}, hierarchies={}, class_is_public=False, require="k = 2")
    case.public = [name for name in case.columns if name not in ("id", "cls")]
    case.requirements = (KAnonymity(1),)
    plan, source, _ = case.run(duckdb_engine, make_table)
    infos = [source.info(name) for name in source.columns]
    plainly = induce(duckdb_engine, source.relation, infos[:-1], infos[-1], settings("id3", {"rare": 1})).tree
    assert [(n.split, n.counts, n.children) for n in plan.tree.nodes] == [
        (n.split, n.counts, n.children) for n in plainly.nodes
    ]
    assert len(plan.tree.nodes) > 1


@pytest.mark.duckdb
@pytest.mark.parametrize("seed", range(500, 503))
def test_pruning_and_the_order_of_rows(duckdb_engine, make_table, seed):
    """Pruning makes no group smaller or less mixed; the order of rows changes nothing; spans are at most rows / k."""
    case = replace(random_case(seed), require="k = 2", class_is_public=False)
    whole = case.run(duckdb_engine, make_table)[0]
    assert whole.figures["spans"] <= len(case.rows) // 2
    pruned = replace(case, options={**case.options, "prune": "true"}, table="pruned")
    cut = pruned.run(duckdb_engine, make_table)[0]
    assert cut.figures["k of the model"] >= whole.figures["k of the model"]
    assert cut.figures["max confidence"] <= whole.figures["max confidence"]
    assert len(cut.tree.nodes) <= len(whole.tree.nodes)
    rows = random.Random(seed).sample(case.rows, len(case.rows))
    mixed = replace(case, rows=[{**row, "id": n} for n, row in enumerate(rows)], table="mixed")
    assert mixed.run(duckdb_engine, make_table)[0].tree == whole.tree


@pytest.mark.duckdb
def test_a_larger_table_by_its_groups(duckdb_engine, make_table):
    """More rows than the naive queue can take: private and public tests, hierarchies; judged by the audit's groups."""
    rng = random.Random(5)
    lines = [[f"w{n}", f"g{n // 4}", f"h{n // 8}", "*"] for n in range(16)]
    rows = []
    for number in range(1200):
        a, w, q, r = rng.randrange(60), rng.randrange(16), rng.choice("xyz"), rng.randrange(20)
        yes = (a > 30) + (w % 4 == 0) + (q == "x") + (r > 12) + rng.random() > 2.2
        rows.append({"id": number, "a": a, "w": f"w{w}", "q": q, "r": r, "cls": "yes" if yes else "no"})
    columns = {"id": "INTEGER", "a": "INTEGER", "w": "TEXT", "q": "TEXT", "r": "INTEGER", "cls": "TEXT"}
    case = Case(columns, rows, ["a", "w"], "k = 12, confidence = 95 %", hierarchies={"w": lines})
    plan = case.run(duckdb_engine, make_table)[0]
    groups = audited_spans(duckdb_engine, plan.tree, case)
    assert len(groups) == plan.figures["spans"] > 10
    assert all(is_fine(case, group) for group in groups)
    shares = [max(Counter(rows[r]["cls"] for r in g).values()) / len(g) for g in groups]
    assert max(shares) <= 0.95
    assert any(leaf.rows < 12 for leaf in plan.tree.leaves)


# -- refusals --------------------------------------------------------------------------------------------


@pytest.mark.duckdb
def test_null_is_refused_with_column_and_count(duckdb_engine, make_table):
    rows = [("a", 1, "x"), (None, 2, "x"), ("b", None, "y"), (None, 3, None)]
    with pytest.raises(PolicyError, match=r'"p" in 2, "n" in 1, "cls" in 1 of 4 rows'):
        case_of(["p", "n", "cls"], rows, ["p"], "k = 2").run(duckdb_engine, make_table)


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("require", "told"),
    [
        ("k = 7", "k = 7 cannot be met: the whole table has 6 rows"),
        ("simple_l = 2", 'simple_l = 2 on "cls" cannot be met'),
        ("confidence = 60 %", 'confidence = 60 % on "cls" cannot be met'),
        ("entropy_l = 2", 'entropy_l = 2 on "cls" cannot be met'),
    ],
)
def test_a_table_that_breaks_the_policy_as_a_whole_is_refused(duckdb_engine, make_table, require, told):
    with pytest.raises(RequirementBreached, match=told):
        mortgage(require).run(duckdb_engine, make_table)


WRONG = [
    ({"require": "k = 2, t = 0.5"}, "ALGORITHM kadet cannot keep t = 0.5; it keeps alpha, confidence, distinct_l, entropy_l, k, recursive_l, simple_l"),
    ({"options": {"form": "cart"}}, "form of ALGORITHM kadet must be id3 or c45, not cart"),
    ({"options": {"prunes": "true"}}, "no option prunes: did you mean prune"),
    ({"options": {"prune": "3"}}, "prune of ALGORITHM kadet must be true or false, not 3"),
    ({"options": {"min_leaf": "0"}}, "min_leaf of ALGORITHM kadet must be a whole number from 1 to"),
    ({"hierarchies": {"sports": [["Yes", "*"], ["No", "*"]]}}, 'public attributes only: leave out the HIERARCHY of "sp'),
    ({"requirements": (KAnonymity(2), SimpleDiversity(Fraction(6, 5))), "class_is_public": True},
     "an attacker already knows it and simple_l cannot protect it"),
]  # fmt: skip


@pytest.mark.duckdb
@pytest.mark.parametrize(("change", "told"), WRONG)
def test_what_would_not_be_heeded_is_refused(duckdb_engine, make_table, change, told):
    case = replace(mortgage("k = 2"), **change)
    if "t = " in case.require:
        text = case.text.replace(" TARGET (cls)", " SENSITIVE (sports) TARGET (cls)").replace("SENSITIVE (cls)", "")
        case = _Written(**vars(case))
        case.written = text.replace('INSENSITIVE ("sports")', "")
    with pytest.raises(PolicyError, match=told):
        case.run(duckdb_engine, make_table)


class _Written(Case):
    """A case whose policy is written out."""

    written = ""

    @property
    def text(self):
        return self.written


@pytest.mark.duckdb
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [(' INSENSITIVE ("sports") TARGET (cls)', " INSENSITIVE (sports, cls)", r"name the class in TARGET")],
)  # fmt: skip
def test_roles_that_do_not_fit_are_refused(duckdb_engine, make_table, old, new, told):
    case = mortgage("k = 2")
    text = case.text.replace(old, new)
    case = _Written(**vars(case))
    case.written = text
    with pytest.raises(PolicyError, match=told):
        case.run(duckdb_engine, make_table)


@pytest.mark.duckdb
def test_a_tree_that_does_not_stand_the_attack_is_not_handed_on(duckdb_engine, make_table, monkeypatch):
    """Were the books wrong, the attack on the finished tree would tell."""
    monkeypatch.setattr(kadet_queue.ClassDemands, "hold", lambda self, counts: counts.sum(axis=-1) > 0)
    rows = [("M", "bad")] * 4 + [("U", "good")] * 2
    with pytest.raises(RequirementBreached, match="1 of 2 groups that an attacker can form have fewer than 3 rows"):
        case_of(["marital", "cls"], rows, ["marital"], "k = 3", options={"form": "id3"}).run(duckdb_engine, make_table)


# -- the claim sheets ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["kadet", "ldm"])
def test_the_examples_and_options_of_the_claim_sheets_are_read(method):
    page = (Path(__file__).resolve().parents[2] / "docs" / "methods" / f"{method}.md").read_text(encoding="utf-8")
    policy = parse(re.search(r"```sql\n(.*?)```", page, re.S).group(1))[0].policy
    assert policy.algorithm == method
    listed = {name for line in re.findall(r"^\| (`.*?) \|", page, re.M) for name in re.findall(r"`(\w+)`", line)}
    assert listed == set(declared_options(method_named(method).options))
