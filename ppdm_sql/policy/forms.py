"""The form in which a quasi-identifier is published: a label, a range, the middle of a range, a range of the engine.

age                    one column of text: 67, [65, 70), < 30, >= 65, {a, b}, a word of a hierarchy, *; NULL: missing
age AS RANGE           age_from, age_to in the column's own type, half-open, and age_kind
age AS MIDPOINT        age in the column's own type, an estimate
age AS NATIVE RANGE    age as a range type of the engine
"""

from __future__ import annotations

from enum import Enum


class Form(Enum):
    """How what is published of a column is written down."""

    RANGE = "RANGE"
    MIDPOINT = "MIDPOINT"
    NATIVE_RANGE = "NATIVE RANGE"


ENDS = ("from", "to", "kind")  # what the names of a range's columns end with


def form_columns(name: str, form: Form | None) -> tuple[str, ...]:
    """The published columns of a quasi-identifier; None: its label.

    >>> form_columns("age", Form.RANGE), form_columns("age", Form.MIDPOINT), form_columns("age", None)
    (('age_from', 'age_to', 'age_kind'), ('age',), ('age',))
    """
    return tuple(f"{name}_{end}" for end in ENDS) if form is Form.RANGE else (name,)
