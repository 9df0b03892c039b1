"""ppdm share key, counts, mix, agree, open, test, accuracy: counts of several sites without one site's."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options
from ppdm_sql.policy.words import many

if TYPE_CHECKING:
    from ppdm_sql.sharing.private.reporting import SiteReport

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

codebook_argument = click.argument("codebook", type=FILE)
key_option = click.option("--key", "key_file", required=True, type=FILE, help="Your private key: NAME.key.json.")
from_option = click.option("--from", "source", required=True, metavar="TABLE_OR_SELECT", help="The rows of this site.")
shared_option = click.option(
    "--shared", required=True, type=FOLDER, help="The folder with the files of the round, the same for everyone."
)
_of_option = click.option("--of", "subject", type=click.Choice(["counts", "test"]), default="counts", show_default=True,
                          help="Which files: those of share counts or of share test.")  # fmt: skip


@click.group("key")
def key() -> None:
    """Make the keys of a site or of a mixer."""


@key.command("new")
@click.argument("name")
@click.option("--out", required=True, type=FOLDER, help="The folder for both files; created if absent.")
@json_option
def key_new(name: str, out: Path, as_json: bool) -> int:
    """Make a private key, and a public one for the codebook.

    The private key stays here.

    \b
    $ ppdm share key new north --out keys
    """
    from ppdm_sql.sharing.private.keys import new_keys, write_keys

    private, public = write_keys(new_keys(name), out)
    say(as_json, {"private": str(private), "public": str(public)}, f"wrote {private} (keep it here) and {public}")
    return 0


@key.command("pair")
@click.option("--bits", type=click.IntRange(min=70, max=1600), default=380, show_default=True,
              help="How long the numbers can be that are compared; serve-pair says how long they are.")  # fmt: skip
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file; it stays here.")
@json_option
def key_pair(bits: int, out: Path, as_json: bool) -> int:
    """Make the key of mode pair, which the first of both parties needs.

    It takes some seconds, with many bits a minute.  Needs the extra paillier.

    \b
    $ ppdm share key pair --out keys/north.pair.json
    """
    from ppdm_sql.commands import show
    from ppdm_sql.sharing.private.pair_keys import make_pair_key, write_pair_key

    with show.console.status("making a key"):
        made = make_pair_key(bits)
    write_pair_key(made, out)
    say(as_json, {"bits": bits, "file": str(out)}, f"wrote {out} (keep it here)")
    return 0


# -- a round -----------------------------------------------------------------------------------------------


@click.command("counts")
@codebook_argument
@key_option
@from_option
@click.option("--out", required=True, type=FOLDER, help="The folder to write to; created if absent.")
@json_option
@pass_options
def counts(options: GlobalOptions, codebook: Path, key_file: Path, source: str, out: Path, as_json: bool) -> int:
    """Count the rows of this site and write its file of the round.

    No one can read a count from the file.

    The site's ledger notes the report first.  A report is refused if others could subtract an earlier
    one from it.

    \b
    $ ppdm --db north.duckdb share counts round.json --key keys/north.key.json --from patients --out shared
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.keys import read_private
    from ppdm_sql.sharing.private.reporting import report_counts
    from ppdm_sql.source.given import relation_of

    agreed, keys = read_codebook(codebook), read_private(key_file)
    with options.session() as session, session.engine.workspace():
        report = report_counts(session.engine, relation_of(session.engine, source), agreed, keys, out)
    return say_report(as_json, keys.name, report, "counted")


@click.command("mix")
@codebook_argument
@key_option
@click.option("--inbox", required=True, type=FOLDER, help="The folder with the files sealed for this mixer.")
@click.option("--out", required=True, type=FOLDER, help="The folder for the sum; created if absent.")
@_of_option
@json_option
def mix(codebook: Path, key_file: Path, inbox: Path, out: Path, subject: str, as_json: bool) -> int:
    """Add up the halves that were sealed for this mixer.

    Only a mixer of the codebook can open them.

    \b
    $ ppdm share mix round.json --key keys/alpha.key.json --inbox to-alpha --out shared
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.folder import mix as add_halves
    from ppdm_sql.sharing.private.keys import read_private

    agreed, keys = read_codebook(codebook), read_private(key_file)
    length = agreed.length if subject == "counts" else len(agreed.classes) ** 2
    path = add_halves(agreed, keys, inbox, out, length, subject)
    told = {"mixer": keys.name, "sites": len(agreed.sites), "file": str(path)}
    say(as_json, told, f"{keys.name} added up {many(len(agreed.sites), 'half', 'halves')}: wrote {path.name}")
    return 0


@click.command("agree")
@codebook_argument
@key_option
@shared_option
@click.option("--most", default="0.9", show_default=True, metavar="SHARE",
              help="Refuse if more than this share of a printed count is this site's own.")  # fmt: skip
@json_option
@pass_options
def agree(options: GlobalOptions, codebook: Path, key_file: Path, shared: Path, most: str, as_json: bool) -> int:
    """Open the sum and write whether it may be published.

    The answer depends on how much of the sum is this site's own.

    Exit status 1: the answer is no.

    \b
    $ ppdm --db north.duckdb share agree round.json --key keys/north.key.json --shared shared
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.keys import read_private
    from ppdm_sql.sharing.private.reporting import answer

    agreed, keys = read_codebook(codebook), read_private(key_file)
    with options.session(writes=False) as session:
        found = answer(session.engine, agreed, keys, shared, part_of_one(most, "--most"))
    told = {"site": keys.name, "agrees": not found, "columns": found}
    if found:
        listed = ", ".join(f'{many(cells, "count")} of "{name}"' for name, cells in found.items())
        say(as_json, told, f"{keys.name} does not agree: more than {most} of {listed} are its own rows")
        return 1
    say(as_json, told, f"{keys.name} agrees: no printed count has more than {most} of its own rows")
    return 0


