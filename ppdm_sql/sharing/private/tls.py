"""Certificates of the servers of modes label and pair: each signs its own with the key that the codebook lists.

MPyC reads its certificates from folder .config of the process's folder, under names of its own; they are put there for
the time of a run, in a folder that is removed at the end.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.sharing.private.codebook import Codebook, place_of
from ppdm_sql.sharing.private.extras import extra
from ppdm_sql.sharing.private.files import read_whole, write_whole
from ppdm_sql.sharing.private.keys import PrivateKeys

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_DAYS = 365


def write_certificate(codebook: Codebook, keys: PrivateKeys, folder: Path) -> Path:
    """The certificate of a server, for the two others; the key in it is the one the codebook lists."""
    with extra("private"):
        from cryptography import x509
        from cryptography.hazmat.primitives.serialization import Encoding
        from cryptography.x509.oid import NameOID
    place = place_of(codebook, keys)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _host(place))])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(keys.signing.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(keys.signing, None)
    )
    path = folder / f"{keys.name}.tls.pem"
    write_whole(path, signed.public_bytes(Encoding.PEM))
    return path


def _host(place: int) -> str:
    return f"MPyC party {place}"  # the name under which MPyC looks for a server's certificate


@contextmanager
def certificates(codebook: Codebook, keys: PrivateKeys, place: int, folder: Path) -> Iterator[None]:
    """The process in a folder where MPyC finds the certificates; only those that the codebook's keys signed."""
    with extra("private"):
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    listed = [checked_certificate(codebook, at, folder) for at in range(len(codebook.mixers))]
    pem = [one.public_bytes(Encoding.PEM) for one in listed]
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="ppdm-tls-") as private:
        home = Path(private) / ".config"
        home.mkdir(mode=0o700)
        (home / "mpyc_ca.crt").write_bytes(b"".join(pem))
        (home / f"party_{place}.crt").write_bytes(pem[place])
        secret = keys.signing.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        write_whole(home / f"party_{place}.key", secret)
        os.chdir(private)
        try:
            yield
        finally:
            os.chdir(before)


def checked_certificate(codebook: Codebook, place: int, folder: Path) -> Certificate:
    """The certificate of a server, if the key that the codebook lists is in it."""
    with extra("private"):
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    owner = codebook.computing[place]
    path = folder / f"{owner.name}.tls.pem"
    if not path.exists():
        raise PolicyError(f"{path.name} is missing: {owner.name} writes it with share tls")
    try:
        found = x509.load_pem_x509_certificate(read_whole(path))
        found.verify_directly_issued_by(found)
    except (ValueError, TypeError, InvalidSignature):
        raise Tampered(f"{path.name} is no certificate, or is damaged") from None
    key = found.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    if key != owner.sign_bytes or found.subject.rfc4514_string() != f"CN={_host(place)}":
        raise Tampered(f"{path.name} is not the certificate of {owner.name}: the codebook lists another key")
    return found
