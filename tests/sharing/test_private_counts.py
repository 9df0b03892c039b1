"""Opened counts are the counts of the union, however the rows are divided; what one file shows is nothing."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from oracles.naive_pools import hidden_cells, narrowest_range
from rounds import NAMES, PEOPLE, TARGET, keys_of, plain_model, random_hospitals
from scipy import stats
from sizes import seeds
from sqlglot import exp

from ppdm_sql.errors import RequirementBreached
from ppdm_sql.models.bayes_kind import BayesKind
from ppdm_sql.sharing.private import folder as files
from ppdm_sql.sharing.private import masks, mixers
from ppdm_sql.sharing.private.message import Expected, decode
from ppdm_sql.sharing.private.pools import pool_counts, pooled_model
from ppdm_sql.statements.names import column
from ppdm_sql.verify.pooled_counts import small_counts


def document(model) -> str:
    return BayesKind().document(model, "opened")


def group_by_of_union(hospitals) -> np.ndarray:
    """The counts of all rows in one database, by plain statements and the model's own reading of single values."""
    codebook = hospitals.codebook
    grid = np.zeros((len(codebook.classes), codebook.width), dtype=np.int64)
    names = [column(one.attribute.name) for one in codebook.attributes]
    rows = hospitals.union.fetch(exp.Select(expressions=[column(TARGET), *names]).from_(PEOPLE.table()))
    for label, *values in rows:
        if label is None:
            continue
        place = codebook.classes.index(label)
        grid[place, 0] += 1
        for start, one, value in zip(codebook.starts, codebook.attributes, values, strict=True):
            code = one.domain.code_of(one.attribute, value)
            if code < one.width:
                grid[place, start + code] += 1
    return grid


@pytest.mark.parametrize("mode", ["masks", "mixers"])
@seeds(small=2, full=8, nightly=200)
def test_opened_counts_are_those_of_the_union(seeds, mode, tmp_path):
    for seed in seeds:
        hospitals, learned = random_hospitals(seed, mode)
        with hospitals.union:
            total = hospitals.hold(tmp_path / str(seed))
            grid = files.checked_grid(hospitals.codebook, total)
            assert (grid == group_by_of_union(hospitals)).all()
        assert document(plain_model(hospitals.codebook, grid)) == document(learned)


@seeds(small=5, full=60, nightly=1000)
def test_nothing_small_is_printed_and_nothing_small_follows(seeds):
    """The model and its pools are judged by another reader, and attacked with linear programs."""
    pooled_somewhere = 0
    for seed in seeds:
        draw = random.Random(seed)
        codebook, grid = random_totals(seed)
        if grid[:, 0].max() < codebook.k:
            with pytest.raises(RequirementBreached, match="no class has"):
                pool_counts(codebook, grid)
            continue
        pooled = pool_counts(codebook, grid)
        model = pooled_model(codebook, pooled).to_dict()
        pools = [
            {"attribute": place, "class": label, "codes": list(pool.codes), "rows": pool.rows}
            for place, one in enumerate(pooled.attributes) for label, pool in enumerate(one.pools) if pool
        ]  # fmt: skip
        assert list(small_counts(model, pools, codebook.k)) == []
        for place, one in enumerate(pooled.attributes):
            nulls = codebook.attributes[pooled.places[place]].nulls
            for label, rows in enumerate(pooled.rows):
                cells = hidden_cells(one, label, nulls=nulls)
                pooled_somewhere += bool(cells)
                if cells and draw.random() < 0.3:
                    assert narrowest_range(one, label, rows, nulls=nulls) >= codebook.k
    assert pooled_somewhere


@cache
def some_codebook(seed: int):
    hospitals, _ = random_hospitals(seed)
    hospitals.union.close()
    return hospitals.codebook


def random_totals(seed: int):
    """Totals with many small cells: a codebook of random widths, NULLs in some columns."""
    draw = random.Random(seed)
    base = some_codebook(seed % 7)
    attributes = tuple(replace(one, nulls=draw.random() < 0.5) for one in base.attributes)
    codebook = replace(base, attributes=attributes, k=draw.choice([1, 2, 5, 10]))
    grid = np.zeros((len(codebook.classes), codebook.width), dtype=np.int64)
    for label in range(len(codebook.classes)):
        rows = draw.choice([3, 20, 200])
        grid[label, 0] = rows
        for start, one in zip(codebook.starts, attributes, strict=True):
            kept = rows - (draw.randint(0, rows) if one.nulls and draw.random() < 0.5 else 0)
            weights = [draw.random() ** 4 for _ in range(one.width)]
            for code in draw.choices(range(one.width), weights, k=kept):
                grid[label, start + code] += 1
    return codebook, files.checked_grid(codebook, grid.astype(np.uint64).reshape(-1))


def test_the_judge_of_pools_finds_what_it_is_for():
    codebook, grid = random_totals(3)
    model = pooled_model(codebook, pool_counts(codebook, grid, k=1)).to_dict()
    told = " ".join(small_counts(model, [], 100))
    assert "a class has fewer than 100 rows" in told
    assert "a cell outside of the pool" in told
    assert "only one cell" in " ".join(
        small_counts(model, [{"attribute": 0, "class": 0, "codes": [0], "rows": 500}], 1)
    )


