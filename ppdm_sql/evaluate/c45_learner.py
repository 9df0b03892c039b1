"""The C4.5 of missing_c45.py from one relation to another: rows are encoded in the database, the tree is Python's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.evaluate.encode_rows import encoder, load_predictions
from ppdm_sql.evaluate.missing_c45 import learn
from ppdm_sql.policy.options import Switch, from_text, read_options
from ppdm_sql.statements.names import Name


@dataclass(frozen=True)
class SpreadOptions:
    prune: Annotated[bool, Switch()] = True


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
    prune = read_options(SpreadOptions, from_text(options), "c45_spread").prune
    code = encoder(engine, train, attributes, target, cut=True)
    seen, asked = code.encode(train), code.encode(test)
    tree = learn(np.column_stack(seen.columns), seen.classes, seen.rows.astype(np.float64), code.classes, prune=prune)
    load_predictions(engine, into, asked, tree.shares(np.column_stack(asked.columns)))
    return code.classes
