"""How often each value of some columns occurs, as it is printed: one statement for all columns of a relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ppdm_sql.cells.aggregate import known_cells
from ppdm_sql.cells.apply import PRINTED_ALIKE
from ppdm_sql.cells.cells import Cells
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.statements.grouping import TOGETHER, count_each
from ppdm_sql.statements.names import Name, aliased, column

_ROWS = "ppdm_rows"
# Python's dates and times have neither nanoseconds nor infinity: their text stands for them, as it does for a text.
_TEXTS = (Kind.TEXT, Kind.DATE, Kind.TIMESTAMP)


@dataclass(repr=False)
class PrintedCounts:
    """One column.  NULL is a value; NaN stands as the word nan."""

    printed: dict[str | None, int] = field(default_factory=dict)  # text -> rows
    values: dict[object, int] = field(default_factory=dict)  # value -> rows; equal values can print differently

    @classmethod
    def of_texts(cls, texts: Mapping[str | None, int]) -> PrintedCounts:
        values: dict[object, int] = dict(texts.items())
        return cls(dict(texts), values)

    def add(self, text: str | None, value: object, rows: int) -> None:
        self.printed[text] = self.printed.get(text, 0) + rows
        key = "nan" if isinstance(value, float) and value != value else value
        self.values[key] = self.values.get(key, 0) + rows

    def more_than(self, other: PrintedCounts) -> int:
        """How many printed values occur here more often than in the other one."""
        return sum(rows > other.printed.get(text, 0) for text, rows in self.printed.items())


def raw_histograms(engine: Engine, relation: Name, columns: Sequence[ColumnInfo]) -> dict[str, PrintedCounts]:
    """The histograms of rows that were published from; what cells say already is not counted again."""
    cells = known_cells(engine, relation)
    told = [info for info in columns if cells is not None and info.name in cells.columns and info.kind in PRINTED_ALIKE]
    rest = [info for info in columns if info not in told]
    found = histograms_of(engine, relation, rest) if rest else {}
    return found | {info.name: _of_cells(cells, info) for info in told if cells is not None}


def _of_cells(cells: Cells, info: ColumnInfo) -> PrintedCounts:
    found, one = PrintedCounts(), cells[info.name]
    for value, rows in zip(one.values, one.rows.tolist(), strict=True):
        found.add(str(value).lower() if info.kind is Kind.BOOLEAN else str(value), value, rows)
    nulls = cells.total - int(one.rows.sum())
    if nulls:
        found.add(None, None, nulls)
    return found


def histograms_of(
    engine: Engine, relation: Name, columns: Sequence[ColumnInfo], *, repeats: bool = False
) -> dict[str, PrintedCounts]:
    """The histogram of each column.  repeats: rows that agree in all of the columns are many, as in a release."""
    found = {info.name: PrintedCounts() for info in columns}
    for first in range(0, len(columns), TOGETHER):
        together = columns[first : first + TOGETHER]
        for row in engine.fetch(_query(engine, relation, together, repeats=repeats)):
            number, rows, *values = row
            place = 2 * int(number)
            found[together[int(number)].name].add(values[place], values[place + 1], int(rows))
    return found


def _query(engine: Engine, relation: Name, columns: Sequence[ColumnInfo], *, repeats: bool) -> exp.Select:
    picked: list[exp.Expr] = []
    keys: dict[int, list[exp.Column]] = {}
    values: list[exp.Expr] = []
    for number, info in enumerate(columns):
        text, value = f"ppdm_t{number}", f"ppdm_v{number}"
        picked.append(aliased(engine.exact_text(exp.cast(column(info.name), "TEXT")), text))
        keys[number] = [column(text, "s")]
        if info.kind not in _TEXTS:
            picked.append(aliased(column(info.name), value))
            keys[number].append(column(value, "s"))
        values += [column(text, "g"), column(text if info.kind in _TEXTS else value, "g")]
    rows = exp.Select(expressions=picked).from_(relation.table())
    counted: exp.Expr = exp.Count(this=exp.Star())
    if repeats:
        alike = [one.copy() for named in keys.values() for one in named]
        counts = aliased(exp.Count(this=exp.Star()), _ROWS)
        rows = exp.Select(expressions=[*alike, counts]).from_(rows.subquery("s")).group_by(*(a.copy() for a in alike))
        counted = exp.cast(exp.Sum(this=column(_ROWS, "s")), "BIGINT")
    each = count_each(rows.subquery("s"), keys, [aliased(counted, _ROWS)])
    return exp.Select(expressions=[column("ppdm_set", "g"), column(_ROWS, "g"), *values]).from_(each.subquery("g"))
