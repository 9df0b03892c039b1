"""The commands by name.  One file per command, imported only when that command is called: --help stays quick."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from ppdm_sql import __version__
from ppdm_sql.commands.options import GlobalOptions

_COMMANDS = {
    "demo": "Run a demo: a hospital table, its risk, a policy, a verified release, an exported file.",
    "run": "Run policy files: publish the releases they define, or refuse and change nothing.",
    "plan": "Show what a policy would publish, and every statement it would run; writes nothing.",
    "profile": "Show what a table holds about people: its columns, what makes people unique, its risk.",
    "draft": "Draft a policy for a table: roles with their reasons, and hierarchy files to edit.",
    "check": "Measure the risk of a policy's source, or of a table without a policy; changes nothing.",
    "verify": "Measure releases or an exported file again, and report whatever was changed since.",
    "export": "Write a release into a new DuckDB, Parquet or CSV file with its certificate.",
    "report": "Write one self-contained HTML page about a release, for internal or public readers.",
    "show": "Show one release: what was required, what was achieved, what is not promised.",
    "list": "List the releases of a database.",
    "drop": "Withdraw releases; exported copies, and what others have read, still count.",
    "model": "Models learned in the database: train, show, predict, install, audit, export, import, list, drop.",
    "share": "Combine several sources: collect their published models, learn from all of them, or let them vote.",
    "evaluate": "Try algorithms and requirements on a table: accuracy, loss and risk of each; publishes nothing.",
    "advise": "Recommend an algorithm and requirements for a table, with the statement to paste.",
    "catalog": "Show or migrate the catalog, or seal its ledger.",
}


class LazyGroup(click.Group):
    """Knows its commands by name and one line of help; loads the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"ppdm_sql.commands.{cmd_name}_command")
        return module.command  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--db", envvar="PPDM_DB", show_envvar=True, metavar="DATABASE",
              help="A DuckDB file, postgresql://..., spark:local[2] or spark://host:port?warehouse=DIR.")  # fmt: skip
@click.option("--create", is_flag=True, help="Create the DuckDB file if it does not exist.")
@click.option("--read-only", is_flag=True, help="Open the database read-only.")
@click.option(
    "--allow",
    "--allow-dir",
    "allow_dir",
    multiple=True,
    metavar="DIR",
    help="A folder that SQL may read from and write to; may be repeated.",
)
@click.option("--memory-limit", metavar="SIZE",
              help="DuckDB's memory (default: half of the machine's); larger data is spilled to disk.")  # fmt: skip
@click.option("--threads", type=click.IntRange(min=1), help="Threads DuckDB may use.")
@click.option("--lock-timeout", type=click.FloatRange(min=0), default=30.0, show_default=True, metavar="SECONDS",
              help="Seconds to wait for a locked database.")  # fmt: skip
@click.option("--show-values", is_flag=True, help="Let messages quote values of the data.")
@click.version_option(__version__, prog_name="ppdm")
@click.pass_context
def cli(ctx: click.Context, /, **options: object) -> None:
    """Publish tables with a privacy guarantee that the database itself has measured.

    \b
    Try it:        ppdm demo
    Publish:       ppdm --db clinic.duckdb run patients.sql
    Prove it:      ppdm --db clinic.duckdb verify patients_open
    Hand it over:  ppdm --db clinic.duckdb export patients_open open.duckdb

    Exit status: 0 done; 1 a requirement is breached or the schema drifted, nothing
    was published; 2 the call or the policy is wrong; 3 the run failed or was stopped.
    Effects of earlier statements of the same run remain, and are listed.
    """
    ctx.obj = GlobalOptions(**options)  # type: ignore[arg-type]


class StoppedRun(Exception):
    """A run ended by something else than an error of ours, its cause; done: the results of the statements before."""

    def __init__(self, done: Sequence[Mapping[str, Any]]) -> None:
        self.done = done
        super().__init__()


def run(arguments: list[str]) -> int:
    """Runs one call and reports its failures; gives the exit code."""
    as_json = "--json" in arguments
    try:
        outcome = cli.main(arguments, prog_name="ppdm", standalone_mode=False)
    except click.exceptions.Abort:  # what click makes of Ctrl-C
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        error.show()
        return 2
    except StoppedRun as stopped:
        return _tell_failure(stopped.__cause__ or stopped, as_json, stopped.done)
    except Exception as error:
        return _tell_failure(error, as_json)
    return outcome if isinstance(outcome, int) else 0


_FILES = (PermissionError, FileExistsError, NotADirectoryError, IsADirectoryError, FileNotFoundError)


def _tell_failure(error: BaseException, as_json: bool, done: Sequence[Mapping[str, Any]] | None = None) -> int:
    from ppdm_sql.errors import PpdmError

    if isinstance(error, PpdmError):
        return _fail(str(error), error.exit_code, as_json, error.results, error.run_id)
    if isinstance(error, BrokenPipeError):  # the reader of our output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 3
    if isinstance(error, KeyboardInterrupt):
        if not done:
            raise error
        return _fail("stopped", 3, as_json, done)
    if os.environ.get("PPDM_DEBUG"):
        raise error
    if isinstance(error, _FILES):
        told = f"{error.filename or 'a file'}: {error.strerror or type(error).__name__}"
        return _fail(told, 3, as_json, done)
    # The text of a stray error can quote data: only its kind is shown.
    return _fail(f"internal error ({type(error).__name__}); PPDM_DEBUG=1 shows more", 3, as_json, done)


def _fail(
    message: str, exit_code: int, as_json: bool, done: Sequence[Mapping[str, Any]] | None, run_id: str | None = None
) -> int:
    """The message on stderr; with --json also on stdout, with the results of what ran before."""
    if as_json:
        import json

        ran = {} if done is None else {"results": list(done), "holds": False}
        ended = {"error": message, "exit_code": exit_code} | ({} if run_id is None else {"run_id": run_id})
        print(json.dumps({**ran, **ended}, ensure_ascii=False, default=str))
    print(f"ppdm: {message}", file=sys.stderr)
    if done:
        print(f"ppdm: earlier statements of this run remain in effect: {'; '.join(_effects(done))}", file=sys.stderr)
    return exit_code


def _effects(done: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What statements did, in a few words each."""
    for one in done:
        match one["statement"]:
            case "publish":
                with_it = f" (SUPERSEDES withdrew {', '.join(one['withdrawn'])})" if one["withdrawn"] else ""
                yield f"published {one['release']}{with_it}"
            case "export":
                yield f"exported {one['release']} to {one['path']}"
            case "drop":
                yield f"dropped {one['release']}"
    ordinary = sum(one["statement"] == "sql" for one in done)
    if ordinary:
        yield f"ran {ordinary} of ordinary SQL"
