"""Which methods this version has.  A method is imported when it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import cast

from ppdm_sql.anonymizers.plan import ModelMethod, TableMethod
from ppdm_sql.errors import Mistake, NotAvailable
from ppdm_sql.policy.policy import Place

_TABLE_METHODS = {
    "kadet": "ppdm_sql.anonymizers.table.kadet",
    "kactus": "ppdm_sql.anonymizers.table.kactus",
    "kactus2": "ppdm_sql.anonymizers.table.kactus",
    "mondrian": "ppdm_sql.anonymizers.table.mondrian",
    "tpp": "ppdm_sql.anonymizers.table.tpp",
}


_MODEL_METHODS = {
    "atp": "ppdm_sql.anonymizers.model.atp",
    "kadet": "ppdm_sql.anonymizers.model.kadet",
    "ldm": "ppdm_sql.anonymizers.model.ldm",
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


def _method(algorithm: str, methods: Mapping[str, str], place: Place) -> object:
    module = methods.get(algorithm)
    if module is None:
        message = f"ALGORITHM {algorithm} is not available in this version; there is: {', '.join(sorted(methods))}"
        raise NotAvailable(Mistake(message, place.line, place.column), file=place.file)
    return getattr(importlib.import_module(module), algorithm)
