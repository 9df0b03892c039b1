"""The files of a round in a folder: what each party writes and reads there.  All of it is checked before a sum is made.

    north.counts.masked.ppdm            mode masks: a site's vector under its masks
    north.counts.for-alpha.age          mode mixers: the half of site north for mixer alpha, sealed
    alpha.counts.sum.ppdm               mode mixers: what mixer alpha added up
    north.counts.answer.ppdm            a site agrees to what was opened, or not

A file's name is for people: who sent it follows from the signature.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.sharing.private import masks, mixers
from ppdm_sql.sharing.private.codebook import LABEL, MASKS, MIXERS, PAIR, Codebook, own_mixer, own_site
from ppdm_sql.sharing.private.files import files_in, read_whole, write_whole
from ppdm_sql.sharing.private.keys import PrivateKeys
from ppdm_sql.sharing.private.message import (
    ANSWER,
    COUNTS,
    HALF,
    MASKED,
    SUM,
    Expected,
    Message,
    decode,
    encode,
    one_of_each,
)
from ppdm_sql.sharing.private.mixers import Draw
from ppdm_sql.sharing.private.vector import Vector

AGREES, REFUSES = "agrees", "refuses"


# -- a site ------------------------------------------------------------------------------------------------


def write_vector(
    vector: Vector, codebook: Codebook, keys: PrivateKeys, folder: Path, subject: str = COUNTS, draw: Draw = os.urandom
) -> list[Path]:
    """What a site hands over: one file for everybody, or one sealed file for each mixer."""
    own_site(codebook, keys.name, keys.public)
    if codebook.mode == MASKS:
        hidden = masks.add_masks(vector, codebook, keys, subject)
        path = folder / f"{keys.name}.{subject}.masked.ppdm"
        write_whole(path, encode(Message(MASKED, subject, keys.name, "everybody", hidden), codebook, keys))
        return [path]
    pair = draw(16).hex()
    written = []
    for mixer, half in zip(codebook.mixers, mixers.split(vector, draw, len(codebook.mixers)), strict=True):
        path = folder / f"{keys.name}.{subject}.for-{mixer.name}.age"
        message = Message(HALF, subject, keys.name, mixer.name, half, {"pair": pair})
        write_whole(path, mixers.seal(encode(message, codebook, keys), mixer))
        written.append(path)
    return written


# -- a mixer -----------------------------------------------------------------------------------------------


def mix(codebook: Codebook, keys: PrivateKeys, inbox: Path, out: Path, length: int, subject: str = COUNTS) -> Path:
    """Adds up the halves that were sealed for this mixer: of every site exactly one."""
    if codebook.mode != MIXERS:
        raise PolicyError(f"mode {codebook.mode} has no mixers that add up files")
    share = sum_of_shares(codebook, keys, inbox, length, subject)
    path = out / f"{keys.name}.{subject}.sum.ppdm"
    total = Message(SUM, subject, keys.name, "everybody", share.numbers, share.pairs)
    write_whole(path, encode(total, codebook, keys))
    return path


@dataclass(frozen=True)
class ServerShare:
    """What one mixer or server has of the totals, and of which splitting every site's part is."""

    numbers: Vector
    pairs: dict[str, str]


def sum_of_shares(
    codebook: Codebook, keys: PrivateKeys, inbox: Path, length: int, subject: str = COUNTS
) -> ServerShare:
    """What was sealed for this party, added up: of every site exactly one file."""
    own_mixer(codebook, keys.name, keys.public)
    expected = Expected(HALF, subject, length, receiver=keys.name)
    opened = []
    for path in files_in(inbox, f".{subject}.for-{keys.name}.age"):
        content = mixers.unseal(read_whole(path), path.name, keys)
        opened.append((path, decode(content, path.name, codebook, expected)))
    halves = one_of_each(opened, codebook.site_names)
    total = masks.add_up([half.numbers for half in halves.values()], length)
    pairs = {name: half.parts.get("pair", "") for name, half in halves.items()}
    return ServerShare(total, pairs)


