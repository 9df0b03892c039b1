"""Growing releases: an attacker who holds every night of a random stream finds no group that is too small."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass

from ppdm_sql.errors import PpdmError
from tests.attacks.growing_stream import CHANGES, METHODS, Counts, run_stream
from tests.nightly.summary import Options, Part, in_blocks, table

NIGHTS = 60


@dataclass(frozen=True)
class Attacked:
    """One stream, and what was found."""

    seed: int
    counts: Counts | None
    problem: str = ""


def run(options: Options) -> Part:
    outcomes: list[Attacked] = []
    for done in in_blocks(attack_block, range(options.seed, options.seed + options.streams), 1, options):
        outcomes += done
        options.say(
            f"nights: {len(outcomes)} of {options.streams} streams, {sum(map(_is_bad, outcomes))} with problems"
        )
    return summarize(outcomes)


def attack_block(seeds: Iterable[int]) -> list[Attacked]:
    return [attack_one(seed) for seed in seeds]


def attack_one(seed: int, nights: int = NIGHTS) -> Attacked:
    try:
        return Attacked(seed, run_stream(seed, nights)[1])
    except (PpdmError, AssertionError):  # a night that was refused, or a release that does not verify
        return Attacked(seed, None, traceback.format_exc(limit=-2))


def _is_bad(one: Attacked) -> bool:
    return one.counts is None or one.counts.finds_somebody


def summarize(outcomes: list[Attacked]) -> Part:
    lines = [
        [
            METHODS[one.seed % len(METHODS)], CHANGES[one.seed % len(CHANGES)] or "defaults", one.seed,
            one.counts.nights, one.counts.rows, one.counts.groups, one.counts.below_k, one.counts.below_l,
            one.counts.small_differences,
        ]
        for one in outcomes if one.counts is not None
    ]  # fmt: skip
    head = ["method", "changes", "seed", "nights", "rows", "groups", "below k", "below l", "small differences"]
    names = ("nights", "rows", "groups", "below_k", "below_l", "small_differences")
    figures = {name: sum(getattr(one.counts, name) for one in outcomes if one.counts is not None) for name in names}
    problems = [f"seed {one.seed}: {one.problem or one.counts}" for one in outcomes if _is_bad(one)]
    return Part("nights", table(head, lines), {"streams": len(outcomes), **figures}, problems)
