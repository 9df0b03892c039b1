"""What can be done to a column that is published and is no quasi-identifier.  Importing the package registers all."""

from ppdm_sql.treatments.base import (
    RowValue,
    Treated,
    Treatment,
    register,
    treatment_named,
    treatment_words,
    unregister,
)
from ppdm_sql.treatments.masks import Mask
from ppdm_sql.treatments.persons import Pseudonym, Shift
from ppdm_sql.treatments.rounds import Round

__all__ = [
    "Mask",
    "Pseudonym",
    "Round",
    "RowValue",
    "Shift",
    "Treated",
    "Treatment",
    "register",
    "treatment_named",
    "treatment_words",
    "unregister",
]

for built_in in (Pseudonym, Round, Mask, Shift):
    register(built_in)
