"""Rows dealt into parts of equal size, by seed, in the database: hold-out, k-fold, 5x2 halves, several sources.

A row's place is the rank of a keyed hash of its text and of its occurrence among equal rows.  So equal rows are
dealt like any others, nothing depends on the order in which the engine hands rows out, and the parts are the same
on every engine that prints the values alike (text, integers, decimals, booleans, dates; see verify/content.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.statements.names import Name, aliased, column, lacks
from ppdm_sql.statements.rowtext import hash_numbers

FOLD = "ppdm_fold"
_FIRST, _SECOND, _OCCURRENCE = "ppdm_first", "ppdm_second", "ppdm_occurrence"
REPEATS = 5  # of the 5x2 protocol


def deal(
    engine: Engine,
    relation: Name,
    into: Name,
    *,
    parts: int,
    seed: int,
    repeat: int = 0,
    by: Sequence[str] = (),
) -> None:
    """Stores every column of a relation, and FOLD 0 .. parts - 1 with them, in a working table.

    by: rows that are equal in these columns (a person's) stay together; the parts then have equally many of these
    groups, give or take one, instead of equally many rows.
    """
    if parts < 1:
        raise PolicyError(f"the number of parts must be at least 1, not {parts}")
    names = [info.name for info in engine.columns(relation)]
    if not names:
        raise PolicyError(f"relation {relation} does not exist")
    strange = [name for name in by if name not in names]
    if strange:
        raise PolicyError(f'{lacks(relation)} "{strange[0]}" to keep together')
    salt = f"fold {seed} {repeat}"
    hashed = hash_numbers(engine, [column(name, "r") for name in (by or names)], salt=salt)
    rows = exp.Select(expressions=[column(name, "r") for name in names]).from_(relation.table("r"))
    rows = rows.select(*(aliased(one, name) for one, name in zip(hashed, (_FIRST, _SECOND), strict=True)))
    query = _ranked_groups(rows, names, parts) if by else _ranked_rows(engine, rows, names, parts, salt)
    engine.create_table(into, query, temporary=True)
    engine.analyze(into)


def _ranked_rows(engine: Engine, rows: exp.Select, names: Sequence[str], parts: int, salt: str) -> exp.Select:
    """Equal rows get hashes of their own by their occurrence: else their ranks would be neighbours."""
    marks = [column(_FIRST, "h"), column(_SECOND, "h")]
    occurrence = exp.Window(
        this=exp.RowNumber(), partition_by=marks, order=exp.Order(expressions=[exp.Ordered(this=marks[0].copy())])
    )
    counted = _pass_columns(rows, "h", [*names, _FIRST, _SECOND]).select(aliased(occurrence, _OCCURRENCE))
    again = hash_numbers(engine, [column(name, "o") for name in (_FIRST, _SECOND, _OCCURRENCE)], salt=salt)
    order = [exp.Ordered(this=part) for part in (*again, column(_OCCURRENCE, "o"))]
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
    return _pass_columns(counted, "o", names).select(aliased(_part(place, parts), FOLD))


def _ranked_groups(rows: exp.Select, names: Sequence[str], parts: int) -> exp.Select:
    order = [exp.Ordered(this=column(name, "h")) for name in (_FIRST, _SECOND)]
    place = exp.Window(this=exp.Anonymous(this="DENSE_RANK"), order=exp.Order(expressions=order))
    return _pass_columns(rows, "h", names).select(aliased(_part(place, parts), FOLD))


def _pass_columns(inner: exp.Select, alias: str, names: Sequence[str]) -> exp.Select:
    return exp.Select(expressions=[column(name, alias) for name in names]).from_(inner.subquery(alias, copy=False))


def _part(place: exp.Expr, parts: int) -> exp.Expr:
    from_zero = exp.Paren(this=exp.Sub(this=place, expression=exp.Literal.number(1)))
    return exp.cast(exp.Mod(this=from_zero, expression=exp.Literal.number(parts)), "INT")


def train_and_test(engine: Engine, dealt: Name, fold: int, *, train: Name, test: Name, columns: Sequence[str]) -> None:
    """Two working tables with these columns: the rows of one part to test with, all others to learn from."""
    here = exp.EQ(this=column(FOLD), expression=exp.Literal.number(fold))
    for name, condition in ((train, exp.Not(this=here)), (test, here)):
        picked = exp.Select(expressions=[column(each) for each in columns]).from_(dealt.table())
        engine.create_table(name, picked.where(condition.copy()), temporary=True)
        engine.analyze(name)


def folds(
    engine: Engine,
    relation: Name,
    *,
    parts: int,
    seed: int,
    train: Name,
    test: Name,
    columns: Sequence[str],
    repeats: int = 1,
    by: Sequence[str] = (),
) -> Iterator[tuple[int, int]]:
    """Makes train and test for every repeat and part in turn, and gives (repeat, part)."""
    work = engine.work
    dealt = work.name("dealt")
    for repeat in range(repeats):
        deal(engine, relation, dealt, parts=parts, seed=seed, repeat=repeat, by=by)
        for fold in range(parts):
            train_and_test(engine, dealt, fold, train=train, test=test, columns=columns)
            yield repeat, fold
    work.drop(dealt)


def halves(
    engine: Engine,
    relation: Name,
    *,
    seed: int,
    train: Name,
    test: Name,
    columns: Sequence[str],
    repeats: int = REPEATS,
    by: Sequence[str] = (),
) -> Iterator[tuple[int, int]]:
    """The 5x2 protocol: five times two halves, each once the one to learn from; gives (repeat, half to test with)."""
    return folds(engine, relation, parts=2, seed=seed, train=train, test=test, columns=columns, repeats=repeats, by=by)


def hold_out(
    engine: Engine, relation: Name, *, parts: int, seed: int, train: Name, test: Name, columns: Sequence[str]
) -> None:
    """One part of so many to test with, once."""
    dealt = engine.work.name("dealt")
    deal(engine, relation, dealt, parts=parts, seed=seed)
    train_and_test(engine, dealt, 0, train=train, test=test, columns=columns)
    engine.work.drop(dealt)


def sources(
    engine: Engine, relation: Name, *, number: int, seed: int, repeat: int = 0, columns: Sequence[str]
) -> list[Name]:
    """A relation dealt evenly to so many sources, one working table each."""
    dealt = engine.work.name("dealt")
    deal(engine, relation, dealt, parts=number, seed=seed, repeat=repeat)
    found = []
    for place in range(number):
        mine = exp.EQ(this=column(FOLD), expression=exp.Literal.number(place))
        picked = exp.Select(expressions=[column(each) for each in columns]).from_(dealt.table()).where(mine)
        found.append(engine.work.table("dealt_source", picked, analyze=True))
    engine.work.drop(dealt)
    return found
