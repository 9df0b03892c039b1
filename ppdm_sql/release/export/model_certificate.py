"""What goes with a model file: the certificate for a recipient, and the audit for anyone who has the source.

A recipient has the file and no people.  From its counts he can tell what the tests that everybody can follow
promise: the people of a node that public tests alone lead to are as many as the file says.  Where public tests come
below private ones the groups are finer, and only the source can tell.  So there are two files of plain SQL:

    <name>.json.certificate.sql   reads <name>.json in a bare DuckDB; every row it prints must say 'holds', or, where
                                  the groups are finer, that the counts fit and the audit decides
    <name>.json.audit.sql         the groups that an attacker can form among the people of ppdm_source; it
                                  must return no row
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.checks.breaches import breach_query
from ppdm_sql.checks.measure import Sensitive
from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.engines.connect import open_engine
from ppdm_sql.release.export.certificate import proof, sql_of
from ppdm_sql.release.export.open_file import RELEASE
from ppdm_sql.requirements import About, Requirement, requirements_about, text_is_about
from ppdm_sql.statements.handed_over import comment
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import aliased, column, identifier, stand_in
from ppdm_sql.statements.steps import Steps
from ppdm_sql.trees.tree import Tree
from ppdm_sql.trees.tree_json import tree_to_dict
from ppdm_sql.verify.relation import SensitiveColumn, measuring_statements
from ppdm_sql.verify.spans import reached_nodes

_COUNTS, _GROUPS, _SPANS, _SOURCE = (stand_in(word) for word in ("counts", "groups", "spans", "source"))
_PERSON = "ppdm_person"
_GROUP, _CLASS, _SPAN = "ppdm_group", "ppdm_class", "ppdm_span"
_HOLDS, _OPEN = "holds", "counts fit; the audit decides"
_TOLERANCE = 1e-9  # of an entropy: a class nearer to the bound than this passes


def model_certificate(
    record: ReleaseRecord, tree: Tree, asked: Sequence[Requirement], *, file: str, sha256: str
) -> str:
    """The text of <name>.json.certificate.sql."""
    public, known = _public(record), _class_is_public(record)
    told = record.roles.target in record.roles.sensitive
    unbroken = _OPEN if _has_finer_groups(tree, public) else _HOLDS
    groups = {leaf.number: _group(tree, leaf.number, public) for leaf in tree.leaves}
    with open_engine(":memory:") as engine:
        counts = _bind(statement("release/model_counts"), {"file": file})
        members = _members(groups)
        engine.create_table(RELEASE, _empty(), temporary=True)  # the statements look its columns up
        proofs = [
            proof(engine, str(asks), "", query, params, not asks.decided_in_sql, unbroken=unbroken)
            for asks, _, query, params in measuring_statements(
                engine,
                RELEASE,
                quasi=[_GROUP, _CLASS] if known else [_GROUP],
                sensitive=[SensitiveColumn(_CLASS, Kind.INTEGER)],
                requirements=asked if told else requirements_about(asked, About.SIZE),
            )
        ]
    sums = statement("release/model_sums", {"counts": _COUNTS.table()})
    parts = [
        _head(record, tree, public, file),
        sql_of(_bind(statement("release/model_file"), {"file": file, "sha256": sha256})),
        sql_of(_temporary(_COUNTS.table(), counts)),
        sql_of(_bind(sums, {"rows": tree.root.rows})),
        sql_of(_temporary(_GROUPS.table(), members)),
        sql_of(_temporary(RELEASE.table(), _people())),
        *proofs,
    ]
    return "\n\n".join(parts) + "\n"


def _head(record: ReleaseRecord, tree: Tree, public: Collection[str], file: str) -> str:
    known = sorted({*public, str(record.roles.target)} if _class_is_public(record) else public)
    names, finer = ", ".join(known) or "none", _has_finer_groups(tree, public)
    certificate_file = f"{file}.certificate.sql"
    lines = [
        f"Certificate of model {record.stated_name} ({record.release_id})",
        f"    duckdb < {shlex.quote(certificate_file)}        (in the folder of the file)",
        f"Every row it prints must say '{_HOLDS}'{f', or {_OPEN!r}' if finer else ''}.",
        f"Columns that the attacker is assumed to know: {names}",
    ]
    if finer:
        lines += [
            "Some tests on columns the attacker knows come below tests on columns the attacker does not know, so the "
            "groups",
            f"are finer than those counted here. {file}.audit.sql counts them, on the source.",
        ]
    if record.roles.counts_entities:
        lines.append("k was measured by persons; the counts here can only show that it also holds by rows.")
    hidden = [name for name in record.roles.sensitive if name != record.roles.target]
    if hidden and any(text_is_about(asked, About.VALUES) for asked in record.requirements):
        lines.append(f"The counts cannot show the requirements on {', '.join(hidden)}: {file}.audit.sql does.")
    risks = record.manifest.residual_risks
    lines += [f"Not promised: {name}: {' '.join(text.split())}" for name, text in risks.items()]
    lines += [f"Accepted: joint: {text}" for text in record.manifest.joint_breaches]
    return comment(lines)


def _public(record: ReleaseRecord) -> set[str]:
    return {name for name in record.roles.quasi if name != record.roles.target}


def _class_is_public(record: ReleaseRecord) -> bool:
    return record.roles.target in record.roles.quasi


def _asks(tree: Tree, number: int, public: Collection[str]) -> bool | None:
    """Whether a node asks about a public column; None: it is a leaf."""
    split = tree.nodes[number].split
    return None if split is None else tree.attributes[split.attribute].name in public


def _group(tree: Tree, leaf: int, public: Collection[str]) -> int:
    """The node on the way to a leaf that is the last one which public tests alone lead to."""
    way = [leaf]
    while (parent := tree.nodes[way[-1]].parent) is not None:
        way.append(parent)
    return next(number for number in reversed(way) if not _asks(tree, number, public))


def _has_finer_groups(tree: Tree, public: Collection[str]) -> bool:
    """Whether some public test is below a private one."""
    below = [False] * len(tree.nodes)
    for node in tree.nodes:  # a child's number is greater than its parent's
        asks = _asks(tree, node.number, public)
        if asks and below[node.number]:
            return True
        for child in node.children:
            below[child] = below[node.number] or asks is False
    return False


# -- the counts as people ----------------------------------------------------------------------------------


def _members(groups: Mapping[int, int]) -> exp.Select:
    rows = [exp.Tuple(expressions=[exp.Literal.number(leaf), exp.Literal.number(to)]) for leaf, to in groups.items()]
    names = ["ppdm_number", _GROUP]
    listed = exp.Values(
        expressions=rows, alias=exp.TableAlias(this=identifier("v"), columns=[identifier(name) for name in names])
    )
    return exp.Select(expressions=[aliased(exp.cast(column(name), "BIGINT"), name) for name in names]).from_(listed)


def _people() -> exp.Select:
    """One row per row that the model was learned from: its group and the number of its class."""
    times = exp.Anonymous(this="range", expressions=[column("ppdm_rows", "c")])
    rows = exp.Select(
        expressions=[
            column(_GROUP, "g"),
            column(_CLASS, "c"),
            aliased(exp.Anonymous(this="unnest", expressions=[times]), "ppdm_turn"),
        ]
    )
    same = exp.EQ(this=column("ppdm_number", "g"), expression=column("ppdm_number", "c"))
    rows = rows.from_(_COUNTS.table("c")).join(_GROUPS.table("g"), on=same)
    return exp.Select(expressions=[column(_GROUP), column(_CLASS)]).from_(rows.subquery("p"))


def _empty() -> exp.Select:
    nothing = [aliased(exp.cast(exp.Literal.number(0), "BIGINT"), name) for name in (_GROUP, _CLASS)]
    return exp.Select(expressions=nothing).where(exp.false())


# -- the audit ---------------------------------------------------------------------------------------------


def model_audit(engine: Engine, record: ReleaseRecord, tree: Tree, asked: Sequence[Requirement]) -> str:
    """The text of <name>.json.audit.sql, in the dialect of the database that has the source."""
    by_person = record.roles.counts_entities
    read_as_value = record.roles.null_value_columns
    counting = {place for place, name in enumerate(record.roles.sensitive) if name in read_as_value}
    spans = _span_query(engine, record, tree, by_person=by_person)
    checks = [
        _breaches(engine, requirement, spans, place, told, by_person=by_person, nulls_as_value=place in counting)
        for requirement in asked
        for place, told in _told_by(record, requirement)
    ]
    needed = sorted({*_public(record), str(record.roles.target), *record.roles.sensitive})
    head = [
        f"Audit of model {record.stated_name} ({record.release_id})",
        "For those who have the source: the groups of its people that an attacker can form with the model.",
        f"Make the rows of the policy's query readable as ppdm_source, with the columns {', '.join(needed)}"
        + (f", and the person as {_PERSON}." if by_person else "."),
        "Every SELECT returns the groups that break a requirement; no row means that it holds.  Nothing is written.",
    ]
    return "\n\n".join([comment(head), *checks]) + "\n"


def _span_query(engine: Engine, record: ReleaseRecord, tree: Tree, *, by_person: bool) -> exp.Select:
    told = engine.exact_text(exp.cast(column(str(record.roles.target), "r"), "TEXT"))
    steps = Steps("r")
    span = reached_nodes(engine, tree_to_dict(tree), _public(record), steps)
    if _class_is_public(record):
        known = exp.Coalesce(this=told.copy(), expressions=[exp.Literal.string("")])
        span = exp.DPipe(
            this=exp.DPipe(this=exp.Paren(this=span), expression=exp.Literal.string("| ")), expression=known
        )
    picked: list[exp.Expr] = [aliased(span, _SPAN)]
    for place, name in enumerate(record.roles.sensitive):
        picked.append(aliased(engine.exact_text(exp.cast(column(name, "r"), "TEXT")), _secret(place)))
    if by_person:
        picked.append(column(_PERSON, "r"))
    return steps.over(exp.Select(expressions=picked), _SOURCE.table())


def _secret(place: int) -> str:
    return f"ppdm_sensitive_{place}"


def _told_by(record: ReleaseRecord, requirement: Requirement) -> list[tuple[int | None, str]]:
    """The sensitive columns that a requirement is about, with their places; of k none."""
    if requirement.about is not About.VALUES:
        return [(None, str(requirement))]
    return [(place, f"{requirement} on {name}") for place, name in enumerate(record.roles.sensitive)]


def _breaches(
    engine: Engine,
    requirement: Requirement,
    spans: exp.Select,
    place: int | None,
    told: str,
    *,
    by_person: bool,
    nulls_as_value: bool,
) -> str:
    """The groups that break a requirement on a sensitive column, or k."""

    def text(called: str) -> ColumnInfo:
        return ColumnInfo(called, Kind.TEXT, "TEXT")

    sensitive = None if place is None else Sensitive(text(_secret(place)), nulls_as_value=nulls_as_value)
    person = text(_PERSON) if by_person and place is None else None
    quasi = [text(_SPAN)]
    query, params = breach_query(engine, _SPANS, requirement, quasi=quasi, sensitive=sensitive, entity=person)
    if not requirement.decided_in_sql:
        params["tolerance"] = _TOLERANCE
    query = _bind(query, params).with_(identifier(_SPANS.last), as_=spans.copy(), copy=False)
    parts = query.args["with_"].expressions
    parts.insert(0, parts.pop())  # the others read it
    return f"{comment([told])}\n{sql_of(query, engine.dialect)}"


def _bind(query: exp.Query, params: Mapping[str, Any]) -> exp.Query:
    """The statement with its parameters written in."""
    query = query.copy()
    for hole in list(query.find_all(exp.Parameter, exp.Placeholder)):
        hole.replace(exp.convert(params[hole.name]))
    return query


def _temporary(name: exp.Table, query: exp.Query) -> exp.Create:
    kept = exp.Properties(expressions=[exp.TemporaryProperty()])
    return exp.Create(this=name, kind="TABLE", replace=True, properties=kept, expression=query)
