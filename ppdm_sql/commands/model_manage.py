"""ppdm model show, export, import, list, drop: the models that a database keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ppdm_sql.commands.model_messages import model_json, say, warn
from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options

if TYPE_CHECKING:
    from ppdm_sql.catalog.models import ModelRecord
    from ppdm_sql.engines.base import Engine
    from ppdm_sql.models.library import Model

_FORMS = ("text", "rules", "sql", "svg", "json")


@click.command("show")
@click.argument("name")
@click.option("--as", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="Output format.")
@click.option("--out", type=click.Path(dir_okay=False), help="Write to this new file instead of the screen.")
@pass_options
def show_model(options: GlobalOptions, name: str, form: str, out: str | None) -> int:
    """Show a model as text, rules, SQL, exchange file or picture.

    Only a tree has a picture.

    \b
    $ ppdm --db clinic.duckdb model show readmission
    $ ppdm --db clinic.duckdb model show readmission --as svg --out readmission.svg
    """
    from ppdm_sql.errors import PolicyError
    from ppdm_sql.models import library

    with options.session(writes=False) as session:
        found = library.load(session.engine, name)
        if form == "json" and library.release_of(session.engine, name) is not None:
            # printed or not, it is the file that a recipient gets: the ledger must know that it was handed over
            raise PolicyError(
                f"model \"{name}\" is a release: use EXPORT {name} TO '{name}.json', which records the export"
            )
        text = _model_text(session.engine, found, form)
    if out is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        _write_new(Path(out), text)
        say(f"wrote {out}")
    return 0


@click.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False))
@json_option
@pass_options
def export(options: GlobalOptions, name: str, file: str, as_json: bool) -> int:
    """Write a model into a new exchange file.

    A published model is written as ppdm export writes it.

    \b
    $ ppdm --db clinic.duckdb model export readmission readmission.json
    """
    from ppdm_sql.commands import show
    from ppdm_sql.models import library

    with options.session(out=str(Path(file).parent)) as session:
        released = library.release_of(session.engine, name)
        if released is not None:  # the ledger must know that it was handed over
            done = session.export(released.name, Path(file).name)
            show.print_json(done.as_json()) if as_json else show.result(done)
            return 0
        text, found = library.export_text(session.engine, name)
    _write_new(Path(file), text)
    if as_json:
        show.print_json({"model": name, "file": file, "bytes": len(text.encode()), "warning": found.warning})
    else:
        say(f"exported {name} to {file}: {len(text.encode()):,} bytes")
        warn(found)
    return 0


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--name", help="Name of the model.  [default: the name in the file]")
@click.option("--replace", is_flag=True, help="Replace the model of that name.")
@json_option
@pass_options
def import_file(options: GlobalOptions, file: str, name: str | None, replace: bool, as_json: bool) -> int:
    """Import a model from an exchange file; a damaged file is refused.

    \b
    $ ppdm --db other.duckdb model import readmission.json --name from_clinic
    """
    from ppdm_sql.commands import show
    from ppdm_sql.models import library
    from ppdm_sql.trees import exchange

    with Path(file).open("rb") as handle:
        content = handle.read(exchange.MOST_BYTES + 1)  # one more than may be: then it is refused
    with options.session() as session:
        found = library.import_model(session.engine, content, name, replace=replace)
    if as_json:
        show.print_json(model_json(found))
    else:
        say(f"imported {found.record.name}: {found.size}")
    return 0


@click.command("list")
@json_option
@pass_options
def list_models(options: GlobalOptions, as_json: bool) -> int:
    """List the models of a database.

    \b
    $ ppdm --db clinic.duckdb model list
    """
    from ppdm_sql.commands import show
    from ppdm_sql.models import library
    from ppdm_sql.models.kinds import kind_named

    with options.session(writes=False) as session:
        found = library.list_models(session.engine)
    if as_json:
        show.print_json({"models": [_head(record) for record in found]})
    elif not found:
        say("no models yet: ppdm model train creates one")
    else:
        heads = ("model", "inducer", "target", "size", "rows", "rare", "saved (UTC)")
        show.rows(
            heads,
            [
                (r.name, r.inducer, r.target_name, kind_named(r.kind).size(r), f"{r.rows:,}",
                 _rare(r), f"{r.saved_at:%Y-%m-%d %H:%M}")
                for r in found
            ],
        )  # fmt: skip
    return 0


@click.command("drop")
@click.argument("name")
@json_option
@pass_options
def drop(options: GlobalOptions, name: str, as_json: bool) -> int:
    """Drop a model; the catalog keeps the record of it.

    \b
    $ ppdm --db clinic.duckdb model drop readmission
    """
    from ppdm_sql.commands import show
    from ppdm_sql.models import library

    with options.session() as session:
        library.drop(session.engine, name)
    if as_json:
        show.print_json({"dropped": name})
    else:
        say(f"dropped {name}")
    return 0


def _model_text(engine: Engine, found: Model, form: str) -> str:
    kind, learned, record = found.kind, found.learned, found.record
    match form:
        case "rules":
            return kind.rules(learned)
        case "sql":
            return kind.sql(engine, learned)
        case "svg":
            return kind.svg(learned, f"{record.name}: {record.target_name} ({record.inducer})")
        case "json":
            return kind.document(learned, record.name)
    return kind.text(learned)


def _rare(record: ModelRecord) -> object:
    """From how many rows on a category is named."""
    if record.rare is None:
        return "unknown"
    return "pseudo-rows" if record.is_of_pseudo_rows else "raw" if record.is_raw else record.rare


def _head(record: ModelRecord) -> dict[str, Any]:
    """What the list shows of a model; show and export have all of it."""
    from ppdm_sql.models.kinds import kind_named

    told = {key: value for key, value in vars(record).items() if key != "body"}
    return {**told, "size": kind_named(record.kind).size(record)}


def _write_new(path: Path, text: str) -> None:
    """Into a file that was not there, readable for its owner alone."""
    from ppdm_sql.errors import PolicyError, PpdmError
    from ppdm_sql.release.export.write import write_private

    try:
        write_private(path, text if text.endswith("\n") else text + "\n")
    except FileExistsError:
        raise PolicyError(f"{path} already exists and was not changed") from None
    except OSError as cause:
        raise PpdmError(f"{path} cannot be written ({cause.strerror})") from None
