"""A live view: the source as it is now, recoded by the rules of a release, its classes measured at every read.

    ppdm.ppdm_live_source_<id>    view    the statement's query, its tables by their full names
    ppdm.ppdm_live_rule<n>_<id>   table   what the values of one column are shown as
    ppdm.ppdm_live_rows_<id>      view    the rows recoded, without those of a class that breaks a requirement now
    ppdm.ppdm_live_shown_<id>     view    the published columns of it, one by one, in keyed-hash order; with a function
                                          of the same name in front of it, where the engine has walls
    the release's name            view    what people read: the same columns, through that function

Without the function a plan of the reader reveals what is hidden: a comparison that PostgreSQL knows to be harmless is
run below every security barrier, and EXPLAIN ANALYZE counts the rows it met.  Where an engine has no walls (and no
roles either) the release's name is the view of the published columns itself.

The classes are found by the statements of sql/checks/: a check returns breaches, and what is breached is not shown.
It takes two layers (recode, then count and filter), because a condition on a recoded column of the same name means
the raw one on some engines.  No text of a view holds a value of the source: those are in the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.optimizer.scope import traverse_scope

from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.checks.breaches import breach_query
from ppdm_sql.checks.measure import Sensitive
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.forms.form_tables import LABEL, FormedColumn, distinct_labels, label_text
from ppdm_sql.methods.live_rules import GROUP, SHOWN, ColumnRules, Live, takes
from ppdm_sql.methods.plan import ENTITY
from ppdm_sql.planning.staging import published_query
from ppdm_sql.policy.policy import Policy
from ppdm_sql.requirements import About, Requirement
from ppdm_sql.source.encode import canonical
from ppdm_sql.source.relation import Source
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import SCHEMA, Name, aliased, column, identifier, stand_in
from ppdm_sql.verify.content import content_hash

PREFIX = "ppdm_live_"
_RECODED = stand_in("recoded")
_UNSURE = (exp.Limit, exp.Fetch, exp.Offset, exp.TableSample, exp.Rand, exp.Randn, exp.Uuid)


def rows_name(release_id: str) -> Name:
    """The private view of what is shown, with the person of every row where the policy names one."""
    return Name(SCHEMA, f"{PREFIX}rows_{release_id}")


# -- making ----------------------------------------------------------------------------------------------


def build_rows(
    engine: Engine,
    release_id: str,
    query: str,
    source: Source,
    policy: Policy,
    live: Live,
    forms: Mapping[str, FormedColumn],
) -> Name:
    """The rules and the two private views; gives the one that shows what may be shown."""
    if not engine.secures_views:
        raise PolicyError(
            "a LIVE view needs secure views, which a file made for DuckDB 1.x does not have: publish a VIEW without "
            "LIVE, or copy the database into a file of storage version v2.0.0"
        )
    origin = Name(SCHEMA, f"{PREFIX}source_{release_id}")
    engine.create_view(origin, _lasting(engine, query))
    tables = {}
    for number, (name, rules) in enumerate(live.rules.items()):
        tables[name] = Name(SCHEMA, f"{PREFIX}rule{number}_{release_id}")
        engine.create_table(tables[name], _rule_query(engine, rules, forms.get(name)))
        engine.analyze(tables[name])
    recoded = _recoding_query(engine, origin, source, live, tables, forms)
    shown = _guard_query(engine, source, policy.requirements, [_key(number) for number in range(len(tables))])
    rows = rows_name(release_id)
    engine.create_view(rows, shown.with_(identifier(_RECODED.last), as_=recoded))
    return rows


def build_view(engine: Engine, name: Name, release_id: str, columns: Sequence[str], seed: int) -> None:
    """What people read."""
    query = published_query(engine, rows_name(release_id), columns, seed)
    if engine.has_walls:
        engine.create_view(_shown_name(release_id), query)
        wall = engine.create_wall(_shown_name(release_id))
        wall.set("alias", exp.TableAlias(this=identifier("s")))
        query = exp.Select(expressions=[aliased(column(one, "s"), one) for one in columns]).from_(wall)
    engine.create_view(name, query, replace=True)


def let_read(engine: Engine, release_id: str, roles: Sequence[str]) -> None:
    """Who may read the view must be let through the wall behind it, too."""
    if engine.has_walls and roles:
        engine.open_wall(_shown_name(release_id), roles)


def lacks_wall(engine: Engine, release_id: str) -> bool:
    """Whether a live view was published before there were walls, so that a plan shows its readers what it hides."""
    return engine.has_walls and engine.wall_text(_shown_name(release_id)) is None


def _shown_name(release_id: str) -> Name:
    """The private view of the published columns, which has the wall in front of it."""
    return Name(SCHEMA, f"{PREFIX}shown_{release_id}")


def _lasting(engine: Engine, query: str) -> exp.Query:
    """The query with the schema of every table: inside schema ppdm a bare name could mean one of ours."""
    tree = parse_one(query, dialect=engine.dialect)
    assert isinstance(tree, exp.Query)
    unsure = tree.find(*_UNSURE)
    if unsure is not None:
        raise PolicyError(f"a LIVE view cannot use {unsure.key.upper()}: every read would return different rows")
    (schema,) = engine.fetch_one(statement("catalog/current_schema"))
    for table in _tables(tree):
        if table.args.get("db") is None and engine.relation_kind(Name(schema, table.name)) is not None:
            table.set("db", identifier(schema))
    return tree


def _tables(tree: exp.Expr) -> list[exp.Table]:
    """Tables proper: a name that a WITH defines is none."""
    found = {id(one): one for scope in traverse_scope(tree) for one in scope.sources.values()}
    return [one for one in found.values() if isinstance(one, exp.Table)]


def _key(number: int) -> str:
    return f"ppdm_g{number}"


def _rule_query(engine: Engine, rules: ColumnRules, formed: FormedColumn | None) -> exp.Select:
    """The rules of a column; of one with a form also what the form shows for each."""
    if formed is None:
        return rules.query.copy()
    bare = engine.work.table("rules", rules.query.copy())
    table = formed.load(engine, distinct_labels(engine, bare, SHOWN))
    query = exp.Select(expressions=[aliased(column(info.name, "s"), info.name) for info in engine.columns(bare)])
    values = formed.values(engine, "f").values()
    query = query.select(*(aliased(value, _form_name(number)) for number, value in enumerate(values)))
    same = exp.EQ(this=column(LABEL, "f"), expression=label_text(engine, SHOWN, "s"))
    return query.from_(bare.table("s")).join(table.table("f"), on=same, join_type="left")


def _form_name(number: int) -> str:
    return f"{SHOWN}_{number}"


def _recoding_query(
    engine: Engine,
    origin: Name,
    source: Source,
    live: Live,
    tables: Mapping[str, Name],
    forms: Mapping[str, FormedColumn],
) -> exp.Select:
    """First layer: every row that the rules take, as it would be shown, with the numbers of its groups."""
    alias = {name: f"g{number}" for number, name in enumerate(tables)}
    query = exp.Select()
    for name in source.published:
        if name in forms:
            query = query.select(*_form_columns(engine, live, alias, forms[name]))
        else:
            query = query.select(aliased(_label_expression(engine, source, live, alias, name), name))
    query = query.select(*(aliased(column(GROUP, one), _key(number)) for number, one in enumerate(alias.values())))
    if source.entity is not None:
        query = query.select(aliased(canonical(engine, source.info(source.entity), "r"), ENTITY))
    query = query.from_(origin.table("r"))
    for name, table in tables.items():
        taken = takes(engine, live.rules[name], column(name, "r"), alias[name])
        query = query.join(table.table(alias[name]), on=taken)
    return query


def _form_columns(engine: Engine, live: Live, alias: Mapping[str, str], formed: FormedColumn) -> list[exp.Expr]:
    if formed.name in live.constants:  # no tree looks at the column: it is suppressed in every row
        return [aliased(value, name) for name, value in formed.values(engine, None).items()]
    return [
        aliased(column(_form_name(number), alias[formed.name]), name) for number, name in enumerate(formed.published)
    ]


def _label_expression(engine: Engine, source: Source, live: Live, alias: Mapping[str, str], name: str) -> exp.Expr:
    if name in live.constants:
        return live.constants[name].copy()
    if name in alias:
        return column(SHOWN, alias[name])
    plain = column(name, "r")
    return engine.exact_text(plain) if source.info(name).kind is Kind.TEXT else plain


def _guard_query(
    engine: Engine, source: Source, requirements: Sequence[Requirement], keys: Sequence[str]
) -> exp.Select:
    """Second layer: the rows whose class breaks no requirement now."""
    beside = [ENTITY] if source.entity is not None else []
    query = exp.Select(expressions=[aliased(column(name, "s"), name) for name in (*source.release_columns, *beside)])
    query = query.from_(_RECODED.table("s"))
    for requirement in requirements:
        about = list(source.sensitive) if requirement.about is About.VALUES else [None]
        for name in about:
            query = query.where(exp.Not(this=exp.Exists(this=_breach_of_row(engine, source, requirement, name, keys))))
    return query


def _breach_of_row(
    engine: Engine, source: Source, requirement: Requirement, sensitive: str | None, keys: Sequence[str]
) -> exp.Select:
    """The class of a row, if it is among those that break a requirement."""
    counts_persons = requirement.about is About.SIZE and source.entity is not None
    text = ColumnInfo(ENTITY, source.info(source.entity).kind, "") if source.entity is not None else None
    query, given = breach_query(
        engine,
        _RECODED,
        requirement,
        quasi=[ColumnInfo(key, Kind.INTEGER, "INTEGER") for key in keys],
        sensitive=None
        if sensitive is None
        else Sensitive(source.info(sensitive), nulls_as_value=sensitive in source.nulls_as_value),
        entity=text if counts_persons else None,
    )
    for hole in list(query.find_all(exp.Parameter, exp.Placeholder)):  # a view takes no parameters
        hole.replace(exp.convert(given[hole.name]))
    broken = exp.Subquery(this=query, alias=exp.TableAlias(this=identifier("b")))
    same = [exp.EQ(this=column(key, "b"), expression=column(key, "s")) for key in keys]
    found = exp.Select(expressions=[exp.Literal.number(1)]).from_(broken)
    return found.where(*same) if same else found


# -- what belongs to it ----------------------------------------------------------------------------------


def parts(engine: Engine, release_id: str) -> list[Name]:
    """What lies behind a live view, what depends on others first."""
    order = {"shown": 0, "rows": 1, "source": 2}
    mine = [name for name in engine.relations(SCHEMA) if name.startswith(PREFIX) and name.endswith(f"_{release_id}")]
    mine.sort(key=lambda name: (order.get(name.removeprefix(PREFIX).split("_")[0], 3), name))
    return [Name(SCHEMA, name) for name in mine]


def drop_parts(engine: Engine, release_id: str) -> None:
    for name in parts(engine, release_id):
        if engine.relation_kind(name) == "view":
            engine.drop_wall(name)
            engine.drop_view(name)
        else:
            engine.drop_table(name)


def fingerprint(engine: Engine, name: Name, release_id: str) -> dict[str, Any]:
    """What every part says, so that a later edit of the view or of a rule is found."""
    return {one.last: _part_hash(engine, one) for one in parts(engine, release_id)} | {"view": _part_hash(engine, name)}


def _part_hash(engine: Engine, name: Name) -> str:
    text = engine.view_query(name)
    if text is not None:
        return sha256_of(text + (engine.wall_text(name) or ""))
    columns = [info.name for info in engine.columns(name)]
    if not columns:
        raise PpdmError(f"{name} does not exist")
    return content_hash(engine, name, columns)
