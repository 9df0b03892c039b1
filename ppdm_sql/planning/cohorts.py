"""What a growing release needs besides a plan: a key for every row, and the cohort in which a row leaves.

A cohort is the rows that are first published in the same night under the same labels.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ppdm_sql.engines.base import Engine, Kind
from ppdm_sql.errors import Mistake, NotAvailable, PolicyError
from ppdm_sql.methods import registry
from ppdm_sql.methods.plan import PART, TablePlan
from ppdm_sql.policy.policy import Publish
from ppdm_sql.policy.words import many
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement as sql_statement
from ppdm_sql.statements.names import aliased, column
from ppdm_sql.statements.rowtext import hash_numbers

ROW = ("ppdm_row0", "ppdm_row1")  # which row of the source it is, as two numbers
TOLD = "ppdm_told"  # everything that is published of it, before it was recoded, as a number: another one if it changed
QUICK = "ppdm_quick"  # key and all that as one quick number, which another version of the engine may make otherwise
COHORT = "ppdm_cohort"
_LACKING = "ppdm_lacking"


def with_row_key(engine: Engine, statement: Publish, source: Source) -> Source:
    """The source with the columns that tell its rows apart; refused where none do.

    These are those of KEY, else the first IDENTIFIER that no two rows share, else the ENTITY where everybody has a row.
    """
    if not engine.has_transactions:
        told = f"GROWING needs transactions, which {engine.title} does not have: rows and ledger must change together"
        raise NotAvailable(_placed(statement, told))
    if source.key:
        _refuse_repeated(engine, statement, source)
        return source
    candidates = [*((name,) for name in source.identifiers), *(((source.entity,),) if source.entity else ())]
    for one in candidates:
        found = replace(source, key=one)
        if not any(_repeated(engine, found)):
            return found
    tried = f" ({', '.join(name for one in candidates for name in one)} repeats)" if candidates else ""
    raise PolicyError(
        _placed(
            statement,
            f"GROWING needs a key to recognize published rows, and no IDENTIFIER or ENTITY is unique{tried}: name the "
            "columns that identify a row, as in KEY (visit_id)",
        )
    )


def _placed(statement: Publish, message: str) -> Mistake:
    place = statement.place
    return Mistake(message, place.line, place.column, place.file)


def _repeated(engine: Engine, source: Source) -> tuple[int, int]:
    """How many rows lack a key, and how many share one."""
    with engine.workspace() as work:
        keyed = work.table("keyed", keyed_rows(engine, source, ""))
        _, without, repeated = engine.fetch_one(
            sql_statement("release/growing_repeated_keys", {"keyed": keyed.table()})
        )
    return int(without), int(repeated)


def _refuse_repeated(engine: Engine, statement: Publish, source: Source) -> None:
    without, repeated = _repeated(engine, source)
    if not without and not repeated:
        return
    found = f"{many(without, 'row')} without one" if without else f"{many(repeated, 'row')} that share one"
    raise PolicyError(
        _placed(
            statement,
            f"KEY ({', '.join(source.key)}) must be unique, and there are {found}: add columns to the key, or exclude "
            "these rows in the SELECT",
        )
    )


def keyed_rows(engine: Engine, source: Source, salt: str) -> exp.Select:
    """Every row of a source by its key: as numbers, as its own columns (ppdm_k0, ...), and whether it has a NULL."""
    rows = {name: value for name, value in row_columns(engine, source, salt).items() if name in ROW or salt}
    lacking = exp.or_(*(exp.Is(this=column(name, "r"), expression=exp.Null()) for name in source.key))
    flag = exp.Case(ifs=[exp.If(this=lacking, true=exp.Literal.number(1))], default=exp.Literal.number(0))
    picked = [aliased(value, name) for name, value in rows.items()]
    picked += [aliased(column(name, "r"), key_column(place)) for place, name in enumerate(source.key)]
    return exp.Select(expressions=[*picked, aliased(flag, _LACKING)]).from_(source.relation.table("r"))


def key_column(place: int) -> str:
    """The column of a source's key, by its place there."""
    return f"ppdm_k{place}"


def row_columns(engine: Engine, source: Source, salt: str) -> dict[str, exp.Expr]:
    """The key of a row and what it says, as salted numbers over the alias "r" of the source."""
    row = hash_numbers(engine, [column(name, "r") for name in source.key], salt=salt)
    said = [name for name in source.columns if name not in source.key and name not in source.identifiers]
    told = hash_numbers(engine, [column(name, "r") for name in said], salt=salt)[0]
    every = [_hashed(source, name) for name in (*source.key, *said)]
    quick = engine.quick_hash([exp.Literal.string(salt), *every], 0)
    return {**dict(zip(ROW, row, strict=True)), TOLD: told, QUICK: quick}


def _hashed(source: Source, name: str) -> exp.Expr:
    """A value as it is hashed quickly; equal floats can print differently."""
    value = column(name, "r")
    return exp.cast(value, "TEXT") if source.info(name).kind is Kind.FLOAT else value


def with_cohorts(plan: TablePlan, statement: Publish, source: Source, first: int = 0) -> TablePlan:
    """A plan whose rows say in which cohort they leave; first: the number of the first one.

    Refused where the method cannot say what becomes of later rows.
    """
    if plan.later_rows is None:
        raise cannot_label_new_rows(statement)
    return replace(plan, query=numbered(plan.query, source, first))


def cannot_label_new_rows(statement: Publish) -> PolicyError:
    """A method, or its options or roles, by which later rows get no labels."""
    name = statement.policy.algorithm
    known = registry.growing_methods()
    options = ", with these options or roles," if name in known else ""
    method = registry.find_method(name)
    why = f": it {method.why_not_new_rows}" if method is not None and method.why_not_new_rows else ""
    told = f"GROWING: ALGORITHM {name}{options} cannot label rows that come later{why}; algorithms that can: "
    limits = " (mondrian: without ranges = extent; kadet: its TARGET is no quasi-identifier)"
    return PolicyError(_placed(statement, told + ", ".join(known) + limits))


def numbered(query: exp.Select, source: Source, first: int) -> exp.Select:
    """Rows with the number of their cohort; and once more under the name by which it is published, where it is."""
    picked: list[exp.Expr] = [column(name, "z") for name in query.named_selects]
    number = exp.Add(this=exp.cast(column(PART, "z"), "BIGINT"), expression=exp.Literal.number(first))
    picked.append(aliased(number, COHORT))
    if source.cohort is not None:
        picked.append(aliased(number.copy(), source.cohort))
    return exp.Select(expressions=picked).from_(query.subquery("z"))
