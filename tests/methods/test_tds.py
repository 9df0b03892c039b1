"""Top-down specialization and refinement: the vectors worked out by hand, and what is promised, on random tables."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from lattice_cases import Case, check_classes, random_case
from public_data import DATA, needs_data
from pyarrow import csv

from ppdm_sql.cells.aggregate import aggregate
from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.methods.base import CellJob, Job
from ppdm_sql.methods.shared.limits import Demands
from ppdm_sql.methods.tds import method
from ppdm_sql.methods.tds.method import TDR, TDS
from ppdm_sql.methods.tds.specialize import KeySet, Specialization
from ppdm_sql.policy.policy import HierarchyFile, Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.hierarchy import build, load_hierarchy
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Word
from tests.random_cases import SOURCE, arrow_table
from tests.sizes import seeds

pytestmark = pytest.mark.duckdb
# Education, sex, hours, rows of class Y and N: the running example of the ICDE paper.
PEOPLE = (
    ("9th", "M", 30, 0, 3), ("10th", "M", 32, 0, 4), ("11th", "M", 35, 2, 3), ("12th", "F", 37, 3, 1), ("Bachelors", "F", 42, 4, 2),
    ("Bachelors", "F", 44, 4, 0), ("Masters", "M", 44, 4, 0), ("Masters", "F", 44, 3, 0), ("Doctorate", "F", 44, 1, 0),
)  # fmt: skip
EDUCATION = [
    ["9th", "Junior", "Secondary", "*"], ["10th", "Junior", "Secondary", "*"], ["11th", "Senior", "Secondary", "*"],
    ["12th", "Senior", "Secondary", "*"], ["Bachelors", "Bachelors", "University", "*"], ["Masters", "Grad", "University", "*"],
    ["Doctorate", "Grad", "University", "*"],
]  # fmt: skip
SEX = [["M", "*"], ["F", "*"]]


def people(algorithm: str, quasi, trees) -> Case:
    rows = []
    for education, sex, hours, yes, no in PEOPLE:
        rows += [{"education": education, "sex": sex, "hours": hours, "risk": "Y"}] * yes
        rows += [{"education": education, "sex": sex, "hours": hours, "risk": "N"}] * no
    rows = [{"id": number, **row} for number, row in enumerate(rows)]
    columns = {"id": "integer", "education": "text", "sex": "text", "hours": "integer", "risk": "text"}
    return Case(columns, rows, list(quasi), (KAnonymity(4),), trees, target="risk", algorithm=algorithm)


def specialized(engine, case: Case, sets, **settings) -> Specialization:
    """The steps on several sets of columns, each with its own k."""
    engine.load(SOURCE, arrow_table(case.columns, case.rows))
    infos = [ColumnInfo(name, Kind(kind), kind) for name, kind in case.columns.items()]
    source = resolve(SOURCE, infos, case.policy, ("t",))
    trees = {name: build(name, lines) for name, lines in case.hierarchies.items()}
    with engine.workspace():
        cells = aggregate(engine, source, CellJob(None, source, case.policy, trees).cell_columns)
        job = CellJob(cells, source, case.policy, trees)
        columns = method._columns(job, case.algorithm == "tdr")
        keys = [
            KeySet(frozenset(names), k, np.zeros(len(cells), dtype=np.int64), np.array([cells.units]))
            for names, k in sets
        ]
        work = Specialization(cells, columns, keys, Demands(4), **settings)
        work.run()
    return work


def steps_of(work: Specialization) -> list[tuple[str, str | None, float]]:
    by_name = {column.name: column for column in work.columns}
    return [(step.column, by_name[step.column].label(step.piece, "*"), round(step.score, 4)) for step in work.steps]


ALL = ("education", "sex", "hours")
TREES = {"education": EDUCATION, "sex": SEX}


def test_the_running_example_step_by_step(duckdb_engine):
    """Labels of hours are the roundest numbers of their gaps: 36 lies between 35 and 37, 43 between 42 and 44."""
    work = specialized(duckdb_engine, people("tds", ALL, TREES), [(ALL, 4)])
    assert [(name, score) for name, _, score in steps_of(work)] == [
        ("hours", 0.0156), ("hours", 0.0580), ("hours", 0.0409), ("education", 0.1358), ("education", 0.3386),
        ("sex", 0.1664), ("education", 0.1022), ("education", 0.0911), ("hours", 0.0058),
    ]  # fmt: skip
    first = work.steps[0]
    assert (round(first.gain, 4), first.loss) == (0.3584, 22)
    hours = next(column for column in work.columns if column.name == "hours")
    starts = [hours.axis.texts[piece.first] for piece in work.pieces["hours"]]
    assert starts == ["30", "35", "37", "42", "44"]
    education = next(column for column in work.columns if column.name == "education")
    assert {education.label(piece, "*") for piece in work.pieces["education"]} == {
        "Junior",
        "11th",
        "12th",
        "Bachelors",
        "Grad",
    }
    assert len(work.pieces["sex"]) == 2


@pytest.mark.parametrize("ratio", [False, True])
def test_two_sets_of_quasi_identifiers(duckdb_engine, ratio):
    work = specialized(
        duckdb_engine, people("tds", ALL, TREES), [(("education", "sex"), 4), (("sex", "hours"), 11)], ratio=ratio
    )
    assert [name for name, _, _ in steps_of(work)] == ["hours", "education", "education", "education", "education"]
    if not ratio:
        assert [score for _, _, score in steps_of(work)] == [0.0299, 0.0272, 0.0616, 0.1022, 0.0364]
    assert len(work.pieces["sex"]) == 1


def test_refinement_suppresses_what_has_no_taxonomy(duckdb_engine):
    work = specialized(duckdb_engine, people("tdr", ALL, {"sex": SEX}), [(ALL, 4)])
    assert [name for name, _, _ in steps_of(work)] == ["hours", "hours", "hours", "sex", "hours"]
    assert len(work.pieces["education"]) == 1
    _, rows = people("tdr", ALL, {"sex": SEX}).run(duckdb_engine, TDR)
    sizes = Counter((row["education"], row["sex"], row["hours"]) for row in rows)
    assert sorted(sizes.values()) == [4, 4, 5, 6, 7, 8]
    assert {key[0] for key in sizes} == {"*"}


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([(("education",), 4)], [("education", 0.0059)]),
        ([(("education", "sex"), 4)], [("sex", 0.0088), ("education", 0.0140)]),
        ([(("education", "sex"), 4), (("sex", "hours"), 11)], [("hours", 0.0299), ("education", 0.0114)]),
    ],
)
def test_values_are_shown_one_by_one(duckdb_engine, sets, expected):
    quasi = [name for name in ALL if any(name in names for names, _ in sets)]
    work = specialized(duckdb_engine, people("tdr", quasi, {"sex": SEX} if "sex" in quasi else {}), sets)
    assert [(name, score) for name, _, score in steps_of(work)] == expected
    column = next(one for one in work.columns if one.name == "education")
    assert {column.label(piece, "*") for piece in work.pieces["education"]} == {"10th", "*"}


@pytest.mark.parametrize("tried", [TDS, TDR], ids=["tds", "tdr"])
@seeds(small=15, full=150, nightly=1000)
def test_what_is_published_keeps_the_policy(duckdb_engine, seeds, tried):
    """Every class meets every requirement, and every label is that of the row's own value."""
    published = 0
    for seed in seeds:
        case = random_case(seed)
        case.algorithm, case.suppress, case.tunings = tried.name, Fraction(0), {}
        try:
            plan, rows = case.run(duckdb_engine, tried)
        except RequirementBreached:
            assert not case.holds(case.rows, case.rows)
            continue
        published += 1
        check_classes(case, plan, rows)
    assert published >= 0.4 * len(seeds)


