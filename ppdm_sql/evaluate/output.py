"""An evaluation for machines and for the eye: JSON, CSV, and a picture of what a learner keeps against k."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from typing import Any

from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
from ppdm_sql.evaluate.compare import areas, differences, rank_methods, series, significance_note
from ppdm_sql.evaluate.curves import curves_over_k

_WIDTH, _HEIGHT = 560, 320
_CSV = (
    "position", "status", "algorithm", "requirements", "k", "holds", "rows", "suppressed_rows", "classes",
    "suppressed_cells", "information_loss", "discernibility", "classification_metric", "risk_max", "risk_mean",
    "tested", "accuracy", "accuracy_spread", "majority_share", "auc", "r_squared", "workload_error",
    "workload_answered", "seconds", "reason", "statement",
)  # fmt: skip


def as_json(found: Evaluation) -> dict[str, Any]:
    """Plain numbers, texts, lists and dicts."""
    ranks = rank_methods(found)
    return {
        "evaluation_id": found.evaluation_id,
        "release": str(found.name),
        "rows": found.rows,
        "methods": list(found.methods),
        "grid": dict(found.grid),
        "protocol": found.protocol,
        "learner": found.learner,
        "seed": found.seed,
        "started_at": f"{found.started_at:%Y-%m-%dT%H:%M:%SZ}",
        "majority_share": found.majority_share,
        "majority": None if found.majority is None else point_json(found.majority),
        "baseline": None if found.baseline is None else point_json(found.baseline),
        "points": [point_json(point) for point in found.points],
        "differences": [asdict(one) for one in differences(found)],
        "ranks": None if ranks is None else asdict(ranks),
        "note": significance_note(found),
        "areas": [asdict(one) for one in areas(found)],
    }


def point_json(point: EvaluationPoint) -> dict[str, Any]:
    values = asdict(point)
    return {
        **values,
        "requirements": list(point.requirements),
        "folds": None if point.folds is None else [float(one) for one in point.folds],
        "finished_at": f"{point.finished_at:%Y-%m-%dT%H:%M:%SZ}",
    }


def as_csv(found: Evaluation) -> str:
    """One line per point, the commonest class alone and the raw data first; what was not measured is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV)
    for point in (*found.references, *found.points):
        share = None if point.accuracy is None else found.majority_share
        values = asdict(point) | {"requirements": point.requirements_text, "majority_share": share}
        writer.writerow(["" if values[name] is None else values[name] for name in _CSV])
    return text.getvalue()


def as_svg(found: Evaluation) -> str | None:
    """A line per method over k, the raw data dashed, the share of the commonest class dotted.

    Information loss is drawn where there is nothing to learn.

    None where no point has a k and a figure to draw.
    """
    import vl_convert

    learned = any(point.score is not None for point in found.points)
    what = "information loss" if not learned else "R squared" if found.learner == "regression" else "accuracy in %"
    drawn = [point for point in found.points if point.k is not None and _height(point, learned) is not None]
    if not drawn:
        return None
    dots = [{"x": point.k, "y": _height(point, learned), "kind": series(point)} for point in drawn]
    level = _height(found.baseline, learned) if found.baseline is not None else None
    floor = _height(found.majority, learned) if found.majority is not None else None
    chart = curves_over_k(dots, up=what, level=level, floor=floor)
    chart = chart.properties(width=_WIDTH, height=_HEIGHT, title=str(found.name))
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return svg


def _height(point: EvaluationPoint, learned: bool) -> float | None:
    if not learned:
        return point.information_loss
    return 100 * point.accuracy if point.accuracy is not None else point.r_squared
