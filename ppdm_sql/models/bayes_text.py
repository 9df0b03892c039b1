"""A naive Bayes model for people: the classes, and per attribute the values that tell most about the class.

How much an attribute says is the mutual information of its values and the class among the rows it was learned from, in
bits; a value's part in it makes its place.  Of a value the class is named among whose rows it is most frequent, and how
many times as frequent as among all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ppdm_sql.classifiers.domains import NumericDomain
from ppdm_sql.classifiers.gaussian import Gaussian, mean_and_variance
from ppdm_sql.classifiers.naive_bayes import Counted, NaiveBayes, Part
from ppdm_sql.policy.words import many
from ppdm_sql.trees.show import figure, percent, range_words, rows_text, value_text, visible
from ppdm_sql.trees.tree import Attribute, Value

MOST_SHOWN = 30  # attributes, and classes
_MOST_VALUES = 3  # of an attribute


def as_text(model: NaiveBayes) -> str:
    """The whole model, the most telling attribute first.

    readmitted: naive Bayes over 2 attributes, 1,000 rows
      'no': 610 rows (61 %)
      'yes': 390 rows (39 %)
    age (10 bins, 0.212 bits)
      age >= 65: 2.31 times as frequent among 'yes' (112 rows)
    """
    total, size = sum(model.priors), many(len(model.attributes), "attribute")
    lines = [f"{visible(model.target.name)}: naive Bayes over {size}, {rows_text(total)}"]
    for value, rows in list(zip(model.classes, model.priors, strict=True))[:MOST_SHOWN]:
        lines.append(f"  {value_text(value)}: {rows_text(rows)} ({percent(rows / total if total else 0.0)})")
    lines += _more(len(model.classes), "class", "classes")
    ranked = sorted(zip(model.attributes, model.parts, strict=True), key=lambda pair: -bits(pair[1]))
    for attribute, part in ranked[:MOST_SHOWN]:
        lines += _attribute_lines(attribute, part, model.classes)
    return "\n".join(lines + _more(len(ranked), "attribute", "attributes"))


def _more(number: int, one: str, several: str) -> list[str]:
    return [f"  and {many(number - MOST_SHOWN, one, several)} more"] if number > MOST_SHOWN else []


def bits(part: Part) -> float:
    """How much an attribute says about the class; of a normal one, what its means would say if it were one."""
    if isinstance(part, Counted):
        return sum(_tells(part.counts))
    whole = mean_and_variance(*(sum(column) for column in zip(*part.moments, strict=True)))
    if whole is None or not whole[1]:
        return 0.0
    curves = [(moments[0], mean_and_variance(*moments)) for moments in part.moments]
    within = sum((rows * curve[1] for rows, curve in curves if curve is not None), Fraction(0))
    rows = sum(moments[0] for moments in part.moments)
    return math.log2(float(rows * whole[1] / within)) / 2 if within else math.inf


def _tells(counts: Sequence[Sequence[int]]) -> list[float]:
    """Per value its part in the mutual information of values and classes."""
    classes = [sum(column) for column in zip(*counts, strict=True)]
    total = sum(classes)

    def tells(row: Sequence[int]) -> float:
        pairs = [(rows, of) for rows, of in zip(row, classes, strict=True) if rows]
        return math.fsum(rows / total * math.log2(rows * total / (sum(row) * of)) for rows, of in pairs)

    return [tells(row) for row in counts]


def _attribute_lines(attribute: Attribute, part: Part, classes: Sequence[Value]) -> list[str]:
    name, told = visible(attribute.name), f"{figure(bits(part))} bits"
    if isinstance(part, Gaussian):
        return [f"{name} (normal, {told})", *_curves(part, classes)]
    what = many(part.domain.size, "bin") if isinstance(part.domain, NumericDomain) else many(part.values, "value")
    tells = _tells(part.counts)
    telling = sorted((code for code in range(len(tells)) if tells[code] > 0), key=lambda code: -tells[code])
    lines = [f"  {_value(attribute, part, code, classes)}" for code in telling[:_MOST_VALUES]]
    return [f"{name} ({what}, {told})", *lines]


def _value(attribute: Attribute, part: Counted, code: int, classes: Sequence[Value]) -> str:
    row, columns = part.counts[code], [sum(column) for column in zip(*part.counts, strict=True)]
    shares = [Fraction(rows, of) if of else Fraction(0) for rows, of in zip(row, columns, strict=True)]
    best = max(range(len(shares)), key=lambda place: shares[place])
    times = shares[best] * sum(columns) / sum(row)
    words = f"{figure(float(times))} times as frequent among {value_text(classes[best])} ({rows_text(sum(row))})"
    return f"{_condition(attribute, part, code)}: {words}"


def _condition(attribute: Attribute, part: Counted, code: int) -> str:
    name = visible(attribute.name)
    if not isinstance(part.domain, NumericDomain):
        values = part.domain.values
        return f"{name} = {value_text(values[code])}" if code < len(values) else f"{name} is any other"
    ends = part.domain.boundaries
    low, high = ends[code - 1] if code else None, ends[code] if code < len(ends) else None
    return f"{name} is any value" if low is None and high is None else range_words(name, low, high)


def _curves(part: Gaussian, classes: Sequence[Value]) -> list[str]:
    lines = []
    for value, moments in list(zip(classes, part.moments, strict=True))[:MOST_SHOWN]:
        curve = mean_and_variance(*moments)
        if curve is not None:
            step = Fraction(2) ** part.exponent
            mean, spread = _float(Fraction(part.origin) + curve[0] * step), _float(curve[1]) ** 0.5 * _float(step)
            lines.append(f"  {value_text(value)}: {figure(mean)} ± {figure(spread)} ({rows_text(moments[0])})")
    return lines


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
