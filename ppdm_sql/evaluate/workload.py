"""The analysts' own queries, asked of the raw rows and of the release: how far the answers are apart.

A workload is a file of queries that read one relation, which they call `data`.  Each is run twice, with `data` the raw
rows and with `data` the release; nothing of it is stored.

    figures   a query that aggregates: |released - raw| / |raw|, the mean over its figures (0 / 0 is 0, x / 0 is 1)
    groups    one with GROUP BY: the same over the figures of all groups of the raw answer, a group that the release
              does not have counting 1; recall is the share of groups that are still there, precision the share of
              the release's groups that are true
    rows      any other: recall and precision of its rows, each counted as often as it comes; the error is 1 - recall

A query that the release cannot answer at all (the mean of a column that became labels) has error 1 and recall 0.
Group keys are compared by what is printed: 34 and '34' are one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from ppdm_sql.engines.base import Engine, Row
from ppdm_sql.errors import EngineError, Mistake, PolicyError
from ppdm_sql.policy.policy import Place
from ppdm_sql.policy.query import Work, check_query
from ppdm_sql.policy.reader import Reader, Report, UnreadablePolicyError, brackets
from ppdm_sql.policy.script import statements
from ppdm_sql.policy.tokens import Token, source_of, tokenize
from ppdm_sql.source.leaves import leaf_text
from ppdm_sql.statements.names import Name

DATA = "data"  # what queries call the relation
MOST_LINES = 100_000  # of one answer
_FIRST_WORDS = ("SELECT", "WITH", "FROM", "(")

Shape = Literal["figures", "groups", "rows"]


@dataclass(frozen=True)
class Query:
    """One query of a workload; numbers count from 1."""

    number: int
    text: str
    place: Place

    def fails(self, message: str) -> PolicyError:
        """The error that names this query and where it starts; what it says is not repeated."""
        told = Mistake(f"query {self.number}: {message}", self.place.line, self.place.column)
        return PolicyError(told, file=self.place.file)


@dataclass(frozen=True)
class QueryError:
    """How far the release's answer to a query is from the raw one."""

    number: int
    place: Place
    shape: Shape
    answered: bool  # the release could be asked
    error: Fraction
    recall: Fraction | None = None
    precision: Fraction | None = None


# -- reading -------------------------------------------------------------------------------------------------


