"""ppdm share: several sources, one model."""

from __future__ import annotations

from pathlib import Path

import click

from ppdm_sql.commands.options import (
    COMMAS,
    GlobalOptions,
    inducer_option,
    json_option,
    listed_columns,
    pass_options,
    settings_option,
)
from ppdm_sql.commands.share_codebook import codebook_group
from ppdm_sql.commands.share_itemsets import ITEMSET_COMMANDS
from ppdm_sql.commands.share_label import LABEL_COMMANDS
from ppdm_sql.commands.share_private import COMMANDS
from ppdm_sql.policy.words import many

_FILES = click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))


@click.group("share")
def command() -> None:
    """Learn from several sources that publish models instead of rows.

    \b
    $ ppdm --db north.duckdb share publish readmission --out shared          # at each hospital
    $ ppdm --db miner.duckdb --create share collect shared/*.json --into pooled
    $ ppdm --db miner.duckdb share learn global --from pooled --target readmitted
    """


for one in (codebook_group, *COMMANDS, *ITEMSET_COMMANDS, *LABEL_COMMANDS):
    command.add_command(one)


@command.command("publish")
@click.argument("name")
@click.option("--out", required=True, type=click.Path(file_okay=False, readable=False),
              help="The folder to publish into; created if absent.")  # fmt: skip
@click.option("--as", "file", metavar="FILE", help="The file's name [NAME.json].")
@json_option
@pass_options
def publish(options: GlobalOptions, name: str, out: str, file: str | None, as_json: bool) -> int:
    """Write a released model into a folder for share collect.

    Its manifest and its script come with it.

    \b
    $ ppdm --db north.duckdb share publish readmission --out shared --as north.json
    """
    from ppdm_sql.commands import show
    from ppdm_sql.errors import PolicyError
    from ppdm_sql.release.export.write import check_recordable, mapped_errors

    with options.session(out=out) as session:
        if not session.release(name).kind.keeps_model:
            raise PolicyError(f"{name} is not a model: share publish exports models that CREATE MODEL published")
        check_recordable(session.engine)
        with mapped_errors(Path(out)):
            Path(out).mkdir(mode=0o700, parents=True, exist_ok=True)
        done = session.export(name, file or f"{name}.json")
    if as_json:
        show.print_json(done.as_json())
    else:
        show.console.print(f"published {name} as {done.path}", markup=False, soft_wrap=True)
    return 0


