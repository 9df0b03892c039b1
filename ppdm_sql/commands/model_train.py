"""ppdm model train, predict, install: a model and the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ppdm_sql.commands.model_messages import model_json, say, warn
from ppdm_sql.commands.options import (
    COMMAS,
    GlobalOptions,
    inducer_option,
    json_option,
    listed_columns,
    pass_options,
    settings_option,
    sql_option,
)
from ppdm_sql.policy.words import many

if TYPE_CHECKING:
    from ppdm_sql.engines.base import Engine
    from ppdm_sql.watching import Progress


@click.command("train")
@click.argument("name")
@click.option("--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The rows to learn from.")
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@inducer_option
@settings_option
@click.option(
    "--rare", type=click.IntRange(min=1), metavar="N", help="Categories of fewer rows than this are not named [5]."
)
@click.option("--raw", is_flag=True, help="Name every category, even one that only a single row has.")
@click.option("--replace", is_flag=True, help="Replace the model of that name.")
@json_option
@sql_option
@pass_options
def train(
    options: GlobalOptions,
    name: str,
    source: str,
    target: str,
    inducer: str,
    settings: dict[str, str],
    rare: int | None,
    raw: bool,
    replace: bool,
    as_json: bool,
    show_sql: bool,
) -> int:
    """Learn a model from a table or a SELECT and save it under NAME.

    \b
    $ ppdm --db clinic.duckdb model train readmission --from patients \\
        --target readmitted --inducer cart --option min_leaf=50
    $ ppdm --db clinic.duckdb model train by_rules --from patients \\
        --target readmitted --inducer conjunctive_rules --option max_rules=10
    """
    from ppdm_sql.commands import show
    from ppdm_sql.models import library

    if raw and rare is not None:
        raise click.UsageError("--raw names every category, so it cannot be combined with --rare")
    with open_with_progress(options, show_sql, to_stderr=as_json) as (engine, progress):
        found = library.train(
            engine, name, source, target, inducer=inducer, options=settings, rare=1 if raw else rare,
            replace=replace, progress=progress,
        )  # fmt: skip
    if as_json:
        show.print_json(model_json(found))
        return 0
    record, hint = found.record, found.kind.hint(found.learned)
    left = f", {record.left_out:,} left out" if record.left_out else ""
    say(f"trained {name}: {found.size}, {many(record.rows, 'row')}{left}")
    if hint is not None:
        say(hint)
    if record.is_raw:
        warn(found)
    return 0


@click.command("predict")
@click.argument("name")
@click.option("--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The table to predict for.")
@click.option(
    "--into", required=True, metavar="TABLE", help="Name of the new table; an existing one is never overwritten."
)
@click.option("--keep", metavar="COLUMNS", help=f"Columns of the table to keep, {COMMAS} [all].")
@json_option
@sql_option
@pass_options
def predict(
    options: GlobalOptions, name: str, source: str, into: str, keep: str | None, as_json: bool, show_sql: bool
) -> int:
    """Write the prediction of a model for every row into a new table.

    The table has the kept columns, ppdm_class and ppdm_share.  A tree adds ppdm_node, the leaf of the row; its share is
    that of the class among the training rows of the leaf.  A regression tree gives ppdm_mean.  Rules add ppdm_rule, the
    rule that decided.  The share of naive Bayes is the probability of the class.

    \b
    $ ppdm --db clinic.duckdb model predict readmission --from new_patients \\
        --into predictions --keep patient_id
    """
    from ppdm_sql.commands import show
    from ppdm_sql.models import library

    kept = listed_columns(keep) if keep is not None else None
    with open_with_progress(options, show_sql, to_stderr=as_json) as (engine, progress):
        done = library.predict_into(engine, library.load(engine, name), source, into, kept, progress)
    if as_json:
        show.print_json({"model": name, "table": done.relation, "rows": done.rows})
    else:
        say(f"predicted {many(done.rows, 'row')} into {done.relation}")
    return 0


@click.command("install")
@click.argument("name")
@click.option("--view", metavar="VIEW", help="Create a view of that name over --from instead of a macro.")
@click.option("--from", "source", metavar="TABLE", help="The table that the view reads.")
@click.option("--keep", metavar="COLUMNS", help=f"Columns of the table that the view keeps, {COMMAS}.")
@click.option("--replace", is_flag=True, help="Replace the existing macro or view.")
@json_option
@pass_options
def install(
    options: GlobalOptions,
    name: str,
    view: str | None,
    source: str | None,
    keep: str | None,
    replace: bool,
    as_json: bool,
) -> int:
    """Make a model usable from any SQL client.

    As macro predict_NAME on DuckDB, or with --view and --from as a view over a table.
    Naive Bayes can only become a view: a macro needs a single expression.

    \b
    $ ppdm --db clinic.duckdb model install readmission
    $ ppdm --db clinic.duckdb model install readmission --view predictions --from patients --keep patient_id
    """
    from ppdm_sql.commands import show
    from ppdm_sql.models import library

    if (view is None) != (source is None):
        raise click.UsageError("a view needs both --view and --from")
    kept = listed_columns(keep or "")
    with options.session() as session:
        made = library.install(session.engine, name, view=view, source=source, keep=kept, replace=replace)
    if as_json:
        show.print_json({"model": name, "made": made})
    else:
        say(f"installed {made}")
    return 0


@contextmanager
def open_with_progress(options: GlobalOptions, show_sql: bool, *, to_stderr: bool) -> Iterator[tuple[Engine, Progress]]:
    """The database, and the progress bar, which is gone when the work is done or has failed."""
    from ppdm_sql.commands import show
    from ppdm_sql.commands.progress import bar
    from ppdm_sql.watching import silent

    progress = bar() or silent
    with options.session() as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=to_stderr)
        try:
            yield session.engine, progress
        finally:
            progress("done", 1, 1)
