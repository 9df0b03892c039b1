"""How good the opened model is, without anybody's rows: every site adds its confusion matrix to the same sum.

The rows are those that the codebook left for the test, or all of them.  A true class is printed like an attribute is:
cells below k are in a pool, so the accuracy is a range where a pool hides right answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sqlglot import exp

from ppdm_sql.classifiers.naive_bayes import NaiveBayes
from ppdm_sql.classifiers.values import literal, number
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.models.bayes_kind import BayesKind
from ppdm_sql.sharing.private.codebook import Codebook
from ppdm_sql.sharing.private.pools import Pool, pool_cells
from ppdm_sql.sharing.private.vector import TEST, Vector, part_of
from ppdm_sql.source.encode import canonical
from ppdm_sql.statements.names import Name, aliased, column
from ppdm_sql.trees.expression import CLASS
from ppdm_sql.trees.tree import Value

_TRUE, _SAID, _ROWS = "ppdm_true", "ppdm_said", "ppdm_rows"


def confusion_vector(engine: Engine, relation: Name, codebook: Codebook, model: NaiveBayes) -> Vector:
    """Rows by true and predicted class, in the order of the codebook; rows without a class are left out."""
    if model.target != codebook.target or not set(model.classes) <= set(codebook.classes):
        raise PolicyError("the model is not of this codebook: it has another target or other classes")
    with engine.workspace():
        rows = part_of(engine, relation, codebook, TEST)
        found = engine.fetch(_confusion_query(engine, rows, codebook, model))
    size = len(codebook.classes)
    matrix = np.zeros((size, size), dtype=np.uint64)
    for true, said, count in found:
        if true >= 0 and said >= 0:
            matrix[true, said] += np.uint64(count)
    return matrix.reshape(-1)


def _confusion_query(engine: Engine, rows: Name, codebook: Codebook, model: NaiveBayes) -> exp.Select:
    told = BayesKind().query(engine, model, rows, [codebook.target.name])
    info = next(info for info in engine.columns(rows) if info.name == codebook.target.name)
    picked = [
        aliased(_place_case(codebook, canonical(engine, info, "p")), _TRUE),
        aliased(_place_case(codebook, column(CLASS, "p")), _SAID),
    ]
    inner = exp.Select(expressions=picked).from_(told.subquery("p", copy=False), copy=False)
    keys = [column(_TRUE, "q"), column(_SAID, "q")]
    query = exp.Select(expressions=[*keys, aliased(exp.Count(this=exp.Star()), _ROWS)])
    return query.from_(inner.subquery("q", copy=False), copy=False).group_by(*(key.copy() for key in keys), copy=False)


def _place_case(codebook: Codebook, value: exp.Expr) -> exp.Expr:
    named = [
        exp.If(this=exp.EQ(this=value.copy(), expression=literal(one, codebook.target.kind)), true=number(place))
        for place, one in enumerate(codebook.classes)
    ]
    return exp.Case(ifs=named, default=number(-1))


# -- what is opened ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassAccuracy:
    """Of one true class: its rows, those right at least and at most, and the cells that are printed."""

    value: Value
    rows: int
    least_right: int
    most_right: int
    counts: tuple[int | None, ...]
    pool: Pool | None


@dataclass(frozen=True)
class OpenedAccuracy:
    classes: tuple[ClassAccuracy, ...]

    @property
    def rows(self) -> int:
        return sum(one.rows for one in self.classes)

    @property
    def least(self) -> Fraction:
        return Fraction(sum(one.least_right for one in self.classes), max(self.rows, 1))

    @property
    def most(self) -> Fraction:
        return Fraction(sum(one.most_right for one in self.classes), max(self.rows, 1))


def opened_accuracy(codebook: Codebook, total: Vector) -> OpenedAccuracy:
    """Of the classes with at least k test rows."""
    size = len(codebook.classes)
    matrix = total.reshape(size, size).astype(np.int64)
    kept = [place for place in range(size) if matrix[place].sum() >= codebook.k]
    return OpenedAccuracy(tuple(_of_class(codebook, place, [int(cell) for cell in matrix[place]]) for place in kept))


def _of_class(codebook: Codebook, place: int, cells: list[int]) -> ClassAccuracy:
    pool = pool_cells(cells, codebook.k)
    hidden = () if pool is None else pool.codes
    shown = tuple(None if code in hidden else cell for code, cell in enumerate(cells))
    right = shown[place]
    least, most = (0, pool.rows) if right is None and pool is not None else (right or 0, right or 0)
    return ClassAccuracy(codebook.classes[place], sum(cells), least, most, shown, pool)
