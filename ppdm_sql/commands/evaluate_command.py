"""ppdm evaluate: what each method would keep, cost and risk, before anything is published."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.markup import escape

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options
from ppdm_sql.commands.written_files import check_folder, write_file
from ppdm_sql.policy.words import many

if TYPE_CHECKING:
    from ppdm_sql.catalog.evaluations import Evaluation, EvaluationPoint
    from ppdm_sql.evaluate.run import GridProgress, Watcher
    from ppdm_sql.policy.policy import Publish
    from ppdm_sql.session import Session

_file = click.Path(dir_okay=False, writable=True)


@click.command("evaluate")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--grid", multiple=True, metavar="WORD=V,V", help="Requirements to try, as in k=5,10,50; several multiply."
)
@click.option("--method", default="", metavar="M,M", help="Methods to try.  [default: the policy's own]")
@click.option("--release", metavar="NAME", help="Which release of a file that has several.")
@click.option("--protocol", default="holdout", show_default=True, metavar="P",
              help="How accuracy is tested: holdout (a third), kfold:N, 5x2.")  # fmt: skip
@click.option(
    "--learner",
    metavar="L",
    help="Learner used to score each release: c45_spread (default), c45, cart, naive_bayes, ...; none skips scoring.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the folds.  [default: the policy's]")
@click.option("--workload", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
              help="A file of your own queries; they read a table called data.")  # fmt: skip
@click.option("--again", is_flag=True, help="Measure every point again, also those already saved.")
@click.option("--csv", "csv_file", type=_file, metavar="FILE", help="Write the points as CSV.")
@click.option("--svg", "svg_file", type=_file, metavar="FILE", help="Draw accuracy against k.")
@json_option
@pass_options
def command(options: GlobalOptions, /, file: str, as_json: bool, **asked: object) -> int:
    """Try algorithms and requirements on the table of a policy; publishes nothing.

    Every point is planned and verified as for publishing, on working tables, and saved in the catalog.  After a
    stop, the same command continues; points that are already saved are not measured again.

    \b
    $ ppdm --db census.duckdb evaluate adult.sql --grid k=5,10,50 --method kactus2,tpp,mondrian
    $ ppdm --db census.duckdb evaluate adult.sql --grid k=5,10 --grid simple_l=2,3 --protocol kfold:5 --csv grid.csv
    $ ppdm --db census.duckdb evaluate adult.sql --method tpp,mondrian --workload asked.sql

    Exit status: 0 done, also when some points are refused; 2 the call or the policy is wrong; 3 stopped or failed.
    """
    from ppdm_sql.commands import show
    from ppdm_sql.evaluate import output

    for name in ("csv_file", "svg_file"):
        check_folder(asked[name])
    with options.session(progress=False) as session, watch_progress() as watching:
        statement = read_statement(session, file, asked["release"])
        found = session.evaluate(
            statement,
            methods=[word for word in str(asked["method"]).split(",") if word.strip()],
            grid=asked["grid"],  # type: ignore[arg-type]
            protocol=str(asked["protocol"]),
            learner=asked["learner"],  # type: ignore[arg-type]
            seed=asked["seed"],  # type: ignore[arg-type]
            workload=asked["workload"],  # type: ignore[arg-type]
            again=bool(asked["again"]),
            watch=watching,
        )
    write_file(asked["csv_file"], output.as_csv(found))
    drawn = output.as_svg(found) if asked["svg_file"] else None
    write_file(asked["svg_file"], drawn)
    if as_json:
        show.print_json(output.as_json(found))
    else:
        evaluation(found)
        if asked["svg_file"] and drawn is None:
            show.console.print("nothing to draw: no point has both a k and a figure")
    return 0


def read_statement(session: Session, file: str, release: object) -> Publish:
    """The statement of a policy file that is meant."""
    from ppdm_sql.evaluate.grid import choose_statement
    from ppdm_sql.policy import grammar

    statements = grammar.read(file, dialect=session.engine.dialect)
    return choose_statement(statements, None if release is None else str(release), file)


# -- watching ----------------------------------------------------------------------------------------------


@contextmanager
def watch_progress() -> Iterator[Watcher]:
    """A bar with the time left, on stderr; nothing when that is no terminal."""
    from ppdm_sql.evaluate.run import watch_nothing

    if not sys.stderr.isatty():
        yield watch_nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("", total=None, left="")

        def update(progress: GridProgress) -> None:
            left = "" if progress.seconds_left is None else f"{duration(progress.seconds_left)} left"
            drawn.update(task, description=progress.doing, completed=progress.done, total=progress.total, left=left)

        yield update


def duration(seconds: float) -> str:
    """About how long.

    >>> duration(42.4), duration(95), duration(4000)
    ('42 s', '1 min 35 s', '1 h 6 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


# -- showing -----------------------------------------------------------------------------------------------


def evaluation(found: Evaluation) -> None:
    """The points for people."""
    from ppdm_sql.commands import show
    from ppdm_sql.evaluate.compare import in_words

    show.console.print(f"[bold]{escape(str(found.name))}[/]: {many(found.rows, 'row')}; {how(found)}")
    points_table([*found.references, *found.points], found)
    ways = {point.tested for point in found.points if point.tested is not None}
    for way in sorted(ways):
        methods = ", ".join(dict.fromkeys(str(p.algorithm) for p in found.points if p.tested == way))
        show.console.print(f"  tested {way} ({methods}): {_WAYS.get(way, way)}", style="dim")
    for line in in_words(found):
        show.console.print(f"  {escape(line)}", style="dim")
    for (method, reason), asked in _reasons(found.points).items():
        show.console.print(f"  {escape(method)} ({escape('; '.join(asked))}): {escape(reason)}", style="dim")


def _reasons(points: Sequence[EvaluationPoint]) -> dict[tuple[str, str], list[str]]:
    """Why something was refused, told once for all the requirements it is the same for."""
    found: dict[tuple[str, str], list[str]] = {}
    for point in points:
        if point.reason is not None:
            found.setdefault((str(point.algorithm), point.reason), []).append(point.requirements_text)
    return found


_WAYS = {
    "recoded": "learned from a release of the training rows, tested on rows outside of it, recoded by its rules",
    "relabelled": "learned from a release of the training rows, tested on rows outside of it, "
    "each value replaced by the narrowest label that covers it",
    "model": "the model of the training rows, tested on rows that it was not trained on",
}


def how(found: Evaluation) -> str:
    if found.learner is None:
        return "no accuracy: the policy has no TARGET, or the learner is none"
    divided = {"holdout": "a third of the rows held out", "5x2": "five times two halves"}
    way = divided.get(found.protocol, f"{found.protocol.removeprefix('kfold:')} folds")
    return f"{found.learner}, {way}, seed {found.seed}"


def points_table(points: Sequence[EvaluationPoint], found: Evaluation) -> None:
    from ppdm_sql.commands import show

    heads = ["method", "requirements", "holds", "rows", "classes", "suppressed", "loss", "worst risk"]
    learned = found.learner is not None
    score = ["R squared"] if found.learner == "regression" else ["accuracy", "AUC"]
    asked = any(point.workload_error is not None for point in points)
    rows = [
        [*_cells(point), *(_scores(point)[: len(score)] if learned else []), *(_workload(point) if asked else []),
         f"{point.seconds:.1f} s"]
        for point in points
    ]  # fmt: skip
    show.rows([*heads, *(score if learned else []), *(["query error", "answered"] if asked else []), "took"], rows)


def _cells(point: EvaluationPoint) -> list[str]:
    verdict = {"baseline": "-", "refused": "refused"}.get(point.status, "yes" if point.holds else "NO")
    return [
        point.algorithm or "raw data",
        point.requirements_text or "-",
        verdict,
        _number(point.rows, "{:,}"),
        _number(point.classes, "{:,}"),
        _number(point.suppressed_cells, "{:.1%}"),
        _number(point.information_loss, "{:.3f}"),
        _number(point.risk_max, "{:.3%}"),
    ]


def _workload(point: EvaluationPoint) -> list[str]:
    return [_number(point.workload_error, "{:.1%}"), _number(point.workload_answered, "{:.0%}")]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _scores(point: EvaluationPoint) -> list[str]:
    if point.accuracy is None:
        return [_number(point.r_squared, "{:.3f}"), "-"]
    spread = "" if point.accuracy_spread is None else f" +- {point.accuracy_spread:.2%}"
    return [f"{point.accuracy:.2%}{spread}", _number(point.auc, "{:.3f}")]
