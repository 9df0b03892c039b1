"""Naive Bayes: a class is as likely as its share of the rows times, per attribute, the share of the row's value in it.

Tian et al., the miner's learners; Yi and Zhang for the counts.  What is kept are the counts, as integers:

    s_i        rows of class i                                 share of class i: (s_i + a) / (s + a * classes)
    s_ik(v)    rows of class i with value v in attribute k     share of v: (s_ik(v) + a) / (known rows of i + a * d)

a = laplace, d = how many values the attribute has.  NULL says nothing: it is left out of the counts and of the
product.  All values that are not named (rare ones, those never seen) share one count.

Cost: one GROUP BY of attribute and target per attribute, one of the target.  The result goes into a working table,
and rare categories, the ends of bins, counts of bins and moments are asked of that: no second pass over the
table, and no long list of distinct values in Python.

Two papers' estimates differ in the prior: laplace_prior says whether it is smoothed (the first) or not (the second).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, TypeAlias

from sqlglot import exp

from ppdm_sql.classifiers.bayes_query import Scored, scores_query
from ppdm_sql.classifiers.best_score import best_class_query, computed_once
from ppdm_sql.classifiers.cells import AttributeCells, count_cells, find_classes
from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.classifiers.domains import CategoricalDomain, Domain, checked_names, domain_from_dict, domain_to_dict
from ppdm_sql.classifiers.gaussian import Gaussian, gaussian_from_dict, gaussian_to_dict, learn_gaussian
from ppdm_sql.classifiers.values import (
    MOST_ATTRIBUTES,
    NEVER,
    NUMBERS,
    TIE,
    attribute_from_dict,
    attribute_to_dict,
    checked_columns,
    checked_row,
    classes_from_dict,
    first_best,
    fixed_log,
    value_to_dict,
)
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.policy.options import Choice, Switch, Whole, checked_options, from_text
from ppdm_sql.statements.names import Name
from ppdm_sql.trees.tree import Attribute, Value

FORMAT = "ppdm naive bayes 1"
MOST_BINS = 1000


@dataclass(frozen=True)
class Counted:
    """An attribute as it was counted: per code of its domain the rows of each class."""

    domain: Domain
    counts: tuple[tuple[int, ...], ...]

    @property
    def values(self) -> int:
        """How many values the attribute has; the unnamed are one, if training had any."""
        return len(self.counts) - (isinstance(self.domain, CategoricalDomain) and not any(self.counts[-1]))


Part: TypeAlias = Counted | Gaussian


@dataclass(frozen=True)
class NaiveBayes:
    """The counts, and nothing that is not a count."""

    attributes: tuple[Attribute, ...]
    target: Attribute
    classes: tuple[Value, ...]  # in the order of the values
    priors: tuple[int, ...]  # rows per class
    parts: tuple[Part, ...]  # per attribute
    laplace: int = 1
    laplace_prior: bool = True
    without_class: int = 0  # rows left out, because their class is NULL
    of_rare_classes: int = 0  # or one that too few rows have

    @cached_property
    def prior_weights(self) -> tuple[int, ...]:
        more = self.laplace if self.laplace_prior else 0
        whole = sum(self.priors) + more * len(self.priors)
        return tuple(fixed_log(Fraction(rows + more, whole) if whole else 0) for rows in self.priors)

    @cached_property
    def weights(self) -> tuple[tuple[tuple[int, ...], ...] | None, ...]:
        """Per attribute, per code, per class: the logarithm of the value's share; None for a Gaussian one."""
        return tuple(self._weights(part) if isinstance(part, Counted) else None for part in self.parts)

    def _weights(self, part: Counted) -> tuple[tuple[int, ...], ...]:
        known = [sum(column) for column in zip(*part.counts, strict=True)]
        whole = [rows + self.laplace * part.values for rows in known]
        return tuple(
            tuple(
                # a class without a single known value says nothing of any
                fixed_log(Fraction(rows + self.laplace, of)) if of else 0
                for rows, of in zip(row, whole, strict=True)
            )
            for row in part.counts
        )

    def scores(self, row: Mapping[str, object]) -> tuple[int, ...]:
        """Per class the logarithm of its likelihood with the row, in units of 2^-32; not yet divided by the sum."""
        checked_row(row, self.attributes)
        totals = list(self.prior_weights)
        for attribute, part, weights in zip(self.attributes, self.parts, self.weights, strict=True):
            for place, weight in enumerate(_class_weights(attribute, part, weights, row[attribute.name])):
                totals[place] += weight
        return tuple(NEVER if total < NEVER // 2 else total for total in totals)

    def predict(self, row: Mapping[str, object]) -> Value:
        return self.classes[first_best(self.scores(row), TIE)]

    def to_dict(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "target": attribute_to_dict(self.target),
            "classes": [value_to_dict(value, self.target.kind) for value in self.classes],
            "priors": list(self.priors),
            "laplace": self.laplace,
            "laplace_prior": self.laplace_prior,
            "without_class": self.without_class,
            "of_rare_classes": self.of_rare_classes,
            "attributes": [_part_to_dict(*pair) for pair in zip(self.attributes, self.parts, strict=True)],
        }

    @staticmethod
    def from_dict(content: object) -> NaiveBayes:
        return read(Reading(content, "the naive Bayes model"))


def _class_weights(
    attribute: Attribute, part: Part, weights: tuple[tuple[int, ...], ...] | None, value: object
) -> Sequence[int]:
    """What one value says for each class."""
    if isinstance(part, Gaussian):
        return part.weights(value)
    assert weights is not None
    code = part.domain.code_of(attribute, value)
    return weights[code] if code < len(weights) else (0,) * len(weights[0])


# -- learning ----------------------------------------------------------------------------------------------


def learn(
    engine: Engine,
    relation: Name,
    attributes: Sequence[ColumnInfo],
    target: ColumnInfo,
    *,
    numeric: Annotated[str, Choice("bins", "gaussian")] = "bins",
    bins: Annotated[int, Whole(1, MOST_BINS)] = 10,
    laplace: Annotated[int, Whole(0, 10**6)] = 1,
    laplace_prior: Annotated[bool, Switch()] = True,
    rare: Annotated[int, Whole(1, 10**12)] = 5,
) -> NaiveBayes:
    """Learns from a relation, one GROUP BY per attribute; see the top of this file.

    numeric: what becomes of numbers; dates and timestamps are always put into bins.
    rare: categories and classes that fewer rows have are not named; 1 names everything.
    """
    given = {"numeric": numeric, "bins": bins, "laplace": laplace, "laplace_prior": laplace_prior, "rare": rare}
    checked_options(learn, from_text(given), "naive_bayes")
    known, aim = checked_columns(attributes, target)
    classes = find_classes(engine, relation, target, rare)
    parts: list[Part] = []
    for info, attribute in zip(attributes, known, strict=True):
        with engine.workspace():
            cells = count_cells(engine, relation, info, attribute, classes)
            parts.append(_learn_part(cells, gaussian=numeric == "gaussian", bins=bins, rare=rare))
    return NaiveBayes(
        known, aim, classes.values, classes.counts, tuple(parts),
        laplace, laplace_prior, classes.without_class, classes.of_rare_classes,
    )  # fmt: skip


def _learn_part(cells: AttributeCells, *, gaussian: bool, bins: int, rare: int) -> Part:
    if not cells.attribute.ordered:
        return Counted(*cells.categories(rare))
    if gaussian and cells.attribute.kind in NUMBERS:
        return learn_gaussian(cells)
    return Counted(*cells.bins(bins))


# -- predicting --------------------------------------------------------------------------------------------


def predict_query(
    model: NaiveBayes,
    relation: Name,
    keep: Sequence[str],
    *,
    engine: Engine | None = None,
    scores: bool = False,
    shares: bool = False,
) -> exp.Select:
    """The rows of a relation with their predicted class: the kept columns, then ppdm_class.

    scores adds ppdm_score_0, ... (as NaiveBayes.scores gives them), shares ppdm_share_0, ... (probabilities) in the
    order of the classes.  With an engine text is compared by its bytes whatever collation the column has.
    """
    parts = [
        Scored(attribute, part if isinstance(part, Gaussian) else part.domain, weights)
        for attribute, part, weights in zip(model.attributes, model.parts, model.weights, strict=True)
    ]
    inner = scores_query(parts, model.prior_weights, relation, keep, engine)
    told = best_class_query(
        inner, keep, model.classes, model.target.kind, tie=TIE, with_scores=scores, with_shares=shares
    )
    return computed_once(told, engine)


def predict_one(model: NaiveBayes, row: Mapping[str, object]) -> Value:
    """The class of one row given in Python; the same as predict_query gives it."""
    return model.predict(row)


# -- JSON --------------------------------------------------------------------------------------------------


def _part_to_dict(attribute: Attribute, part: Part) -> dict[str, object]:
    column = attribute_to_dict(attribute)
    if isinstance(part, Gaussian):
        return {"column": column, "gaussian": gaussian_to_dict(part)}
    counts = [list(row) for row in part.counts]
    return {"column": column, "counted": domain_to_dict(attribute, part.domain) | {"counts": counts}}


_ENTRIES = (
    "format", "target", "classes", "priors", "laplace", "laplace_prior", "without_class", "of_rare_classes",
    "attributes",
)  # fmt: skip


def read(given: Reading) -> NaiveBayes:
    """A model from its dictionary; one that this module could not have made is refused."""
    given["format"].one_of([FORMAT])
    given.only(_ENTRIES)
    target = attribute_from_dict(given["target"])
    classes = classes_from_dict(given["classes"], target)
    priors = given["priors"].wholes(len(classes))
    listed = given["attributes"].items()
    if len(listed) > MOST_ATTRIBUTES:
        given["attributes"].refuse(f"has more than {MOST_ATTRIBUTES} entries")
    attributes = tuple(attribute_from_dict(part["column"]) for part in listed)
    checked_names(attributes, target, given["attributes"])
    parts = tuple(_read_part(*pair, priors) for pair in zip(listed, attributes, strict=True))
    return NaiveBayes(
        attributes, target, classes, priors, parts,
        given["laplace"].whole(0), given["laplace_prior"].boolean(),
        given["without_class"].whole(0), given["of_rare_classes"].whole(0),
    )  # fmt: skip


def _read_part(given: Reading, attribute: Attribute, priors: Sequence[int]) -> Part:
    if "gaussian" in given.keys():  # noqa: SIM118 - not a dict
        given.only(("column", "gaussian"))
        if attribute.kind not in NUMBERS:
            given.refuse("is Gaussian, which a column of its kind cannot be")
        gaussian = gaussian_from_dict(given["gaussian"], len(priors))
        if any(moments[0] > rows for moments, rows in zip(gaussian.moments, priors, strict=True)):
            given.refuse("counts more rows than its class has")
        return gaussian
    given.only(("column", "counted"))
    inside = given["counted"]
    inside.only(("boundaries" if attribute.ordered else "categories", "counts"))
    domain = domain_from_dict(inside, attribute)
    counts = tuple(row.wholes(len(priors)) for row in inside["counts"].items())
    if len(counts) != domain.size:
        inside["counts"].refuse(f"must have {domain.size} entries")
    if any(sum(rows) > most for rows, most in zip(zip(*counts, strict=True), priors, strict=True)):
        inside["counts"].refuse("counts more rows than its class has")
    return Counted(domain, counts)
