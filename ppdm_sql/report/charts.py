"""The charts of a report, drawn by Vega-Lite to SVG: no browser, no network, no script on the page.

Texts of the data are values here, never names of fields or expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ppdm_sql.evaluate.curves import Palette, Rows, chart_of, curves_over_k
from ppdm_sql.release.notebook_html import visible_lines
from ppdm_sql.report.svg import AFTER, BEFORE, CHOSEN, GRID, MUTED, SERIES, TEXT, embed_drawing

if TYPE_CHECKING:
    import altair as alt

_WIDTH = 450
_ON_PAGE = Palette(SERIES, MUTED, CHOSEN)
_LONGEST = 24  # characters of a label


def grouped_bars(
    key: str, title: str, described: str, rows: Rows, *, across: str, up: str, whole: bool = True
) -> Markup:
    """Bars that stand, one for each of (group, kind): rows of group, kind, value."""
    import altair as alt

    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    groups = list(dict.fromkeys(row["group"] for row in rows))
    chart = chart_of(rows).mark_bar().encode(
        x=alt.X("group:N", sort=groups, title=across, axis=alt.Axis(labelAngle=-35 if len(groups) > 6 else 0)),
        xOffset=alt.XOffset("kind:N", sort=kinds),
        y=alt.Y("value:Q", title=up, axis=alt.Axis(tickCount=5, format=",d" if whole else "")),
        color=_kinds(kinds),
    )  # fmt: skip
    return _draw(chart.properties(width=_WIDTH, height=230), key, title, described)


def lying_bars(key: str, title: str, described: str, rows: Rows, *, along: str, most: float | None = None) -> Markup:
    """Bars that lie, with long names at their left: rows of group, kind, value; most: where the scale ends."""
    import altair as alt

    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    groups = list(dict.fromkeys(row["group"] for row in rows))
    room = min(200.0, 8.4 * max(map(len, groups)))  # the reader's font may be wider than ours
    scale = alt.Scale(domain=[0, most]) if most is not None else alt.Undefined
    chart = chart_of(rows).mark_bar().encode(
        y=alt.Y("group:N", sort=groups, title=None, axis=alt.Axis(domain=False, ticks=False, minExtent=room)),
        yOffset=alt.YOffset("kind:N", sort=kinds),
        x=alt.X("value:Q", title=along, scale=scale, axis=alt.Axis(tickCount=5)),
        color=_kinds(kinds),
    )  # fmt: skip
    height = 46 + len(groups) * (18 + 14 * len(kinds))
    return _draw(chart.properties(width=_WIDTH, height=height), key, title, described)


def curves(
    key: str,
    title: str,
    described: str,
    rows: Rows,
    *,
    up: str,
    level: float | None,
    floor: float | None,
    chosen: Rows,
) -> Markup:
    """A line for each method: rows of x, y, kind; a dashed level, a dotted floor, and the point that was chosen."""
    chart = curves_over_k(rows, up=up, level=level, floor=floor, chosen=chosen, palette=_ON_PAGE)
    return _draw(chart.properties(width=_WIDTH, height=260), key, title, described)


def percent_value(share: float | Fraction | None, rounded: bool) -> float:
    """A share as the length of a bar; rounded so far that nobody can measure the drawing for more."""
    part = 100 * float(share or 0)
    return float(round(part)) if rounded else round(part, 2)


def labels(texts: Sequence[str]) -> list[str]:
    r"""Names as labels: hidden characters shown, cut where they would push the bars aside, and still different.

    >>> labels(["a\nb", "x" * 40, "x" * 50])
    ['a b', 'xxxxxxxxxxxxxxxxxxxxxxx…', 'xxxxxxxxxxxxxxxxxxx… (2)']
    """
    told: list[str] = []
    for text in texts:
        whole = visible_lines(text).replace("\n", " ")
        label = whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1]}…"
        turn = 1
        while label in told:
            turn += 1
            label = f"{whole[: _LONGEST - 5]}… ({turn})"
        told.append(label)
    return told


def _kinds(kinds: Sequence[str]) -> alt.Color:
    """Two kinds at most: what was before, and what is there now."""
    import altair as alt

    colours = [AFTER] if len(kinds) == 1 else [BEFORE, AFTER]
    legend = None if len(kinds) == 1 else alt.Legend(orient="top", title=None, symbolType="square")
    return alt.Color("kind:N", sort=kinds, legend=legend, scale=alt.Scale(domain=list(kinds), range=colours))


def _draw(chart: Any, key: str, title: str, described: str) -> Markup:
    import altair as alt
    import vl_convert

    ready = (
        chart.properties(background="transparent", autosize=alt.AutoSizeParams(type="fit", contains="padding"))
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=TEXT, titleColor=TEXT, gridColor=GRID, domainColor=MUTED, tickColor=MUTED,
            labelFontSize=14, titleFontSize=14, titleFontWeight="normal", titlePadding=8, labelLimit=195,
        )
        .configure_axisX(grid=isinstance(chart, alt.Chart) and "yOffset" in chart.encoding.to_dict())
        .configure_legend(labelColor=TEXT, labelFontSize=14, labelLimit=200, symbolSize=110)
    )  # fmt: skip
    return embed_drawing(vl_convert.vegalite_to_svg(ready.to_dict()), key, title, described)
