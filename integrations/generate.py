"""Writes the generic tests of dbt and the audits of SQLMesh from sql/checks: python -m integrations.generate

A check is a query that returns breaches, which is what both of them run.  Here its stand-ins become their templates:
the relation, the columns and the numbers that a project gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sqlglot import exp

from ppdm_sql import resources
from ppdm_sql.statements.load import statement

HERE = Path(__file__).parent
DIALECTS = {"default": "postgres", "duckdb": "duckdb", "spark": "spark"}
CHECKS = {
    "ppdm_k": "undersized_classes",
    "ppdm_k_of_persons": "undersized_classes_by_entity",
    "ppdm_distinct_l": "distinct_diversity",
    "ppdm_simple_l": "simple_diversity",
    "ppdm_confidence": "confidence_limit",
    "ppdm_recursive_l": "recursive_diversity",
    "ppdm_entropy_l": "entropy_diversity",
    "ppdm_beta": "beta_likeness",
    "ppdm_t": "closeness_equal",
    "ppdm_t_ordered": "closeness_ordered",
}
_DEFAULTS = {"null_is_value": "0", "tolerance": "1e-9"}
_FRACTION = ("_numerator", "_denominator")
_TAKEN = {"limit": "share"}  # dbt has a setting of that name


def parameters_of(check: str) -> list[str]:
    """What a project gives: a fraction is one number there, and two whole numbers in the statement."""
    holes = [hole.name for hole in statement(f"checks/{check}").find_all(exp.Parameter, exp.Placeholder)]
    plain = [_given_name(hole.removesuffix(_FRACTION[0]).removesuffix(_FRACTION[1])) for hole in holes]
    return sorted(dict.fromkeys(plain), key=lambda name: (name in _DEFAULTS, name))


def _given_name(hole: str) -> str:
    return _TAKEN.get(hole, hole)


def columns_of(check: str) -> list[str]:
    """The stand-in columns other than the quasi-identifiers."""
    named = {column.name for column in statement(f"checks/{check}").find_all(exp.Column)}
    return [name for name in ("sensitive", "entity") if name in named]


def put_templates(check: str, relation: str, quasi: str, number: Callable[[str], str]) -> exp.Query:
    """The statement with templates in the places of its stand-ins."""
    tree = statement(f"checks/{check}").copy()
    for table in list(tree.find_all(exp.Table)):
        if table.name == "source" and not table.db:
            table.replace(
                exp.Table(this=exp.Var(this=relation), alias=exp.TableAlias(this=exp.to_identifier("ppdm_source")))
            )
    for column in list(tree.find_all(exp.Column)):
        if column.name == "quasi":
            column.replace(exp.Var(this=quasi))
        elif column.name in ("sensitive", "entity"):
            column.replace(exp.column(f"ppdm_{column.name}"))
    for hole in list(tree.find_all(exp.Parameter, exp.Placeholder)):
        hole.replace(exp.Var(this=number(hole.name)))
    return tree


# -- dbt -----------------------------------------------------------------------------------------------------


def dbt_macro(name: str, check: str) -> str:
    """A generic test and its statement for each adapter."""
    others = columns_of(check)
    given = [*others, *parameters_of(check)]
    listed = ", ".join(f"{one}={_DEFAULTS[one]}" if one in _DEFAULTS else one for one in given)
    passed = ", ".join(["model", "quasi", *given])
    lines = [
        f"{{# Made from sql/checks/{check}.sql by python -m integrations.generate #}}",
        *(f"{{# {line.removeprefix('-- ')} #}}" for line in _header(check)),
        f"{{% test {name}(model, quasi, {listed}) %}}",
        f"{{{{ adapter.dispatch('{name}', 'ppdm')({passed}) }}}}",
        "{% endtest %}",
    ]
    source = ", ".join(["model", "quasi", *(f"{one}={one}" for one in others)])
    for adapter, dialect in DIALECTS.items():
        tree = put_templates(check, f"{{{{ ppdm.source({source}) }}}}", "{{ ppdm.columns(quasi) }}", _dbt_number)
        body = tree.sql(dialect, comments=False, pretty=True)
        lines += ["", f"{{% macro {adapter}__{name}({passed}) %}}", body, "{% endmacro %}"]
    return "\n".join(lines) + "\n"


def _dbt_number(hole: str) -> str:
    for place, ending in enumerate(_FRACTION):
        if hole.endswith(ending):
            return f"{{{{ ppdm.fraction({_given_name(hole.removesuffix(ending))})[{place}] }}}}"
    return f"{{{{ ppdm.number({hole}) }}}}"


# -- SQLMesh ---------------------------------------------------------------------------------------------------


def sqlmesh_audit(name: str, check: str) -> str:
    """An audit in the dialect of DuckDB, which SQLMesh turns into that of the engine; fractions stay two numbers."""
    others = columns_of(check)
    columns = ", ".join(["@EACH(@quasi, c -> c)", *(f"@{one} AS ppdm_{one}" for one in others)])
    tree = put_templates(check, f"(SELECT {columns} FROM @this_model)", "@EACH(@quasi, c -> c)", "@{}".format)
    holes = [hole.name for hole in statement(f"checks/{check}").find_all(exp.Parameter, exp.Placeholder)]
    defaults = ", ".join(f"{one} = {_DEFAULTS[one]}" for one in dict.fromkeys(holes) if one in _DEFAULTS)
    head = [f"  name {name}", "  dialect duckdb", *([f"  defaults ({defaults})"] if defaults else [])]
    told = [f"-- Made from sql/checks/{check}.sql by python -m integrations.generate", *_header(check)]
    body = tree.sql("duckdb", comments=False, pretty=True)
    return "\n".join([*told, "AUDIT (", ",\n".join(head), ");", body, ";"]) + "\n"


def _header(check: str) -> list[str]:
    """What the file says of itself, without its stand-ins."""
    text = resources.sql_text(f"checks/{check}")
    lines = [line for line in text.splitlines() if line.startswith("--")]
    return [line for line in lines if not line.startswith("-- Stand-ins")]


def files() -> Mapping[Path, str]:
    """Every file that is made, with its text."""
    dbt = {HERE / "dbt" / "macros" / f"{name}.sql": dbt_macro(name, check) for name, check in CHECKS.items()}
    audits = {HERE / "sqlmesh" / "audits" / f"{name}.sql": sqlmesh_audit(name, check) for name, check in CHECKS.items()}
    return {**dbt, **audits}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