@command.command("collect")
@_FILES
@click.option(
    "--into", required=True, metavar="TABLE", help="Name of the new table; an existing one is never overwritten."
)
@click.option(
    "--rows", type=click.IntRange(min=1), help="Rows in all [four times as many as the models were trained on]."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random choices.")
@click.option("--algorithm", type=click.Choice(["pgen", "basegen"]), default="pgen", show_default=True,
              help="pgen: rows as the tree has them; basegen: evenly over all domains, as a baseline.")  # fmt: skip
@click.option("--classes", type=click.Choice(["counts", "quota", "draw"]),
              help="Classes in a leaf: as counted [counts]; majority exact, others even; or drawn.")  # fmt: skip
@click.option("--domains", metavar="COLUMN,LEAST,GREATEST,...",
              help="Bounds of numbers and dates, categories of other columns: 'age,0,120,ward,A|B|C'.")  # fmt: skip
@click.option("--numbers", type=click.Choice(["uniform", "midpoint", "endpoint"]),
              help="Place of a number in its interval: anywhere [uniform], middle or lower end.")  # fmt: skip
@click.option("--bands", type=click.Choice(["even", "width"]),
              help="Choice among intervals: all equally often [even], or by their width.")  # fmt: skip
@click.option("--name-sources", is_flag=True, help="Add column ppdm_source: 0, 1, ... in the order of the files.")
@json_option
@pass_options
def collect(
    options: GlobalOptions,
    files: tuple[str, ...],
    into: str,
    rows: int | None,
    seed: int,
    algorithm: str,
    classes: str | None,
    domains: str | None,
    numbers: str | None,
    bands: str | None,
    name_sources: bool,
    as_json: bool,
) -> int:
    """Make one table of pseudo-rows from several published models.

    Every file is checked against its manifest.  The rows describe nobody and are mixed; only
    --name-sources records which file a row comes from.

    \b
    $ ppdm --db miner.duckdb share collect north.json south.json --into pooled --rows 10000
    $ ppdm --db miner.duckdb share collect shared/*.json --into pooled --domains 'age,0,120'
    """
    from ppdm_sql.commands import show
    from ppdm_sql.errors import PolicyError
    from ppdm_sql.pseudodata.domains import domains_from_text
    from ppdm_sql.sharing.collect import model_files, pool, read_shared, refuse_ours
    from ppdm_sql.source.given import name_of

    if classes is not None and algorithm == "basegen":
        raise PolicyError("--classes is for pgen: with basegen the tree decides the class of every row")
    if (numbers or bands) is not None and algorithm == "basegen":
        raise PolicyError(
            "--numbers and --bands are for pgen: with basegen every column is drawn over its whole domain"
        )
    declared = {} if domains is None else domains_from_text(domains)
    with options.session() as session:
        shared = [read_shared(path) for path in model_files(files)]
        target = refuse_ours(name_of(session.engine, into))
        done = pool(
            session.engine, shared, target, rows=rows, seed=seed, algorithm=algorithm,
            classes=classes or "counts", domains=declared, numbers=numbers or "uniform", bands=bands or "even",
            name_sources=name_sources,
        )  # fmt: skip
    if as_json:
        show.print_json({"table": done.relation, "rows": done.rows, "sources": done.sources})
    else:
        made = f"{many(done.rows, 'pseudo-row')} in {done.relation}"
        show.console.print(f"collected {many(done.sources, 'model')}: {made}")
    return 0


@command.command("learn")
@click.argument("name")
@click.option("--from", "source", required=True, metavar="TABLE", help="The collected pseudo-rows.")
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@inducer_option
@settings_option
@click.option("--replace", is_flag=True, help="Replace the model of that name.")
@json_option
@pass_options
def learn(
    options: GlobalOptions,
    name: str,
    source: str,
    target: str,
    inducer: str,
    settings: dict[str, str],
    replace: bool,
    as_json: bool,
) -> int:
    """Learn one model from the pseudo-rows of all sources.

    Use it with ppdm model show, predict and export.

    \b
    $ ppdm --db miner.duckdb share learn global --from pooled --target readmitted --option min_leaf=200
    $ ppdm --db miner.duckdb share learn likely --from pooled --target readmitted --inducer naive_bayes
    """
    from ppdm_sql.catalog.mark import is_pseudo
    from ppdm_sql.commands import show
    from ppdm_sql.models import library
    from ppdm_sql.sharing.collect import SOURCE
    from ppdm_sql.source.given import relation_of

    with options.session() as session:
        engine = session.engine
        relation = relation_of(engine, source)
        pseudo = is_pseudo(engine, relation)
        taken = [info.name for info in engine.columns(relation) if info.name != SOURCE]
        found = library.train_on(
            engine, name, relation, taken, target, inducer=inducer, source=source, options=settings, replace=replace
        )
    if as_json:
        told = {"model": name, "kind": found.record.kind, "inducer": inducer, **found.kind.figures(found.learned)}
        show.print_json({**told, "rows": found.record.rows, "pseudo_rows": pseudo})
    else:
        rows = "pseudo-rows" if pseudo else "rows"
        show.console.print(f"learned {name}: {found.size} from {found.record.rows:,} {rows}", markup=False)
        if not pseudo:  # people's rows, as far as this can be seen
            show.console.print(f"{source} is not marked as pseudo-data: {found.warning}", markup=False, style="yellow")
    return 0


@command.command("vote")
@_FILES
@click.option("--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The table to vote on.")
@click.option("--into", required=True, metavar="TABLE", help="Name of the new table.")
@click.option("--keep", required=True, metavar="COLUMNS", help=f"Columns of the table to keep, {COMMAS}.")
@click.option("--rule", type=click.Choice(["plurality", "majority", "shares"]), default="plurality", show_default=True,
              help="Most votes; more than half of them, else NULL; or the greatest sum of leaf shares.")  # fmt: skip
@json_option
@pass_options
def vote(
    options: GlobalOptions, files: tuple[str, ...], source: str, into: str, keep: str, rule: str, as_json: bool
) -> int:
    """Let the published models vote on every row of a table.

    The chosen class is in column ppdm_class.

    \b
    $ ppdm --db miner.duckdb share vote shared/*.json --from patients --into predictions --keep patient_id
    $ ppdm --db miner.duckdb share vote shared/*.json --from patients --into sure --keep patient_id --rule majority
    """
    from ppdm_sql.commands import show
    from ppdm_sql.sharing.collect import model_files, read_shared, refuse_ours
    from ppdm_sql.sharing.committee import vote as voted
    from ppdm_sql.source.given import name_of, relation_of

    kept = listed_columns(keep)
    with options.session() as session:
        engine = session.engine
        shared = [read_shared(path) for path in model_files(files)]
        target = refuse_ours(name_of(engine, into))
        rows = voted(engine, shared, relation_of(engine, source), target, kept, rule)
    if as_json:
        show.print_json({"table": into, "rows": rows, "models": len(shared), "rule": rule})
    else:
        show.console.print(f"{many(len(shared), 'model')} voted on {many(rows, 'row')}: {into}")
    return 0
