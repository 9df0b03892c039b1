"""ppdm share itemsets, mix-itemsets, rules: frequent itemsets over the rows of several sites."""

from __future__ import annotations

from pathlib import Path

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options
from ppdm_sql.commands.share_private import (
    FOLDER,
    codebook_argument,
    from_option,
    key_option,
    part_of_one,
    say,
    say_report,
    shared_option,
)
from ppdm_sql.policy.words import many

_support_option = click.option(
    "--support", required=True, metavar="SHARE", help="Share of all rows from which on a set is frequent, such as 1/10."
)


@click.command("itemsets")
@codebook_argument
@key_option
@from_option
@shared_option
@_support_option
@click.option("--level", required=True, type=click.IntRange(min=1), help="How many items the sets have.")
@json_option
@pass_options
def itemsets(
    options: GlobalOptions,
    codebook: Path,
    key_file: Path,
    source: str,
    shared: Path,
    support: str,
    level: int,
    as_json: bool,
) -> int:
    """Count candidates of a level in the rows of this site.

    Writes the site's file with the number of rows that have each candidate.

    The candidates follow from what the level before opened.

    \b
    $ ppdm --db north.duckdb share itemsets round.json --key keys/north.key.json --from patients --shared shared
        --support 1/10 --level 1
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.itemsets import Threshold
    from ppdm_sql.sharing.private.keys import read_private
    from ppdm_sql.sharing.private.reporting import report_supports
    from ppdm_sql.source.given import relation_of

    agreed, keys, threshold = (
        read_codebook(codebook),
        read_private(key_file),
        Threshold(part_of_one(support, "--support")),
    )
    with options.session() as session, session.engine.workspace():
        rows = relation_of(session.engine, source)
        report = report_supports(session.engine, rows, agreed, keys, shared, threshold, level)
    return say_report(as_json, keys.name, report, f"counted level {level} in", level=level)


@click.command("mix-itemsets")
@codebook_argument
@key_option
@click.option("--inbox", required=True, type=FOLDER, help="The folder with the files sealed for this mixer.")
@shared_option
@_support_option
@click.option("--level", required=True, type=click.IntRange(min=1), help="How many items the sets have.")
@json_option
def mix_itemsets(
    codebook: Path, key_file: Path, inbox: Path, shared: Path, support: str, level: int, as_json: bool
) -> int:
    """Add up the halves of a level for this mixer.

    \b
    $ ppdm share mix-itemsets round.json --key keys/alpha.key.json --inbox inbox --shared shared
        --support 1/10 --level 1
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.folder import mix as add_halves
    from ppdm_sql.sharing.private.itemsets import Threshold, candidates_of, subject_of
    from ppdm_sql.sharing.private.keys import read_private

    agreed, keys, threshold = (
        read_codebook(codebook),
        read_private(key_file),
        Threshold(part_of_one(support, "--support")),
    )
    candidates = candidates_of(agreed, shared, threshold, level)
    subject = subject_of(candidates, level, threshold)
    path = add_halves(agreed, keys, inbox, shared, len(candidates) + 1, subject)
    told = {"mixer": keys.name, "level": level, "file": str(path)}
    say(as_json, told, f"{keys.name} added up level {level}: wrote {path.name}")
    return 0


@click.command("rules")
@codebook_argument
@shared_option
@_support_option
@click.option("--levels", required=True, type=click.IntRange(min=1), help="How many levels were counted.")
@click.option("--confidence", default="0.6", show_default=True, metavar="SHARE", help="Smallest confidence of a rule.")
@json_option
def rules(codebook: Path, shared: Path, support: str, levels: int, confidence: str, as_json: bool) -> int:
    """Open all levels: frequent sets, and the rules that follow.

    Every site must have counted them.

    Sets below the support or below k are not printed, nor sets from which a number below k would follow.

    \b
    $ ppdm share rules round.json --shared shared --support 1/10 --levels 2 --confidence 0.7
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.itemsets import Threshold, association_rules, items_text, open_levels

    agreed = read_codebook(codebook)
    found = open_levels(agreed, shared, Threshold(part_of_one(support, "--support")), levels)
    listed = association_rules(found, part_of_one(confidence, "--confidence"))
    sets = [{"items": items_text(agreed, one), "rows": rows} for one, rows in found.items() if one]
    told = [
        {
            "if": items_text(agreed, one.left),
            "then": items_text(agreed, one.right),
            "rows": one.support,
            "confidence": float(one.confidence),
            "lift": float(one.lift),
        }
        for one in listed
    ]
    lines = [f"{many(found[()], 'row')}, {many(len(sets), 'frequent set')}, {many(len(told), 'rule')}"]
    lines += [f"  {one['rows']:>9,}  {one['items']}" for one in sets]
    lines += [f"  IF {one['if']} THEN {one['then']} ({one['rows']:,} rows, {one['confidence']:.1%})" for one in told]
    say(as_json, {"rows": found[()], "itemsets": sets, "rules": told}, "\n".join(lines))
    return 0


ITEMSET_COMMANDS = (itemsets, mix_itemsets, rules)
