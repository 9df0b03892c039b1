"""The chart of a figure over k, a line for each method: what `evaluate --svg` writes and what a report shows.

Texts of the data are values here, never names of fields or expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ppdm_sql.methods.dmpd.front import Attained
from ppdm_sql.methods.plan import PlanChoice

if TYPE_CHECKING:
    import altair as alt

_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Palette:
    """The colours of a chart of curves."""

    series: Sequence[str]
    muted: str
    chosen: str


ON_WHITE = Palette(
    ("#0b61a4", "#c2571a", "#2e7d4f", "#8a3f9b", "#a3791c", "#00838f", "#ad1457", "#455a64"), "#767676", "#b3261e"
)


def curves_over_k(
    rows: Rows,
    *,
    up: str,
    level: float | None,
    floor: float | None = None,
    chosen: Rows = (),
    palette: Palette = ON_WHITE,
) -> alt.LayerChart:
    """A line for each method: rows of x, y, kind; a dashed level, a dotted floor, and the point that was chosen."""
    import altair as alt

    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    x = alt.X("x:O", title="k", axis=alt.Axis(labelAngle=0))
    scale = alt.Scale(domain=_room(rows, level, floor), nice=False)
    y = alt.Y("y:Q", title=up, scale=scale, axis=alt.Axis(tickCount=5))
    legend = alt.Legend(orient="bottom", title=None, columns=3, symbolType="circle")
    colour = alt.Color(
        "kind:N", sort=kinds, legend=legend, scale=alt.Scale(domain=kinds, range=_cycle(palette.series, kinds))
    )
    shape = alt.Shape("kind:N", sort=kinds, legend=legend, scale=alt.Scale(domain=kinds, range=_cycle(_SHAPES, kinds)))
    lines = chart_of(rows).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    points = chart_of(rows).mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, shape=shape)
    layers: list[Any] = [lines, points]
    for height, dashes in ((level, [5, 4]), (floor, [1, 3])):
        if height is not None:
            rule = chart_of([{"y": height}]).mark_rule(stroke=palette.muted, strokeDash=dashes)
            layers.insert(0, rule.encode(y=y))
    if chosen:
        ring = chart_of(chosen).mark_point(
            size=260, strokeWidth=3, stroke=palette.chosen, filled=False, shape="circle", opacity=1
        )
        layers.append(ring.encode(x=x, y=y))
    return alt.LayerChart(layer=layers)


def draw_choices(name: str, choices: Sequence[PlanChoice]) -> str:
    """The recodings that a plan chose from as SVG: quality against risk, numbered as the plan lists them."""
    import altair as alt
    import vl_convert

    rows = _numbered(choices)
    x = alt.X("x:Q", title="risk, in %: classes per published row", scale=alt.Scale(zero=True))
    y = alt.Y("y:Q", title=choices[0].quality, scale=alt.Scale(domain=_room(rows, None), nice=False))
    points = chart_of(rows).mark_point(filled=True, size=60, opacity=1, color=ON_WHITE.series[0])
    ring = chart_of(rows[:1]).mark_point(size=260, strokeWidth=3, stroke=ON_WHITE.chosen, filled=False, opacity=1)
    numbers = chart_of(rows).mark_text(align="left", dx=13, dy=-9)
    layers: list[Any] = [
        points.encode(x=x, y=y, tooltip=alt.Tooltip("told:N")),
        ring.encode(x=x, y=y),
        numbers.encode(x=x, y=y, text="number:N"),
    ]
    below = "In the ring: the one that would be published. Numbers as in the list of the plan; up and right is worse."
    title = alt.Title(f"{name}: the best {len(choices)} recodings", subtitle=below)
    chart = alt.LayerChart(layer=layers).properties(width=560, height=320, title=title)
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return svg


def draw_front(name: str, points: Sequence[tuple[float, float]], surfaces: Sequence[Attained]) -> str:
    """Accuracy against anonymity as SVG: the points (K, accuracy), and what the runs attained as steps."""
    import altair as alt
    import vl_convert

    dots = [{"x": max(level, 1), "y": 100 * accuracy} for level, accuracy in points]
    steps = [row for word in ("best", "median", "worst") for row in _steps(word, surfaces)]
    x = alt.X("x:Q", title="anonymity level K", scale=alt.Scale(type="log"), axis=alt.Axis(labelAngle=0))
    y = alt.Y("y:Q", title="accuracy in %", scale=alt.Scale(domain=_room([*dots, *steps], None), nice=False))
    kinds = list(dict.fromkeys(row["kind"] for row in steps))
    colours = alt.Scale(domain=kinds, range=_cycle(ON_WHITE.series, kinds))
    colour = alt.Color("kind:N", sort=kinds, legend=alt.Legend(orient="bottom", title=None), scale=colours)
    lines = chart_of(steps).mark_line(strokeWidth=2, interpolate="step-before").encode(x=x, y=y, color=colour)
    marks = chart_of(dots).mark_point(filled=True, size=40, opacity=1, color=ON_WHITE.muted).encode(x=x, y=y)
    chart = alt.LayerChart(layer=[lines, marks]).properties(
        width=560, height=320, title=f"{name}: accuracy and anonymity"
    )
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict())
    return svg


def _steps(word: str, surfaces: Sequence[Attained]) -> list[dict[str, Any]]:
    """The accuracy that a run attains with at least K, from K = 1 on."""
    found = [(one.k, share) for one in surfaces if (share := getattr(one, word)) is not None]
    ends = [(1, found[0][1]), *found] if found else []
    return [{"x": k, "y": 100 * share, "kind": f"{word} run"} for k, share in ends]


def _numbered(choices: Sequence[PlanChoice]) -> list[dict[str, Any]]:
    """A point per place, with the numbers of all recodings there."""
    places: dict[tuple[float, float], list[int]] = {}
    for number, one in enumerate(choices, start=1):
        places.setdefault((float(100 * one.risk), float(one.value)), []).append(number)
    return [
        {
            "x": x,
            "y": y,
            "number": ", ".join(map(str, here)),
            "told": "; ".join(choices[n - 1].levels_text for n in here),
        }
        for (x, y), here in places.items()
    ]


def chart_of(rows: Rows) -> alt.Chart:
    import altair as alt

    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def _room(rows: Rows, *levels: float | None) -> list[float]:
    """From below the least to above the greatest; figures that are all alike are not drawn as a cliff.

    >>> _room([{"y": 80.0}, {"y": 90.0}], 92.0), _room([{"y": 0.5}], None)
    ([78.16, 93.84], [0.49, 0.51])
    """
    values = [float(row["y"]) for row in rows] + [level for level in levels if level is not None]
    low, high = min(values), max(values)
    margin = max((high - low) / 10, abs(high) / 50)
    return [round(low - margin, 4), round(high + margin, 4)]


def _cycle(values: Sequence[str], kinds: Sequence[str]) -> list[str]:
    return [values[place % len(values)] for place in range(len(kinds))]