def read_workload(path: str | Path, *, dialect: str = "duckdb") -> list[Query]:
    """The queries of a file, which is UTF-8; PolicyError names the query and the place of every mistake."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or "it is not UTF-8"
        raise PolicyError(f"the file of queries cannot be read: {reason}", file=str(path)) from cause
    found = queries_of(text, dialect=dialect, file=str(path))
    if not found:
        raise PolicyError("the file contains no query", file=str(path))
    return found


def queries_of(text: str, *, dialect: str = "duckdb", file: str | None = None) -> list[Query]:
    r"""The queries of a text, each checked: it only reads.

    >>> [query.place.line for query in queries_of("SELECT COUNT(*) FROM data;\n\nSELECT 1 FROM data")]
    [1, 3]
    """
    source = source_of(text, file)
    known = sqlglot.Dialect.get_or_raise(dialect)
    found: list[Query] = []
    mistakes: list[Mistake] = []
    work = Work()
    for number, tokens in enumerate(statements(tokenize(source, known)), start=1):
        report = Report(source)
        try:
            checked = _check_query(report, tokens, known, work)
            found.append(Query(number, checked, source.place(tokens[0].start)))
        except UnreadablePolicyError:
            pass
        mistakes += [Mistake(f"query {number}: {one.message}", one.line, one.column) for one in report.all_mistakes()]
    if mistakes:
        raise PolicyError(*mistakes, file=file)
    return found


def _check_query(report: Report, tokens: list[Token], dialect: sqlglot.Dialect, work: Work) -> str:
    reader = Reader(report, tokens, brackets(tokens, report))
    if tokens[0].text.upper() not in _FIRST_WORDS:
        reader.fail("a workload can contain only queries, starting with SELECT, WITH, FROM or a bracket")
    return check_query(reader, dialect, work)


# -- asking ----------------------------------------------------------------------------------------------------


def workload_error(engine: Engine, queries: Sequence[str | Query], raw: Name, released: Name) -> list[QueryError]:
    """The queries asked of both relations.  All are checked before one is run."""
    asked = [query for one in queries for query in _as_queries(engine, one)]
    if any(isinstance(one, str) for one in queries):
        asked = [Query(number, one.text, one.place) for number, one in enumerate(asked, start=1)]
    return errors_of(engine, true_answers(engine, asked, raw), released)


@dataclass(frozen=True)
class Answered:
    """A query with what the raw rows answer."""

    query: Query
    rows: list[Row]


def true_answers(engine: Engine, queries: Sequence[Query], raw: Name) -> list[Answered]:
    """The queries asked of the raw rows; PolicyError for one that cannot be.  All are checked before one is run."""
    trees = [_bind_query(engine, query, raw) for query in queries]
    found = []
    for query, tree in zip(queries, trees, strict=True):
        try:
            found.append(Answered(query, _answer(engine, query, tree)))
        except EngineError as cause:
            raise query.fails("it fails on the raw data") from cause
    return found


def errors_of(engine: Engine, asked: Sequence[Answered], released: Name) -> list[QueryError]:
    """The same queries asked of a release."""
    return [_compare_answers(engine, one, _bind_query(engine, one.query, released)) for one in asked]


def mean_error(found: Sequence[QueryError]) -> Fraction:
    """Over all queries; one without an answer counts 1."""
    return _mean([one.error for one in found])


def answered_share(found: Sequence[QueryError]) -> Fraction:
    """The share of queries that the release could be asked."""
    return _share(sum(one.answered for one in found), len(found))


def _as_queries(engine: Engine, one: str | Query) -> list[Query]:
    return queries_of(one, dialect=engine.dialect) if isinstance(one, str) else [one]


def _bind_query(engine: Engine, query: Query, relation: Name) -> exp.Query:
    tree = sqlglot.parse_one(query.text, dialect=engine.dialect)
    assert isinstance(tree, exp.Query)
    return _over(query, tree, relation)


def _over(query: Query, tree: exp.Query, relation: Name) -> exp.Query:
    """The query with `data` replaced; whatever else it reads is refused."""
    bound: list[exp.Expr] = []
    for scope in traverse_scope(tree):
        for name, node in scope.references:
            source = scope.sources[name]
            if isinstance(source, exp.Table):
                _check_table(query, source)
                alias = source.args.get("alias") or exp.TableAlias(this=exp.to_identifier(name))
                node = _alias_table(relation, alias)
                source.replace(node)
            bound.append(node)
    seen = {id(node) for node in bound}
    if any(id(table) not in seen for table in tree.find_all(exp.Table)):
        raise query.fails(f"it reads something other than {DATA}")
    return tree


def _check_table(query: Query, table: exp.Table) -> None:
    word = table.this
    plain = isinstance(word, exp.Identifier) and not table.args.get("db") and not table.args.get("catalog")
    if not plain or (word.name if word.quoted else word.name.lower()) != DATA:
        raise query.fails(f"it reads something other than {DATA}, the only table of a workload")


def _alias_table(relation: Name, alias: exp.TableAlias) -> exp.Table:
    table = relation.table()
    table.set("alias", alias.copy())
    return table


def _compare_answers(engine: Engine, asked: Answered, released: exp.Query) -> QueryError:
    query, truth, keys = asked.query, asked.rows, _keys(released)
    shape: Shape = "rows" if keys is None else "groups" if keys else "figures"
    try:
        told = _answer(engine, query, released)
    except (EngineError, PolicyError):  # it fails, or returns more lines than are compared
        return _no_answer(query, shape)
    if truth and told and len(truth[0]) != len(told[0]):  # COLUMNS(*), and a column that is not published
        return _no_answer(query, shape)
    if keys is None:
        return _rows_error(query, truth, told)
    if not keys:
        errors = [_error(*pair) for row, other in zip_longest(truth, told) for pair in _side_by_side(row, other)]
        return QueryError(query.number, query.place, shape, True, _mean(errors))
    return _groups_error(query, truth, told, keys)


def _no_answer(query: Query, shape: Shape) -> QueryError:
    none = None if shape == "figures" else Fraction(0)
    return QueryError(query.number, query.place, shape, False, Fraction(1), none, none)


def _side_by_side(row: Row | None, other: Row | None) -> Iterable[tuple[object, object]]:
    """The figures of two answers; HAVING can leave one of them without a line."""
    if row is None or other is None:
        return [(0, 1)]
    return zip(row, other, strict=True)


def _answer(engine: Engine, query: Query, tree: exp.Query) -> list[Row]:
    found = engine.pass_through(engine.render(tree), limit=MOST_LINES + 1)
    rows = [] if found is None else list(found.rows)
    if len(rows) > MOST_LINES:
        raise query.fails(f"its answer has more than {MOST_LINES:,} rows: aggregate more")
    return rows


# -- comparing -------------------------------------------------------------------------------------------------


def _keys(tree: exp.Query) -> tuple[int, ...] | None:
    """The places of the group keys in the answer; () for figures alone, None for a query that lists rows."""
    if not isinstance(tree, exp.Select) or tree.args.get("distinct") is not None:
        return None
    parts = [part.this if isinstance(part, exp.Alias) else part for part in tree.expressions]
    if any(part.is_star for part in parts):
        return None
    aggregates = [_aggregates(part) for part in parts]
    group = tree.args.get("group")
    if group is None:
        return () if any(aggregates) else None
    named = [part.alias_or_name for part in tree.expressions]
    keys = []
    for place, part in enumerate(parts):
        by_name = any(isinstance(key, exp.Column) and not key.table and key.name == named[place] for key in group)
        by_number = any(key.is_int and int(key.name) == place + 1 for key in group.expressions)
        listed = part in group.expressions or by_number or (by_name and not aggregates[place])
        if listed or (not group.expressions and not aggregates[place]):
            keys.append(place)
    return tuple(keys)


def _aggregates(part: exp.Expr) -> bool:
    """Whether it is a figure over rows; a window's is a figure of each row."""
    return any(not isinstance(found.parent, exp.Window) for found in part.find_all(exp.AggFunc))


