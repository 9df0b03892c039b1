"""ppdm catalog: the version of what is remembered."""

from __future__ import annotations

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options
from ppdm_sql.policy.words import many


@click.group("catalog")
def command() -> None:
    """The catalog in schema ppdm: show its migrations and edits, bring it up to date, or seal its ledger.

    \b
    $ ppdm --db clinic.duckdb catalog status
    """


@command.command("status")
@json_option
@pass_options
def status(options: GlobalOptions, as_json: bool) -> int:
    """Show applied migrations and edits of the ledger.

    Changes nothing.  Exit status 1 if the ledger was edited.

    \b
    $ ppdm --db clinic.duckdb catalog status
    """
    from ppdm_sql.catalog import ledger, migrate
    from ppdm_sql.commands import show

    with options.session(writes=False) as session:
        states = migrate.status(session.engine)
        chain = ledger.state(session.engine)
    if as_json:
        show.print_json({"migrations": [dict(vars(state)) for state in states], "ledger": dict(vars(chain))})
    else:
        show.rows(
            ("number", "name", "applied (UTC)"),
            [(state.number, state.name, state.applied_at or "not yet") for state in states],
        )
        show.chain(chain)
    return 1 if chain.problems else 0


@command.command("grant")
@click.argument("role")
@click.option("--group", default="ppdm_publishers", show_default=True, help="The group role; created if absent.")
@json_option
@pass_options
def grant(options: GlobalOptions, role: str, group: str, as_json: bool) -> int:
    """Let a role of PostgreSQL publish with this catalog.

    The role becomes a member of a group that may use schema ppdm.  Run it as the owner of the
    catalog, again after each ppdm catalog migrate.  Rights on sources and on the schemas of
    releases are yours to give.

    \b
    $ ppdm --db postgresql://dba@db/clinic catalog grant etl
    """
    from ppdm_sql.catalog import ledger, migrate
    from ppdm_sql.commands import show

    with options.session() as session:
        session.engine.check_writable()
        migrate.migrate(session.engine)
        with ledger.lock_ledger(session.engine):
            session.engine.share_catalog(group, role)
    if as_json:
        show.print_json({"role": role, "group": group})
    else:
        show.console.print(f"{role} may publish with this catalog, as a member of {group}", markup=False)
    return 0


@command.command("seal")
@click.option(
    "--reason", required=True, help="Why the catalog is accepted in its present state; recorded for auditors."
)
@json_option
@pass_options
def seal(options: GlobalOptions, reason: str, as_json: bool) -> int:
    """Accept the catalog in its present state.

    Do this after a review of what `catalog status` lists.  A new seal is added to the ledger
    with the reason.  It covers the present content; earlier edits are not reported again.

    \b
    $ ppdm --db clinic.duckdb catalog seal --reason "restored from the backup of 2026-03-01"
    """
    from ppdm_sql.catalog import ledger
    from ppdm_sql.commands import show

    with options.session() as session:
        session.engine.check_writable()
        accepted = ledger.problems(session.engine)
        ledger.seal(session.engine, reason)
        entries = ledger.state(session.engine).entries
    if as_json:
        show.print_json({"accepted": list(accepted), "entries": entries})
    else:
        show.console.print(f"sealed the ledger at entry {entries}; accepted {many(len(accepted), 'edit')}")
    return 0


@command.command("migrate")
@json_option
@pass_options
def bring_up_to_date(options: GlobalOptions, as_json: bool) -> int:
    """Apply the migrations that are missing, each in one transaction.

    \b
    $ ppdm --db clinic.duckdb catalog migrate
    """
    from ppdm_sql.catalog import ledger, migrate
    from ppdm_sql.commands import show

    with options.session() as session:
        session.engine.check_writable()
        applied = migrate.migrate(session.engine)
        with ledger.lock_ledger(session.engine):
            pass  # the chain of the ledger begins, if it has not
    if as_json:
        show.print_json({"applied": applied})
    else:
        show.console.print(f"applied {many(len(applied), 'migration')}" if applied else "the catalog is up to date")
    return 0
