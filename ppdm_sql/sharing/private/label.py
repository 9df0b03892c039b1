"""Mode label: three servers hold shares of the counts, and open the class of a query and nothing else.

Every site splits its counts into three random numbers modulo 2^64, one sealed for each server.  A server adds up what
it got and so holds a share of every total.  The three compute with MPyC (Shamir shares, one server may be curious):

    a share modulo 2^64 becomes one of the field: the shares' sum is the total and w times 2^64, and w follows from
        their four highest bits, because a total is less than 2^60
    score of class i = (s_i + a) * prod_k (s_ik + a) over prod_k (known_ik + a * d_k), compared by cross-multiplication
    the best so far is chosen obliviously, so that not even the order of the others is opened

d_k is the number of values the codebook lists.  An attribute that is NULL in the query is left out.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from ppdm_sql.catalog.store import json_text
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.sharing.private import tls
from ppdm_sql.sharing.private.codebook import Codebook, place_of
from ppdm_sql.sharing.private.extras import extra
from ppdm_sql.sharing.private.folder import ServerShare
from ppdm_sql.sharing.private.keys import PrivateKeys
from ppdm_sql.sharing.private.queries import MOST_ROWS, LabelQuery, check_label_codebook, score_bits, score_factors
from ppdm_sql.trees.tree import Value

_SERVERS = 3
_HIGH = 60  # a share's bits above these are its four highest


# -- a server ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ServerSetting:
    """Where the three servers listen, and the folder of their certificates."""

    addresses: tuple[str, ...]
    certificates: Path
    wait: float = 600  # seconds for the others to come


def serve(
    codebook: Codebook, keys: PrivateKeys, share: ServerShare, queries: Sequence[LabelQuery], setting: ServerSetting,
    most_rows: int = MOST_ROWS,
) -> list[Value]:  # fmt: skip
    """The classes of the queries, when all three servers were asked the same."""
    check_label_codebook(codebook)
    place = place_of(codebook, keys)
    with tls.certificates(codebook, keys, place, setting.certificates):
        runtime = _runtime(setting.addresses, place)
        told = _Computation(codebook, share, runtime, most_rows, setting.wait)
        places = _run(runtime, told.answer(queries))
    return [codebook.classes[one] for one in places]


def _run(runtime: ModuleType, answer: Coroutine[Any, Any, list[int]]) -> list[int]:
    try:
        return list(runtime.mpc.run(answer))
    except (OSError, asyncio.CancelledError, asyncio.InvalidStateError) as cause:
        raise PpdmError(
            f"the connection to another server broke ({type(cause).__name__}): nothing was written"
        ) from None


def _runtime(addresses: Sequence[str], place: int) -> ModuleType:
    """MPyC reads its settings from the command line when it is imported, once in a process."""
    if len(addresses) != _SERVERS:
        raise PolicyError("name the addresses of all three servers, in the order of the codebook")
    kept = sys.argv
    listed = [word for one in addresses for word in ("-P", one)]
    sys.argv = ["ppdm", *listed, "-I", str(place), "--ssl", "--no-log"]
    try:
        with extra("mpc"):
            import mpyc.runtime as runtime
    finally:
        sys.argv = kept
    return runtime  # type: ignore[no-any-return]


class _Computation:
    """One server's side of the protocol."""

    def __init__(
        self, codebook: Codebook, share: ServerShare, runtime: ModuleType, most_rows: int, wait: float
    ) -> None:
        self.codebook, self.share, self.mpc, self.most_rows = codebook, share, runtime.mpc, most_rows
        self.wait = wait
        self._known: dict[tuple[int, ...], Any] = {}

    @cached_property
    def number(self) -> Any:
        return self.mpc.SecInt(score_bits(self.codebook, self.most_rows))

    @cached_property
    def small(self) -> Any:
        return self.mpc.SecInt(8)

    async def answer(self, queries: Sequence[LabelQuery]) -> list[int]:
        """The places of the classes; all servers refuse together, after they have taken leave of each other."""
        await self._connect()
        refused = await self._refusal_of_files(queries) or await self._refusal_of_size()
        found = [] if refused else [await self._class_of(query) for query in queries]
        await self.mpc.shutdown()
        if refused:
            raise PpdmError(refused)
        return found

    async def _connect(self) -> None:
        try:
            await asyncio.wait_for(self.mpc.start(), self.wait)
        except TimeoutError:
            raise PpdmError(f"the other servers were not there within {self.wait:g} seconds") from None

    async def _refusal_of_files(self, queries: Sequence[LabelQuery]) -> str | None:
        """All three must have the same codebook, the same queries, and shares of the same splittings."""
        asked = [list(query.codes) for query in queries]
        mine = hashlib.sha256(json_text([self.codebook.sha256, asked, self.share.pairs]).encode()).hexdigest()
        if len(set(await self.mpc.transfer(mine))) == 1:
            return None
        return "the servers have other queries or other files of the sites: nothing was opened"

    async def _refusal_of_size(self) -> str | None:
        """Whether there are at most so many rows is all that is opened of the totals."""
        width, classes = self.codebook.width, len(self.codebook.classes)
        (rows,) = self._totals([tuple(label * width for label in range(classes))])
        if not await self.mpc.output(rows > self.most_rows):
            return None
        return f"the sites have more than {self.most_rows:,} rows: set --most-rows higher at all servers"

    def _totals(self, wanted: Sequence[tuple[int, ...]]) -> list[Any]:
        """Totals as numbers of the field; wanted: for each the places of the vector that are summed."""
        new = [places for places in dict.fromkeys(wanted) if places not in self._known]
        if new:
            for places, total in zip(new, self._convert(new), strict=True):
                self._known[places] = total
        return [self._known[places] for places in wanted]

    def _convert(self, wanted: Sequence[tuple[int, ...]]) -> list[Any]:
        mine = [sum(int(self.share.numbers[place]) for place in places) % (1 << 64) for places in wanted]
        whole = self.mpc.input([self.number(one) for one in mine])
        high = self.mpc.input([self.small(one >> _HIGH) for one in mine])
        sums, tops = (list(map(sum, zip(*parts, strict=True))) for parts in (whole, high))
        wraps = self.mpc.convert([(top >= 8) + (top >= 24) for top in tops], self.number)
        return [total - wrap * (1 << 64) for total, wrap in zip(sums, wraps, strict=True)]

    # -- one query ---------------------------------------------------------------------------------

    async def _class_of(self, query: LabelQuery) -> int:
        tops, bottoms = self._scores(query)
        best_top, best_bottom, best = tops[0], bottoms[0], self.number(0)
        for place in range(1, len(tops)):
            wins = tops[place] * best_bottom > best_top * bottoms[place]
            challenger = [tops[place], bottoms[place], self.number(place)]
            best_top, best_bottom, best = self.mpc.if_else(wins, challenger, [best_top, best_bottom, best])
        return int(await self.mpc.output(best))

    def _scores(self, query: LabelQuery) -> tuple[list[Any], list[Any]]:
        """Of every class the numerator and the denominator of its score."""
        tops, bottoms = [], []
        for label in range(len(self.codebook.classes)):
            above, below = score_factors(self.codebook, query, label)
            found = self._totals([factor.places for factor in (*above, *below)])
            factors = [total + factor.more for total, factor in zip(found, (*above, *below), strict=True)]
            tops.append(self.mpc.prod(factors[: len(above)]))
            bottoms.append(self.mpc.prod(factors[len(above) :]) if below else self.number(1))
        return tops, bottoms
