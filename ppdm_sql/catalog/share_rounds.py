"""The rounds of private counting a site took part in, and what it reported: rows are added and never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ppdm_sql.catalog.store import append, json_text, new_id, now, sha256_of
from ppdm_sql.engines.base import Engine
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.load import statement

_WHAT = "ppdm.share_round"


@dataclass(frozen=True)
class ShareRound:
    round: str
    subject: str
    site: str
    codebook: str
    shape: str
    k: int
    sites: tuple[str, ...]
    attributes: Mapping[str, str]  # of the target and the attributes: what is counted of each
    rows: int
    numbers: tuple[int, ...]

    @property
    def content_hash(self) -> str:
        return sha256_of(json_text(list(self.numbers)))


def add_round(engine: Engine, entry: ShareRound, mode: str) -> None:
    row = {
        "entry_id": new_id(),
        "round": entry.round,
        "subject": entry.subject,
        "site": entry.site,
        "codebook": entry.codebook,
        "shape": entry.shape,
        "mode": mode,
        "k": entry.k,
        "sites": json_text(list(entry.sites)),
        "attributes": json_text(dict(entry.attributes)),
        "rows": entry.rows,
        "numbers": json_text(list(entry.numbers)),
        "content_hash": entry.content_hash,
        "reported_at": now(),
    }
    append(engine, "share_round", row)


def share_rounds(engine: Engine) -> list[ShareRound]:
    return [_entry(row) for row in engine.fetch(statement("catalog/share_rounds"))]


def _entry(row: Sequence[object]) -> ShareRound:
    round_, subject, site, codebook, shape, k, sites, attributes, rows, numbers, _ = row
    listed = [read_json(str(text), _WHAT) for text in (sites, attributes, numbers)]
    return ShareRound(
        str(round_), str(subject), str(site), str(codebook), str(shape), int(str(k)), tuple(listed[0]),
        listed[1], int(str(rows)), tuple(listed[2]),
    )  # fmt: skip
