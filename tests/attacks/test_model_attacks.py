"""What an attacker who holds a published tree and a table of names could do."""

from __future__ import annotations

import itertools
import random
import re
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from ppdm_sql.errors import PpdmError, RequirementBreached
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.audit import audit
from ppdm_sql.trees.follow import follow
from ppdm_sql.trees.tree import Cut, Tree

MORTGAGE = {
    "name": ["Lisa", "John", "Ben", "Laura", "Robert", "Anna"],
    "marital": ["U", "M", "M", "M", "U", "U"],
    "sports": ["Yes", "Yes", "No", "No", "Yes", "No"],
    "risk": ["good", "good", "bad", "bad", "bad", "bad"],
}


def model(columns: str, public: str, private: str, required: str = "k = 3", target: str = "risk", **more: str) -> str:
    kept = f"INSENSITIVE ({private})" if private else ""
    options = more.get("options", "form = id3, prune = false")
    return (
        f"CREATE OR REPLACE MODEL {more.get('name', 'm')} AS SELECT {columns} FROM t WITH ANONYMIZATION ("
        f"ALGORITHM kadet ({options}) REQUIRE {required} QUASI IDENTIFIER ({public}) {kept} {more.get('roles', '')} "
        f"SENSITIVE ({target}) TARGET ({target}) {more.get('end', '')})"
    )


def load(session, columns: dict[str, list], name: str = "t") -> list[dict]:
    table = pa.table(columns)
    session.engine.load(Name(name), table, temporary=True)
    return table.to_pylist()


def enumerated(tree: Tree, rows: list[dict], public: set[str]) -> dict[frozenset[int], list[int]]:
    """Definition 5 as it stands: all ends that some combination of private values can lead a person to."""
    unknown = [tree.attributes[number].name for number in tree.used_attributes()]
    unknown = [name for name in unknown if name not in public]
    domains = [sorted({row[name] for row in rows}) for name in unknown]
    spans = defaultdict(list)
    for number, row in enumerate(rows):
        tried = ({**row, **dict(zip(unknown, some, strict=True))} for some in itertools.product(*domains))
        spans[frozenset(follow(tree, one) for one in tried)].append(number)
    return spans


# -- a class that few have ----------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["kadet", "ldm", "atp"])
@pytest.mark.parametrize("person", [False, True])
def test_a_class_of_few_is_not_named(memory, algorithm, person):
    """Nine of 60 rows have the canary, fewer than k = 10; or they are one person's, fewer than k = 5."""
    ill = ["canary"] * 9 + ["flu", "cold", "none"] * 17
    columns = {"who": [0] * 9 + list(range(1, 52)), "age": [20 + place % 4 for place in range(60)], "ill": ill}
    load(memory, columns)
    asked = 10 if not person else 5
    who, role = ("who, ", "ENTITY (who)") if person else ("", "")
    text = (
        f"CREATE OR REPLACE MODEL m AS SELECT {who}age, ill FROM t WITH ANONYMIZATION (ALGORITHM {algorithm} REQUIRE "
        f"k = {asked} {role} QUASI IDENTIFIER (age) SENSITIVE (ill) TARGET (ill) {{}})"
    )
    with pytest.raises(PpdmError) as refused:
        memory.publish(text.format(""))
    assert "canary" not in str(refused.value)
    assert memory.models() == []
    if algorithm == "kadet":  # the others take one row per person only
        assert "names 1 value of" in str(refused.value)
        published = memory.publish(text.format("ACCEPT RISK (rare_classes)"))
        assert "rare_classes" in published.manifest["residual_risks"]


# -- spans, not leaves -----------------------------------------------------------------------------------


def test_the_mortgage_table_gives_two_spans_of_three(memory):
    rows = load(memory, MORTGAGE)
    memory.publish(
        model(
            "name, marital, sports, risk",
            "marital",
            "sports",
            roles="IDENTIFIER (name)",
            end="ACCEPT RISK (rare_classes)",
        )
    )
    spans = enumerated(memory.model("m").tree, rows, {"marital"})
    names = [sorted(rows[number]["name"] for number in people) for people in spans.values()]
    assert sorted(names) == [["Anna", "Lisa", "Robert"], ["Ben", "John", "Laura"]]
    assert min(leaf.rows for leaf in memory.model("m").tree.leaves) == 1  # and it identifies nobody


def test_leaves_of_k_rows_are_no_anonymity(memory):
    """A private question at the root, another public one below each answer: leaves of three, and a span of one."""
    counts = {(0, 0, 0): 3, (0, 1, 0): 3, (1, 0, 0): 3, (1, 0, 1): 2, (1, 1, 1): 1}
    people = [
        (f"q{q}", f"a{a}", f"b{b}", f"c{q}{a if q == 0 else b}") for (q, a, b), n in counts.items() for _ in range(n)
    ]
    rows = load(memory, dict(zip(("q", "a", "b", "c"), map(list, zip(*people, strict=True)), strict=True)))
    for k in (2, 3):
        memory.publish(model("q, a, b, c", "a, b", "q", f"k = {k}", "c", end="SUPERSEDES ALL"))
        tree = memory.model("m").tree
        assert min(map(len, enumerated(tree, rows, {"a", "b"}).values())) >= k
    # the tree that counts leaves is the plain one: every leaf has three rows, and the attack finds a person alone
    memory.train("plain", "SELECT q, a, b, c FROM t", "c", inducer="id3", rare=1)
    plain = memory.model("plain").tree
    assert min(leaf.rows for leaf in plain.leaves) == 3
    assert min(map(len, enumerated(plain, rows, {"a", "b"}).values())) == 1
    assert audit(memory.engine, plain, Name("t"), public=["a", "b"]).k == 1


