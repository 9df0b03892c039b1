"""The methods there are, by name.  A method is imported when it is asked for; policy/algorithms.py has the words."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from ppdm_sql.errors import Mistake, NotAvailable, PolicyError
from ppdm_sql.methods.base import Job, Method
from ppdm_sql.methods.plan import ModelPlan, TablePlan
from ppdm_sql.policy import algorithms
from ppdm_sql.policy.options import place_option, read_options
from ppdm_sql.policy.policy import Place, Publish
from ppdm_sql.source.relation import Source


def register(method: Method) -> None:
    """Adds a method to those of this version, under its name."""
    algorithms.register(method)


def find_method(name: str) -> Method | None:
    """The method of this name; None for one that this version does not have."""
    return cast(Method | None, algorithms.find(name))


def method_named(name: str) -> Method:
    """A method that is known to be there."""
    found = find_method(name)
    assert found is not None, name
    return found


def table_methods() -> tuple[str, ...]:
    """The methods that publish rows."""
    return tuple(sorted(name for name in algorithms.available() if method_named(name).makes_table))


def growing_methods() -> tuple[str, ...]:
    """The methods that can label rows which come later."""
    return tuple(name for name in table_methods() if method_named(name).labels_new_rows)


def model_methods() -> tuple[str, ...]:
    """The methods that publish a model."""
    return tuple(sorted(name for name in algorithms.available() if method_named(name).plan_model))


def table_method(algorithm: str, place: Place) -> Callable[[Job], TablePlan]:
    """What plans a table; a method the language has a word for and this version lacks is refused as such."""
    found = find_method(algorithm)
    if found is None or not found.makes_table:
        raise _not_available(algorithm, table_methods(), place)
    return found.table


def model_method(algorithm: str, place: Place) -> Callable[[Job], ModelPlan]:
    """The same for models."""
    found = find_method(algorithm)
    if found is None or found.plan_model is None:
        raise _not_available(algorithm, model_methods(), place)
    return found.model


def _not_available(algorithm: str, there: tuple[str, ...], place: Place) -> NotAvailable:
    message = f"ALGORITHM {algorithm} is not available in this version; valid algorithms: {', '.join(there)}"
    return NotAvailable(Mistake(message, place.line, place.column), file=place.file)


def check_options(statement: Publish, source: Source | None) -> None:
    """Reads the options as the method will; source: None while the columns are not known yet."""
    policy = statement.policy
    method = method_named(policy.algorithm)
    try:
        method.check_requirements(policy)
        read_options(method.options, policy.options, f"ALGORITHM {method.name}")
        if method.check_options is not None:
            method.check_options(policy, source)
    except PolicyError as error:
        raise place_option(error, policy.option_places, statement.place) from error
    _check_columns(statement, method)


def _check_columns(statement: Publish, method: Method) -> None:
    """Refuses what the method would pass over: ORDER, WEIGHT, AT MOST LEVEL, SUPPRESS AT MOST."""
    policy = statement.policy
    check_table_requirements(statement)
    if policy.suppress and not method.leaves_rows_out:
        others = ", ".join(name for name in table_methods() if method_named(name).leaves_rows_out)
        message = f"ALGORITHM {method.name} leaves no row out: remove SUPPRESS AT MOST, or use one of {others}"
        raise PolicyError(Mistake(message, statement.place.line, statement.place.column), file=statement.place.file)
    for word in policy.roles.tunings if not method.takes_tunings else ():
        place = policy.roles.places.get(word, statement.place)
        message = (
            f'ALGORITHM {method.name} takes no ORDER, WEIGHT or AT MOST LEVEL (behind "{word.text}"): use mondrian or '
            "incognito"
        )
        raise PolicyError(Mistake(message, place.line, place.column), file=place.file or statement.place.file)


def check_table_requirements(statement: Publish) -> None:
    """What is required of all classes together holds for rows that are there, all of them."""
    asked = statement.policy.table_requirements
    kinds = {
        "a MODEL": statement.kind == "MODEL",
        "a LIVE view": statement.live,
        "a GROWING release": statement.growing,
    }
    kind = next((name for name, is_it in kinds.items() if is_it), None)
    if asked and kind is not None:
        place = statement.place
        message = (
            f"{asked[0]} is decided by all rows of a table together, so {kind} cannot promise it: require a k, or "
            "publish a TABLE or VIEW that is replaced"
        )
        raise PolicyError(Mistake(message, place.line, place.column), file=place.file)
