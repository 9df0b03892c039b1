"""The C4.5 of missing_c45.py from one relation to another: rows are encoded in the database, the tree is Python's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.evaluate.encode_rows import encoder, load_predictions
from ppdm_sql.evaluate.missing_c45 import learn
from ppdm_sql.policy.words import printable
from ppdm_sql.statements.names import Name


def predict_with_c45(
    engine: Engine,
    train: Name,
    test: Name,
    attributes: Sequence[ColumnInfo],
    target: ColumnInfo,
    into: Name,
    options: Mapping[str, Any],
) -> int:
    """Stores what a tree learned from one relation says of another; gives the number of classes."""
    unknown = [name for name in options if name != "prune"]
    if unknown:
        raise PolicyError(f"c45_spread has no option {printable(unknown[0])}: known is prune")
    prune = options.get("prune", True)
    if not isinstance(prune, bool):
        raise PolicyError("prune is true or false")
    code = encoder(engine, train, attributes, target, cut=True)
    seen, asked = code.encode(train), code.encode(test)
    tree = learn(np.column_stack(seen.columns), seen.classes, seen.rows.astype(np.float64), code.classes, prune=prune)
    load_predictions(engine, into, asked, tree.shares(np.column_stack(asked.columns)))
    return code.classes