# -- what one file shows -----------------------------------------------------------------------------------


def byte_p_values(views: list[bytes]) -> list[float]:
    """For every byte position over all runs: how likely so uneven values are by chance, in sixteen bins each."""
    table = np.array([list(view) for view in views], dtype=np.uint8)
    found = []
    for position in range(table.shape[1]):
        for nibble in (table[:, position] >> 4, table[:, position] & 15):
            found.append(stats.chisquare(np.bincount(nibble, minlength=16)).pvalue)
    return found


@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [1, 2, 2**40, 5]])
@pytest.mark.parametrize("mode", ["masks", "mixers"])
@seeds(small=100, nightly=400)
def test_one_file_is_uniform_whatever_was_counted(seeds, mode, counts):
    """Over many rounds every byte position of what leaves a site is uniform."""
    if seeds.start:
        seeds = range(400)
    vector = np.array(counts, dtype=np.uint64)
    views: dict[str, list[bytes]] = {"first": [], "second": []}
    hospitals, _ = random_hospitals(1, mode, 3)
    hospitals.union.close()
    for seed in seeds:
        codebook = replace(hospitals.codebook, round=f"r{seed}")
        if mode == "masks":
            views["first"].append(masks.add_masks(vector, codebook, keys_of("east"), "counts").tobytes())
        else:
            first, second = mixers.split(vector)
            views["first"].append(first.tobytes())
            views["second"].append(second.tobytes())
    for view in views.values():
        if view:
            assert min(byte_p_values(view)) > 1e-6
            assert len(set(view)) == len(view)


def test_a_mixer_sees_the_same_whatever_was_counted():
    """With the drawn numbers fixed, the first mixer's half does not depend on the counts at all."""
    tape = random.Random(4).randbytes(80)
    halves = [mixers.split(np.arange(10, dtype=np.uint64) * factor, lambda size: tape[:size])[0] for factor in (0, 9)]
    assert halves[0].tobytes() == halves[1].tobytes()


def test_masks_are_others_for_another_subject_round_or_codebook(tmp_path):
    hospitals, _ = random_hospitals(1, "masks", 3)
    hospitals.union.close()
    zeros = np.zeros(50, dtype=np.uint64)
    books = [hospitals.codebook, replace(hospitals.codebook, round="r2"), replace(hospitals.codebook, k=9)]
    views = [masks.add_masks(zeros, book, keys_of("east"), "counts").tobytes() for book in books]
    views.append(masks.add_masks(zeros, books[0], keys_of("east"), "test").tobytes())
    assert len(set(views)) == 4


# -- coalitions that do learn, as the documentation says ---------------------------------------------------


def test_all_sites_but_one_learn_the_counts_of_that_one(tmp_path):
    """From the sum, whatever the protocol."""
    hospitals, _ = random_hospitals(2, "masks", 4)
    with hospitals.union:
        total = hospitals.hold(tmp_path)
    known = masks.add_up([hospitals.vector(name) for name in NAMES[1:4]], len(total))
    assert (total - known == hospitals.vector("east")).all()


def test_all_sites_but_two_learn_only_the_sum_of_both(tmp_path):
    """The masks between the two are left: their files less all masks that the others know are still uniform."""
    hospitals, _ = random_hospitals(2, "masks", 4)
    hospitals.union.close()
    hospitals.report(tmp_path)
    read = {path.name.split(".")[0]: path for path in tmp_path.iterdir()}
    book = hospitals.codebook
    expected = Expected("masked", "counts", book.length)
    numbers = decode(read["east"].read_bytes(), "east", book, expected).numbers
    for other in ("hill", "lake"):  # what these two can take away: their own stream with east
        stream = masks._stream(book, keys_of(other), keys_of("east").public, "counts", book.length)
        numbers = numbers - stream
    assert (numbers >= 1 << 40).mean() > 0.99
    stream = masks._stream(book, keys_of("harbour"), keys_of("east").public, "counts", book.length)
    assert (numbers - stream == hospitals.vector("east")).all()


def test_both_mixers_together_learn_the_counts_of_a_site(tmp_path):
    hospitals, _ = random_hospitals(2, "mixers", 3)
    hospitals.union.close()
    hospitals.report(tmp_path)
    halves = []
    for mixer in hospitals.codebook.mixers:
        path = tmp_path / f"east.counts.for-{mixer.name}.age"
        content = mixers.unseal(path.read_bytes(), path.name, keys_of(mixer.name))
        expected = Expected("half", "counts", hospitals.codebook.length, receiver=mixer.name)
        halves.append(decode(content, path.name, hospitals.codebook, expected).numbers)
    assert (halves[0] + halves[1] == hospitals.vector("east")).all()
    assert all((half >= 1 << 40).mean() > 0.99 for half in halves)


def test_the_order_of_the_sites_changes_nothing(tmp_path):
    hospitals, _ = random_hospitals(5, "masks", 4)
    with hospitals.union:
        total = hospitals.hold(tmp_path)
    shuffled = dict(zip(NAMES[:4], reversed(list(hospitals.rows.values())), strict=True))
    hospitals.rows = shuffled
    assert (hospitals.hold(tmp_path) == total).all()
