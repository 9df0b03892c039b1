"""ppdm advise: which method, which k, and the statement to paste."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from ppdm_sql.commands.evaluate_command import how, points_table, read_statement, watch_progress
from ppdm_sql.commands.options import GlobalOptions, json_option, listed_columns, pass_options

if TYPE_CHECKING:
    from ppdm_sql.evaluate.advise import Advice
    from ppdm_sql.evaluate.advise_parts import PartsAdvice
    from ppdm_sql.policy.policy import Publish
    from ppdm_sql.profile.roles import DraftedRole
    from ppdm_sql.session import Session

_columns = "COLUMN,COLUMN"


@click.command("advise")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False))
@click.option("--release", metavar="NAME", help="Which release of a file that has several.")
@click.option(
    "--table",
    metavar="TABLE",
    help="Instead of a file: a table, its columns by role; without --quasi they are drafted.",
)
@click.option("--quasi", default="", metavar=_columns, help="Columns an attacker may know about a person.")
@click.option("--sensitive", default="", metavar=_columns, help="Columns that must stay secret.")
@click.option("--target", metavar="COLUMN", help="The column to predict from the release.")
@click.option("--insensitive", default="", metavar=_columns, help="Columns published unchanged.")
@click.option("--entity", metavar="COLUMN", help="The column that identifies the person; k then counts people.")
@click.option(
    "--k", type=click.IntRange(min=2), default=10, show_default=True, help="With --table: the smallest k allowed."
)
@click.option("--sample", type=click.IntRange(min=1000), default=20_000, show_default=True,
              help="Sample size for the first round of trials.")  # fmt: skip
@click.option("--learner", metavar="L", help="Learner used to score each release; none skips scoring.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the sample and the test rows.  [default: the policy's]"
)
@click.option("--method", type=click.Choice(["dmpd"]), help="Search for the parts of this method instead.")
@click.option("--front", is_flag=True, help="With --method: list accuracy against anonymity for every k.")
@click.option(
    "--runs",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="With --method: number of searches, each with its own seed.",
)
@click.option("--population", type=int, help="With --method: partitions in each generation of the search.")
@click.option("--generations", type=int, help="With --method: most generations of the search.")
@click.option("--max-seconds", type=int, help="With --method: most seconds that a search may take.")
@click.option("--svg", "svg_file", type=click.Path(dir_okay=False, writable=True), metavar="FILE",
              help="With --front: also draw it.")  # fmt: skip
@json_option
@pass_options
def command(options: GlobalOptions, /, file: str | None, as_json: bool, **asked: Any) -> int:
    """Recommend an algorithm and a k for a table: try all that fit on a sample, then the best three on all rows.

    Every trial meets at least the policy's requirements.  Prints the points that no other one beats in accuracy,
    loss and risk, and the statement to paste, with the reason.  Avoids what would be refused together with
    other releases of the same tables.  Publishes nothing.

    \b
    $ ppdm --db census.duckdb advise adult.sql
    $ ppdm --db census.duckdb advise --table adult
    $ ppdm --db census.duckdb advise --table adult --quasi age,sex,race,education --target income --k 10
    $ ppdm --db census.duckdb advise adult.sql --method dmpd --front --runs 5 --svg front.svg

    Exit status: 0 done; 1 no combination tried can be published; 2 the call or the policy is wrong.
    """
    from ppdm_sql.commands import show

    if (file is None) == (asked["table"] is None):
        raise click.UsageError("ppdm advise takes a policy file, or --table with the roles of its columns")
    if asked["method"] is not None:
        return _advise_parts(options, file, asked, as_json=as_json)
    if asked["front"] or asked["svg_file"] or asked["runs"] > 1:
        raise click.UsageError("--front, --runs and --svg need --method dmpd")
    with options.session(progress=False) as session, watch_progress() as watching:
        statement, drafted = _statement(session, file, asked)
        found = session.advise(
            statement, sample=asked["sample"], learner=asked["learner"], seed=asked["seed"], watch=watching
        )
    if as_json:
        show.print_json({**_json(found), "drafted": None if drafted is None else drafted.as_json()})
    else:
        _show(found, drafted)
    return 0


def _advise_parts(options: GlobalOptions, file: str | None, asked: dict[str, Any], *, as_json: bool) -> int:
    """The parts of dmpd: which columns are best published together."""
    from ppdm_sql.commands import show
    from ppdm_sql.commands.written_files import check_folder, write_file
    from ppdm_sql.evaluate.curves import draw_front

    if asked["svg_file"] and not asked["front"]:
        raise click.UsageError("--svg draws the front: add --front")
    check_folder(asked["svg_file"])
    wanted = {name: asked[name] for name in ("population", "generations", "max_seconds") if asked[name] is not None}
    with options.session() as session:
        statement, _ = _statement(session, file, asked)
        found = session.advise_parts(statement, wanted, runs=asked["runs"], front=asked["front"], seed=asked["seed"])
    if asked["svg_file"]:
        points = [(level, accuracy) for level, accuracy, _ in found.points]
        drawing = draw_front(str(session.engine.name(statement.name)), points, found.surfaces)
        write_file(asked["svg_file"], drawing)
    if as_json:
        show.print_json(found.as_json())
        return 0
    best = found.best
    show.console.print(
        f"{best.tried:,} partitions in {best.generations:,} generations, {best.seconds:.1f} s: accuracy "
        f"{best.accuracy:.4f} by cross-validation on the rows that chose them, anonymity level {best.level:,}"
    )
    if found.points:
        _show_front(found)
    show.console.print()
    show.console.print(found.statement, markup=False)
    return 0


def _show_front(found: PartsAdvice) -> None:
    from ppdm_sql.commands import show
    from ppdm_sql.methods.plan import parts_text

    rows = [(f"{level:,}", f"{share:.4f}", parts_text(parts)) for level, share, parts in found.points]
    show.rows(("K", "accuracy", "parts"), rows)
    show.console.print(f"attained by {found.runs} runs")
    surfaces = [
        (f"{one.k:,}", *(_share(share) for share in (one.best, one.median, one.worst))) for one in found.surfaces
    ]
    show.rows(("K", "best", "median", "worst"), surfaces)


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.4f}"


@dataclass(frozen=True)
class DraftedColumns:
    """The roles that nobody named: what they are, and the columns that have none."""

    by_role: dict[str, Any]
    left_out: tuple[DraftedRole, ...]

    def as_json(self) -> dict[str, Any]:
        left_out = [{"column": one.name, "reason": one.reason} for one in self.left_out]
        return {**self.by_role, "left_out": left_out}


def _statement(session: Session, file: str | None, asked: dict[str, Any]) -> tuple[Publish, DraftedColumns | None]:
    from ppdm_sql.evaluate.table_policy import drafted_columns, statement_for

    if file is not None:
        return read_statement(session, file, asked["release"]), None
    roles = {
        "sensitive": listed_columns(asked["sensitive"]),
        "target": asked["target"],
        "insensitive": listed_columns(asked["insensitive"]),
        "entity": asked["entity"],
    }
    quasi, drafted = listed_columns(asked["quasi"]), None
    if quasi:
        columns = {"quasi": quasi, **roles}
    else:
        columns, left_out = drafted_columns(session.engine, asked["table"], **roles)
        drafted = DraftedColumns(columns, left_out)
    return statement_for(session.engine, asked["table"], **columns, k=asked["k"]), drafted


def _show(found: Advice, drafted: DraftedColumns | None) -> None:
    from ppdm_sql.commands import show

    if drafted is not None:
        known = ", ".join(drafted.by_role["quasi"])
        show.console.print(f"roles were drafted (--quasi names them): an attacker may know {escape(known)}")
        for one in drafted.left_out:
            show.console.print(f"  left out {escape(one.name)}: {escape(one.reason)}")
    evaluation = found.evaluation
    where = "" if found.sampled is None else f"{len(found.tried)} combinations tried on {found.sampled:,} rows, then "
    many = f"{len(evaluation.points)} combinations tried on all {evaluation.rows:,} rows"
    show.console.print(f"[bold]{escape(str(evaluation.name))}[/]: {where}{many}; {how(evaluation)}")
    points_table([*evaluation.references, *found.front], evaluation)
    if found.others is not None:
        style = None if found.others.holds else "red"
        show.console.print(f"\n{escape(found.others.in_words)}", style=style)
    show.console.print(f"\n{escape(found.reason)}\n")
    show.console.print(found.best.statement or "", markup=False)


def _json(found: Advice) -> dict[str, Any]:
    from ppdm_sql.evaluate import output

    return {
        "statement": found.best.statement,
        "reason": found.reason,
        "best": output.point_json(found.best),
        "front": [output.point_json(point) for point in found.front],
        "other_releases": None if found.others is None else {
            "releases": list(found.others.releases), "holds": found.others.holds, "told": found.others.in_words,
            "left_out": [output.point_json(point) for point in found.others.left_out],
        },
        "evaluation": output.as_json(found.evaluation),
        "sample": None if found.sampled is None else {
            "rows": found.sampled, "points": [output.point_json(point) for point in found.tried],
        },
    }  # fmt: skip
