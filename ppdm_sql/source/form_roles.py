"""What a form asks of its column: an order, a hierarchy whose words are ranges, and free names for its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.forms import Form, form_columns
from ppdm_sql.policy.options import at
from ppdm_sql.policy.policy import HierarchySource, Place, PrefixLadder


def renamed(names: Sequence[str], forms: Mapping[str, Form]) -> tuple[str, ...]:
    """Columns by the names that their forms give them.

    >>> renamed(["age", "sex"], {"age": Form.RANGE})
    ('age_from', 'age_to', 'age_kind', 'sex')
    """
    return tuple(column for name in names for column in form_columns(name, forms.get(name)))


def form_mistakes(
    columns: Mapping[str, ColumnInfo],
    forms: Mapping[str, Form],
    hierarchies: Mapping[str, HierarchySource],
    leaving: Sequence[str],
    places: Mapping[str, Place | None],
) -> Iterator[Mistake]:
    """What is wrong with the forms of some columns; leaving: the columns that are published."""
    taken = {name.casefold(): name for name in leaving if forms.get(name) is not Form.RANGE}
    for name, form in forms.items():
        info, place = columns[name], places.get(name)
        if not info.kind.is_ordered:
            yield at(
                place,
                f'column "{name}": AS {form.value} is for numbers, dates and timestamps, and the column is '
                f"{info.kind.value}: leave AS {form.value} out",
            )
            continue
        if isinstance(hierarchies.get(name), PrefixLadder):
            other = "CALENDAR" if info.kind in (Kind.DATE, Kind.TIMESTAMP) else "INTERVALS"
            yield at(
                place,
                f'column "{name}": the labels of HIERARCHY PREFIX are prefixes, not ranges: use HIERARCHY {other} '
                f"with AS {form.value}, or leave AS {form.value} out",
            )
        for published in form_columns(name, form) if form is Form.RANGE else ():
            clash = taken.setdefault(published.casefold(), published)
            if clash != published or published in leaving:
                yield at(
                    place,
                    f'column "{name}": AS RANGE publishes "{published}", and the query has a column "{clash}": '
                    "rename one of them with AS in the SELECT",
                )


def refuse_native_ranges(
    engine: Engine, native: Mapping[str, ColumnInfo], places: Mapping[str, Place | None], place: Place | None
) -> None:
    """Refuses AS NATIVE RANGE for columns whose values the engine has no type of ranges for."""
    mistakes = []
    for name, info in native.items():
        if engine.ranges is None or engine.ranges.type_of(info) is None:
            told = f'column "{name}": AS NATIVE RANGE is not available on {engine.title}'
            mistakes.append(at(places.get(name, place), f"{told} for {info.shape}: write AS RANGE"))
    if mistakes:
        raise PolicyError(*mistakes, file=place.file if place else None)
