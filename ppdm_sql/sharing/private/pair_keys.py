"""The key of mode pair: Paillier for the counts, DGK for the bits of a comparison.  Made once and kept by one party.

The encryption is that of TNO's packages.  Their prime numbers come from Python's generator for simulations, so the
primes are drawn here: those of Paillier are those of an RSA key of package cryptography, those of DGK come from
`secrets`.  Both primes of DGK leave 1 when divided by the public u; a modulus of n bits could be factored if u had n/4
bits, so there are at least 128 fewer.
"""

from __future__ import annotations

import json
import secrets
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.errors import PolicyError
from ppdm_sql.json_reader import read_json
from ppdm_sql.sharing.private.extras import extra
from ppdm_sql.sharing.private.files import read_whole, write_whole

if TYPE_CHECKING:
    from tno.mpc.encryption_schemes.dgk import DGK
    from tno.mpc.encryption_schemes.paillier import Paillier

FORMAT = "ppdm share pair key 1"
MODULUS = 2048
LEAST_SCORE_BITS, MOST_SCORE_BITS = 70, 1600
_ORDER = 160  # bits of the secret orders of DGK
_MARGIN = 128


@dataclass(frozen=True)
class PublicPairKey:
    """What the other party may know.  score_bits: how long the numbers can be that are compared."""

    score_bits: int
    n: int
    dgk: tuple[int, int, int, int, int]  # g, h, u, n, bits of the orders

    def schemes(self) -> tuple[Paillier, DGK]:
        return _schemes(self, None)


@dataclass(frozen=True)
class PairKey:
    """The whole key; never printed."""

    public: PublicPairKey
    primes: tuple[int, int]
    dgk: tuple[int, int, int, int]  # the two orders and the two primes

    def __repr__(self) -> str:
        return f"PairKey({self.public.score_bits} bits)"

    def schemes(self) -> tuple[Paillier, DGK]:
        return _schemes(self.public, self)


@contextmanager
def tno_packages() -> Iterator[None]:
    """Imports of TNO's packages, which change how warnings are shown in the whole process."""
    shown = warnings.showwarning
    try:
        with extra("paillier"):
            yield
    finally:
        warnings.showwarning = shown


def _schemes(public: PublicPairKey, secret: PairKey | None) -> tuple[Paillier, DGK]:
    with tno_packages():
        from gmpy2 import mpz
        from tno.mpc.encryption_schemes.dgk import DGK, DGKPublicKey, DGKSecretKey
        from tno.mpc.encryption_schemes.paillier import Paillier, PaillierPublicKey, PaillierSecretKey
        from tno.mpc.encryption_schemes.templates.randomized_encryption_scheme import TooLittleRandomnessWarning
    warnings.filterwarnings("ignore", category=TooLittleRandomnessWarning)  # it is drawn when it is needed
    n = mpz(public.n)
    g, h, u, dgk_n, order = public.dgk
    dgk_public = DGKPublicKey(mpz(g), mpz(h), u, mpz(dgk_n), order)
    if secret is None:
        return Paillier(PaillierPublicKey(n, n + 1), None), DGK(dgk_public, None, full_decryption=False)
    p, q = secret.primes
    around = (p - 1) * (q - 1)
    paillier = Paillier(PaillierPublicKey(n, n + 1), PaillierSecretKey(mpz(around), mpz(pow(around, -1, public.n)), n))
    return paillier, DGK(dgk_public, DGKSecretKey(*(mpz(one) for one in secret.dgk)), full_decryption=False)


# -- making ------------------------------------------------------------------------------------------------


