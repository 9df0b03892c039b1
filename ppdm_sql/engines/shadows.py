"""What a database defines under the names that our own statements use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import SCHEMA, Name

if TYPE_CHECKING:
    from ppdm_sql.engines.base import Engine

_MOST = 5  # names in a message


def check_builtins_once(engine: Engine) -> None:
    """Refuses shadows; once until something can have been defined, and again under the lock of the ledger."""
    engine.facts.find("builtins", Name(SCHEMA, "builtins"), engine.check_builtins)


def refuse_shadows(functions: Sequence[str], types: Sequence[str] = (), relations: Sequence[str] = ()) -> None:
    """Refuses when any of these names is taken.

    functions, types: those with the name of a built-in.  relations: temporary ones with the name of a stored one.

    >>> refuse_shadows(["greatest"])
    Traceback (most recent call last):
    ppdm_sql.errors.PolicyError: this database has functions with the names of built-in ones: greatest. ...
    """
    told = []
    if functions:
        told.append(
            f"this database has functions with the names of built-in ones: {_name_list(functions)}. They can falsify "
            "any check that calls them: drop or rename them"
        )
    if types:
        told.append(
            f"this database has types with the names of built-in ones: {_name_list(types)}. They can falsify any check "
            "that casts to them: drop or rename them"
        )
    if relations:
        told.append(
            f"temporary relations hide stored ones of the same names: {_name_list(relations)}. A check would read the "
            "wrong rows: drop or rename the temporary ones"
        )
    if told:
        raise PolicyError(*told)


def _name_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