# -- opening ----------------------------------------------------------------------------------------------


def open_total(codebook: Codebook, folder: Path, length: int, subject: str = COUNTS) -> Vector:
    """The sum over all sites; refused unless every file of the round is there once and is right."""
    if codebook.mode in (LABEL, PAIR):
        raise PolicyError(f"mode {codebook.mode} opens no counts, only the class of a query")
    if codebook.mode == MASKS:
        expected = Expected(MASKED, subject, length)
        found = _read_all(codebook, folder, f".{subject}.masked.ppdm", expected)
        return masks.add_up([one.numbers for one in one_of_each(found, codebook.site_names).values()], length)
    expected = Expected(SUM, subject, length, senders="mixer")
    found = _read_all(codebook, folder, f".{subject}.sum.ppdm", expected)
    sums = list(one_of_each(found, [mixer.name for mixer in codebook.mixers]).values())
    _refuse_other_halves(codebook, sums)
    return masks.add_up([one.numbers for one in sums], length)


def _read_all(codebook: Codebook, folder: Path, ending: str, expected: Expected) -> list[tuple[Path, Message]]:
    return [(path, decode(read_whole(path), path.name, codebook, expected)) for path in files_in(folder, ending)]


def _refuse_other_halves(codebook: Codebook, sums: Sequence[Message]) -> None:
    """The mixers must have added up the two halves of the same splitting, site by site."""
    for name in codebook.site_names:
        pairs = {one.parts.get(name) for one in sums}
        if len(pairs) != 1 or None in pairs:
            raise PolicyError(
                f"the mixers added up halves of {name} that do not belong together: {name} writes both again, and "
                "both mix again"
            )


def checked_grid(codebook: Codebook, total: Vector) -> np.ndarray:
    """The total as numbers of rows, class by class; what cannot be counts is refused: a site used a wrong key."""
    grid = total.reshape(len(codebook.classes), codebook.width)
    if (grid >= np.uint64(1 << 62)).any():
        raise PpdmError(_NO_COUNTS)
    counts = grid.astype(np.int64)
    for start, one in zip(codebook.starts, codebook.attributes, strict=True):
        known = counts[:, start : start + one.width].sum(axis=1)
        if (known > counts[:, 0]).any() or (not one.nulls and (known != counts[:, 0]).any()):
            raise PpdmError(_NO_COUNTS)
    return counts


_NO_COUNTS = "the files do not add up to counts: a site masked or split with other keys; nothing was opened"


# -- agreement ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """Whether a site agrees that what was opened is published."""

    site: str
    agrees: bool


def total_hash(total: Vector) -> str:
    return hashlib.sha256(total.astype("<u8").tobytes()).hexdigest()


def write_answer(codebook: Codebook, keys: PrivateKeys, folder: Path, total: Vector, *, agrees: bool) -> Path:
    own_site(codebook, keys.name, keys.public)
    parts = {"total": total_hash(total), "answer": AGREES if agrees else REFUSES}
    path = folder / f"{keys.name}.{COUNTS}.answer.ppdm"
    none = np.zeros(0, dtype=np.uint64)
    write_whole(path, encode(Message(ANSWER, COUNTS, keys.name, "everybody", none, parts), codebook, keys))
    return path


def read_answers(codebook: Codebook, folder: Path, total: Vector) -> list[Agreement]:
    """The answer of every site to this total."""
    expected = Expected(ANSWER, COUNTS, 0)
    found = _read_all(codebook, folder, f".{COUNTS}.answer.ppdm", expected)
    answers = one_of_each(found, codebook.site_names)
    for name, answer in answers.items():
        if answer.parts.get("total") != total_hash(total):
            raise PolicyError(f"{name} answered to another total than these files have")
    return [Agreement(name, answer.parts.get("answer") == AGREES) for name, answer in answers.items()]
