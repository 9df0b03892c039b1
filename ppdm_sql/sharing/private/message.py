"""A message of a round as a file: who sends what to whom, the numbers, and a signature over both.

    ppdm share message 1
    {"codebook": "...", "kind": "masked", "length": 10000, ...}
    numbers: 8 bytes each, the least significant first
    signature: the last 64 bytes, Ed25519 over everything before

A reader believes nothing before the signature fits: what is wrong is said of the file by its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ppdm_sql.catalog.store import json_text
from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.json_reader import read_json
from ppdm_sql.sharing.private.codebook import Codebook
from ppdm_sql.sharing.private.extras import extra
from ppdm_sql.sharing.private.keys import PrivateKeys, PublicKeys
from ppdm_sql.sharing.private.vector import Vector

MAGIC = b"ppdm share message 1\n"
MASKED, HALF, SUM, ANSWER = "masked", "half", "sum", "answer"
KINDS = (MASKED, HALF, SUM, ANSWER)
COUNTS, TESTS = "counts", "test"
EVERYBODY = "everybody"
_SIGNATURE = 64
_LONGEST_HEADER = 1024 * 1024


@dataclass(frozen=True)
class Message:
    kind: str
    subject: str  # counts, test, or the level of an itemset
    sender: str
    receiver: str
    numbers: Vector
    parts: dict[str, str] = field(
        default_factory=dict
    )  # of a half its pair; of a sum the pair of every site; an answer


def encode(message: Message, codebook: Codebook, keys: PrivateKeys) -> bytes:
    header = {
        "codebook": codebook.sha256,
        "kind": message.kind,
        "length": len(message.numbers),
        "parts": message.parts,
        "receiver": message.receiver,
        "round": codebook.round,
        "sender": message.sender,
        "subject": message.subject,
    }
    told = MAGIC + json_text(header).encode() + b"\n" + message.numbers.astype("<u8").tobytes()
    return told + keys.signing.sign(told)


@dataclass(frozen=True)
class Expected:
    """What a reader of this round takes."""

    kind: str
    subject: str
    length: int
    receiver: str = EVERYBODY
    senders: str = "site"  # or mixer


def decode(content: bytes, place: str, codebook: Codebook, expected: Expected) -> Message:
    """The message of a file; refused by the file's name unless a sender of the codebook signed it for this round."""
    header, payload, signed = _pieces(content, place)
    given = Reading(read_json(header, place), place)
    given.only(("codebook", "kind", "length", "parts", "receiver", "round", "sender", "subject"))
    message = Message(
        given["kind"].text(), given["subject"].text(), given["sender"].text(), given["receiver"].text(),
        np.frombuffer(b"", dtype="<u8"), {key: given["parts"][key].text() for key in sorted(given["parts"].keys())},
    )  # fmt: skip
    _check_round(given, codebook, place)
    sender = _sender(message.sender, codebook, expected, place)
    _check_expected(message, given["length"].whole(0), expected, place)
    if len(payload) != 8 * expected.length:
        raise PolicyError(
            f"{place}: {len(payload):,} bytes of numbers, {8 * expected.length:,} expected: it is truncated or too long"
        )
    _check_signature(sender, content, signed, place)
    return Message(
        message.kind, message.subject, message.sender, message.receiver,
        np.frombuffer(payload, dtype="<u8").astype(np.uint64), message.parts,
    )  # fmt: skip


def _pieces(content: bytes, place: str) -> tuple[bytes, bytes, bytes]:
    if not content.startswith(MAGIC):
        raise PolicyError(f"{place} is not a message of a round, or is damaged")
    end = content.find(b"\n", len(MAGIC), len(MAGIC) + _LONGEST_HEADER)
    if end < 0 or len(content) < end + 1 + _SIGNATURE:
        raise PolicyError(f"{place} is truncated")
    return content[len(MAGIC) : end], content[end + 1 : -_SIGNATURE], content[-_SIGNATURE:]


def _check_round(given: Reading, codebook: Codebook, place: str) -> None:
    if given["round"].text() != codebook.round:
        raise PolicyError(f"{place} is of another round than {codebook.round}")
    if given["codebook"].text() != codebook.sha256:
        raise PolicyError(
            f"{place} was made with another codebook: compare what share codebook show prints at each site"
        )


def _sender(name: str, codebook: Codebook, expected: Expected, place: str) -> PublicKeys:
    party = codebook.site(name) if expected.senders == "site" else codebook.mixer(name)
    if party is None:
        raise PolicyError(f"{place} is from a {expected.senders} that is not in the codebook")
    return party


def _check_expected(message: Message, length: int, expected: Expected, place: str) -> None:
    if message.kind != expected.kind or message.subject != expected.subject:
        raise PolicyError(f"{place} from {message.sender} is not its {expected.kind} message of {expected.subject}")
    if message.receiver != expected.receiver:
        raise PolicyError(f"{place} from {message.sender} is for another receiver than {expected.receiver}")
    if length != expected.length:
        raise PolicyError(f"{place} from {message.sender} says {length:,} numbers, {expected.length:,} expected")


def _check_signature(sender: PublicKeys, content: bytes, signature: bytes, place: str) -> None:
    with extra("private"):
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    try:
        Ed25519PublicKey.from_public_bytes(sender.sign_bytes).verify(signature, content[:-_SIGNATURE])
    except (InvalidSignature, ValueError):
        raise Tampered(
            f"{place}: the signature of {sender.name} does not fit: the file was changed, or another key signed it"
        ) from None


def one_of_each(messages: Iterable[tuple[Path, Message]], names: Iterable[str]) -> dict[str, Message]:
    """The messages by sender: each sender exactly once.  A missing one may still come, so that is another error."""
    found: dict[str, tuple[Path, Message]] = {}
    for path, message in messages:
        if message.sender in found:
            first = found[message.sender][0].name
            raise PolicyError(f"{first} and {path.name} are both from {message.sender}: one message each is counted")
        found[message.sender] = (path, message)
    missing = [name for name in names if name not in found]
    if missing:
        raise MissingMessage(missing)
    return {name: found[name][1] for name in names}


class MissingMessage(PolicyError):
    """A site or a mixer has not sent anything yet; the same call can succeed later."""

    exit_code = 3

    def __init__(self, missing: list[str]) -> None:
        self.missing = missing
        super().__init__(f"nothing was opened: no message from {', '.join(missing)}")
