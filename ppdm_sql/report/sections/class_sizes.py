"""How many look alike, and how likely a person is found among them: of the release, and of its source today."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ppdm_sql.checks.risk import Risk, risk
from ppdm_sql.checks.size import Bucket, histogram
from ppdm_sql.report import charts
from ppdm_sql.report.audience import Audience
from ppdm_sql.report.elements import Cell, Figure, Section, prose, table
from ppdm_sql.report.facts import Facts
from ppdm_sql.report.sections.guarantees import GONE
from ppdm_sql.requirements.base import share_text

# -- class sizes -------------------------------------------------------------------------------------------


def class_sizes(facts: Facts, audience: Audience) -> Section | None:
    """How many rows are hidden among how many."""
    if facts.classes is None or facts.classes.sizes.total_rows == 0:
        return None
    who = "people" if facts.classes.counted == "persons" else "rows"
    now = histogram(facts.classes.sizes)
    before = facts.before.measures.histogram if facts.before and not audience.public else ()
    longest = now if len(now) >= len(before) else before
    buckets = [(bucket.low, bucket.high) for bucket in longest]
    rows = [_size_row(place, size, now, before, audience) for place, size in enumerate(buckets)]
    words = f"{facts.kind.report_words.class_meaning} Sizes are counted in {who}."
    head = ["class size", *(["rows of the source"] if before else []), "rows of the release", "classes of the release"]
    told = table("Rows by the size of their class", head, rows, range(1, len(head)))
    drawn = charts.grouped_bars(
        "sizes", "Rows by the size of their class", _sizes_description(buckets, now, audience),
        [*_bars("source", before, buckets, audience), *_bars("release", now, buckets, audience)],
        across=f"{who} in the class", up="rows",
    )  # fmt: skip
    caption = "Rows by the size of their class" + (", in the source and in the release" if before else "")
    return Section("sizes", "Class sizes", (prose(words),), (Figure(caption, drawn, told),))


def size_text(low: int, high: int | None) -> str:
    """A size or a range of sizes.

    >>> size_text(1, 1), size_text(10, 19), size_text(1000, None)
    ('1', '10–19', '1,000 or more')
    """
    if high is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _size_row(
    place: int, size: tuple[int, int | None], now: Sequence[Bucket], before: Sequence[Bucket], audience: Audience
) -> list[str]:
    def size_cell(buckets: Sequence[Bucket], part: Callable[[Bucket], int]) -> str:
        return audience.count(part(buckets[place])) if place < len(buckets) else "0"

    was = [size_cell(before, lambda bucket: bucket.rows)] if before else []
    return [
        size_text(*size),
        *was,
        size_cell(now, lambda bucket: bucket.rows),
        size_cell(now, lambda bucket: bucket.classes),
    ]


def _bars(
    kind: str, found: Sequence[Bucket], sizes: Sequence[tuple[int, int | None]], audience: Audience
) -> list[dict[str, object]]:
    """A bar of each size; one that may not be told has the height of k."""
    heights = [audience.k if audience.hides(bucket.rows) else bucket.rows for bucket in found]
    heights += [0] * (len(sizes) - len(heights)) if found else []
    return [
        {"group": size_text(*size).replace(" or more", "+"), "kind": kind, "value": height}
        for size, height in zip(sizes, heights, strict=False)
    ]


def _sizes_description(sizes: Sequence[tuple[int, int | None]], now: Sequence[Bucket], audience: Audience) -> str:
    parts = [
        f"{audience.count(bucket.rows)} rows in classes of {size_text(*size)}"
        for size, bucket in zip(sizes, now, strict=False)
        if bucket.rows
    ]
    return f"Bars of the release: {'; '.join(parts)}."


# -- risk --------------------------------------------------------------------------------------------------

ATTACKERS: tuple[tuple[str, str, Callable[[Risk], float | Fraction | None]], ...] = (
    ("prosecutor, highest", "knows that the person is in the table", lambda found: found.prosecutor_max),
    ("prosecutor, average", "the same, for a row taken by chance", lambda found: found.prosecutor_mean),
    ("journalist, highest", "wants to find anyone, to show that it can be done", lambda found: found.journalist_max),
    ("journalist, average", "the same, averaged over the classes or the rows", lambda found: found.journalist_mean),
    ("marketer", "wants to find as many as possible: the share of rows found", lambda found: found.marketer),
)
_WORST = (0, 2)
_DRAWN = (0, 3, 4)  # the others say the same as these, or lie between them


def chances(facts: Facts, audience: Audience) -> Section | None:
    """Re-identification risk before and after."""
    if facts.classes is None or facts.classes.sizes.total_rows == 0:
        return None
    now = risk(facts.classes.sizes)
    was = facts.before.measures.risk if facts.before else None
    words = (
        "The probability that an attacker who knows the quasi-identifiers of a person finds the row. The table is "
        "taken as its own population, which overstates the risk if it is a sample."
    )
    rows: list[tuple[Cell | str, ...]] = [
        (Cell(name, what), *(_chance(place, found, audience) for found in (was, now)))
        for place, (name, what, _) in enumerate(ATTACKERS)
    ]
    rows += _weighted_rows(facts, audience)
    rows += _exact_rows(was, now, audience) if not audience.public else []
    told = table("Re-identification risk", ("attacker", "source", "release"), rows, (1, 2))
    title = "Re-identification risk, before and after" if was else "Re-identification risk"
    bars = [
        {
            "group": ATTACKERS[place][0],
            "kind": kind,
            "value": charts.percent_value(ATTACKERS[place][2](found), audience.public),
        }
        for place in _DRAWN
        if not (audience.public and place in _WORST)
        for kind, found in (("source", was), ("release", now))
        if found is not None
    ]
    described = "; ".join(f"{bar['group']}, {bar['kind']}: {bar['value']:g} %" for bar in bars)
    drawn = charts.lying_bars("risk", title, described, bars, along="risk in %", most=100 if was else None)
    paragraphs = [prose(words)] if was or facts.before else [prose(words), prose(GONE)]
    return Section("risk", "Re-identification risk", tuple(paragraphs), (Figure(title, drawn, told),))


def _weighted_rows(facts: Facts, audience: Audience) -> list[tuple[Cell | str, ...]]:
    """The same where rows stand for several people of a population."""
    now = facts.manifest.weighted_risk
    if now is None:
        return []
    before = facts.before.measures.weighted if facts.before else None
    was = None if before is None else before.to_record()
    told = "the risk is 1 / the people for whom the rows of a class stand, by their sampling weights"
    worst = "–" if was is None else audience.worst(float(was.highest))
    mean = "–" if was is None else audience.percent(float(was.average))
    return [
        (Cell("with weights, highest", told), worst, audience.worst(float(now.highest))),
        (Cell("with weights, average", "the same, averaged over the rows"), mean, audience.percent(float(now.average))),
    ]


def _exact_rows(was: Risk | None, now: Risk, audience: Audience) -> list[tuple[Cell | str, ...]]:
    """Counts, for the publisher's own eyes."""
    unique = Cell("rows alone in their class", "anyone who knows the quasi-identifiers has found them")
    rows: list[tuple[Cell | str, ...]] = [(unique, f"{was.unique_rows:,}" if was else "–", f"{now.unique_rows:,}")]
    above = dict(was.rows_at_risk) if was else {}
    for limit, share in now.rows_at_risk:
        known = audience.percent(float(above[limit]) if limit in above else None)
        rows.append((Cell(f"rows with a risk above {share_text(limit)}"), known, audience.percent(float(share))))
    return rows


def _chance(place: int, found: Risk | None, audience: Audience) -> str:
    value = None if found is None else ATTACKERS[place][2](found)
    if value is None:
        return "–"
    return audience.worst(float(value)) if place in _WORST else audience.percent(float(value))
