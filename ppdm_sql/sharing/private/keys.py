"""Keys of a site or a mixer: one to sign with, one to agree on masks with, one to open what was sealed for it.

The private file stays with its owner; the public one is listed in the codebook.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ppdm_sql.catalog.store import json_text
from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.errors import PolicyError
from ppdm_sql.json_reader import read_json
from ppdm_sql.sharing.private.extras import extra
from ppdm_sql.sharing.private.files import read_whole, write_whole

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

PRIVATE, PUBLIC = "ppdm share private key 1", "ppdm share public key 1"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_KEY_BYTES = 32


def checked_party_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise PolicyError("the name of a site must have 1 to 40 small letters, digits, - or _")
    return name


@dataclass(frozen=True)
class PublicKeys:
    """What the others know of a site or a mixer."""

    name: str
    sign: str
    exchange: str
    seal: str

    def to_dict(self) -> dict[str, object]:
        return {"name": self.name, "sign": self.sign, "exchange": self.exchange, "seal": self.seal}

    @property
    def sign_bytes(self) -> bytes:
        return base64.b64decode(self.sign)

    @property
    def exchange_bytes(self) -> bytes:
        return base64.b64decode(self.exchange)

    @staticmethod
    def read(given: Reading) -> PublicKeys:
        given.only(("name", "sign", "exchange", "seal"))
        name = given["name"].text()
        if not _NAME.fullmatch(name):
            given["name"].refuse("must have 1 to 40 small letters, digits, - or _")
        for part in ("sign", "exchange"):
            _read_key(given[part])
        if not re.fullmatch(r"age1[0-9a-z]{58}", given["seal"].text()):
            given["seal"].refuse("is not a public key of age")
        return PublicKeys(name, given["sign"].text(), given["exchange"].text(), given["seal"].text())


@dataclass(frozen=True)
class PrivateKeys:
    """The secret half; never printed."""

    name: str
    sign: bytes
    exchange: bytes
    seal: str

    def __repr__(self) -> str:
        return f"PrivateKeys({self.name})"

    @cached_property
    def signing(self) -> Ed25519PrivateKey:
        with extra("private"):
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        return Ed25519PrivateKey.from_private_bytes(self.sign)

    @cached_property
    def exchanging(self) -> X25519PrivateKey:
        with extra("private"):
            from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        return X25519PrivateKey.from_private_bytes(self.exchange)

    @property
    def public(self) -> PublicKeys:
        with extra("private"):
            import pyrage
        sign, exchange = self.signing.public_key(), self.exchanging.public_key()
        seal = pyrage.x25519.Identity.from_str(self.seal).to_public()
        return PublicKeys(self.name, _text(sign.public_bytes_raw()), _text(exchange.public_bytes_raw()), str(seal))

    def to_dict(self) -> dict[str, object]:
        return {"name": self.name, "sign": _text(self.sign), "exchange": _text(self.exchange), "seal": self.seal}


def new_keys(name: str) -> PrivateKeys:
    """Keys that nobody has had before."""
    with extra("private"):
        import pyrage
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    return PrivateKeys(
        checked_party_name(name),
        Ed25519PrivateKey.generate().private_bytes_raw(),
        X25519PrivateKey.generate().private_bytes_raw(),
        str(pyrage.x25519.Identity.generate()),
    )


def write_keys(keys: PrivateKeys, folder: Path) -> tuple[Path, Path]:
    """The private and the public file; keys that are there are never overwritten."""
    private, public = folder / f"{keys.name}.key.json", folder / f"{keys.name}.public.json"
    for path in (private, public):
        if path.exists():
            raise PolicyError(f"{path.name} already exists: keys are made once and kept")
    write_whole(private, _document(PRIVATE, keys.to_dict()))
    write_whole(public, _document(PUBLIC, keys.public.to_dict()))
    return private, public


def read_private(path: Path) -> PrivateKeys:
    given = _open(path, PRIVATE)
    name = given["name"].text()
    if not _NAME.fullmatch(name):
        given["name"].refuse("is not a name")
    keys = PrivateKeys(name, _read_key(given["sign"]), _read_key(given["exchange"]), given["seal"].text())
    _check_seal(keys, given)
    return keys


def _check_seal(keys: PrivateKeys, given: Reading) -> None:
    with extra("private"):
        import pyrage
    try:
        pyrage.x25519.Identity.from_str(keys.seal)
    except pyrage.IdentityError:
        given["seal"].refuse("is not a private key of age")


def read_public(path: Path) -> PublicKeys:
    given = _open(path, PUBLIC)
    return PublicKeys.read(Reading({key: given[key].content for key in given.keys() - {"format"}}, path.name))


def _open(path: Path, format_: str) -> Reading:
    given = Reading(read_json(read_whole(path), path.name), path.name)
    if given["format"].content != format_:
        given.refuse(f"is not a {'private' if format_ == PRIVATE else 'public'} key")
    return given


def _read_key(given: Reading) -> bytes:
    try:
        found = base64.b64decode(given.text(), validate=True)
    except ValueError:
        given.refuse("is not a key")
    if len(found) != _KEY_BYTES:
        given.refuse("is not a key")
    return found


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode("ascii")


def _document(format_: str, content: Mapping[str, Any]) -> bytes:
    return (json.dumps({"format": format_, **json.loads(json_text(dict(content)))}, indent=2) + "\n").encode()
