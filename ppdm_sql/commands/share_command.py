"""ppdm share: several sources, one model."""

from __future__ import annotations

from pathlib import Path

import click

from ppdm_sql.commands.options import Options, json_option, pass_options

_FILES = click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))


@click.group("share")
def command() -> None:
    """Learn from several sources that publish models instead of rows.

    \b
    $ ppdm --db north.duckdb share publish readmission --out shared          # at each hospital
    $ ppdm --db miner.duckdb --create share collect shared/*.json --into pooled
    $ ppdm --db miner.duckdb share learn global --from pooled --target readmitted
    """


@command.command("publish")
@click.argument("name")
@click.option("--out", required=True, type=click.Path(file_okay=False, exists=True), help="The folder to hand over.")
@click.option("--as", "file", metavar="FILE", help="The file's name [NAME.json].")
@json_option
@pass_options
def publish(options: Options, name: str, out: str, file: str | None, as_json: bool) -> int:
    """Write a released model with its manifest and script into a folder, for whoever collects.

    \b
    $ ppdm --db north.duckdb share publish readmission --out shared --as north.json
    """
    from ppdm_sql.commands import show

    with options.session(out=out) as session:
        done = session.export(name, file or f"{name}.json")
    if as_json:
        show.print_json(done.as_json())
    else:
        show.console.print(f"published {name} as {done.path}", markup=False, soft_wrap=True)
    return 0


@command.command("collect")
@_FILES
@click.option("--into", required=True, metavar="TABLE", help="A new table; one that is there is never overwritten.")
@click.option("--rows", type=click.IntRange(min=1), help="How many in all [as many as the models were learned from].")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--algorithm", type=click.Choice(["pgen", "basegen"]), default="pgen", show_default=True)
@click.option("--classes", type=click.Choice(["quota", "counts"]), default="quota", show_default=True,
              help="Of a leaf's rows: the majority exactly, the others evenly; or all as counted.")  # fmt: skip
@click.option("--name-sources", is_flag=True, help="Add column ppdm_source: 0, 1, ... in the order of the files.")
@json_option
@pass_options
def collect(
    options: Options,
    files: tuple[str, ...],
    into: str,
    rows: int | None,
    seed: int,
    algorithm: str,
    classes: str,
    name_sources: bool,
    as_json: bool,
) -> int:
    """Make one table of pseudo-rows from the published models of several sources.

    Every file is checked against the manifest beside it. The rows describe nobody, and are
    mixed: which file a row comes from is told only with --name-sources.

    \b
    $ ppdm --db miner.duckdb share collect north.json south.json --into pooled --rows 10000
    """
    from ppdm_sql.commands import show
    from ppdm_sql.sharing.collect import pool, read_shared
    from ppdm_sql.trees.library import name_of

    with options.session() as session:
        shared = [read_shared(Path(file)) for file in files]
        target = name_of(session.engine, into)
        done = pool(
            session.engine, shared, target, rows=rows, seed=seed, algorithm=algorithm, by_counts=classes == "counts",
            name_sources=name_sources,
        )  # fmt: skip
    if as_json:
        show.print_json({"table": done.relation, "rows": done.rows, "sources": done.sources})
    else:
        show.console.print(f"collected {done.sources} models: {done.rows:,} pseudo-rows in {done.relation}")
    return 0


@command.command("learn")
@click.argument("name")
@click.option("--from", "source", required=True, metavar="TABLE", help="The collected pseudo-rows.")
@click.option("--target", required=True, metavar="COLUMN")
@click.option("--inducer", default="c45", show_default=True, help="id3, c45 or cart.")
@click.option("--replace", is_flag=True, help="Put it in the place of the model of that name.")
@json_option
@pass_options
def learn(options: Options, name: str, source: str, target: str, inducer: str, replace: bool, as_json: bool) -> int:
    """Learn one tree from the pseudo-rows of all sources; ppdm model show, predict and export go on from there.

    \b
    $ ppdm --db miner.duckdb share learn global --from pooled --target readmitted
    """
    from ppdm_sql.commands import show
    from ppdm_sql.sharing.collect import SOURCE
    from ppdm_sql.trees import library

    with options.session() as session:
        engine = session.engine
        relation = library.relation_of(engine, source)
        taken = [info.name for info in engine.columns(relation) if info.name != SOURCE]
        found = library.train_on(engine, name, relation, taken, target, inducer=inducer, source=source, replace=replace)
    if as_json:
        show.print_json({"model": name, "leaves": len(found.tree.leaves), "rows": found.record.rows})
    else:
        show.console.print(f"learned {name}: {len(found.tree.leaves):,} leaves from {found.record.rows:,} pseudo-rows")
    return 0


@command.command("vote")
@_FILES
@click.option("--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The rows to vote on.")
@click.option("--into", required=True, metavar="TABLE", help="A new table.")
@click.option("--keep", required=True, metavar="COLUMNS", help="Columns of the rows to keep, with commas between.")
@json_option
@pass_options
def vote(options: Options, files: tuple[str, ...], source: str, into: str, keep: str, as_json: bool) -> int:
    """Let the published models vote on every row of a table; the class of most votes is ppdm_class.

    \b
    $ ppdm --db miner.duckdb share vote shared/*.json --from patients --into told --keep patient_id
    """
    from ppdm_sql.commands import show
    from ppdm_sql.sharing.collect import read_shared
    from ppdm_sql.sharing.committee import vote as voted
    from ppdm_sql.trees import library

    kept = [word.strip() for word in keep.split(",") if word.strip()]
    with options.session() as session:
        engine = session.engine
        shared = [read_shared(Path(file)) for file in files]
        rows = voted(engine, shared, library.relation_of(engine, source), library.name_of(engine, into), kept)
    if as_json:
        show.print_json({"table": into, "rows": rows, "models": len(shared)})
    else:
        show.console.print(f"{len(shared)} models voted on {rows:,} rows: {into}")
    return 0
