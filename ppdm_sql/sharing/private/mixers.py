"""Mode mixers: a site splits every count into two random halves, one for each of two mixers, sealed for it.

Yi and Zhang's two semi-trusted mixers.  One half is drawn, the other is the count minus the first, modulo 2^64: each
alone is uniform whatever the count is.  A mixer adds up the halves it got; the two sums together are the totals.  The
two mixers together see every site's counts: that they do not is the whole promise.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from ppdm_sql.errors import Tampered
from ppdm_sql.sharing.private.extras import extra
from ppdm_sql.sharing.private.keys import PrivateKeys, PublicKeys
from ppdm_sql.sharing.private.vector import Vector

Draw = Callable[[int], bytes]  # so many random bytes; a test may know them


def split(vector: Vector, draw: Draw = os.urandom, parts: int = 2) -> list[Vector]:
    """Random numbers whose sum is the vector.

    >>> first, second = split(np.array([5, 0], dtype=np.uint64))
    >>> (first + second).tolist()
    [5, 0]
    """
    drawn = [np.frombuffer(draw(8 * len(vector)), dtype="<u8").astype(np.uint64) for _ in range(parts - 1)]
    return [*drawn, sum((-one for one in drawn), start=vector)]


def seal(content: bytes, receiver: PublicKeys) -> bytes:
    """Only the receiver can open it."""
    with extra("private"):
        import pyrage
    return bytes(pyrage.encrypt(content, [pyrage.x25519.Recipient.from_str(receiver.seal)]))


def unseal(content: bytes, place: str, keys: PrivateKeys) -> bytes:
    with extra("private"):
        import pyrage
    try:
        return bytes(pyrage.decrypt(content, [pyrage.x25519.Identity.from_str(keys.seal)]))
    except pyrage.DecryptError:
        raise Tampered(
            f"{place} cannot be opened by {keys.name}: it was sealed for another mixer, truncated or changed"
        ) from None
