"""The kinds of models there are, found by the name of the kind or of an inducer."""

from __future__ import annotations

from typing import Any

from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.models.bayes_kind import BayesKind
from ppdm_sql.models.kind import ModelKind
from ppdm_sql.models.parts_kind import PartsKind
from ppdm_sql.models.rules_kind import RulesKind
from ppdm_sql.models.tree_kind import TreeKind
from ppdm_sql.policy.words import did_you_mean, printable

KINDS: tuple[ModelKind[Any], ...] = (TreeKind(), BayesKind(), RulesKind(), PartsKind())
INDUCERS = tuple(inducer for kind in KINDS for inducer in kind.inducers)


def kind_of_inducer(inducer: str) -> ModelKind[Any]:
    for kind in KINDS:
        if inducer in kind.inducers:
            return kind
    raise PolicyError(f"unknown learner {printable(inducer)}: {did_you_mean(inducer, INDUCERS)}")


def kind_named(name: str) -> ModelKind[Any]:
    """The kind that the catalog or an exchange file names."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise PpdmError(f"this version has no kind of model {printable(name)}")
