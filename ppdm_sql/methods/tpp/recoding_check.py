"""Whether a recoding is private: one grouped count over the coded rows, joined to small tables code -> group.

Nothing is written for a step but the tables of the columns whose groups changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from sqlglot import exp

from ppdm_sql.checks.histograms import parts_meet
from ppdm_sql.engines.base import Engine
from ppdm_sql.methods.plan import ENTITY
from ppdm_sql.methods.shared.labels import same_rows
from ppdm_sql.methods.shared.limits import Secret
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.encode import CODE, Coded
from ppdm_sql.source.lines import Ints
from ppdm_sql.statements.names import Name, aliased, column

GROUP, TEXT = "ppdm_group", "ppdm_text"
_N, _SECRET = "ppdm_n", "ppdm_s"
_BLOCK = 1 << 22  # counts looked at together


@dataclass(frozen=True)
class Classes:
    """The classes a recoding makes: a row per class, a column per recoded attribute."""

    groups: Ints
    sizes: Ints
    counted: Ints  # what k counts: rows, or persons
    least_l: Mapping[str, Fraction]  # per sensitive column the least size / f1


@dataclass
class Checker:
    """Measures recodings.  attributes: source column -> code column, of every column that can be recoded."""

    engine: Engine
    coded: Coded
    k: int
    secrets: Sequence[Secret]
    has_entity: bool
    fixed: Sequence[str] = ()  # quasi-identifiers that stay as they are
    _loaded: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _tables: dict[str, Name] = field(default_factory=dict)

    def table(self, name: str) -> Name:
        """The small table of a column's groups."""
        if name not in self._tables:
            self._tables[name] = self.engine.work.name("recode")
        return self._tables[name]

    def measured(self, recoding: Mapping[str, tuple[int, ...]]) -> Classes | None:
        """The classes of a recoding (column -> group of each code), or None where a requirement breaks."""
        for name, groups in recoding.items():
            if self._loaded.get(name) != groups:
                self._load(name, groups)
        used = list(recoding)
        first = self._counts(used, self.secrets[0].name if self.secrets else None)
        keys = self._class_keys(used, first)
        number = same_rows(keys)
        sizes = np.bincount(number, weights=first[_N]).astype(np.int64)
        shown = keys[np.unique(number, return_index=True)[1]]
        counted = self._persons(used, shown) if self.has_entity else sizes
        if not parts_meet(KAnonymity(self.k), counted).all():
            return None
        least = {}
        for place, secret in enumerate(self.secrets):
            cells = first if place == 0 else self._counts(used, secret.name)
            worst = self._least(secret, cells, self._number_of(used, cells, shown), sizes)
            if worst is None:
                return None
            least[secret.name] = worst
        return Classes(shown, sizes, counted, least)

    def smallest_with(self, recoding: Mapping[str, tuple[int, ...]], responses: Sequence[str]) -> int:
        """The size of the smallest class when these columns are known too."""
        cells = self._counts(list(recoding), None, responses)
        return int(cells[_N].min())

    # -- counting ----------------------------------------------------------------------------------

    def joined(self, query: exp.Select, used: Sequence[str]) -> exp.Select:
        """The coded rows c joined to the groups g0, g1, ... of these columns."""
        query = query.from_(self.coded.table.table("c"))
        for number, name in enumerate(used):
            same = exp.EQ(this=column(CODE, f"g{number}"), expression=column(self.coded.codes[name], "c"))
            query = query.join(self.table(name).table(f"g{number}"), on=same)
        return query

    def _keys(self, used: Sequence[str], more: Sequence[str] = ()) -> list[str]:
        return [f"ppdm_k{number}" for number in range(len(used) + len(self.fixed) + len(more))]

    def key_columns(self, used: Sequence[str], more: Sequence[str] = ()) -> list[exp.Expr]:
        """What makes a class: the groups of the recoded columns, the codes of those that stay."""
        groups: list[exp.Expr] = [column(GROUP, f"g{number}") for number in range(len(used))]
        return groups + [column(self.coded.codes[name], "c") for name in (*self.fixed, *more)]

    def _counts(self, used: Sequence[str], secret: str | None, more: Sequence[str] = ()) -> dict[str, Ints]:
        by = self.key_columns(used, more)
        picked = [aliased(key, name) for key, name in zip(by, self._keys(used, more), strict=True)]
        if secret is not None:
            by.append(column(self.coded.codes[secret], "c"))
            picked.append(aliased(by[-1].copy(), _SECRET))
        query = exp.Select(expressions=[*picked, aliased(exp.Count(this=exp.Star()), _N)])
        query = self.joined(query, used)
        found = self.engine.arrays(query.group_by(*(key.copy() for key in by)) if by else query)
        return {name: np.asarray(values).astype(np.int64) for name, values in found.items()}

    def _persons(self, used: Sequence[str], shown: Ints) -> Ints:
        """Distinct persons per class; a row without a person counts for nobody."""
        by = self.key_columns(used)
        persons = exp.Count(this=exp.Distinct(expressions=[column(ENTITY, "c")]))
        picked = [aliased(key, name) for key, name in zip(by, self._keys(used), strict=True)]
        query = self.joined(exp.Select(expressions=[*picked, aliased(persons, _N)]), used)
        cells = self.engine.arrays(query.group_by(*(key.copy() for key in by)) if by else query)
        found = {name: np.asarray(values).astype(np.int64) for name, values in cells.items()}
        counted = np.zeros(len(shown), dtype=np.int64)
        counted[self._number_of(used, found, shown)] = found[_N]
        return counted

    def _class_keys(self, used: Sequence[str], cells: Mapping[str, Ints]) -> Ints:
        """A row per cell: what makes its class."""
        names = self._keys(used)
        empty = np.zeros((len(cells[_N]), 0), dtype=np.int64)
        return np.column_stack([cells[name] for name in names]) if names else empty

    def _number_of(self, used: Sequence[str], cells: Mapping[str, Ints], shown: Ints) -> Ints:
        """Which class each cell belongs to."""
        both = np.vstack([shown, self._class_keys(used, cells)])
        number = same_rows(both)
        place = np.empty(int(number.max()) + 1, dtype=np.int64)
        place[number[: len(shown)]] = np.arange(len(shown))
        return np.asarray(place[number[len(shown) :]])

    @staticmethod
    def _least(secret: Secret, cells: Mapping[str, Ints], number: Ints, sizes: Ints) -> Fraction | None:
        """The least size / f1 of a class; None where a class breaks what is required of the column."""
        values = len(secret.reference)
        order = np.argsort(number, kind="stable")
        step = max(1, _BLOCK // values)
        least: Fraction | None = None
        for start in range(0, len(sizes), step):
            stop = min(start + step, len(sizes))
            low, high = np.searchsorted(number[order], [start, stop])
            here = order[low:high]
            counts = np.zeros((stop - start, values), dtype=np.int64)
            np.add.at(counts, (number[here] - start, cells[_SECRET][here]), cells[_N][here])
            if not secret.holds(counts).all():
                return None
            heads = counts.max(axis=1)
            rough = sizes[start:stop] / heads
            worst = int(np.argmin(rough))
            here_least = Fraction(int(sizes[start + worst]), int(heads[worst]))
            least = here_least if least is None else min(least, here_least)
        return least

    def _load(self, name: str, groups: tuple[int, ...]) -> None:
        import pyarrow as pa

        codes = pa.array(range(len(groups)), pa.int32())
        self.engine.load(self.table(name), pa.table({CODE: codes, GROUP: pa.array(groups, pa.int32())}))
        self.engine.analyze(self.table(name))
        self._loaded[name] = groups

    def load_texts(self, name: str, groups: tuple[int, ...], texts: Sequence[str | None]) -> None:
        """The same table with what is published of every group."""
        import pyarrow as pa

        columns = {
            CODE: pa.array(range(len(groups)), pa.int32()),
            GROUP: pa.array(groups, pa.int32()),
            TEXT: pa.array([texts[group] for group in groups], pa.string()),
        }
        self.engine.load(self.table(name), pa.table(columns))
        self.engine.analyze(self.table(name))
        self._loaded.pop(name, None)
