"""The certificate: plain SQL with which a recipient re-derives the guarantees, with a bare DuckDB.

The statements are those of sql/verify/, bound to the file's relation and with their thresholds written in.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog.manifest import Manifest
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.duckdb_files import attachment
from ppdm_sql.planning.manifest import recorded_readings
from ppdm_sql.release.export.open_file import DATABASE, RELEASE, release_query
from ppdm_sql.requirements import Requirement
from ppdm_sql.statements.handed_over import comment, statement_text
from ppdm_sql.statements.names import Name, aliased
from ppdm_sql.verify.content import content_query
from ppdm_sql.verify.relation import SensitiveColumn, measuring_statements


def certificate(
    engine: Engine,
    content: Manifest,
    *,
    form: str,
    file: str,
    table: str,
    asked: Sequence[Requirement],
    sensitive: Sequence[SensitiveColumn],
) -> str:
    """The text of <file>.certificate.sql."""
    quasi = content.policy.quasi_identifiers
    proofs = [
        proof(engine, str(requirement), column, query, params, not requirement.decided_in_sql)
        for requirement, column, query, params in measuring_statements(
            engine, RELEASE, quasi=quasi, sensitive=sensitive, requirements=asked
        )
    ]
    view = exp.Create(
        this=RELEASE.table(),
        kind="VIEW",
        replace=True,
        properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
        expression=release_query(file, form, table, content.columns),
    )
    parts = [
        _head(content, file),
        # Next to an empty database: what the file defines under the names of built-ins is not found.
        *([sql_of(attachment(file, DATABASE))] if form == "duckdb" else []),
        sql_of(view),
        *proofs,
        content_proof(engine, list(content.columns)),
    ]
    return "\n\n".join(parts) + "\n"


def _head(content: Manifest, file: str) -> str:
    policy = content.policy
    lines = [
        f"Certificate of release {content.release.name} ({content.release.id})",
        "Measures the promises of the manifest again, from the released rows alone:",
        f"    duckdb < {shlex.quote(f'{file}.certificate.sql')}        (in the folder of the file)",
    ]
    if content.pseudo_data is not None:
        lines += ["It prints one row, the hash of the rows, which must equal export.content_hash in the manifest."]
    else:
        lines += [
            "Every row it prints must say 'holds', and the last one must equal export.content_hash in the manifest.",
            f"Quasi-identifiers: {', '.join(policy.quasi_identifiers)}",
        ]
    lines += [f"{told}." for told in recorded_readings(content)]
    if policy.counts_entities:
        lines.append("k was measured by persons; the rows here can only show that it also holds by rows.")
    lines += [f"Not promised: {name}: {' '.join(text.split())}" for name, text in content.residual_risks.items()]
    lines += [f"Accepted: joint: {text}" for text in content.joint_breaches]
    return comment(lines)


def proof(
    engine: Engine,
    asked: str,
    column: str | None,
    query: exp.Query,
    params: Mapping[str, Any],
    in_doubt: bool,
    *,
    unbroken: str = "holds",
) -> str:
    """One row: the requirement, how many classes break it, and the verdict; unbroken: the one where no class does."""
    bound = query.copy()
    for hole in list(bound.find_all(exp.Parameter, exp.Placeholder)):
        hole.replace(exp.convert(params[hole.name]))
    classes, breach = exp.column("ppdm_classes"), exp.column("ppdm_breach")
    broken = exp.func("COALESCE", exp.Sum(this=_when(breach, classes)), exp.Literal.number(0))
    verdict = exp.Case()
    none = exp.EQ(this=exp.func("COUNT", exp.Star()), expression=exp.Literal.number(0))
    verdict = verdict.when(none, exp.Literal.string("BREACHED: there are no rows"))
    verdict = verdict.when(exp.GT(this=broken.copy(), expression=exp.Literal.number(0)), exp.Literal.string("BREACHED"))
    if in_doubt:  # floating point cannot tell a class that is exactly at the bound
        near = exp.GT(this=exp.func("COUNT", exp.Star()), expression=exp.func("COUNT", breach.copy()))
        verdict = verdict.when(near, exp.Literal.string(f"{unbroken} (some classes are exactly at the bound)"))
    verdict = verdict.else_(exp.Literal.string(unbroken))
    row = exp.Select(
        expressions=[
            aliased(exp.Literal.string(asked), "requirement"),
            aliased(exp.Literal.string(column) if column else exp.Literal.string(""), "column"),
            aliased(broken, "breaching_classes"),
            aliased(verdict, "verdict"),
        ]
    ).from_(exp.Subquery(this=bound, alias=exp.TableAlias(this=exp.to_identifier("ppdm_measured"))))
    return f"{comment([f'{asked} on {column}' if column else asked])}\n{sql_of(row)}"


def _when(breach: exp.Expr, classes: exp.Expr) -> exp.Expr:
    return exp.Case().when(exp.EQ(this=breach, expression=exp.Literal.number(1)), classes)


def content_proof(engine: Engine, columns: Sequence[str], relation: Name = RELEASE) -> str:
    """The figure of the rows, to compare with export.content_hash of the manifest."""
    told, lanes = content_query(engine, relation, columns)
    text: exp.Expr = exp.Literal.string(json.dumps(told, ensure_ascii=True)[:-1])
    for lane in ("ppdm_rows", "ppdm_first_sum", "ppdm_second_sum"):
        text = exp.DPipe(
            this=exp.DPipe(this=text, expression=exp.Literal.string(", ")),
            expression=exp.cast(exp.column(lane), "TEXT"),
        )
    whole = exp.Anonymous(this="sha256", expressions=[exp.DPipe(this=text, expression=exp.Literal.string("]"))])
    row = exp.Select(expressions=[aliased(whole, "content_hash")]).from_(
        exp.Subquery(this=lanes, alias=exp.TableAlias(this=exp.to_identifier("ppdm_lanes")))
    )
    told_how = comment(["hash of the rows: compare it with export.content_hash in the manifest"])
    return f"{told_how}\n{sql_of(row)}"


def sql_of(tree: exp.Expr, dialect: str = "duckdb") -> str:
    """A statement as text, for people to read."""
    return statement_text(tree, dialect)
