"""Mode pair: two parties that each have a part of every count find the class of a row, and learn nothing else.

The two are two sites, each with its own counts; or the two mixers of Yi and Zhang, each with the sum of random halves.
The steps are ours, on TNO's Paillier and its comparison of encrypted numbers (after Veugen):

    the first party, the keyholder, encrypts its part of a factor; the second, the evaluator, adds its own part to it
    the evaluator has two encrypted numbers multiplied: it adds a random number to each, 80 bits longer than they are,
        the keyholder decrypts and multiplies these, and the evaluator takes away what the random numbers added
    products of one level are asked for together, and many short numbers travel in one ciphertext
    two scores are compared by cross-multiplication; the result stays encrypted, and the better one is chosen with it
    the keyholder decrypts the number of the class and sends it to the evaluator

The keyholder decrypts random numbers, one bit (whether there are too many rows) and a class for each query; it refuses
to open more.  The evaluator sees ciphertexts.  Both are assumed to follow the protocol.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ppdm_sql.catalog.store import json_text
from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.sharing.private.codebook import PAIR, Codebook, place_of
from ppdm_sql.sharing.private.folder import ServerShare, sum_of_shares
from ppdm_sql.sharing.private.keys import PrivateKeys
from ppdm_sql.sharing.private.pair_keys import (
    PairKey,
    PublicPairKey,
    checked_public,
    read_numbers,
    read_pair_key,
    tno_packages,
)
from ppdm_sql.sharing.private.pair_wire import Wire, connected
from ppdm_sql.sharing.private.queries import (
    MOST_ROWS,
    Factor,
    LabelQuery,
    check_label_codebook,
    score_bits,
    score_factors,
)
from ppdm_sql.sharing.private.reporting import noted_counts
from ppdm_sql.source.given import relation_of
from ppdm_sql.trees.tree import Value

if TYPE_CHECKING:
    from tno.mpc.encryption_schemes.paillier import PaillierCiphertext

_BLIND = 80  # bits by which a random number is longer than what it hides
_HALF = 1 << 64
MOST_ROWS_OF_PAIR = 1 << 40


@dataclass(frozen=True)
class PairPart:
    """One party's part of every number: the other's part and this one add up to the total."""

    numbers: tuple[int, ...]
    pairs: dict[str, str]


def own_part(codebook: Codebook, place: int, share: ServerShare) -> PairPart:
    """Counts of a site as they are; the sum of a mixer's halves as a whole number.

    Two halves add up to the total or to 2^64 more.  They add up to more unless the first is at most the total, which a
    drawn number hardly ever is.
    """
    numbers = [int(one) for one in share.numbers]
    if codebook.mixers and place == 0 and min(numbers) < MOST_ROWS_OF_PAIR:
        raise PpdmError("a drawn number is too small to hide what it must: every site runs share counts once more")
    if codebook.mixers and place == 1:
        numbers = [one - _HALF for one in numbers]
    return PairPart(tuple(numbers), share.pairs)


def part_of_party(
    codebook: Codebook, keys: PrivateKeys, engine: Engine | None, source: str | None, inbox: Path | None
) -> PairPart:
    """What this party has: a site counts its rows, a mixer adds up what was sealed for it."""
    place = place_of(codebook, keys)
    if codebook.mixers:
        if inbox is None or source is not None:
            raise PolicyError("two mixers compute: give --inbox, and no --from")
        return own_part(codebook, place, sum_of_shares(codebook, keys, inbox, codebook.length))
    if engine is None or source is None or inbox is not None:
        raise PolicyError("two sites compute: give --from, and no --inbox")
    with engine.workspace():
        counts = noted_counts(engine, relation_of(engine, source), codebook, keys)
    return own_part(codebook, place, ServerShare(counts, {}))


def pair_key_of(codebook: Codebook, keys: PrivateKeys, path: Path | None) -> PairKey | None:
    """The pair key of the first party; the second has none."""
    first = codebook.computing[0].name
    if (place_of(codebook, keys) == 0) != (path is not None):
        raise PolicyError(f"the first party, {first}, needs --pair-key, and the second must not have it")
    return None if path is None else read_pair_key(path)


def check_pair(codebook: Codebook, most_rows: int, key: PublicPairKey | None) -> None:
    """Refuses before anybody is connected to."""
    check_label_codebook(codebook, PAIR)
    if most_rows >= MOST_ROWS_OF_PAIR:
        raise PolicyError(f"--most-rows must be below {MOST_ROWS_OF_PAIR:,}")
    needed = score_bits(codebook, most_rows)
    if key is not None and key.score_bits < needed:
        raise PolicyError(
            f"the pair key is for numbers of {key.score_bits} bits, and this codebook needs {needed}: make a key with "
            f"--bits {needed}, or set --most-rows lower"
        )


def _agreement(codebook: Codebook, part: PairPart, queries: Sequence[LabelQuery], most_rows: int) -> str:
    """The hash of what both parties must have alike."""
    asked = [list(query.codes) for query in queries]
    return hashlib.sha256(json_text([codebook.sha256, asked, part.pairs, most_rows]).encode()).hexdigest()


_OTHER_SETTING = (
    "the two parties have other queries, other files of the sites or another --most-rows: nothing was opened"
)
_OTHER_PROTOCOL = "the two parties do not follow the same protocol: nothing more was opened"


def _hexed(numbers: Sequence[Any]) -> list[str]:
    return [format(int(one), "x") for one in numbers]


@dataclass(frozen=True)
class PairSetting:
    """Where the first party listens, the folder of both certificates, and how long to wait for the other party."""

    at: str
    certificates: Path
    wait: float = 600
    most_rows: int = MOST_ROWS


def serve_pair(
    codebook: Codebook, keys: PrivateKeys, part: PairPart, queries: Sequence[LabelQuery], setting: PairSetting,
    pair_key: PairKey | None = None,
) -> list[Value]:  # fmt: skip
    """The classes of the queries; pair_key: of the first party."""
    place = place_of(codebook, keys)
    with connected(codebook, keys, place, setting.certificates, setting.at, setting.wait) as wire:
        try:
            if pair_key is not None:
                places = KeyHolder(codebook, part, pair_key, wire).answer(queries, setting.most_rows)
            else:
                places = Evaluator(codebook, part, setting.most_rows, wire).answer(queries)
        except (ValueError, ArithmeticError, AssertionError):
            raise PpdmError(_OTHER_PROTOCOL) from None
    return [codebook.classes[one] for one in places]


# -- the first party ---------------------------------------------------------------------------------------


class KeyHolder:
    """Answers what the evaluator asks for; gives the places of the classes."""

    def __init__(self, codebook: Codebook, part: PairPart, key: PairKey, wire: Wire) -> None:
        self._codebook, self._part, self._key, self._wire = codebook, part, key, wire
        self._paillier, self._dgk = key.schemes()
        self._compared = 0  # the number whose comparison is under way
        with tno_packages():
            from tno.mpc.encryption_schemes.dgk import DGKCiphertext
            from tno.mpc.encryption_schemes.paillier import PaillierCiphertext
            from tno.mpc.protocols.secure_comparison import KeyHolder as Steps
        self._ciphertext, self._dgk_ciphertext, self._steps = PaillierCiphertext, DGKCiphertext, Steps

    def answer(self, queries: Sequence[LabelQuery], most_rows: int) -> list[int]:
        mine = _agreement(self._codebook, self._part, queries, most_rows)
        public = self._key.public
        self._wire.send(agreement=mine, score_bits=public.score_bits, n=_hexed([public.n]), dgk=_hexed(public.dgk))
        self._wire.receive()  # the other party refuses if it has another agreement
        self._serve(2)
        return [self._serve(len(self._codebook.classes)) for _ in queries]

    def _serve(self, below: int) -> int:
        """Answers requests until a number is opened."""
        steps = {"sums": self._encrypt_sums, "products": self._multiply, "order": self._order, "zeros": self._zeros}
        while True:
            asked = self._wire.receive()
            what = asked["what"].one_of([*steps, "open"])
            if what == "open":
                found = self._decrypt(asked["cipher"])
                if found >= below:
                    raise self._wire.refuse(_OTHER_PROTOCOL)
                self._wire.send(opened=found)
                return found
            steps[what](asked)

    def _encrypt_sums(self, asked: Reading) -> None:
        places = [[one.whole(0) for one in part.items(least=1)] for part in asked["places"].items(least=1)]
        if max(max(one) for one in places) >= len(self._part.numbers):
            raise self._wire.refuse(_OTHER_PROTOCOL)
        self._wire.send(ciphers=self._encrypt([sum(self._part.numbers[one] for one in part) for part in places]))

    def _multiply(self, asked: Reading) -> None:
        factors: list[int] = []
        for widths, cipher in zip(asked["widths"].items(), asked["ciphers"].items(), strict=True):
            packed = self._decrypt(cipher)
            for width in widths.items():
                bits = width.whole(1)
                factors.append(packed & ((1 << bits) - 1))
                packed >>= bits
        self._wire.send(ciphers=self._encrypt([x * y for x, y in zip(factors[::2], factors[1::2], strict=True)]))

    def _order(self, asked: Reading) -> None:
        bits = self._key.public.score_bits
        self._compared, low = self._steps.step_2(self._read(asked["cipher"]), bits, self._paillier)
        carried = self._steps.step_4a(self._compared, self._dgk, self._paillier, bits)
        told = [carried, *self._steps.step_4b(low, bits, self._dgk)]
        self._wire.send(ciphers=_hexed([one.randomize().peek_value() for one in told]))

    def _zeros(self, asked: Reading) -> None:
        bits = self._key.public.score_bits
        listed = [self._dgk_ciphertext(_number(one), self._dgk) for one in asked["ciphers"].items(least=bits + 1)]
        found = self._steps.step_4j(listed, self._dgk)
        told = self._steps.step_5(self._compared, bits, found, self._paillier)
        self._wire.send(ciphers=_hexed([one.randomize().peek_value() for one in told]))

    def _encrypt(self, numbers: Sequence[int]) -> list[str]:
        n = self._key.public.n
        found = [self._paillier.unsafe_encrypt(one % n, apply_encoding=False).randomize() for one in numbers]
        return _hexed([one.peek_value() for one in found])

    def _read(self, given: Reading) -> PaillierCiphertext:
        return self._ciphertext(_number(given), self._paillier)

    def _decrypt(self, given: Reading) -> int:
        return int(self._paillier.decrypt(self._read(given), apply_encoding=False))


def _number(given: Reading) -> Any:
    with tno_packages():
        from gmpy2 import mpz
    try:
        return mpz(given.text(), 16)
    except ValueError:
        given.refuse("is not a number in hexadecimal digits")


# -- the second party --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hidden:
    """An encrypted number; its amount has at most so many bits."""

    cipher: PaillierCiphertext
    bits: int


class Evaluator:
    """Computes on encrypted numbers; gives the places of the classes."""

    def __init__(self, codebook: Codebook, part: PairPart, most_rows: int, wire: Wire) -> None:
        self._codebook, self._part, self._most_rows, self._wire = codebook, part, most_rows, wire
        self._sums: dict[tuple[int, ...], Hidden] = {}
        self._denominators: dict[tuple[Factor, ...], Hidden] = {}
        with tno_packages():
            from tno.mpc.encryption_schemes.dgk import DGKCiphertext
            from tno.mpc.encryption_schemes.paillier import PaillierCiphertext
            from tno.mpc.protocols.secure_comparison import Initiator as Steps
        self._ciphertext, self._dgk_ciphertext, self._steps = PaillierCiphertext, DGKCiphertext, Steps

    def answer(self, queries: Sequence[LabelQuery]) -> list[int]:
        told = self._wire.receive()
        g, h, u, dgk_n, order = read_numbers(told["dgk"], 5)
        key = PublicPairKey(told["score_bits"].whole(1), read_numbers(told["n"], 1)[0], (g, h, u, dgk_n, order))
        mine = _agreement(self._codebook, self._part, queries, self._most_rows)
        if told["agreement"].text() != mine:
            raise self._wire.refuse(_OTHER_SETTING)
        self._wire.send(agreement=mine)
        self._key = checked_public(key, "the key of the other party")
        check_pair(self._codebook, self._most_rows, self._key)
        self._paillier, self._dgk = self._key.schemes()
        self._refuse_many_rows()
        return [self._class_of(query) for query in queries]

    def _refuse_many_rows(self) -> None:
        places = tuple(label * self._codebook.width for label in range(len(self._codebook.classes)))
        rows = self._factors([Factor(places, 0)])[0]
        if not self._open(self._at_most(rows, self._constant(self._most_rows))):
            sentence = f"the sites have more than {self._most_rows:,} rows: set --most-rows higher for both parties"
            raise self._wire.refuse(sentence)

    # -- one query ---------------------------------------------------------------------------------

    def _class_of(self, query: LabelQuery) -> int:
        tops, bottoms = self._scores(query)
        best_top, best_bottom, best = tops[0], bottoms[0], self._constant(0)
        for place in range(1, len(tops)):
            against, best_across = self._products([(tops[place], best_bottom), (best_top, bottoms[place])])
            wins = self._minus(self._constant(1), self._at_most(against, best_across))
            new = (tops[place], bottoms[place], self._constant(place))
            old = (best_top, best_bottom, best)
            gained = self._products([(wins, self._minus(one, other)) for one, other in zip(new, old, strict=True)])
            best_top, best_bottom, best = (
                Hidden(before.cipher + more.cipher, max(after.bits, before.bits))
                for before, more, after in zip(old, gained, new, strict=True)
            )
        return self._open(best)

    def _scores(self, query: LabelQuery) -> tuple[list[Hidden], list[Hidden]]:
        factors = [score_factors(self._codebook, query, label) for label in range(len(self._codebook.classes))]
        new = list(dict.fromkeys(tuple(below) for _, below in factors if tuple(below) not in self._denominators))
        self._factors([factor for above, below in factors for factor in (*above, *below)])
        wanted = [self._factors(above) for above, _ in factors] + [self._factors(below) for below in new]
        found = self._multiply_all(wanted)
        self._denominators.update(zip(new, found[len(factors) :], strict=True))
        return found[: len(factors)], [self._denominators[tuple(below)] for _, below in factors]

    def _factors(self, wanted: Sequence[Factor]) -> list[Hidden]:
        """Totals with what is added to them; every sum of the keyholder's numbers is asked for once."""
        new = [places for places in dict.fromkeys(one.places for one in wanted) if places not in self._sums]
        if new:
            ciphers = self._wire.ask(what="sums", places=new)["ciphers"].items(least=len(new))
            for places, cipher in zip(new, ciphers, strict=True):
                mine = self._plain(sum(self._part.numbers[one] for one in places))
                self._sums[places] = Hidden(self._read(cipher) + mine, self._most_rows.bit_length())
        return [self._plus(self._sums[one.places], one.more) for one in wanted]

    def _multiply_all(self, lists: list[list[Hidden]]) -> list[Hidden]:
        """The product of each list, level by level; all products of a level are one request."""
        lists = [list(one) or [self._constant(1)] for one in lists]
        while any(len(one) > 1 for one in lists):
            pairs = [pair for one in lists for pair in zip(one[::2], one[1::2], strict=False)]
            found = iter(self._products(pairs))
            lists = [[next(found) for _ in range(len(one) // 2)] + one[len(one) // 2 * 2 :] for one in lists]
        return [one[0] for one in lists]

    # -- encrypted arithmetic ----------------------------------------------------------------------

    @cached_property
    def _room(self) -> int:
        return self._key.n.bit_length() - 1

    def _products(self, pairs: Sequence[tuple[Hidden, Hidden]]) -> list[Hidden]:
        factors = [one for pair in pairs for one in pair]
        lowest = [1 << one.bits for one in factors]  # the number may be negative
        blinds = [low + secrets.randbelow(low << _BLIND) for low in lowest]
        shown = [one.cipher + self._plain(blind) for one, blind in zip(factors, blinds, strict=True)]
        widths, ciphers = self._pack(shown, [one.bits + _BLIND + 2 for one in factors])
        told = self._wire.ask(what="products", widths=widths, ciphers=_hexed(ciphers))["ciphers"]
        products = told.items(least=len(pairs))
        return [
            Hidden(
                self._read(product) - x.cipher * b - y.cipher * a - self._plain(a * b),
                x.bits + y.bits,
            )
            for product, (x, y), a, b in zip(products, pairs, blinds[::2], blinds[1::2], strict=True)
        ]

    def _pack(self, shown: Sequence[PaillierCiphertext], widths: Sequence[int]) -> tuple[list[list[int]], list[Any]]:
        """Positive numbers one behind the other, in as few ciphertexts as have room for them."""
        groups: list[list[int]] = []
        for place, width in enumerate(widths):
            if groups and sum(widths[one] for one in groups[-1]) + width <= self._room:
                groups[-1].append(place)
            else:
                groups.append([place])
        ciphers = []
        for group in groups:
            packed = shown[group[-1]]
            for place in reversed(group[:-1]):
                packed = packed * (1 << widths[place]) + shown[place]
            ciphers.append(packed.randomize().peek_value())
        return [[widths[place] for place in group] for group in groups], ciphers

    def _at_most(self, x: Hidden, y: Hidden) -> Hidden:
        """1 where x <= y, else 0; encrypted."""
        bits, steps, paillier, dgk = self._key.score_bits, self._steps, self._paillier, self._dgk
        difference, drawn = steps.step_1(x.cipher, y.cipher, bits, paillier)
        told = self._wire.ask(what="order", cipher=_hexed([difference.randomize().peek_value()])[0])["ciphers"]
        carried, *low = [self._dgk_ciphertext(_number(one), dgk) for one in told.items(least=bits + 1)]
        alpha = steps.step_3(drawn, bits)
        carried = steps.step_4c(carried, drawn, dgk, paillier)
        differing, alpha_tilde = steps.step_4e(drawn, alpha, steps.step_4d(alpha, low), carried, paillier)
        sign, delta = steps.step_4g()
        terms = steps.step_4h(sign, alpha, alpha_tilde, carried, low, steps.step_4f(differing), delta, dgk)
        blinded = [one.randomize().peek_value() for one in steps.step_4i(terms, dgk)]
        told = self._wire.ask(what="zeros", ciphers=_hexed(blinded))["ciphers"]
        first, second, found = [self._read(one) for one in told.items(least=3)]
        return Hidden(steps.step_7(first, second, drawn, bits, steps.step_6(delta, found), paillier), 1)

    def _open(self, number: Hidden) -> int:
        shown = _hexed([number.cipher.randomize().peek_value()])[0]
        return self._wire.ask(what="open", cipher=shown)["opened"].whole(0)

    def _plus(self, rows: Hidden, more: int) -> Hidden:
        return Hidden(rows.cipher + self._plain(more), (self._most_rows + more).bit_length())

    def _minus(self, one: Hidden, other: Hidden) -> Hidden:
        return Hidden(one.cipher - other.cipher, max(one.bits, other.bits))  # both are positive

    def _constant(self, number: int) -> Hidden:
        return Hidden(self._plain(number), max(1, number.bit_length()))

    def _plain(self, number: int) -> PaillierCiphertext:
        return self._paillier.unsafe_encrypt(number % self._key.n, apply_encoding=False)

    def _read(self, given: Reading) -> PaillierCiphertext:
        return self._ciphertext(_number(given), self._paillier)
