"""Mode masks: every pair of sites has a key of its own; one adds its stream of numbers, the other takes it away.

Site i publishes v_i + sum over j > i of PRG(k_ij) - sum over j < i of PRG(k_ij), modulo 2^64.  The sum of all files is
the sum of the v_i, and any set of sites that leaves two out sees of those two nothing but the sum of both.  (All sites
but one learn that one's counts: from the sum, whatever the protocol.)

k_ij = HKDF-SHA256 of the X25519 secret of i and j, salted with the codebook's hash, for one subject and one pair.  The
PRG is ChaCha20.  A site's file of a round depends on its counts alone, so a second one with other counts would show
the difference: the ledger refuses that.
"""

from __future__ import annotations

import numpy as np

from ppdm_sql.sharing.private.codebook import Codebook, other_sites
from ppdm_sql.sharing.private.extras import extra
from ppdm_sql.sharing.private.keys import PrivateKeys, PublicKeys
from ppdm_sql.sharing.private.vector import Vector


def add_masks(vector: Vector, codebook: Codebook, keys: PrivateKeys, subject: str) -> Vector:
    """The vector as it leaves the site."""
    hidden = vector.copy()
    for other in other_sites(codebook, keys.name):
        stream = _stream(codebook, keys, other, subject, len(vector))
        hidden = hidden + stream if keys.name < other.name else hidden - stream
    return hidden


def _stream(codebook: Codebook, keys: PrivateKeys, other: PublicKeys, subject: str, length: int) -> Vector:
    with extra("private"):
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
    key = _pair_key(codebook, keys, other, subject, length)
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(8 * length))
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64)


def _pair_key(codebook: Codebook, keys: PrivateKeys, other: PublicKeys, subject: str, length: int) -> bytes:
    with extra("private"):
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    secret = keys.exchanging.exchange(X25519PublicKey.from_public_bytes(other.exchange_bytes))
    low, high = sorted((keys.name, other.name))
    info = f"ppdm share masks 1|{codebook.round}|{subject}|{low}|{high}|{length}".encode()
    return HKDF(algorithm=SHA256(), length=32, salt=bytes.fromhex(codebook.sha256), info=info).derive(secret)


def add_up(vectors: list[Vector], length: int) -> Vector:
    """The sum modulo 2^64: of all sites' files the masks are gone."""
    total = np.zeros(length, dtype=np.uint64)
    for vector in vectors:
        total = total + vector
    return total
