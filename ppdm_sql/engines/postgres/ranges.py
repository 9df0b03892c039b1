"""PostgreSQL's range types."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.engines.columns import ColumnInfo, Kind
from ppdm_sql.engines.ranges import NativeRanges

# Their ranges are written [a,b) whatever they were made from; the others keep [a,a] for a value by itself.
_STEPPED = ("int4range", "int8range", "daterange")
_TYPES = (*_STEPPED, "numrange", "tsrange", "tstzrange")


class PostgresRanges(NativeRanges):
    """There are none of floating point numbers."""

    def type_of(self, info: ColumnInfo) -> str | None:
        declared = info.declared.upper()
        if info.kind is Kind.INTEGER:
            return "int8range" if declared in ("BIGINT", "INT8") else "int4range"
        if info.kind is Kind.TIMESTAMP:
            return "tstzrange" if "WITH TIME ZONE" in declared or declared == "TIMESTAMPTZ" else "tsrange"
        return {Kind.DECIMAL: "numrange", Kind.DATE: "daterange"}.get(info.kind)

    def has_type(self, declared: str) -> bool:
        return declared.lower() in _TYPES

    def make(self, info: ColumnInfo, low: exp.Expr, stop: exp.Expr, kind: exp.Expr) -> exp.Expr:
        name = self.type_of(info)
        assert name is not None  # else the policy is refused
        found = exp.Case().when(exp.Is(this=kind, expression=exp.Null()), exp.Null())
        if name not in _STEPPED:
            alone = exp.Anonymous(this=name, expressions=[low.copy(), low.copy(), exp.Literal.string("[]")])
            found = found.when(exp.EQ(this=kind.copy(), expression=exp.Literal.string("exact")), alone)
        return found.else_(exp.Anonymous(this=name, expressions=[low, stop]))

    def ends(self, value: exp.Expr) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
        low, stop, closed = (
            exp.Anonymous(this=name, expressions=[value.copy()]) for name in ("lower", "upper", "upper_inc")
        )
        return low, stop, closed
