"""Which methods this version has.  A method is imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import cast

from ppdm_sql.errors import Mistake, NotAvailable, PolicyError
from ppdm_sql.methods.plan import ModelMethod, TableMethod
from ppdm_sql.policy.options import place_option
from ppdm_sql.policy.policy import Place, Publish
from ppdm_sql.source.relation import Source

_TABLE_METHODS = {
    "kadet": "ppdm_sql.methods.kadet.table",
    "kactus": "ppdm_sql.methods.kactus.method",
    "kactus2": "ppdm_sql.methods.kactus.method",
    "mondrian": "ppdm_sql.methods.mondrian.method",
    "tpp": "ppdm_sql.methods.tpp.method",
}


_MODEL_METHODS = {
    "atp": "ppdm_sql.methods.atp.method",
    "kadet": "ppdm_sql.methods.kadet.model",
    "ldm": "ppdm_sql.methods.ldm",
}


def table_methods() -> tuple[str, ...]:
    """The methods that publish rows."""
    return tuple(sorted(_TABLE_METHODS))


def model_methods() -> tuple[str, ...]:
    """The methods that publish a model."""
    return tuple(sorted(_MODEL_METHODS))


def table_method(algorithm: str, place: Place) -> TableMethod:
    """The method of this name; one the language knows and this version lacks is told as such."""
    return cast(TableMethod, _method(algorithm, _TABLE_METHODS, place))


def model_method(algorithm: str, place: Place) -> ModelMethod:
    """The same for models."""
    return cast(ModelMethod, _method(algorithm, _MODEL_METHODS, place))


def check_options(statement: Publish, source: Source | None) -> None:
    """Reads the options as the method will; source: None while the columns are not known yet."""
    methods = _MODEL_METHODS if statement.kind == "MODEL" else _TABLE_METHODS
    read = _module(statement.policy.algorithm, methods, statement.place).check_options
    try:
        read(statement.policy, source)
    except PolicyError as error:
        raise place_option(error, statement.policy.option_places, statement.place) from error


def _method(algorithm: str, methods: Mapping[str, str], place: Place) -> object:
    return getattr(_module(algorithm, methods, place), algorithm)


def _module(algorithm: str, methods: Mapping[str, str], place: Place) -> ModuleType:
    module = methods.get(algorithm)
    if module is None:
        message = f"ALGORITHM {algorithm} is not available in this version; there is: {', '.join(sorted(methods))}"
        raise NotAvailable(Mistake(message, place.line, place.column), file=place.file)
    return importlib.import_module(module)