ADULT = ("age", "workclass", "education", "marital_status", "occupation", "race", "sex", "native_country")


@needs_data
@pytest.mark.parametrize(("k", "steps", "classes", "smallest"), [(10, 8, 80, 10), (100, 23, 88, 101)])
def test_the_adult_table_as_another_program_divides_it(duckdb_engine, k, steps, classes, smallest):
    """An independent program made these divisions, age at 28 the second and at 36 the third."""
    folder = DATA / "hierarchies" / "adult"
    options = csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    table = csv.read_csv(DATA / "adult_train.csv", convert_options=options).select([*ADULT, "income"]).drop_null()
    duckdb_engine.load(SOURCE, table)
    roles = Roles(quasi=tuple(map(Word, ADULT)), target=Word("income"))
    policy = Policy("tds", (KAnonymity(k),), roles)
    trees = {}
    for name in ADULT[1:]:
        values = table[name].unique().to_pylist()
        trees[name] = load_hierarchy(
            HierarchyFile(f"{name}.csv"),
            column=name,
            kind=Kind.TEXT,
            values=values,
            engine=duckdb_engine,
            folder=folder,
        )
    plan = TDS.table(
        Job(duckdb_engine, resolve(SOURCE, duckdb_engine.columns(SOURCE), policy, ("adult",)), policy, trees)
    )
    assert (plan.figures["divisions"], plan.classes, plan.figures["smallest class"]) == (steps, classes, smallest)
    assert [step.removeprefix("divide ").partition(" into")[0] for step in plan.steps[1:5]] == [
        '"marital_status" at *',
        '"age" at *',
        '"age" at >= 28',
        '"education" at *',
    ]


def test_null_and_nan_get_a_piece_of_their_own(duckdb_engine):
    rows = [
        {"id": n, "x": x, "risk": risk}
        for n, (x, risk) in enumerate(
            [*[(1.0, "a")] * 3, *[(9.0, "b")] * 3, *[(None, "b")] * 3, *[(float("nan"), "a")] * 3]
        )
    ]
    case = Case(
        {"id": "integer", "x": "float", "risk": "text"}, rows, ["x"], (KAnonymity(3),), target="risk", algorithm="tds"
    )
    _, found = case.run(duckdb_engine, TDS)
    assert Counter(row["x"] for row in found) == {"< 5": 3, ">= 5": 3, None: 3, "nan": 3}
