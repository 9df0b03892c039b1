"""The privacy models as their definitions say it, over rows in Python: slow, obvious, exact.

Nothing here knows SQL or imports ppdm_sql.  A test of the project compares what a statement says with what these
functions say.  Rows are mappings from column name to value; every figure is an int or a Fraction.

    values      when two values are the same one
    classes     equivalence classes, k by rows and by entities
    diversity   distinct, simple, recursive, entropy l-diversity, confidence
    closeness   t-closeness: equal, ordered, hierarchical distance, and the transport problem they solve
    risk        prosecutor and marketer risk
    nulls       k when NULL may be any value
    naive_tree  decision and regression trees, grown from rows
    measures    AUC, R squared, discernibility, classification metric
    naive_spread  a C4.5 that spreads rows with missing values over the branches
    naive_kactus, naive_tpp, naive_bayes, naive_rules, naive_kadet, naive_atp  methods and classifiers over rows
"""

from .classes import classes, entity_counts, entity_k, k_anonymity
from .closeness import (
    class_distances,
    equal_distance,
    hierarchical_cost,
    hierarchical_distance,
    ordered_cost,
    ordered_distance,
    transport_cost,
)
from .diversity import (
    confidence,
    distinct_values,
    entropy_reaches,
    frequencies,
    recursive_holds,
    recursive_ratio,
    simple_ratio,
)
from .nulls import null_matches_all_k
from .risk import average_risk, highest_risk, marketer_risk, share_above
from .values import order, printed, same

__all__ = [
    "average_risk",
    "class_distances",
    "classes",
    "confidence",
    "distinct_values",
    "entity_counts",
    "entity_k",
    "entropy_reaches",
    "equal_distance",
    "frequencies",
    "hierarchical_cost",
    "hierarchical_distance",
    "highest_risk",
    "k_anonymity",
    "marketer_risk",
    "null_matches_all_k",
    "order",
    "ordered_cost",
    "ordered_distance",
    "printed",
    "recursive_holds",
    "recursive_ratio",
    "same",
    "share_above",
    "simple_ratio",
    "transport_cost",
]
