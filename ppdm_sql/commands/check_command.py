"""ppdm check: how risky the source of a policy is, or any table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, listed_columns, pass_options, sql_option

if TYPE_CHECKING:
    from ppdm_sql.checks.measure import Measures
    from ppdm_sql.requirements import Requirement
    from ppdm_sql.session import Session

_columns = "COLUMN,COLUMN"


@click.command("check")
@click.argument("source", metavar="FILE | TABLE | SELECT")
@click.option("--quasi", default="", metavar=_columns, help="Without a policy: columns an attacker may know.")
@click.option("--sensitive", default="", metavar=_columns, help="With --quasi: columns that must stay secret.")
@click.option("--entity", metavar="COLUMN", help="With --quasi: the column that identifies the person.")
@click.option("--k", type=click.IntRange(min=2), help="With --quasi: the smallest class allowed.  [default: 10]")
@click.option("--require", "required", multiple=True, metavar="WORD=V",
              help="With --quasi: one more requirement, such as simple_l=2; may be repeated.")  # fmt: skip
@json_option
@sql_option
@pass_options
def command(
    options: GlobalOptions, source: str, quasi: str, sensitive: str, entity: str | None, k: int | None,
    required: tuple[str, ...], as_json: bool, show_sql: bool,
) -> int:  # fmt: skip
    """Measure the source of a policy against its requirements, or a table without a policy; changes nothing.

    A table needs --quasi.  With --sensitive and no --require about values, distinct_l = 2 is measured as well: no class
    may have one sensitive value only.

    Exit status: 0 every requirement holds already, 1 one is breached, 2 the call or the policy is wrong.

    \b
    $ ppdm --db clinic.duckdb check patients.sql
    $ ppdm --db clinic.duckdb check patients --quasi birth,sex,postcode --sensitive diagnosis --k 10
    $ ppdm --db clinic.duckdb check "SELECT * FROM patients WHERE ward = 3" --quasi birth,sex
    """
    from ppdm_sql.commands import show

    names = listed_columns(quasi)
    if not names:
        _refuse_without_quasi(source, sensitive=sensitive, entity=entity, k=k, require=required)
    with options.session(writes=False) as session:
        if show_sql:
            session.engine.on_statement = show.print_sql(to_stderr=as_json)
        if names:
            asked = _requirements(k or 10, required, has_sensitive=bool(listed_columns(sensitive)))
            found = [
                session.check_table(
                    source, names, sensitive=listed_columns(sensitive), entity=entity, requirements=asked
                )
            ]
        else:
            found = _check_policy(session, source)
        if as_json:
            show.print_json({"sources": [item.as_json() for item in found]})
        else:
            for item in found:
                show.measures(item)
    return 0 if all(outcome.holds for item in found for outcome in item.outcomes) else 1


def _refuse_without_quasi(source: str, **options: object) -> None:
    """Refuses a table whose columns are not named, and options that a policy has of its own."""
    if not Path(source).is_file():
        raise click.UsageError(
            f"policy file {source} does not exist; to check a table or a SELECT, name the columns that an attacker may "
            "know: --quasi age,sex,postcode"
        )
    for name, value in options.items():
        if value:
            raise click.UsageError(f"--{name} goes with --quasi; a policy file has requirements and roles of its own")


def _check_policy(session: Session, file: str) -> list[Measures]:
    from ppdm_sql.policy import grammar
    from ppdm_sql.policy.policy import Publish

    statements = grammar.read(file, dialect=session.engine.dialect)
    return [session.check(statement) for statement in statements if isinstance(statement, Publish)]


def _requirements(k: int, texts: tuple[str, ...], *, has_sensitive: bool) -> list[Requirement]:
    """What the options require; k twice is a mistake, as in a policy."""
    from ppdm_sql.policy.stored_requirements import requirement
    from ppdm_sql.requirements import About, DistinctDiversity, KAnonymity, requirements_about

    more = [requirement(text) for text in texts]
    asked: list[Requirement] = [KAnonymity(k), *more]
    if has_sensitive and not requirements_about(more, About.VALUES):
        asked.append(DistinctDiversity(2))
    words = [one.word for one in asked]
    for word in words:
        if words.count(word) > 1:
            raise click.UsageError(f"{word} is required twice")
    return asked
