"""What a form asks of its column: an order, a hierarchy whose words are ranges, and free names for its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import Mistake, PolicyError
from ppdm_sql.policy.forms import Form, form_columns
from ppdm_sql.policy.options import at
from ppdm_sql.policy.policy import CalendarLadder, HierarchySource, Place, Policy, PrefixLadder


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
        rule = {PrefixLadder: "PREFIX", CalendarLadder: "CALENDAR"}.get(type(hierarchies.get(name)))
        if rule is not None:
            yield at(
                place,
                f'column "{name}": the words of HIERARCHY {rule} are no ranges: use HIERARCHY INTERVALS with '
                f"AS {form.value}, or leave AS {form.value} out",
            )
        for published in form_columns(name, form) if form is Form.RANGE else ():
            clash = taken.setdefault(published.casefold(), published)
            if clash != published or published in leaving:
                yield at(
                    place,
                    f'column "{name}": AS RANGE publishes "{published}", and the query has a column "{clash}": '
                    "rename one of them with AS in the SELECT",
                )


def refuse_native_ranges(engine: Engine, policy: Policy, place: Place | None) -> None:
    """Refuses AS NATIVE RANGE where the engine has no such types."""
    native = [word for word, form in policy.roles.forms.items() if form is Form.NATIVE_RANGE]
    if native and not engine.has_ranges:
        told = f"AS NATIVE RANGE is not available on {engine.title}: write AS RANGE"
        where = [policy.roles.places.get(word, place) for word in native]
        raise PolicyError(*(at(one, told) for one in where), file=place.file if place else None)
