"""What a site refuses to report because of what it reported before.

Two rounds are two sums, and everybody can subtract them.  What is left are the counts of the sites that only one of
them has, and the rows that came to or went from the others in between.
"""

from __future__ import annotations

import numpy as np

from ppdm_sql.catalog import migrate
from ppdm_sql.catalog.share_rounds import ShareRound, add_round, share_rounds
from ppdm_sql.catalog.store import json_text, sha256_of
from ppdm_sql.classifiers.values import attribute_to_dict, value_to_dict
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import RequirementBreached
from ppdm_sql.sharing.private.codebook import LEAST_SITES, Codebook
from ppdm_sql.sharing.private.message import COUNTS
from ppdm_sql.sharing.private.vector import Vector
from ppdm_sql.statements.names import SCHEMA, Name


def note_report(engine: Engine, codebook: Codebook, site: str, vector: Vector, subject: str = COUNTS) -> None:
    """The report is on record before its file is; refuses one that the others could subtract an earlier one from."""
    engine.check_writable("a site's ledger must be able to note what it reports")
    migrate.ensure(engine)
    entry = _entry_of(codebook, site, vector, subject)
    with engine.transaction():
        for earlier in share_rounds(engine):
            if _refuse_difference(codebook, earlier, entry):
                return
        add_round(engine, entry, codebook.mode)


def last_report(engine: Engine, codebook: Codebook, site: str, subject: str = COUNTS) -> ShareRound | None:
    """What the site reported in this round."""
    if engine.relation_kind(Name(SCHEMA, "share_round")) is None:
        return None
    mine = [
        one for one in share_rounds(engine) if (one.codebook, one.site, one.subject) == (codebook.sha256, site, subject)
    ]
    return mine[-1] if mine else None


def _entry_of(codebook: Codebook, site: str, vector: Vector, subject: str) -> ShareRound:
    classes = json_text([value_to_dict(value, codebook.target.kind) for value in codebook.classes])
    target = json_text(attribute_to_dict(codebook.target)) + classes
    told = {one.attribute.name: sha256_of(json_text(one.to_dict())) for one in codebook.attributes}
    numbers = tuple(int(number) for number in vector)
    grid_rows = sum(numbers[:: codebook.width]) if subject == COUNTS else sum(numbers)
    return ShareRound(
        codebook.round, subject, site, codebook.sha256, codebook.shape_sha256, codebook.k, codebook.site_names,
        {"": sha256_of(target), **told}, grid_rows, numbers,
    )  # fmt: skip


def _refuse_difference(codebook: Codebook, earlier: ShareRound, now: ShareRound) -> bool:
    """True where the same was reported in this round before: its file is written once more."""
    if (earlier.codebook, earlier.subject) == (now.codebook, now.subject):
        if earlier.numbers == now.numbers:
            return True
        raise RequirementBreached(
            f"{now.site} has reported other counts in round {now.round}: a second file would show the difference; "
            "agree on a new round"
        )
    if earlier.codebook == now.codebook:
        return False
    if earlier.round == now.round:
        raise RequirementBreached(
            f"{now.site} has reported in a round {now.round} with another codebook: give this one another name"
        )
    if any(name and name in earlier.attributes for name in now.attributes):
        _refuse_few_sites(earlier, now)
        _refuse_few_rows(codebook, earlier, now)
    return False


def _refuse_few_rows(codebook: Codebook, earlier: ShareRound, now: ShareRound) -> None:
    k = max(earlier.k, now.k)
    if earlier.subject == now.subject and 0 < _changed_rows(codebook, earlier, now) < k:
        raise RequirementBreached(
            f"since round {earlier.round} fewer than k = {k} rows of {now.site} changed: the difference of the two "
            "totals could show their values; wait until more change, or report the same rows"
        )


def _refuse_few_sites(earlier: ShareRound, now: ShareRound) -> None:
    differing = set(earlier.sites) ^ set(now.sites)
    if 0 < len(differing) < LEAST_SITES:
        raise RequirementBreached(
            f"round {earlier.round} counted the same columns at other sites ({', '.join(sorted(differing))}): the "
            f"difference of the two totals is what they counted.  Take the same sites, or {LEAST_SITES} others"
        )


def _changed_rows(codebook: Codebook, earlier: ShareRound, now: ShareRound) -> int:
    """How many rows came or went at least, as the numbers that both rounds have show it."""
    before, after = np.array(earlier.numbers), np.array(now.numbers)
    if earlier.shape != now.shape or len(before) != len(after):
        return abs(earlier.rows - now.rows)
    if now.subject == COUNTS:
        return _most_changed(codebook, before, after)
    return int(np.abs(after - before).max(initial=0))


def _most_changed(codebook: Codebook, before: np.ndarray, after: np.ndarray) -> int:
    moved = (after - before).reshape(-1, codebook.width)
    edges = [
        (0, 1),
        *((start, start + one.width) for start, one in zip(codebook.starts, codebook.attributes, strict=True)),
    ]
    found = [moved[:, low:high] for low, high in edges]
    return max(max(int(part[part > 0].sum()), int(-part[part < 0].sum())) for part in found)
