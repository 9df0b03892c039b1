"""What a policy can require: one class per privacy model.  Importing the package registers the built-in ones."""

from ppdm_sql.requirements.base import (
    About,
    Figure,
    HookTable,
    Requirement,
    register,
    requirement_class,
    requirement_words,
    requirements_about,
    text_is_about,
    unregister,
)
from ppdm_sql.requirements.closeness import Closeness
from ppdm_sql.requirements.confidence import ConfidenceLimit
from ppdm_sql.requirements.declared import decimal
from ppdm_sql.requirements.diversity import (
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    SimpleDiversity,
)
from ppdm_sql.requirements.likeness import AlphaShare, BetaLikeness, DeltaDisclosure, EnhancedLikeness
from ppdm_sql.requirements.membership import DeltaPresence, MapAnonymity, PopulationRequirement
from ppdm_sql.requirements.size import EveryAnonymity, KAnonymity, SetAnonymity, k_of, k_of_sets
from ppdm_sql.requirements.table_risk import AverageRisk, UniqueShare

__all__ = [
    "About",
    "AlphaShare",
    "AverageRisk",
    "BetaLikeness",
    "Closeness",
    "ConfidenceLimit",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctDiversity",
    "EnhancedLikeness",
    "EntropyDiversity",
    "EveryAnonymity",
    "Figure",
    "HookTable",
    "KAnonymity",
    "MapAnonymity",
    "PopulationRequirement",
    "RecursiveDiversity",
    "Requirement",
    "SetAnonymity",
    "SimpleDiversity",
    "UniqueShare",
    "decimal",
    "k_of",
    "k_of_sets",
    "register",
    "requirement_class",
    "requirement_words",
    "requirements_about",
    "text_is_about",
    "unregister",
]

# The order in which messages list them.
for built_in in (
    KAnonymity,
    DistinctDiversity,
    SimpleDiversity,
    RecursiveDiversity,
    EntropyDiversity,
    ConfidenceLimit,
    Closeness,
    AlphaShare,
    BetaLikeness,
    EnhancedLikeness,
    DeltaDisclosure,
    AverageRisk,
    UniqueShare,
    MapAnonymity,
    DeltaPresence,
):
    register(built_in)
