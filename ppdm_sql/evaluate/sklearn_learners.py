"""Learners from outside, scikit-learn's: what an analyst with common tools gets out of a release.

Rows come encoded from the database (encode_rows.py), one line per distinct row with its weight.  Categories become one
column each (none of them for NULL), numbers are brought to mean 0 and deviation 1, and a missing number becomes the
mean.  scikit-learn is imported when it is asked for; it comes with the extra `evaluate`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import NotAvailable, PolicyError
from ppdm_sql.evaluate.encode_rows import MISSING, EncodedRows, Encoder, Floats, Ints, encoder, load_predictions
from ppdm_sql.statements.names import Name

LEARNERS = ("logistic", "svm", "sk_naive_bayes", "sk_tree")


def predict_with_sklearn(
    engine: Engine,
    train: Name,
    test: Name,
    attributes: Sequence[ColumnInfo],
    target: ColumnInfo,
    into: Name,
    learner: str,
    options: Mapping[str, Any],
) -> int:
    """Stores what a model learned from one relation says of another; gives the number of classes."""
    _require(learner)
    code = encoder(engine, train, attributes, target, cut=False)
    seen, asked = code.encode(train), code.encode(test)
    if code.classes == 1 or not len(asked.rows):  # nothing to tell apart
        shares = np.ones((len(asked.rows), code.classes))
    elif learner == "sk_naive_bayes":
        shares = _naive_bayes(code, seen, asked, options)
    else:
        shares = _by_columns(code, seen, asked, learner, options)
    load_predictions(engine, into, asked, shares)
    return code.classes


def _require(learner: str) -> None:
    try:
        import sklearn  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise NotAvailable(
            f'learner {learner} needs scikit-learn: install the extra "evaluate" (pip install "ppdm-sql[evaluate]")'
        ) from None


def _by_columns(
    code: Encoder, seen: EncodedRows, asked: EncodedRows, learner: str, options: Mapping[str, Any]
) -> Floats:
    learned, to_tell = _design(code, seen, asked)
    model = _make_learner(learner, options)
    if learner == "sk_tree":  # its least leaf counts lines, whatever their weight
        again = np.repeat(np.arange(len(seen.rows)), seen.rows)
        model.fit(learned[again], seen.classes[again])
    else:
        model.fit(learned, seen.classes, sample_weight=seen.rows.astype(np.float64))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(to_tell), dtype=np.float64)
    score = np.asarray(model.decision_function(to_tell), dtype=np.float64)
    return np.column_stack([-score, score]) if score.ndim == 1 else score


def _make_learner(learner: str, options: Mapping[str, Any]) -> Any:
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]
    from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]

    make, defaults = {
        "logistic": (LogisticRegression, {"max_iter": 2000}),
        "svm": (LinearSVC, {"random_state": 0, "max_iter": 10_000}),
        "sk_tree": (DecisionTreeClassifier, {"random_state": 0, "min_samples_leaf": 2}),
    }[learner]
    try:
        return make(**{**defaults, **options})
    except TypeError as cause:
        raise PolicyError(f"{learner} does not take the options {', '.join(map(str, options))}") from cause


def _design(code: Encoder, seen: EncodedRows, asked: EncodedRows) -> tuple[Any, Any]:
    """Both sets of rows as sparse matrices with the same columns."""
    from scipy import sparse  # type: ignore[import-untyped]

    blocks: tuple[list[Any], list[Any]] = ([], [])
    for place, each in enumerate(code.columns):
        both = (seen.columns[place], asked.columns[place])
        if each.size:
            for block, values in zip(blocks, both, strict=True):
                block.append(_one_column_each(values, each.size))
        else:
            mean, deviation = _line(both[0], seen.rows)
            for block, values in zip(blocks, both, strict=True):
                known = np.where(np.isnan(values), mean, values)
                block.append(sparse.csr_matrix(((known - mean) / deviation).reshape(-1, 1)))
    learned, to_tell = (sparse.hstack(block, format="csr") for block in blocks)
    return learned, to_tell


def _one_column_each(codes: Ints, size: int) -> Any:
    from scipy import sparse

    rows = np.flatnonzero(codes != MISSING)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, codes[rows])), shape=(len(codes), size))


def _line(values: Floats, rows: Ints) -> tuple[float, float]:
    known = ~np.isnan(values)
    if not known.any():
        return 0.0, 1.0
    mean = float(np.average(values[known], weights=rows[known]))
    deviation = float(np.sqrt(np.average((values[known] - mean) ** 2, weights=rows[known])))
    return mean, deviation or 1.0


def _naive_bayes(code: Encoder, seen: EncodedRows, asked: EncodedRows, options: Mapping[str, Any]) -> Floats:
    """Categories by their shares, numbers by normal curves; both say their part, and the classes' shares once."""
    from sklearn.naive_bayes import CategoricalNB, GaussianNB  # type: ignore[import-untyped]

    if options:
        raise PolicyError("sk_naive_bayes takes no options")
    weights = seen.rows.astype(np.float64)
    said = np.zeros((len(asked.rows), code.classes))
    parts = 0
    words = [place for place, each in enumerate(code.columns) if each.size]
    if words:
        # NULL is a category of its own here, the first one
        learned, to_tell = (np.column_stack([one.columns[place] + 1 for place in words]) for one in (seen, asked))
        sizes = [code.columns[place].size + 1 for place in words]
        model = CategoricalNB(min_categories=sizes).fit(learned, seen.classes, sample_weight=weights)
        said, parts = said + model.predict_joint_log_proba(to_tell), 1
        prior = model.class_log_prior_
    numbers = [place for place, each in enumerate(code.columns) if not each.size]
    if numbers:
        lines = [_line(seen.columns[place], seen.rows) for place in numbers]
        learned, to_tell = (
            np.column_stack(
                [
                    (np.where(np.isnan(one.columns[place]), mean, one.columns[place]) - mean) / deviation
                    for place, (mean, deviation) in zip(numbers, lines, strict=True)
                ]
            )
            for one in (seen, asked)
        )
        model = GaussianNB().fit(learned, seen.classes, sample_weight=weights)
        said = said + model.predict_joint_log_proba(to_tell) - (prior if parts else 0.0)
    said = said - said.max(axis=1, keepdims=True)
    shares: Floats = np.exp(said) / np.exp(said).sum(axis=1, keepdims=True)
    return shares
