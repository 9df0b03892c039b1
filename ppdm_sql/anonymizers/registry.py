"""Which methods this version has.  A method is imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import cast

from ppdm_sql.anonymizers.plan import TableMethod
from ppdm_sql.errors import Mistake, NotAvailable
from ppdm_sql.policy.policy import Place

_TABLE_METHODS = {"mondrian": "ppdm_sql.anonymizers.table.mondrian"}


def table_method(algorithm: str, place: Place) -> TableMethod:
    """The method of this name; one the language knows and this version lacks is told as such."""
    module = _TABLE_METHODS.get(algorithm)
    if module is None:
        there = ", ".join(sorted(_TABLE_METHODS))
        message = f"ALGORITHM {algorithm} is not available in this version; there is: {there}"
        raise NotAvailable(Mistake(message, place.line, place.column), file=place.file)
    return cast(TableMethod, getattr(importlib.import_module(module), algorithm))