def _groups_error(query: Query, truth: Sequence[Row], told: Sequence[Row], keys: Sequence[int]) -> QueryError:
    figures = [place for place in range(len(truth[0]) if truth else 0) if place not in keys]
    before, after = ({_key(row, keys): row for row in rows} for rows in (truth, told))
    errors = [
        _error(row[place], after[key][place]) if key in after else Fraction(1)
        for key, row in before.items()
        for place in figures
    ]
    there = len(before.keys() & after.keys())
    recall, precision = _share(there, len(before)), _share(there, len(after))
    error = _mean(errors) if errors else 1 - recall
    return QueryError(query.number, query.place, "groups", True, error, recall, precision)


def _rows_error(query: Query, truth: Sequence[Row], told: Sequence[Row]) -> QueryError:
    before, after = (Counter(_key(row, range(len(row))) for row in rows) for rows in (truth, told))
    there = (before & after).total()
    recall, precision = _share(there, before.total()), _share(there, after.total())
    return QueryError(query.number, query.place, "rows", True, 1 - recall, recall, precision)


def _key(row: Row, places: Iterable[int]) -> tuple[str | None, ...]:
    return tuple(None if row[place] is None else _value_text(row[place]) for place in places)


def _value_text(value: object) -> str:
    try:
        return leaf_text(value)
    except TypeError:  # a list, a time: as Python writes it
        return str(value)


def _error(truth: object, told: object) -> Fraction:
    """The relative error of a figure; of anything but numbers 0 when it is the same, else 1."""
    one, other = _number(truth), _number(told)
    if one is None or other is None:
        return Fraction(0 if _key((truth,), [0]) == _key((told,), [0]) else 1)
    if one == other:
        return Fraction(0)
    return abs(other - one) / abs(one) if one else Fraction(1)


def _number(value: object) -> Fraction | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        return Fraction(value)
    except (ValueError, OverflowError):  # NaN, infinite
        return None


def _mean(errors: Sequence[Fraction]) -> Fraction:
    return sum(errors, Fraction(0)) / len(errors) if errors else Fraction(0)


def _share(part: int, whole: int) -> Fraction:
    return Fraction(part, whole) if whole else Fraction(1)
