"""kADET as the program knows it: a k-anonymous tree (model.py), and the table that is equivalent to it (table.py)."""

from __future__ import annotations

from ppdm_sql.methods.base import MODEL, OF_CLASSES, ROWS, Method
from ppdm_sql.methods.kadet.model import plan_kadet_model, prepare_kadet
from ppdm_sql.methods.kadet.split_scores import KadetOptions
from ppdm_sql.methods.kadet.table import plan_kadet_table

KADET = Method(
    "kadet", ROWS | MODEL, KadetOptions, OF_CLASSES,
    needs_target=True, labels_new_rows=True,
    plan_cells=plan_kadet_table, prepare=prepare_kadet, plan_model=plan_kadet_model,
)  # fmt: skip