# -- raising a branch ------------------------------------------------------------------------------------


def test_a_raised_branch_is_found_by_the_attack_and_is_not_on_offer(memory):
    people = [("a1", "b0", "x")] * 3 + [("a1", "b1", "y")] * 3 + [("a0", "b0", "z")] * 2 + [("a0", "b2", "z")]
    rows = load(memory, dict(zip("abc", map(list, zip(*people, strict=True)), strict=True)))
    memory.publish(model("a, b, c", "a, b", "", target="c"))
    tree = memory.model("m").tree
    assert min(map(len, enumerated(tree, rows, {"a", "b"}).values())) == 3
    low = next(node for node in tree.nodes if node.depth == 1 and not node.is_leaf)
    leaves = [replace(tree.nodes[n], number=place, parent=0, depth=1) for place, n in enumerate(low.children, 1)]
    raised = replace(tree, nodes=(replace(low, number=0, parent=None, depth=0, children=(1, 2)), *leaves))
    assert min(map(len, enumerated(raised, rows, {"a", "b"}).values())) == 1
    assert audit(memory.engine, raised, Name("t")).k == 1
    for option in ("raise", "raising", "subtree_raising"):
        with pytest.raises(Exception, match="has no option"):
            memory.publish(model("a, b, c", "a, b", "", target="c", options=f"{option} = true", end="SUPERSEDES ALL"))


# -- several trees ---------------------------------------------------------------------------------------


def test_six_trees_are_not_published_beside_each_other(memory):
    """Each tree hides everybody among ten; what is out together must, too, or the statement accepted the risk."""
    draw = random.Random(11)
    names = [f"p{n}" for n in range(4)]
    columns = {name: [draw.choice(["u", "v", "w"]) for _ in range(400)] for name in names}
    risk = [str(sum(columns[n][r] == "u" for n in names) % 3 > 0) for r in range(400)]
    rows = load(memory, {"id": list(range(400)), **columns, "risk": risk})
    pairs = list(itertools.combinations(names, 2))
    out, refused = [], []
    for number, (a, b) in enumerate(pairs):
        text = model(f"id, {a}, {b}, risk", f"{a}, {b}", "", "k = 10", name=f"m{number}", roles="IDENTIFIER (id)")
        try:
            memory.publish(text)
            out.append((f"m{number}", {a, b}))
        except RequirementBreached as told:
            refused.append(str(told))
    assert out
    assert refused
    assert all(re.search("joint class(es)? of fewer than 10", told) for told in refused)

    def joint(held: list[tuple[Tree, set[str]]]) -> int:
        spans = defaultdict(int)
        told = [enumerated(tree, rows, public) for tree, public in held]
        for number in range(len(rows)):
            spans[tuple(next(span for span, people in one.items() if number in people) for one in told)] += 1
        return min(spans.values())

    assert joint([(memory.model(name).tree, public) for name, public in out]) >= 10
    a, b = next(pair for number, pair in enumerate(pairs) if f"m{number}" not in dict(out))
    accepted = model(f"id, {a}, {b}, risk", f"{a}, {b}", "", "k = 10", name="more", roles="IDENTIFIER (id)",
                     end="ACCEPT RISK (joint)")  # fmt: skip
    release = memory.publish(accepted)
    assert "joint" in release.manifest["residual_risks"]
    assert any(not outcome["holds"] for outcome in release.manifest["joint"])
    everything = [*out, ("more", {a, b})]
    assert joint([(memory.model(name).tree, public) for name, public in everything]) < 10  # the refusal was right


# -- thresholds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("private", [False, True])
def test_a_threshold_does_not_tell_the_sum_of_its_neighbours(memory, private):
    """In the gap, not in its middle: twice the threshold would be the sum of two people's values."""
    draw = random.Random(17)
    middles = cuts = 0
    for _ in range(5):
        values = draw.sample(range(1000, 90_000), 60)
        other = [draw.choice("xy") for _ in values]
        limit = sorted(values)[draw.randint(15, 45)]
        risk = ["good" if (value < limit) != (draw.random() < 0.05) else "bad" for value in values]
        rows = load(memory, {"salary": values, "other": other, "risk": risk})
        public, hidden = ("other", "salary") if private else ("salary, other", "")
        memory.publish(
            model("salary, other, risk", public, hidden, "k = 5", end="SUPERSEDES ALL", options="form = c45")
        )
        tree = memory.model("m").tree
        assert sum(leaf.rows for leaf in tree.leaves) == 60
        held = sorted(values)
        for node in tree.nodes:
            if not isinstance(node.split, Cut) or tree.attributes[node.split.attribute].name != "salary":
                continue
            cuts += 1
            at = Fraction(node.split.at)
            low = max(value for value in held if value < at)
            high = min(value for value in held if value >= at)
            middles += at == Fraction(low + high, 2)
            assert low < at <= high
        # and every row goes where its counts say
        ends = defaultdict(int)
        for row in rows:
            ends[follow(tree, row)] += 1
        assert ends == {leaf.number: leaf.rows for leaf in tree.leaves}
    assert cuts >= 4
    assert middles <= cuts // 4  # by chance a round number is the middle
