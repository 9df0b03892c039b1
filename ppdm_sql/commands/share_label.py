"""ppdm share tls | serve-label | serve-pair: parties that open the class of a row and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from ppdm_sql.commands.options import GlobalOptions, json_option, pass_options
from ppdm_sql.commands.share_private import FILE, FOLDER, codebook_argument, key_option, say
from ppdm_sql.policy.words import many


@click.command("tls")
@codebook_argument
@key_option
@click.option("--out", required=True, type=FOLDER, help="The folder the other servers read it from.")
@json_option
def tls(codebook: Path, key_file: Path, out: Path, as_json: bool) -> int:
    """Write the certificate of this server.

    The other servers of mode label or pair recognize this server by it.

    \b
    $ ppdm share tls round.json --key keys/alpha.key.json --out shared
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.keys import read_private
    from ppdm_sql.sharing.private.tls import write_certificate

    path = write_certificate(read_codebook(codebook), read_private(key_file), out)
    say(as_json, {"file": str(path)}, f"wrote {path}")
    return 0


@click.command("serve-label")
@codebook_argument
@key_option
@click.option("--inbox", required=True, type=FOLDER, help="The folder with the files sealed for this server.")
@click.option("--tls", "certificates", required=True, type=FOLDER, help="The folder with the three certificates.")
@click.option("--at", "addresses", multiple=True, required=True, metavar="HOST:PORT",
              help="Where each server listens, in the order of the codebook; three times.")  # fmt: skip
@click.option("--queries", required=True, type=FILE, help="A JSON list of rows; the same at all three servers.")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Where the classes go.")
@click.option("--most-rows", type=click.IntRange(min=1), default=1_000_000, show_default=True,
              help="Most rows that all sites together may have; more are refused.")  # fmt: skip
@click.option("--wait", type=click.FloatRange(min=1), default=600, show_default=True, metavar="SECONDS",
              help="How long to wait for the other servers.")  # fmt: skip
@json_option
def serve_label(
    codebook: Path,
    key_file: Path,
    inbox: Path,
    certificates: Path,
    addresses: tuple[str, ...],
    queries: Path,
    out: Path,
    most_rows: int,
    wait: float,
    as_json: bool,
) -> int:
    """Predict classes of rows together with two other servers.

    Nothing else is opened.

    Needs the extra mpc.  Each server is started with the same call, its own key and its own inbox.

    \b
    $ ppdm share serve-label round.json --key keys/alpha.key.json --inbox inbox --tls shared
        --at alpha:7001 --at beta:7001 --at gamma:7001 --queries rows.json --out classes.json
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.folder import sum_of_shares
    from ppdm_sql.sharing.private.keys import read_private
    from ppdm_sql.sharing.private.label import ServerSetting, serve
    from ppdm_sql.sharing.private.queries import check_label_codebook, read_queries

    agreed, keys = read_codebook(codebook), read_private(key_file)
    check_label_codebook(agreed)
    asked = read_queries(queries, agreed)
    share = sum_of_shares(agreed, keys, inbox, agreed.length)
    target, setting = out.resolve(), ServerSetting(addresses, certificates.resolve(), wait)
    return _write_classes(serve(agreed, keys, share, asked, setting, most_rows), keys.name, target, as_json)


@click.command("serve-pair")
@codebook_argument
@key_option
@click.option("--from", "source", metavar="TABLE_OR_SELECT", help="The rows of this site, where two sites compute.")
@click.option("--inbox", type=FOLDER, help="The folder with the files sealed for this mixer, where two mixers compute.")
@click.option("--pair-key", type=FILE, help="The key of mode pair; the first party has it.")
@click.option("--tls", "certificates", required=True, type=FOLDER, help="The folder with both certificates.")
@click.option("--at", required=True, metavar="HOST:PORT", help="Where the first party listens.")
@click.option("--queries", required=True, type=FILE, help="A JSON list of rows; the same for both parties.")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Where the classes go.")
@click.option("--most-rows", type=click.IntRange(min=1), default=1_000_000, show_default=True,
              help="Most rows that all sites together may have; more are refused.")  # fmt: skip
@click.option("--wait", type=click.FloatRange(min=1), default=600, show_default=True, metavar="SECONDS",
              help="How long to wait for the other party.")  # fmt: skip
@json_option
@pass_options
def serve_pair(
    options: GlobalOptions,
    codebook: Path,
    key_file: Path,
    source: str | None,
    inbox: Path | None,
    pair_key: Path | None,
    certificates: Path,
    at: str,
    queries: Path,
    out: Path,
    most_rows: int,
    wait: float,
    as_json: bool,
) -> int:
    """Predict classes of rows together with one other party.

    Nothing else is opened.

    Needs the extra paillier.  The first party of the codebook listens and has the pair key.

    \b
    $ ppdm --db north.duckdb share serve-pair round.json --key keys/north.key.json --from patients
        --pair-key keys/north.pair.json --tls shared --at north:7001 --queries rows.json --out classes.json
    """
    from ppdm_sql.sharing.private.codebook import read_codebook
    from ppdm_sql.sharing.private.keys import read_private
    from ppdm_sql.sharing.private.pair import PairSetting, check_pair, pair_key_of, part_of_party
    from ppdm_sql.sharing.private.pair import serve_pair as serve
    from ppdm_sql.sharing.private.queries import read_queries

    agreed, keys = read_codebook(codebook), read_private(key_file)
    made = pair_key_of(agreed, keys, pair_key)
    check_pair(agreed, most_rows, None if made is None else made.public)
    asked = read_queries(queries, agreed)
    with options.session() if source and not agreed.mixers else nullcontext() as session:
        part = part_of_party(agreed, keys, None if session is None else session.engine, source, inbox)
    classes = serve(agreed, keys, part, asked, PairSetting(at, certificates, wait, most_rows), made)
    return _write_classes(classes, keys.name, out, as_json)


def _write_classes(classes: Sequence[Any], party: str, out: Path, as_json: bool) -> int:
    import json

    from ppdm_sql.sharing.private.files import write_whole

    told = [value if isinstance(value, bool | int | str) else str(value) for value in classes]
    write_whole(out, (json.dumps(told, ensure_ascii=False) + "\n").encode())
    say(as_json, {"rows": len(told), "file": str(out)}, f"{party}: {many(len(told), 'class', 'classes')}: {out}")
    return 0


LABEL_COMMANDS = (tls, serve_label, serve_pair)
