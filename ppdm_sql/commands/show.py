"""Results for people: tables and short sentences.  Everything printed here is names, counts and figures."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from ppdm_sql.catalog.releases import ReleaseSummary
    from ppdm_sql.checks.measure import Measures
    from ppdm_sql.release.results import FindingShown, Planned, Published, Result, Verified
    from ppdm_sql.report.write import Reported

# A pipe has no width of its own: rich would fold tables to 80 columns there.
console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)


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

    match outcome:
        case results.Passed():
            if outcome.table is not None and outcome.table.columns not in (("Count",), ("Success",)):
                rows(outcome.table.columns, outcome.table.rows)
        case results.Published():
            published(outcome)
        case results.Verified():
            verified(outcome)
        case results.Planned():
            planned(outcome, statements=True)
        case results.Exported():
            console.print(f"exported {escape(outcome.name)} to {escape(outcome.path)}: {_many(outcome.rows, 'row')}, "
                          f"{outcome.bytes:,} bytes, measured again in the file")  # fmt: skip
            console.print(f"  beside it {escape(outcome.manifest)}\n  and       {escape(outcome.certificate)}")
        case results.Dropped():
            console.print(f"dropped {escape(outcome.name)}")
            if outcome.exports:
                console.print(f"  {_many(outcome.exports, 'exported copy', 'exported copies')} cannot be taken back: "
                              "it stays in the ledger")  # fmt: skip


def published(release: Published) -> None:
    console.print(f"published [bold]{escape(release.name)}[/]: {_many(release.rows, 'row')} in "
                  f"{_many(release.classes, 'class', 'classes')}")  # fmt: skip
    findings(release.findings)


def verified(outcome: Verified) -> None:
    verdict = "[green]holds[/]" if outcome.holds else "[red]does NOT hold[/]"
    console.print(f"[bold]{escape(outcome.name)}[/] {verdict}: {_many(outcome.rows, 'row')} in "
                  f"{_many(outcome.classes, 'class', 'classes')}, measured on what is stored")  # fmt: skip
    for problem in outcome.problems:
        console.print(f"  [red]{escape(problem)}[/]")
    for note in outcome.notes:
        console.print(f"  {escape(note)}")
    if outcome.findings:
        findings(outcome.findings)


def reported(done: Reported) -> None:
    verdict = "[green]holds[/]" if done.holds else "[red]does NOT hold[/], and the page says so"
    console.print(f"[bold]{escape(done.name)}[/] {verdict}")
    for problem in done.problems:
        console.print(f"  [red]{escape(problem)}[/]")
    console.print(f"wrote {escape(done.path)}: {done.bytes:,} bytes, for {done.audience} readers")


def planned(plan: Planned, *, statements: bool) -> None:
    console.print(f"plan for [bold]{escape(plan.name)}[/] (nothing was written)")
    for number, step in enumerate(plan.steps, start=1):
        console.print(f"  {number}. {escape(step)}")
    if plan.findings:
        console.print(f"would publish {_many(plan.rows, 'row')} in {_many(plan.classes, 'class', 'classes')}")
        findings(plan.findings)
    for outcome in plan.joint:
        state = "holds" if outcome["holds"] else "would be refused"
        console.print(f"together with {escape(', '.join(outcome['with']))}: {state}")
    for name, message in plan.risks:
        console.print(f"  not promised: {escape(name)}: {escape(message)}", style="dim")
    if statements and plan.statements:
        console.print(f"the {len(plan.statements)} statements:")
        for sql in plan.statements:
            console.print(f"{sql};", markup=False)


def findings(found: Sequence[FindingShown]) -> None:
    table = _table("asked", "column", "achieved", "verdict")
    for item in found:
        verdict = _verdict(item.holds, item.breaching_classes, item.breaching_rows)
        table.add_row(escape(item.requirement), escape(item.column or ""), item.achieved or "-", verdict)
    console.print(table)


def measures(found: Measures) -> None:
    """The risk of a relation as it stands."""
    console.print(f"{_many(found.rows, 'row')} in {_many(found.classes, 'class', 'classes')} of equals")
    table = _table("asked", "column", "found", "verdict")
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
    """Who could be found by somebody who knows the quasi-identifiers, in words and as a small picture."""
    risk = found.risk
    console.print(
        f"unique rows: {risk.unique_rows:,} of {found.rows:,}; chance to find a person: "
        f"{_percent(risk.prosecutor_max)} at worst, {_percent(risk.prosecutor_mean)} on average"
    )
    most = max(bucket.rows for bucket in found.histogram)
    for bucket in found.histogram:
        sizes = str(bucket.low) if bucket.low == bucket.high else f"{bucket.low}-{bucket.high or ''}"
        drawn = "#" * max(1 if bucket.rows else 0, round(30 * bucket.rows / most))
        console.print(f"  classes of {sizes:>9}  {bucket.rows:>10,} rows  [dim]{drawn}[/]")


def _percent(share: float | Fraction | None) -> str:
    return "-" if share is None else f"{100 * float(share):.3g} %"


def _verdict(holds: bool, classes: int, rows: int) -> str:
    if holds:
        return "[green]holds[/]"
    return f"[red]breached in {_many(classes, 'class', 'classes')} ({_many(rows, 'row')})[/]"


def summaries(found: Sequence[ReleaseSummary]) -> None:
    table = _table("release", "kind", "method", "asked", "rows", "classes", "state", "exports", "published (UTC)")
    for item in found:
        state = item.state if item.verdict is None else f"{item.state}, {item.verdict}"
        table.add_row(
            escape(str(item.name)), item.kind.lower(), item.algorithm, escape(", ".join(map(str, item.requirements))),
            f"{item.rows:,}", f"{item.classes:,}", state, str(item.exports), f"{item.published_at:%Y-%m-%d %H:%M}",
        )  # fmt: skip
    console.print(table)


def rows(columns: Sequence[str], data: Sequence[Sequence[Any]]) -> None:
    table = _table(*columns)
    for row in data:
        table.add_row(*("NULL" if value is None else escape(str(value)) for value in row))
    console.print(table)


def _table(*heads: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(escape(head), overflow="fold")
    return table


def _many(count: int, one: str, more: str | None = None) -> str:
    """A count with its noun.

    >>> _many(1, "class", "classes"), _many(20000, "row")
    ('1 class', '20,000 rows')
    """
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def release(found: Published) -> None:
    """One release in full."""
    record, content = found.record, found.manifest
    console.print(f"[bold]{escape(found.name)}[/], published {content['release']['published_at']} by "
                  f"{escape(record.algorithm)}, seed {record.seed}")  # fmt: skip
    console.print(f"{_many(found.rows, 'row')} in {_many(found.classes, 'class', 'classes')}, "
                  f"{_many(int(record.suppressed_rows or 0), 'row')} left out")  # fmt: skip
    findings(found.findings)
    for name, message in content["residual_risks"].items():
        console.print(f"not promised: [bold]{escape(name)}[/]: {escape(message)}")
    console.print(f"made from {escape(', '.join(record.sources))}; rows {record.content_hash}")
    console.print(f"read it with: {found.sql}", markup=False)
