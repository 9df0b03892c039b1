"""ppdm share codebook: what the sites of a round agree on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, named_settings, pass_options
from ppdm_sql.commands.share_private import FILE, codebook_argument, from_option, say
from ppdm_sql.policy.words import many

if TYPE_CHECKING:
    from ppdm_sql.sharing.private.codebook import Codebook


@click.group("codebook")
def codebook_group() -> None:
    """Draft or check a codebook: values, bins, sites and k."""


@codebook_group.command("draft")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@from_option
@click.option("--target", required=True, metavar="COLUMN", help="The column to predict.")
@click.option("--round", "round_name", required=True, metavar="NAME", help="A new name for each round.")
@click.option("--site", "sites", multiple=True, required=True, type=FILE, help="A site's NAME.public.json; repeat.")
@click.option("--mixer", "mixers", multiple=True, type=FILE, help="A mixer's NAME.public.json; repeat.")
@click.option("--mode", type=click.Choice(["masks", "mixers", "label", "pair"]), default="masks", show_default=True,
              help="How counts stay hidden: masks, two mixers; label and pair open no count.")  # fmt: skip
@click.option("--k", type=click.IntRange(min=1), default=10, show_default=True, help="Smallest count that is printed.")
@click.option("--bins", multiple=True, metavar="COLUMN=LIMIT,...", help="Limits between the bins of a number or date.")
@click.option("--values", multiple=True, metavar="COLUMN=VALUE|...", help="All values of a column, or all classes.")
@click.option("--laplace", type=click.IntRange(min=0), default=1, show_default=True,
              help="Number that the model adds to every count, so that none is 0.")  # fmt: skip
@click.option("--holdout", type=click.IntRange(min=2), help="Keep one row in so many for the accuracy test.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              help="Seed that picks the rows of the accuracy test.")  # fmt: skip
@json_option
@pass_options
def codebook_draft(
    options: GlobalOptions,
    file: Path,
    source: str,
    target: str,
    round_name: str,
    sites: tuple[Path, ...],
    mixers: tuple[Path, ...],
    mode: str,
    k: int,
    bins: tuple[str, ...],
    values: tuple[str, ...],
    laplace: int,
    holdout: int | None,
    seed: int,
    as_json: bool,
) -> int:
    """Write a codebook from the columns of one site.

    All sites then read it, change it and agree on it.

    Categories are values that at least k rows of this site have; if it has rarer ones, these
    count as "other".

    \b
    $ ppdm --db north.duckdb share codebook draft round.json --from patients --target ill --round 2026-11
        --bins age=20,40,60 --site north.public.json --site south.public.json --site west.public.json
    """
    from ppdm_sql.errors import PolicyError
    from ppdm_sql.sharing.private.codebook import Holdout
    from ppdm_sql.sharing.private.draft import draft_codebook
    from ppdm_sql.sharing.private.files import write_whole
    from ppdm_sql.sharing.private.keys import read_public
    from ppdm_sql.source.given import relation_of

    if file.exists():
        raise PolicyError(f"{file.name} already exists: a codebook that was agreed on is never overwritten")
    with options.session(writes=False) as session, session.engine.workspace():
        found = draft_codebook(
            session.engine, relation_of(session.engine, source), target, round_name, mode=mode, k=k,
            sites=[read_public(path) for path in sites], mixers=[read_public(path) for path in mixers],
            bins=named_settings(bins), values=named_settings(values), laplace=laplace,
            holdout=None if holdout is None else Holdout(holdout, seed),
        )  # fmt: skip
    write_whole(file, found.to_text().encode())
    say(as_json, _told_of(found), f"wrote {file}: read it, change it, and compare its sha256 at every site")
    return 0


@codebook_group.command("show")
@codebook_argument
@json_option
def codebook_show(codebook: Path, as_json: bool) -> int:
    """Check a codebook and print what the sites must compare.

    \b
    $ ppdm share codebook show round.json
    """
    from ppdm_sql.commands import show
    from ppdm_sql.sharing.private.codebook import read_codebook

    found = read_codebook(codebook)
    told = _told_of(found)
    lines = [
        f"round {found.round}, mode {found.mode}, k = {found.k}: {many(len(found.sites), 'site')}, "
        f"{many(found.length, 'number')} each",
        f"  target {found.target.name}: {many(len(found.classes), 'class', 'classes')}",
        *(f"  {one.attribute.name}: {_width(one.width, ordered=one.attribute.ordered)}" for one in found.attributes),
        f"  sites: {', '.join(found.site_names)}",
        *([f"  mixers: {', '.join(mixer.name for mixer in found.mixers)}"] if found.mixers else []),
        f"  sha256 {found.sha256}",
    ]
    if as_json:
        show.print_json(told)
    else:
        show.console.print("\n".join(lines), markup=False, soft_wrap=True, highlight=False)
    return 0


def _width(width: int, *, ordered: bool) -> str:
    return many(width, "bin") if ordered else many(width, "value")


def _told_of(found: Codebook) -> dict[str, Any]:
    return {
        "round": found.round, "mode": found.mode, "k": found.k, "numbers": found.length,
        "sites": list(found.site_names), "mixers": [mixer.name for mixer in found.mixers], "sha256": found.sha256,
    }  # fmt: skip
