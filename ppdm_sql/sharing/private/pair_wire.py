"""The connection of the two parties of mode pair: TLS 1.3, each certificate signed by a key of the codebook.

The first party of the codebook listens, the second one connects.  A frame is its length in eight bytes and a JSON
object.
"""

from __future__ import annotations

import json
import socket
import ssl
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.json_reader import read_json
from ppdm_sql.sharing.private.codebook import Codebook
from ppdm_sql.sharing.private.extras import extra
from ppdm_sql.sharing.private.files import write_whole
from ppdm_sql.sharing.private.keys import PrivateKeys
from ppdm_sql.sharing.private.tls import checked_certificate

_LONGEST = 64 * 1024 * 1024
_LENGTH = 8
_PAUSE = 0.2  # seconds between two attempts to connect


class Wire:
    """Frames to and from the other party."""

    def __init__(self, connection: socket.socket, other: str) -> None:
        self._connection, self._other = connection, other

    def send(self, **content: Any) -> None:
        text = json.dumps(content).encode()
        with _broken(self._other):
            self._connection.sendall(len(text).to_bytes(_LENGTH, "big") + text)

    def receive(self) -> Reading:
        """The next frame; a refusal of the other party is raised here."""
        length = int.from_bytes(self._read(_LENGTH), "big")
        if length > _LONGEST:
            raise PpdmError(f"{self._other} sent too long a message: nothing was written")
        found = Reading(read_json(self._read(length), f"a message of {self._other}"), f"a message of {self._other}")
        names = found.keys()
        if "refused" in names:
            raise PpdmError(found["refused"].text())
        return found

    def ask(self, **content: Any) -> Reading:
        self.send(**content)
        return self.receive()

    def refuse(self, sentence: str) -> PpdmError:
        """The error, which the other party gets as well."""
        self.send(refused=sentence)
        return PpdmError(sentence)

    def _read(self, number: int) -> bytes:
        found = b""
        with _broken(self._other):
            while len(found) < number:
                piece = self._connection.recv(min(number - len(found), 1 << 20))
                if not piece:
                    raise ConnectionError
                found += piece
        return found


@contextmanager
def _broken(other: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        raise PpdmError(f"{other} did not answer in time: nothing was written") from None
    except OSError as cause:
        raise PpdmError(f"the connection to {other} broke ({type(cause).__name__}): nothing was written") from None


# -- connecting --------------------------------------------------------------------------------------------


@contextmanager
def connected(codebook: Codebook, keys: PrivateKeys, place: int, folder: Path, at: str, wait: float) -> Iterator[Wire]:
    """The wire to the other party; place 0 listens at the address, place 1 connects to it."""
    host, port = _address(at)
    other = codebook.computing[1 - place]
    settings, expected = _tls(codebook, keys, place, folder)
    with _plain(place, host, port, other.name, wait) as plain:
        plain.settimeout(wait)
        with _broken(other.name), settings.wrap_socket(plain, server_side=place == 0) as secured:
            if secured.getpeercert(binary_form=True) != expected:
                raise PpdmError(f"the other side is not {other.name}: nothing was sent")
            yield Wire(secured, other.name)


def _address(at: str) -> tuple[str, int]:
    host, colon, port = at.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise PolicyError("--at must be HOST:PORT")
    return host, int(port)


@contextmanager
def _plain(place: int, host: str, port: int, other: str, wait: float) -> Iterator[socket.socket]:
    if place:
        with _reach(host, port, other, wait) as found:
            yield found
        return
    try:
        listening = socket.create_server((host, port), backlog=1)
    except OSError as cause:
        raise PpdmError(f"cannot listen at {host}:{port}: {(cause.strerror or type(cause).__name__).lower()}") from None
    with listening:
        listening.settimeout(wait)
        try:
            found, _ = listening.accept()
        except TimeoutError:
            raise _absent(other, wait) from None
        with found:
            yield found


def _reach(host: str, port: int, other: str, wait: float) -> socket.socket:
    end = time.monotonic() + wait
    while True:
        try:
            return socket.create_connection((host, port), timeout=max(_PAUSE, end - time.monotonic()))
        except OSError:
            if time.monotonic() + _PAUSE > end:
                raise _absent(other, wait) from None
            time.sleep(_PAUSE)


def _absent(other: str, wait: float) -> PpdmError:
    return PpdmError(f"{other} was not there within {wait:g} seconds")


def _tls(codebook: Codebook, keys: PrivateKeys, place: int, folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """What TLS needs, and the certificate that the other side must show."""
    with extra("private"):
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    mine, others = (checked_certificate(codebook, one, folder) for one in (place, 1 - place))
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if place else ssl.PROTOCOL_TLS_SERVER)
    found.minimum_version = ssl.TLSVersion.TLSv1_3
    found.check_hostname = False  # the certificate itself is known
    found.verify_mode = ssl.CERT_REQUIRED
    found.load_verify_locations(cadata=others.public_bytes(Encoding.PEM).decode())
    with tempfile.TemporaryDirectory(prefix="ppdm-tls-") as private:
        certificate, secret = Path(private) / "own.pem", Path(private) / "own.key"
        certificate.write_bytes(mine.public_bytes(Encoding.PEM))
        write_whole(secret, keys.signing.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        found.load_cert_chain(certificate, secret)
    return found, others.public_bytes(Encoding.DER)