def part_of_one(text: str, option: str) -> Fraction:
    """A share above 0 and at most 1, exact."""
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found <= 1:
        raise click.UsageError(f"{option} must be a share above 0 and at most 1, such as 0.9 or 1/10")
    return found


@click.command("open")
@codebook_argument
@shared_option
@click.option("--as", "name", required=True, metavar="MODEL", help="The model's name in the catalog.")
@click.option("--replace", is_flag=True, help="Replace the model of that name.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path),
              help="Also write the model file, its manifest and its certificate.")  # fmt: skip
@json_option
@pass_options
def open_(
    options: GlobalOptions, codebook: Path, shared: Path, name: str, replace: bool, out: Path | None, as_json: bool
) -> int:
    """Add up the files of all sites and keep the naive Bayes model.

    Every file is checked first: one that is missing, doubled, of another round, damaged or not
    signed by its site is named, and nothing is opened.  Every site must have agreed.

    \b
    $ ppdm --db north.duckdb share open round.json --shared shared --as ills --out ills.json
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.opening import open_round, refuse_vetoes, store, write_model
    from ppdm_sql.verify.pooled_counts import refuse_small_counts

    agreed = read_codebook(codebook)
    opened = open_round(agreed, shared)
    refuse_vetoes(opened, shared)
    refuse_small_counts(opened.model.to_dict(), opened.pools, agreed.k)
    with options.session() as session:
        model = store(session.engine, opened, name, replace=replace)
        files = [] if out is None else write_model(opened, name, out)
    told = {
        "model": name, "rows": model.record.rows, "classes": len(opened.model.classes),
        "attributes": len(opened.model.attributes), "pools": len(opened.pools), "files": [str(path) for path in files],
    }  # fmt: skip
    size = f"{many(len(opened.model.attributes), 'attribute')}, {many(len(opened.model.classes), 'class', 'classes')}"
    lines = [f"opened {name}: {size}, {many(model.record.rows, 'row')} of {many(len(agreed.sites), 'site')}"]
    lines.append(f"  counts below {agreed.k} are in {many(len(opened.pools), 'pool')}")
    lines += [f"  wrote {path}" for path in files]
    say(as_json, told, "\n".join(lines))
    return 0


# -- accuracy ----------------------------------------------------------------------------------------------


@click.command("test")
@codebook_argument
@key_option
@from_option
@click.option("--model", required=True, help="The opened model, in this site's catalog.")
@click.option("--out", required=True, type=FOLDER, help="The folder to write to.")
@json_option
@pass_options
def test(
    options: GlobalOptions, codebook: Path, key_file: Path, source: str, model: str, out: Path, as_json: bool
) -> int:
    """Try the opened model on the rows of this site.

    Writes the site's file of right and wrong answers.

    With --holdout in the codebook these are rows that were not counted.

    \b
    $ ppdm --db north.duckdb share test round.json --key keys/north.key.json --model ills --from patients --out shared
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.keys import read_private
    from ppdm_sql.sharing.private.reporting import report_test
    from ppdm_sql.source.given import relation_of

    agreed, keys = read_codebook(codebook), read_private(key_file)
    with options.session() as session, session.engine.workspace():
        report = report_test(session.engine, relation_of(session.engine, source), agreed, keys, model, out)
    return say_report(as_json, keys.name, report, "tried")


@click.command("accuracy")
@codebook_argument
@shared_option
@json_option
def accuracy(codebook: Path, shared: Path, as_json: bool) -> int:
    """Add up the files of share test: accuracy over all sites.

    \b
    $ ppdm share accuracy round.json --shared shared
    """
    from ppdm_sql.sharing.private.accuracy import opened_accuracy
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.folder import open_total

    agreed = read_codebook(codebook)
    found = opened_accuracy(agreed, open_total(agreed, shared, len(agreed.classes) ** 2, "test"))
    told = {"rows": found.rows, "least": float(found.least), "most": float(found.most)}
    share = f"{float(found.least):.2%}"
    if found.least != found.most:
        share = f"between {share} and {float(found.most):.2%}, because small counts are in pools"
    say(as_json, told, f"right: {share} of {many(found.rows, 'row')}")
    return 0


def say_report(as_json: bool, site: str, report: SiteReport, what: str, **more: Any) -> int:
    """What a site wrote for the others."""
    told = {"site": site, **more, "rows": report.rows, "files": [str(path) for path in report.files]}
    names = ", ".join(path.name for path in report.files)
    say(as_json, told, f"{site} {what} {many(report.rows, 'row')}: wrote {names}")
    return 0


def say(as_json: bool, told: dict[str, Any], text: str) -> None:
    from ppdm_sql.commands import show

    if as_json:
        show.print_json(told)
    else:
        show.console.print(text, markup=False, soft_wrap=True, highlight=False)


COMMANDS = (key, counts, mix, agree, open_, test, accuracy)
