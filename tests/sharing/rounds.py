"""A round of private counting inside one process: random hospitals, their keys, their codebook, their files."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from ppdm_sql.classifiers import naive_bayes
from ppdm_sql.classifiers.domains import CategoricalDomain
from ppdm_sql.classifiers.naive_bayes import Counted, NaiveBayes
from ppdm_sql.engines.duckdb import DuckDBEngine
from ppdm_sql.sharing.private import folder as files
from ppdm_sql.sharing.private.codebook import AgreedAttribute, Codebook, check_codebook, codebook_from_dict
from ppdm_sql.sharing.private.keys import PrivateKeys, new_keys
from ppdm_sql.sharing.private.vector import count_vector
from ppdm_sql.statements.names import Name

PEOPLE = Name("people")
NAMES = ("east", "harbour", "hill", "lake", "north", "south", "west")
ODD = ("a", "b", "Ångström", "naïve 'quoted'", "", " ", "女", "🙂", "x" * 300, "NULL", "%s $1 {}")
SCHEMA = {
    "age": "INTEGER", 'o"brien; --': "VARCHAR", "dose": "DOUBLE", "paid": "DECIMAL(9, 2)", "born": "DATE",
    "smokes": "BOOLEAN", "class": "VARCHAR",
}  # fmt: skip
TARGET = "class"


@cache
def keys_of(name: str) -> PrivateKeys:
    return new_keys(name)


def random_rows(draw: random.Random, number: int) -> list[tuple]:
    """Ties, NULLs, NaN, odd Unicode, a class that depends on the age."""
    words = draw.sample(ODD, draw.randint(1, len(ODD)))
    rows = []
    for _ in range(number):
        age = draw.choice([None, *range(0, 100, draw.choice([1, 7]))])
        dose = draw.choice([None, float("nan"), float("inf"), -0.0, draw.gauss(0, 3), 1.5])
        paid = None if draw.random() < 0.1 else f"{draw.randint(-500, 500) / 100:.2f}"
        born = (
            None if draw.random() < 0.1 else f"{draw.randint(1930, 2020)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"
        )
        label = (
            draw.choice(["yes", "no", "perhaps", None]) if draw.random() < 0.3 else ("yes" if (age or 0) > 50 else "no")
        )
        rows.append((age, draw.choice([*words, None]), dose, paid, born, draw.choice([True, False, None]), label))
    return rows


def open_people(rows: list[tuple]) -> DuckDBEngine:
    engine = DuckDBEngine.open(":memory:")
    columns = list(zip(*rows, strict=True)) if rows else [[] for _ in SCHEMA]
    plain = pa.table([pa.array(values, type=_KINDS[kind.split("(")[0]]) for values, kind in zip(columns, SCHEMA.values(), strict=True)], names=list(SCHEMA))  # fmt: skip
    connection = engine._connection
    connection.register("plain", plain)
    casts = ", ".join(
        'CAST("{0}" AS {1}) AS "{0}"'.format(name.replace('"', '""'), kind) for name, kind in SCHEMA.items()
    )
    connection.execute(f"CREATE TABLE people AS SELECT {casts} FROM plain")
    connection.unregister("plain")
    return engine


_KINDS = {
    "INTEGER": pa.int32(), "VARCHAR": pa.string(), "DOUBLE": pa.float64(), "DECIMAL": pa.string(), "DATE": pa.string(),
    "BOOLEAN": pa.bool_(),
}  # fmt: skip


def learn_on(engine: DuckDBEngine, **options) -> NaiveBayes:
    columns = {info.name: info for info in engine.columns(PEOPLE)}
    attributes = [info for name, info in columns.items() if name != TARGET]
    with engine.workspace():
        return naive_bayes.learn(engine, PEOPLE, attributes, columns[TARGET], **options)


def codebook_of(model: NaiveBayes, sites: list[str], mode: str = "masks", k: int = 5, **changes) -> Codebook:
    """The values and bins of a model, as its sites would agree on them; written and read once."""
    mixers = tuple(keys_of(f"mixer-{place}").public for place in range(2 if mode == "mixers" else 0))
    attributes = tuple(
        AgreedAttribute(
            attribute, part.domain, other=isinstance(part.domain, CategoricalDomain) and any(part.counts[-1])
        )
        for attribute, part in zip(model.attributes, model.parts, strict=True)
    )
    found = Codebook(
        changes.pop("round", "r1"), mode, k, model.target, model.classes, attributes,
        tuple(keys_of(name).public for name in sorted(sites)), mixers, model.laplace,
    )  # fmt: skip
    found = replace(found, **changes)
    check_codebook(found)
    assert codebook_from_dict(found.to_dict()) == found
    return found


def plain_model(codebook: Codebook, grid: np.ndarray) -> NaiveBayes:
    """The model of the totals as they are."""
    parts = []
    for start, one in zip(codebook.starts, codebook.attributes, strict=True):
        counts = [tuple(row) for row in grid[:, start : start + one.width].T.tolist()]
        if not one.attribute.ordered and not one.other:
            counts.append((0,) * len(codebook.classes))
        parts.append(Counted(one.domain, tuple(counts)))
    return NaiveBayes(
        tuple(one.attribute for one in codebook.attributes), codebook.target, codebook.classes,
        tuple(grid[:, 0].tolist()), tuple(parts), codebook.laplace,
    )  # fmt: skip


@dataclass
class Hospitals:
    """Sites with their rows, and a round among them."""

    rows: dict[str, list[tuple]]
    union: DuckDBEngine
    codebook: Codebook

    def vector(self, name: str) -> np.ndarray:
        with open_people(self.rows[name]) as engine, engine.workspace():
            return count_vector(engine, PEOPLE, self.codebook)

    def report(self, folder: Path, names=None) -> None:
        for name in names or self.rows:
            files.write_vector(self.vector(name), self.codebook, keys_of(name), folder)

    def mix(self, folder: Path) -> None:
        for mixer in self.codebook.mixers:
            files.mix(self.codebook, keys_of(mixer.name), folder, folder, self.codebook.length)

    def hold(self, folder: Path) -> np.ndarray:
        self.report(folder)
        self.mix(folder)
        return files.open_total(self.codebook, folder, self.codebook.length)


def random_hospitals(
    seed: int, mode: str = "masks", number: int | None = None, **changes
) -> tuple[Hospitals, NaiveBayes]:
    """Hospitals over a random table, and the model that learning on all of it gives."""
    draw = random.Random(seed)
    sites = list(NAMES[: number or draw.randint(3, 7)])
    everybody = random_rows(draw, draw.choice([40, 150, 400]))
    rare = draw.choice([1, 3])
    common = {label for label, rows in Counter(row[-1] for row in everybody).items() if rows >= rare} | {None}
    everybody = [row for row in everybody if row[-1] in common]
    rows: dict[str, list[tuple]] = {name: [] for name in sites}
    for row in everybody:
        rows[draw.choice(sites[:-1]) if draw.random() < 0.5 else sites[0]].append(row)  # the last site has no row
    union = open_people(everybody)
    model = learn_on(union, bins=draw.choice([2, 5, 10]), rare=rare, laplace=draw.choice([0, 1, 3]))
    codebook = codebook_of(model, sites, mode, **changes)
    return Hospitals(rows, union, codebook), replace(model, without_class=0, of_rare_classes=0)