def dgk_modulus(score_bits: int) -> int:
    """The bits of the modulus, so that u is too short to factor it.

    >>> dgk_modulus(340), dgk_modulus(600)
    (2048, 2944)
    """
    u = score_bits + 3
    needed = max(4 * (u + _MARGIN), 2 * (u + _ORDER + 64))
    return max(MODULUS, -(-needed // 64) * 64)


def make_pair_key(score_bits: int) -> PairKey:
    """A key for numbers of so many bits: some seconds."""
    if not LEAST_SCORE_BITS <= score_bits <= MOST_SCORE_BITS:
        raise PolicyError(f"--bits must be {LEAST_SCORE_BITS} to {MOST_SCORE_BITS}")
    with tno_packages():
        from tno.mpc.encryption_schemes.dgk import DGK
        from tno.mpc.encryption_schemes.utils import next_prime
    with extra("private"):
        from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    rsa = generate_private_key(public_exponent=65537, key_size=MODULUS).private_numbers()
    u = int(next_prime(1 << (score_bits + 2)))
    with _primes_from_secrets(DGK):
        public, secret = DGK.generate_key_material(_ORDER, dgk_modulus(score_bits), u)
    return PairKey(
        PublicPairKey(score_bits, rsa.p * rsa.q, (int(public.g), int(public.h), u, int(public.n), _ORDER)),
        (rsa.p, rsa.q),
        (int(secret.v_p), int(secret.v_q), int(secret.p), int(secret.q)),
    )


@contextmanager
def _primes_from_secrets(scheme: type[Any]) -> Iterator[None]:
    drawn_by_package = scheme.get_prime
    scheme.get_prime = staticmethod(_secret_prime)
    try:
        yield
    finally:
        scheme.get_prime = staticmethod(drawn_by_package)


def _secret_prime(bits: int) -> int:
    """A prime of exactly so many bits."""
    with extra("paillier"):
        import gmpy2
    while True:
        found = int(gmpy2.next_prime((1 << (bits - 1)) | secrets.randbits(bits - 1)))
        if found.bit_length() == bits:
            return found


# -- the file ----------------------------------------------------------------------------------------------


def write_pair_key(key: PairKey, path: Path) -> None:
    if path.exists():
        raise PolicyError(f"{path.name} already exists: keys are made once and kept")
    content = {
        "format": FORMAT, "score_bits": key.public.score_bits, "primes": [hex(one) for one in key.primes],
        "dgk_public": [hex(one) for one in key.public.dgk], "dgk_secret": [hex(one) for one in key.dgk],
    }  # fmt: skip
    write_whole(path, (json.dumps(content, indent=2) + "\n").encode())


def read_pair_key(path: Path) -> PairKey:
    given = Reading(read_json(read_whole(path), path.name), path.name)
    given["format"].one_of([FORMAT])
    given.only(("format", "score_bits", "primes", "dgk_public", "dgk_secret"))
    p, q = read_numbers(given["primes"], 2)
    g, h, u, n, order = read_numbers(given["dgk_public"], 5)
    first, second, dgk_p, dgk_q = read_numbers(given["dgk_secret"], 4)
    public = checked_public(PublicPairKey(given["score_bits"].whole(1), p * q, (g, h, u, n, order)), path.name)
    if dgk_p * dgk_q != n or (dgk_p - 1) % (u * first) or (dgk_q - 1) % (u * second):
        raise PolicyError(f"{path.name} is no key of mode pair, or is damaged")
    return PairKey(public, (p, q), (first, second, dgk_p, dgk_q))


def read_numbers(given: Reading, number: int) -> list[int]:
    """Whole numbers in hexadecimal digits, of which there must be so many."""
    found = []
    for part in given.items(least=number):
        try:
            found.append(int(part.text(), 16))
        except ValueError:
            part.refuse("is not a number in hexadecimal digits")
    if len(found) != number or min(found, default=1) < 1:
        given.refuse(f"must have {number} numbers above 0")
    return found


def checked_public(key: PublicPairKey, place: str) -> PublicPairKey:
    """The key, if it is long enough to hide anything."""
    *_, u, n, _ = key.dgk
    bits = key.score_bits
    sound = (
        LEAST_SCORE_BITS <= bits <= MOST_SCORE_BITS
        and key.n.bit_length() >= MODULUS
        and n.bit_length() >= dgk_modulus(bits)
        and u.bit_length() == bits + 3
    )
    if not sound:
        raise PolicyError(f"{place} is no key of mode pair, or is damaged")
    return key
