"""ppdm model: trees learned in the database, kept there by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ppdm_sql.commands.options import Options, json_option, pass_options, sql_option

if TYPE_CHECKING:
    from ppdm_sql.engines.base import Engine
    from ppdm_sql.trees.library import Model
    from ppdm_sql.watching import Progress

_FORMS = ("text", "rules", "sql", "svg", "json")


@click.group("model")
def command() -> None:
    """Models: decision and regression trees, learned in the database from counts.

    \b
    $ ppdm --db clinic.duckdb model train readmission --from patients --target readmitted
    $ ppdm --db clinic.duckdb model show readmission
    $ ppdm --db clinic.duckdb model predict readmission --from new_patients --into told
    """


@command.command("train")
@click.argument("name")
@click.option("--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The rows to learn from.")
@click.option("--target", required=True, metavar="COLUMN", help="What is to be predicted.")
@click.option("--inducer", default="c45", show_default=True, help="id3, c45, cart, or regression for a number.")
@click.option("--option", "settings", multiple=True, metavar="NAME=VALUE", help="Such as min_leaf=20; may be repeated.")
@click.option("--rare", type=click.IntRange(min=1), metavar="N", help="Do not name categories of fewer rows [5].")
@click.option("--raw", is_flag=True, help="Name every category, even one that a single row has.")
@click.option("--replace", is_flag=True, help="Put it in the place of the model of that name.")
@json_option
@sql_option
@pass_options
def train(
    options: Options,
    name: str,
    source: str,
    target: str,
    inducer: str,
    settings: tuple[str, ...],
    rare: int | None,
    raw: bool,
    replace: bool,
    as_json: bool,
    show_sql: bool,
) -> int:
    """Learn a tree from a table or a SELECT and keep it under NAME.

    \b
    $ ppdm --db clinic.duckdb model train readmission --from patients \\
        --target readmitted --inducer cart --option min_leaf=50
    """
    from ppdm_sql.commands import show
    from ppdm_sql.trees import library

    if raw and rare is not None:
        raise click.UsageError("--raw names every category: it leaves no room for --rare")
    with _opened(options, show_sql, to_stderr=as_json) as (engine, progress):
        found = library.train(
            engine, name, source, target, inducer=inducer, options=_settings(settings), rare=1 if raw else rare,
            replace=replace, progress=progress,
        )  # fmt: skip
    if as_json:
        show.print_json(_told(found))
        return 0
    record, tree = found.record, found.tree
    left = f", {record.left_out:,} left out" if record.left_out else ""
    grown = f"{_many(len(tree.nodes), 'node')}, {_many(len(tree.leaves), 'leaf', 'leaves')}"
    _say(f"trained {name}: {grown}, {_many(record.rows, 'row')}{left}")
    if len(tree.nodes) == 1:
        _say(
            "no question is worth asking with these settings; --option prune=false keeps those that pruning takes back"
        )
    if record.is_raw:
        _warn(found)
    return 0


@command.command("show")
@click.argument("name")
@click.option("--as", "form", type=click.Choice(_FORMS), default="text", show_default=True, help="In which form.")
@click.option("--out", type=click.Path(dir_okay=False), help="Into a new file instead of onto the screen.")
@pass_options
def show_model(options: Options, name: str, form: str, out: str | None) -> int:
    """Show a model: a text with lines, rules, SQL, a picture, or the exchange file.

    \b
    $ ppdm --db clinic.duckdb model show readmission
    $ ppdm --db clinic.duckdb model show readmission --as svg --out readmission.svg
    """
    from ppdm_sql.trees import library

    with options.session(writes=False) as session:
        found = library.load(session.engine, name)
        text = _written(session.engine, found, form)
    if out is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        _write_new(Path(out), text)
        _say(f"wrote {out}")
    return 0


@command.command("predict")
@click.argument("name")
@click.option("--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The rows to look at.")
@click.option("--into", required=True, metavar="TABLE", help="A new table; one that is there is never overwritten.")
@click.option("--keep", metavar="COLUMNS", help="Columns of the rows to keep, with commas between [all].")
@json_option
@sql_option
@pass_options
def predict(
    options: Options, name: str, source: str, into: str, keep: str | None, as_json: bool, show_sql: bool
) -> int:
    """Write what a model says of every row into a new table.

    Beside the kept columns it has ppdm_node (where the row ended), ppdm_class and ppdm_share (the part of the
    training rows there that are of that class), or ppdm_mean.

    \b
    $ ppdm --db clinic.duckdb model predict readmission --from new_patients \\
        --into told --keep patient_id
    """
    from ppdm_sql.commands import show
    from ppdm_sql.trees import library

    kept = [word.strip() for word in keep.split(",") if word.strip()] if keep is not None else None
    with _opened(options, show_sql, to_stderr=as_json) as (engine, progress):
        tree = library.load(engine, name).tree
        done = library.predict_into(engine, tree, source, into, kept, progress)
    if as_json:
        show.print_json({"model": name, "table": done.relation, "rows": done.rows})
    else:
        _say(f"predicted {done.rows:,} rows into {done.relation}")
    return 0


@command.command("install")
@click.argument("name")
@click.option("--view", metavar="VIEW", help="Make a view of that name over --from instead of a macro.")
@click.option("--from", "source", metavar="TABLE", help="The table a view looks at.")
@click.option("--keep", metavar="COLUMNS", help="Columns of the table a view keeps, with commas between.")
@click.option("--replace", is_flag=True, help="Put it in the place of the one that is there.")
@json_option
@pass_options
def install(
    options: Options, name: str, view: str | None, source: str | None, keep: str | None, replace: bool, as_json: bool
) -> int:
    """Make a model usable from any SQL client: as macro predict_NAME (DuckDB), or as a view over a table.

    \b
    $ ppdm --db clinic.duckdb model install readmission
    $ ppdm --db clinic.duckdb model install readmission --view told --from patients --keep patient_id
    """
    from ppdm_sql.commands import show
    from ppdm_sql.trees import library

    if (view is None) != (source is None):
        raise click.UsageError("a view needs both --view and --from")
    kept = [word.strip() for word in (keep or "").split(",") if word.strip()]
    with options.session() as session:
        made = library.install(session.engine, name, view=view, source=source, keep=kept, replace=replace)
    if as_json:
        show.print_json({"model": name, "made": made})
    else:
        _say(f"installed {made}")
    return 0


@command.command("audit")
@click.argument("name")
@click.option("--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The people the model is about.")
@click.option("--public", metavar="COLUMNS", help="What an attacker knows of them, with commas between [all it asks].")
@click.option("--class-is-public", is_flag=True, help="The attacker knows the target, too.")
@click.option("--entity", metavar="COLUMN", help="The person: k counts persons instead of rows.")
@click.option("--k", type=click.IntRange(min=2), help="Fail (exit 1) when a group is smaller.")
@json_option
@pass_options
def audit(
    options: Options,
    name: str,
    source: str,
    public: str | None,
    class_is_public: bool,
    entity: str | None,
    k: int | None,
    as_json: bool,
) -> int:
    """Whom a model would single out: the groups somebody can form who gets the model and knows the public columns.

    The size of a leaf is not the test: a private question sends a person all ways at once.

    \b
    $ ppdm --db clinic.duckdb model audit readmission --from patients --public age,sex,zip --k 10
    """
    from ppdm_sql.commands import show

    known = [word.strip() for word in public.split(",") if word.strip()] if public is not None else None
    with options.session() as session:
        found = session.audit(name, source, public=known, class_is_public=class_is_public, entity=entity, k=k)
    holds = k is None or found.k >= k
    if as_json:
        told = {key: value for key, value in vars(found).items() if key not in ("confidence", "public")}
        show.print_json({"model": name, **told, "confidence": float(found.confidence), "public": list(found.public)})
        return 0 if holds else 1
    _say(f"{name}: {found.rows:,} rows in {_many(found.spans, 'group')}; the smallest has k = {found.k:,}")
    if k is not None:
        _say(f"groups of fewer than {k}: {found.below:,} ({found.rows_below:,} rows)")
    surest = f"nobody's class is certain: at most {100 * float(found.confidence):.1f} %"
    _say(f"rows whose class is certain: {found.exposed_rows:,}" if found.exposed_rows else surest)
    return 0 if holds else 1


@command.command("export")
@click.argument("name")
@click.argument("file", type=click.Path(dir_okay=False))
@json_option
@pass_options
def export(options: Options, name: str, file: str, as_json: bool) -> int:
    """Write a model into a new exchange file.

    \b
    $ ppdm --db clinic.duckdb model export readmission readmission.json
    """
    from ppdm_sql.commands import show
    from ppdm_sql.trees import library

    with options.session() as session:
        text, found = library.export_text(session.engine, name)
    _write_new(Path(file), text)
    if as_json:
        show.print_json({"model": name, "file": file, "bytes": len(text.encode()), "warning": found.warning})
    else:
        _say(f"exported {name} to {file}: {len(text.encode()):,} bytes")
        _warn(found)
    return 0


@command.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--name", help="Default: the name in the file.")
@click.option("--replace", is_flag=True, help="Put it in the place of the model of that name.")
@json_option
@pass_options
def import_file(options: Options, file: str, name: str | None, replace: bool, as_json: bool) -> int:
    """Keep the model of an exchange file; a file that is damaged is refused.

    \b
    $ ppdm --db other.duckdb model import readmission.json --name from_clinic
    """
    from ppdm_sql.commands import show
    from ppdm_sql.trees import exchange, library

    with Path(file).open("rb") as handle:
        content = handle.read(exchange.MOST_BYTES + 1)  # one more than may be: then it is refused
    with options.session() as session:
        found = library.import_model(session.engine, content, name, replace=replace)
    if as_json:
        show.print_json(_told(found))
    else:
        _say(f"imported {found.record.name}: {len(found.tree.nodes):,} nodes")
    return 0


@command.command("list")
@json_option
@pass_options
def list_models(options: Options, as_json: bool) -> int:
    """List the models of a database.

    \b
    $ ppdm --db clinic.duckdb model list
    """
    from ppdm_sql.commands import show
    from ppdm_sql.trees import library

    with options.session(writes=False) as session:
        found = library.listed(session.engine)
    if as_json:
        show.print_json({"models": [dict(vars(record)) for record in found]})
    elif not found:
        _say("no models yet: ppdm model train makes one")
    else:
        heads = ("model", "inducer", "target", "nodes", "leaves", "rows", "rare", "saved (UTC)")
        show.rows(
            heads,
            [
                (r.name, r.inducer, r.target["name"], f"{r.nodes:,}", f"{r.leaves:,}", f"{r.rows:,}",
                 "not known" if r.rare is None else "raw" if r.is_raw else r.rare, f"{r.saved_at:%Y-%m-%d %H:%M}")
                for r in found
            ],
        )  # fmt: skip
    return 0


@command.command("drop")
@click.argument("name")
@json_option
@pass_options
def drop(options: Options, name: str, as_json: bool) -> int:
    """Drop a model; the catalog keeps the record of it.

    \b
    $ ppdm --db clinic.duckdb model drop readmission
    """
    from ppdm_sql.commands import show
    from ppdm_sql.trees import library

    with options.session() as session:
        library.drop(session.engine, name)
    if as_json:
        show.print_json({"dropped": name})
    else:
        _say(f"dropped {name}")
    return 0


# -- small things ----------------------------------------------------------------------------------------------------


@contextmanager
def _opened(options: Options, show_sql: bool, *, to_stderr: bool) -> Iterator[tuple[Engine, Progress]]:
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


def _settings(given: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in given:
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise click.UsageError("an option is written NAME=VALUE, such as --option min_leaf=20")
        if name.strip() in found:
            raise click.UsageError(f"option {name.strip()} is given twice")
        found[name.strip()] = value.strip()
    return found


def _written(engine: Engine, found: Model, form: str) -> str:
    from ppdm_sql.trees import picture, show, tree_json

    tree, name = found.tree, found.record.name
    match form:
        case "rules":
            return show.as_rules(tree)
        case "sql":
            return show.as_sql(engine, tree)
        case "svg":
            return picture.as_svg(tree, title=f"{name}: {tree.target.name} ({tree.inducer})")
        case "json":
            return tree_json.tree_text(tree, name)
    return show.as_text(tree)


def _told(found: Model) -> dict[str, Any]:
    record, tree = found.record, found.tree
    return {
        "model": record.name,
        "kind": record.kind,
        "inducer": record.inducer,
        "target": tree.target.name,
        "options": tree.options,
        "nodes": len(tree.nodes),
        "leaves": len(tree.leaves),
        "depth": tree.depth,
        "rows": record.rows,
        "left_out": record.left_out,
        "rare": record.rare,
        "warning": found.warning,
    }


def _write_new(path: Path, text: str) -> None:
    """Into a file that was not there, readable for its owner alone."""
    from ppdm_sql.errors import PolicyError, PpdmError

    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise PolicyError(f"there is a file {path} already: it was not touched") from None
    except OSError as cause:
        raise PpdmError(f"{path} cannot be written ({cause.strerror})") from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text if text.endswith("\n") else text + "\n")


def _many(number: int, one: str, several: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def _say(text: str) -> None:
    from ppdm_sql.commands import show

    show.console.print(text, markup=False)


def _warn(found: Model) -> None:
    click.echo(f"warning: {found.warning}", err=True)
