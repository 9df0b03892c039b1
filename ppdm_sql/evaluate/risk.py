"""How likely a person is found before and after: the figures of checks/risk.py for the source and for its release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.checks.risk import Risk, risk
from ppdm_sql.checks.size import sizes_by_columns
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name, lacks


@dataclass(frozen=True)
class Risks:
    """The same figures, of the rows as they were and as they were released."""

    before: Risk
    after: Risk


def risks_of(engine: Engine, quasi: Sequence[str], raw: Name, released: Name) -> Risks:
    """By the classes of the quasi-identifiers, in rows."""
    return Risks(risk_of(engine, quasi, raw), risk_of(engine, quasi, released))


def risk_of(engine: Engine, quasi: Sequence[str], relation: Name) -> Risk:
    there = {info.name: info for info in engine.columns(relation)}
    missing = [f'"{name}"' for name in quasi if name not in there]
    if missing:
        raise PolicyError(f"{lacks(relation)} {', '.join(missing)}")
    return risk(sizes_by_columns(engine, relation, [there[name] for name in quasi])[0])
