"""Results for people: tables and short sentences.  Everything printed here is names, counts and figures."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ppdm_sql.policy.words import many, roles_text

if TYPE_CHECKING:
    from ppdm_sql.catalog.ledger import ChainState
    from ppdm_sql.catalog.manifest import FindingRecord, UtilityRecord, WeightedRiskRecord
    from ppdm_sql.catalog.releases import ReleaseSummary
    from ppdm_sql.checks.measure import Measures
    from ppdm_sql.checks.size import Bucket
    from ppdm_sql.methods.plan import PlanChoice
    from ppdm_sql.release.results import Exported, Planned, Published, Result, Verified
    from ppdm_sql.report.write import Reported

# A pipe has no width of its own: rich would fold tables to 80 columns there.
console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
_LONGEST_FIGURE = 80


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, default=str))


def print_sql(to_stderr: bool) -> Any:
    """A listener that prints statements as they run."""
    stream = sys.stderr if to_stderr else sys.stdout

    def hear(sql: str) -> None:
        print(f"{sql};", file=stream)

    return hear


def result(outcome: Result) -> None:
    """One result, in the form its kind asks for."""
    from ppdm_sql.release import results
    from ppdm_sql.sharing.private.statement import CountsReported

    match outcome:
        case results.Passed():
            if outcome.table is not None and outcome.table.columns not in (("Count",), ("Success",)):
                rows(outcome.table.columns, outcome.table.rows)
        case results.Published():
            print_published(outcome)
        case results.Verified():
            print_verified(outcome)
        case results.Planned():
            print_plan(outcome, statements=True)
        case results.Exported():
            print_exported(outcome)
        case CountsReported():
            console.print(escape(outcome.text), highlight=False)
        case results.Dropped():
            console.print(f"dropped {escape(outcome.name)}")
            if outcome.still_counts:
                console.print(f"  {escape(outcome.still_counts)}")


def print_published(release: Published) -> None:
    console.print(f"published [bold]{escape(release.name)}[/]: {escape(release.content_text)}")
    if not release.kind.describes_people:
        return
    if release.hint is not None:
        console.print(release.hint, style="yellow")
    if release.withdrawn:
        console.print(f"  SUPERSEDES withdrew: {escape(', '.join(release.withdrawn))}", style="yellow")
    _print_swaps(release)
    _notes(release.growth_lines)
    findings(release.outcomes)
    _notes(release.null_readings)
    _utility(release.utility, release.rows, release.warnings)
    _print_weights(release.weighted_risk)


def print_verified(outcome: Verified) -> None:
    tone = "green" if outcome.holds else "red"
    console.print(f"[bold]{escape(outcome.name)}[/] [{tone}]{outcome.verdict}[/]: {escape(outcome.content_text)}")
    for problem in outcome.problems:
        console.print(f"  [red]{escape(problem)}[/]")
    _notes(outcome.notes)
    if outcome.findings:
        findings(outcome.findings)


def print_exported(done: Exported) -> None:
    """The file, and every other one that was written with it."""
    console.print(f"exported {escape(done.name)} to {escape(done.path)}: {done.content_text}")
    for number, file in enumerate(done.companions):
        console.print(f"  {'and      ' if number else 'with     '} {escape(file)}")


def print_reported(done: Reported) -> None:
    verdict = "[green]holds[/]" if done.holds else "[red]does NOT hold[/], and the report says so"
    console.print(f"[bold]{escape(done.name)}[/] {verdict}")
    for problem in done.problems:
        console.print(f"  [red]{escape(problem)}[/]")
    console.print(f"wrote {escape(done.path)}: {done.bytes:,} bytes, for {done.audience} readers")


def print_plan(plan: Planned, *, statements: bool) -> None:
    console.print(f"plan for [bold]{escape(plan.name)}[/] (nothing was written)")
    for number, step in enumerate(plan.steps, start=1):
        console.print(f"  {number}. {escape(step)}")
    if plan.findings:
        console.print(f"would publish {many(plan.rows, 'row')} in {many(plan.classes, 'class', 'classes')}")
        findings(plan.outcomes)
    _choices(plan.choices)
    _notes(plan.notes)
    _utility(plan.utility, plan.rows, plan.warnings)
    _print_weights(plan.weighted_risk)
    if plan.sample:
        console.print("rows as they would be published:")
        rows(plan.columns, plan.sample)
    elif plan.utility is not None and not plan.holds:
        console.print("no rows are shown, because the release would be refused")
    for outcome in plan.joint:
        console.print(f"together with {escape(', '.join(outcome.releases))}: {plan.joint_verdict(outcome)}")
    if plan.withdraws:
        console.print(f"SUPERSEDES would withdraw: {escape(', '.join(plan.withdraws))}", style="yellow")
    for name, message in plan.risks:
        console.print(f"  not promised: {escape(name)}: {escape(message)}", style="dim")
    if statements and plan.statements:
        console.print(f"the {len(plan.statements)} statements:")
        for sql in plan.statements:
            console.print(f"{sql};", markup=False)


def _choices(found: Sequence[PlanChoice]) -> None:
    """The recodings that a method chose from, the best first."""
    if len(found) < 2:
        return
    console.print(f"the best {len(found)} recodings; the first is the one that would be published:")
    table = plain_table("", found[0].quality, "left out", "classes", "smallest", "risk", "levels")
    for number, one in enumerate(found, start=1):
        figures = (str(number), one.value_text, f"{one.suppressed_rows:,}", f"{one.classes:,}", f"{one.smallest:,}")
        table.add_row(*figures, f"{float(100 * one.risk):.3g} %", escape(one.levels_text))
    console.print(table)


def findings(found: Sequence[FindingRecord]) -> None:
    table = plain_table("requirement", "column", "achieved", "verdict")
    for item in found:
        verdict = _verdict(item.holds, item.breaching_classes, item.breaching_rows)
        table.add_row(escape(item.requirement), escape(item.column or ""), item.achieved or "-", verdict)
    console.print(table)


def _utility(found: UtilityRecord | None, published: int, warnings: Sequence[str]) -> None:
    """What the quasi-identifiers still say, and what to know before the release is used."""
    from ppdm_sql.planning.utility import utility_table, utility_text

    if found is None:
        return
    head, *lines = utility_table(found, published)
    table = plain_table(*head)
    for line in lines:
        table.add_row(*map(escape, line))
    console.print(table)
    console.print(f"  {utility_text(found)}")
    for warning in warnings:
        console.print(f"warning: {escape(warning)}", style="yellow")


def _print_weights(found: WeightedRiskRecord | None) -> None:
    """The risk with sampling weights, next to the one without."""
    if found is None:
        return
    console.print(
        f"  with weights the rows stand for {float(found.population):,.0f} people; re-identification risk: "
        f"{percent(float(found.highest))} highest, {percent(float(found.average))} average (without weights "
        f"{percent(float(found.unweighted_highest))} highest, {percent(float(found.unweighted_average))} average)"
    )


def _notes(notes: Sequence[str]) -> None:
    for note in notes:
        console.print(f"  {escape(note)}")


def measures(found: Measures) -> None:
    """The risk of a relation as it stands."""
    console.print(f"{many(found.rows, 'row')} in {many(found.classes, 'equivalence class', 'equivalence classes')}")
    table = plain_table("requirement", "column", "achieved", "verdict")
    for item in found.outcomes:
        table.add_row(
            escape(item.asked),
            escape(item.column or ""),
            item.achieved_text or "-",
            _verdict(item.holds, item.breaching_classes, item.breaching_rows),
        )
    console.print(table)
    if found.rows:
        _risk(found)


def _risk(found: Measures) -> None:
    """The re-identification risk, in words and as a small picture."""
    risk = found.risk
    console.print(
        f"unique rows: {risk.unique_rows:,} of {found.rows:,}; re-identification risk: "
        f"{percent(risk.prosecutor_max)} highest, {percent(risk.prosecutor_mean)} average"
    )
    _print_weights(found.weighted.to_record() if found.weighted is not None else None)
    print_histogram(found.histogram)


def print_histogram(buckets: Sequence[Bucket]) -> None:
    """Rows by the size of their class, as bars."""
    most = max(bucket.rows for bucket in buckets)
    for bucket in buckets:
        sizes = str(bucket.low) if bucket.low == bucket.high else f"{bucket.low}-{bucket.high or ''}"
        drawn = "#" * max(1 if bucket.rows else 0, round(30 * bucket.rows / most))
        console.print(f"  classes of {sizes:>9}  {bucket.rows:>10,} rows  [dim]{drawn}[/]")


def percent(share: float | Fraction | None) -> str:
    return "-" if share is None else f"{100 * float(share):.3g} %"


def _verdict(holds: bool, classes: int, rows: int) -> str:
    if holds:
        return "[green]holds[/]"
    if not classes:  # of the whole release
        return "[red]breached[/]"
    return f"[red]breached in {many(classes, 'class', 'classes')} ({many(rows, 'row')})[/]"


def summaries(found: Sequence[ReleaseSummary]) -> None:
    heads = ("release", "kind", "method", "requirements", "rows", "classes", "state", "exports", "published (UTC)")
    table = plain_table(*heads)
    for item in found:
        state = item.state if item.verdict is None else f"{item.state}, {item.verdict}"
        state += f", readable by {roles_text(item.readers)}" if item.readers else ""
        table.add_row(
            escape(str(item.name)), item.kind.lower(), item.algorithm, escape(", ".join(map(str, item.requirements))),
            f"{item.rows:,}", f"{item.classes:,}", state, str(item.exports), f"{item.published_at:%Y-%m-%d %H:%M}",
        )  # fmt: skip
    console.print(table)


def chain(state: ChainState) -> None:
    """Whether the ledger is as it was written."""
    if state.sealed_at is None and not state.problems:
        console.print("the ledger has no chain of hashes yet: the next publication starts it")
        return
    verdict = "[green]the ledger is unchanged[/]" if state.problems else "[green]the ledger is as it was written[/]"
    console.print(f"{verdict}: {many(state.entries, 'entry', 'entries')}")
    if state.sealed_at is not None:
        console.print(f"  sealed {state.sealed_at:%Y-%m-%d %H:%M} UTC: {escape(state.reason or '')}")
    for problem in state.problems:
        console.print(f"  [red]{escape(problem)}[/]")


def rows(columns: Sequence[str], data: Sequence[Sequence[Any]]) -> None:
    table = plain_table(*columns)
    for row in data:
        table.add_row(*("NULL" if value is None else escape(str(value)) for value in row))
    console.print(table)


def plain_table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(escape(head), overflow="fold")
    return table


def release(found: Published, readers: Sequence[str] = ()) -> None:
    """One release in full."""
    record, content = found.record, found.record.manifest
    console.print(f"[bold]{escape(found.name)}[/], published {content.release.published_at} by "
                  f"{escape(record.algorithm)}, seed {record.seed}")  # fmt: skip
    if not found.kind.describes_people:
        console.print(escape(found.content_text))
    else:
        console.print(f"{found.content_text}, {many(int(record.suppressed_rows or 0), 'row')} left out")
        _print_swaps(found)
        _notes(found.growth_lines)
        findings(found.outcomes)
        _notes(found.null_readings)
        _utility(found.utility, found.rows, found.warnings)
        _print_weights(found.weighted_risk)
    told = ", ".join(f"{name} {figure}" for name, figure in _short_figures(content.figures))
    if told:
        when = ", first night" if found.growth_lines else ""  # a REFRESH keeps the recoding and its figures
        console.print(f"figures of {escape(record.algorithm)}{when}: {escape(told)}")
    for name, note in (content.column_notes or {}).items():
        console.print(f"column [bold]{escape(name)}[/]: {escape(note)}")
    for name, message in content.residual_risks.items():
        console.print(f"not promised: [bold]{escape(name)}[/]: {escape(message)}")
    for told_jointly in content.joint_breaches:
        console.print(f"[yellow]accepted[/]: [bold]joint[/]: {escape(told_jointly)}")
    console.print(f"made from {escape(found.origins_text)}; rows {record.content_hash}")
    if readers:
        told = f"{roles_text(readers)} can read it or could in the past, and may have a copy: it counts as exported"
        console.print(escape(told))
    console.print(found.ways_to_read, markup=False)


def _print_swaps(found: Published) -> None:
    """Swapped rows are mentioned wherever a release is shown, not in its manifest alone."""
    figures = found.record.manifest.figures
    if figures.get("swapped rows"):
        share = percent(float(figures["swap rate"]))
        rows = many(int(figures["swapped rows"]), "row")
        console.print(f"{rows} ({share}) with a swapped value, which is not their own", style="yellow")


def _short_figures(figures: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Numbers and short words; a manifest has more about trees and names than a line can."""
    for name, figure in figures.items():
        text = str(figure)
        if isinstance(figure, int | float):
            yield name, text
        elif isinstance(figure, str) and len(text) <= _LONGEST_FIGURE and text.isprintable():
            yield name, f"({text})" if "," in text else text
