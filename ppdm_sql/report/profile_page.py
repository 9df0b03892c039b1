"""The profile of a table as one page, in the style of a release's report."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ppdm_sql.policy.words import many
from ppdm_sql.profile.column_sets import ColumnSet
from ppdm_sql.profile.columns import figure_text
from ppdm_sql.profile.table_profile import TableProfile
from ppdm_sql.report import charts
from ppdm_sql.report.elements import Cell, Figure, Page, Section, Tile, pair_sections, prose, table
from ppdm_sql.report.sections.class_sizes import ATTACKERS, size_text

GENERATOR = "ppdm_sql profile"
_MOST_BARS = 20


def profile_page(found: TableProfile) -> Page:
    """What the page says; it holds counts and names of columns, and no value of the data."""
    sections = (_column_bars(found), _sets(found), _sizes(found), _chances(found), _columns(found), _determined(found))
    unique = found.risk.unique_rows
    told = "{unique} of {rows} are unique by the columns that an attacker may know."
    return Page(
        name=found.name,
        kind="table without a policy",
        audience="internal",
        holds=unique == 0,
        verdict=prose(told, unique=f"{unique:,}", rows=many(found.rows, "row")),
        problems=(),
        lines=(("Risk by", ", ".join(found.quasi) or "no column"), *_searched(found)),
        tiles=_tiles(found),
        sections=pair_sections(
            [section for section in sections if section is not None], ("unique", "sets", "sizes", "risk")
        ),
        note="For internal readers: small counts are shown.",
        title="table profile",
        generator=GENERATOR,
    )


def _searched(found: TableProfile) -> tuple[tuple[str, str], ...]:
    if found.sampled is None:
        return ()
    return (("Sample", f"column sets were searched on {found.sampled:,} rows; those shown were counted on all"),)


def _tiles(found: TableProfile) -> tuple[Tile, ...]:
    direct = [one for one in found.roles if one.role.value in ("IDENTIFIER", "ENTITY")]
    tiles = [
        Tile("rows", f"{found.rows:,}"),
        Tile("columns", f"{len(found.columns):,}"),
        Tile("columns that identify people", f"{len(direct):,}", ", ".join(one.name for one in direct)),
        Tile(
            "average risk", _percent(found.risk.prosecutor_mean), "to find a person whose quasi-identifiers are known"
        ),
    ]
    if found.population is not None:
        note = f"of about {found.population.population:,} people, by {found.population.model.capitalize()}'s estimate"
        tiles.append(Tile("unique in the population", _percent(found.population.unique_share), note))
    return tuple(tiles)


def _column_bars(found: TableProfile) -> Section | None:
    ranked = sorted(found.columns, key=lambda one: (one.unique_share, one.separation), reverse=True)[:_MOST_BARS]
    if not ranked:
        return None
    names = charts.labels([one.name for one in ranked])
    bars = [
        {"group": name, "kind": "unique", "value": charts.percent_value(one.unique_share, rounded=False)}
        for name, one in zip(names, ranked, strict=True)
    ]
    title = "Rows that each column makes unique"
    drawn = charts.lying_bars("unique", title, _described(bars), bars, along="unique rows in %", most=100)
    words = "A row is unique by a column if no other row has the same value."
    return Section("unique", "Risk by column", (prose(words),), (Figure(title, drawn),))


def _sets(found: TableProfile) -> Section | None:
    listed = [one for sets in found.sets.values() for one in sets]
    if not listed:
        return None
    best = [sets[0] for sets in found.sets.values()]
    names = charts.labels([", ".join(one.columns) for one in best])
    bars = [
        {"group": name, "kind": "unique", "value": charts.percent_value(one.unique_share, rounded=False)}
        for name, one in zip(names, best, strict=True)
    ]
    title = "The riskiest set of one, two and three columns"
    drawn = charts.lying_bars("sets", title, _described(bars), bars, along="unique rows in %", most=100)
    words = "Sets of columns that make the most rows unique together. Columns that do so by themselves are left out."
    told = table("Riskiest sets", ("columns", "unique rows", "share"), [_set_row(one) for one in listed], (1, 2))
    return Section("sets", "Columns together", (prose(words),), (Figure(title, drawn, told),))


def _set_row(one: ColumnSet) -> tuple[str, ...]:
    return ", ".join(one.columns), f"{one.unique_rows:,}", _percent(one.unique_share)


def _sizes(found: TableProfile) -> Section | None:
    if not found.histogram or not found.rows:
        return None
    sizes = [size_text(bucket.low, bucket.high) for bucket in found.histogram]
    bars = [
        {"group": size.replace(" or more", "+"), "kind": "table", "value": bucket.rows}
        for size, bucket in zip(sizes, found.histogram, strict=True)
    ]
    title = "Rows by the size of their class"
    rows = [
        (size, f"{bucket.rows:,}", f"{bucket.classes:,}") for size, bucket in zip(sizes, found.histogram, strict=True)
    ]
    drawn = charts.grouped_bars("sizes", title, _described(bars), bars, across="rows in the class", up="rows")
    told = table(title, ("class size", "rows", "classes"), rows, (1, 2))
    words = "Rows that agree in all columns an attacker may know are a class; the smaller it is, the higher the risk."
    return Section("sizes", "Class sizes", (prose(words),), (Figure(title, drawn, told),))


def _chances(found: TableProfile) -> Section | None:
    if not found.rows:
        return None
    rows = [(Cell(name, what), _percent(figure(found.risk))) for name, what, figure in ATTACKERS]
    rows.append((Cell("rows alone in their class"), f"{found.risk.unique_rows:,}"))
    if found.population is not None:
        estimates = (("Pitman", found.population.pitman), ("Zayatz", found.population.zayatz))
        rows += [(Cell("unique in the population", f"{who}'s estimate"), _percent(share)) for who, share in estimates]
    words = "The probability that an attacker who knows these columns of a person finds the row."
    return Section(
        "risk", "Re-identification risk", (prose(words),), tables=(table("Risk", ("attacker", "risk"), rows, (1,)),)
    )


def _columns(found: TableProfile) -> Section:
    roles = {one.name: one for one in found.roles}
    rows = [
        (
            Cell(one.name, one.info.shape), f"{one.distinct:,}", f"{one.nulls:,}", _percent(one.unique_share),
            figure_text(one.distinction), figure_text(one.separation),
            Cell(roles[one.name].role.value, roles[one.name].reason),
        )
        for one in found.columns
    ]  # fmt: skip
    head = ("column", "values", "NULLs", "unique rows", "distinction", "separation", "role to consider")
    words = (
        "Distinction is the number of different values per row; separation is the share of the pairs of rows that the "
        "column sets apart (Motwani and Xu 2007)."
    )
    return Section("columns", "Columns", (prose(words),), tables=(table("Columns", head, rows, range(1, 6)),))


def _determined(found: TableProfile) -> Section | None:
    if not found.determined:
        return None
    rows = [(one.by, ", ".join(one.columns)) for one in found.determined]
    words = "Rows that agree in the first column agree in the others, so publishing it publishes them."
    told = table("Columns that determine others", ("column", "determines"), rows)
    return Section("determined", "Columns that determine others", (prose(words),), tables=(told,))


def _described(bars: Sequence[dict[str, object]]) -> str:
    return "; ".join(f"{bar['group']}: {bar['value']:g}" for bar in bars)


def _percent(share: float | Fraction | None) -> str:
    return "–" if share is None else f"{100 * float(share):.3g} %"
