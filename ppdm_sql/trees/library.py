"""Models by name in a database: train, keep, apply, hand over.  What the session and `ppdm model` call."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from ppdm_sql.catalog import migrate, models, releases
from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.source.relation import base_tables, match, reads_in_place
from ppdm_sql.statements.names import PREFIX, SCHEMA, Name, Word, column, own
from ppdm_sql.trees import exchange
from ppdm_sql.trees.expression import create_predict_macro, create_predict_view, kept_columns, predict_select
from ppdm_sql.trees.inducers import induce, settings
from ppdm_sql.trees.predict import clear, predict
from ppdm_sql.trees.stored import record_of, rows_of, tree_of
from ppdm_sql.trees.tree import Tree
from ppdm_sql.trees.tree_json import tree_of as tree_of_document
from ppdm_sql.trees.tree_json import tree_text
from ppdm_sql.watching import Progress, silent

_VIEW, _SNAPSHOT = own("ppdm_model_source"), own("ppdm_model_snapshot")
_QUERY_WORDS = ("select", "with", "from", "values", "(")
SMALL_TREE = 64  # nodes; up to here one CASE is quicker than coding the rows first


@dataclass(frozen=True)
class Model:
    """A model that has a name, and its tree."""

    record: ModelRecord
    tree: Tree

    def _repr_html_(self) -> str:
        return self.tree._repr_html_()

    @property
    def warning(self) -> str:
        """What whoever hands it over must know."""
        if self.record.is_raw:
            return "this is a raw model: it can name values that a single row has; it is NOT anonymized"
        if self.record.rare is None:
            return "this model was imported: whether it is anonymized is not known here"
        kept = f"values held by fewer than {self.record.rare} rows are not named, but "
        return f"{kept}its thresholds and counts come from the rows as they are; it is not anonymized"


@dataclass(frozen=True)
class Predicted:
    relation: str
    rows: int


# -- making and keeping ----------------------------------------------------------------------------------------------


def train(
    engine: Engine,
    name: str,
    source: str,
    target: str,
    *,
    inducer: str = "c45",
    options: Mapping[str, Any] | None = None,
    rare: int | None = None,
    replace: bool = False,
    progress: Progress = silent,
) -> Model:
    """Learns a tree from a table or a SELECT and keeps it under a name.

    Categories held by fewer than `rare` rows are not named in it; rare = 1 is a raw model, which names all.
    """
    if rare is not None and "rare" in (options or {}):
        raise PolicyError("rare is given twice")
    chosen = settings(inducer, {**(options or {}), **({} if rare is None else {"rare": rare})})
    _make_ready(engine, name, replace=replace)
    relation = relation_of(engine, source)
    columns = {info.name: info for info in engine.columns(relation)}
    ours = [f'"{name}"' for name in columns if name.casefold().startswith(PREFIX)]
    if ours:
        raise PolicyError(f"column {', '.join(ours)}: the prefix {PREFIX} is kept for ppdm_sql, rename it with AS")
    wanted = match(Word(target), columns)
    if wanted is None:
        raise PolicyError(f'there is no column "{target}" to be the target{_near(target, list(columns))}')
    attributes = [info for info in columns.values() if info.name != wanted]
    found = induce(engine, relation, attributes, columns[wanted], chosen, progress=progress)
    record = record_of(
        name, found.tree, rows=found.rows, left_out=found.left_out, rare=chosen.rare, source_query=source
    )
    return _saved(engine, record, found.tree, replace=replace)


def train_on(
    engine: Engine,
    name: str,
    relation: Name,
    taken: Sequence[str],
    target: str,
    *,
    inducer: str,
    source: str,
    replace: bool = False,
    progress: Progress = silent,
) -> Model:
    """Learns from some columns of rows that describe nobody: every category may be named."""
    chosen = settings(inducer, {"rare": 1})
    _make_ready(engine, name, replace=replace)
    columns = {info.name: info for info in engine.columns(relation) if info.name in taken}
    wanted = match(Word(target), columns)
    if wanted is None:
        raise PolicyError(f'there is no column "{target}" to be the target{_near(target, list(columns))}')
    attributes = [info for info in columns.values() if info.name != wanted]
    found = induce(engine, relation, attributes, columns[wanted], chosen, progress=progress)
    record = record_of(name, found.tree, rows=found.rows, left_out=found.left_out, rare=1, source_query=source)
    return _saved(engine, record, found.tree, replace=replace)


def import_model(engine: Engine, text: str | bytes, name: str | None = None, *, replace: bool = False) -> Model:
    """Keeps the model of an exchange file, under the name given or the one in the file; the file is not believed."""
    document = exchange.read(text)
    if document.kind != "tree":
        raise PolicyError(f"the file holds a model of kind {document.kind}: only trees are kept in the catalog")
    tree = tree_of_document(document)
    wanted = name if name is not None else document.name
    if wanted is None:
        raise PolicyError("the file names no model: give it a name with --name")
    _make_ready(engine, wanted, replace=replace)
    return _saved(engine, record_of(wanted, tree, rows=tree.root.rows), tree, replace=replace)


def _make_ready(engine: Engine, name: str, *, replace: bool) -> None:
    """Refuses before any work what would be refused after it."""
    models.check_name(name)
    engine.check_writable()
    migrate.ensure(engine)
    _refuse_release(engine, name)
    if not replace and models.find(engine, name) is not None:
        raise PolicyError(f'there is a model "{name}" already: --replace puts this one in its place')


def _saved(engine: Engine, record: ModelRecord, tree: Tree, *, replace: bool) -> Model:
    with engine.transaction():
        models.save(engine, record, rows_of(tree), replace=replace)
    return load(engine, record.name)


def load(engine: Engine, name: str) -> Model:
    record = _record(engine, name)
    return Model(record, tree_of(engine, record))


def listed(engine: Engine) -> list[ModelRecord]:
    return models.listed(engine) if _are_there(engine) else []


def drop(engine: Engine, name: str) -> None:
    """Frees the name; the catalog keeps what was there."""
    record = _record(engine, name)
    engine.check_writable()
    _refuse_release(engine, name)
    models.add_event(engine, record.model_id, "dropped")


def _refuse_release(engine: Engine, name: str) -> None:
    """A published model is replaced and dropped by the statements for releases, which keep the ledger."""
    found = releases.current(engine, Name(name))
    if found is not None and found.kind == "MODEL":
        raise PolicyError(f'model "{name}" is a release: CREATE OR REPLACE MODEL or DROP RELEASE changes it')


def export_text(engine: Engine, name: str) -> tuple[str, Model]:
    """The exchange file of a model; that it was handed out is noted where the database can be written."""
    model = load(engine, name)
    text = tree_text(model.tree, name)
    if not engine.read_only:
        models.add_event(engine, model.record.model_id, "exported")
    return text, model


def _are_there(engine: Engine) -> bool:
    return engine.relation_kind(Name(SCHEMA, "model")) is not None


def _record(engine: Engine, name: str) -> ModelRecord:
    found = models.find(engine, name) if _are_there(engine) else None
    if found is None:
        near = _near(name, [record.name for record in listed(engine)])
        raise PolicyError(f'there is no model "{name}" in this database{near or " (ppdm model list shows those)"}')
    return found


def _near(word: str, known: Sequence[str]) -> str:
    found = difflib.get_close_matches(word, known, n=1)
    return f': did you mean "{found[0]}"?' if found else ""


# -- applying --------------------------------------------------------------------------------------------------------


def predict_into(
    engine: Engine, tree: Tree, source: str, into: str, keep: Sequence[str] | None = None, progress: Progress = silent
) -> Predicted:
    """Writes the kept columns of every row (default: all) and what the tree says of it into a new table."""
    engine.check_writable()
    target = name_of(engine, into)
    if target.last.casefold().startswith(PREFIX) or (target.schema or "").casefold() == SCHEMA:
        raise PolicyError(f"{target}: names with the prefix {PREFIX}, and schema {SCHEMA}, are kept for ppdm_sql")
    if engine.relation_kind(target) is not None:
        raise PolicyError(f"there is a table {target} already: a prediction never overwrites one")
    progress("reading the table", 0, None)
    relation = relation_of(engine, source)
    columns = {info.name: info for info in engine.columns(relation)}
    kept = [name for name in columns if not name.casefold().startswith(PREFIX)]
    if keep is not None:
        kept = kept_columns(engine, relation, [match(Word(name), columns) or name for name in keep])
    progress("sending the rows through the tree", 0, None)
    if len(tree.nodes) <= SMALL_TREE:
        engine.create_table(target, predict_select(engine, tree, relation, kept))
    else:
        engine.create_table(target, predict(engine, tree, relation, kept))
        clear(engine, tree)
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(target.table())
    return Predicted(str(target), int(engine.fetch_one(counted)[0]))


def install(
    engine: Engine, name: str, *, view: str | None, source: str | None, keep: Sequence[str], replace: bool
) -> str:
    """Makes macro predict_<name>, or a view over a table; gives how it is called."""
    engine.check_writable()
    tree = load(engine, name).tree
    if view is None or source is None:
        taken = create_predict_macro(engine, name, tree, replace_it=replace)
        return f"predict_{name}({', '.join(taken)})"
    target, relation = name_of(engine, view), name_of(engine, source)
    if engine.relation_kind(target) == "table" or (engine.relation_kind(target) and not replace):
        raise PolicyError(f"{target} is there already: --replace replaces a view, and nothing replaces a table")
    create_predict_view(engine, target, tree, relation, keep, replace_it=replace)
    return str(target)


# -- relations -------------------------------------------------------------------------------------------------------


def relation_of(engine: Engine, source: str) -> Name:
    """A table by its name, or a SELECT as a view; a SELECT that may give other rows next time is written down first."""
    text = source.strip().rstrip(";").strip()
    if not text.casefold().startswith(_QUERY_WORDS):
        name = name_of(engine, text)
        if engine.relation_kind(name) is None:
            raise PolicyError(f"there is no table {name}")
        return name
    tree = _one_query(engine, text)
    base_tables(engine, tree)
    engine.view_of_text(_VIEW, text)
    if reads_in_place(tree):
        return _VIEW
    names = [column(info.name) for info in engine.columns(_VIEW)]
    engine.create_table(_SNAPSHOT, exp.Select(expressions=names).from_(_VIEW.table()), temporary=True)
    engine.analyze(_SNAPSHOT)
    return _SNAPSHOT


def _one_query(engine: Engine, text: str) -> exp.Expr:
    try:
        found = parse(text, dialect=engine.dialect)
    except SqlglotError:  # its text quotes the statement
        raise PolicyError("the SELECT cannot be read: is it complete?") from None
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise PolicyError("one table or one SELECT is expected")
    return found[0]


def name_of(engine: Engine, text: str) -> Name:
    """A relation's name as it is written in SQL: people, clinic.people, "odd name"."""
    try:
        found = exp.maybe_parse(text, into=exp.Table, dialect=engine.dialect)
    except SqlglotError:
        found = None
    if not isinstance(found, exp.Table) or not isinstance(found.this, exp.Identifier):
        raise PolicyError('a table\'s name is expected: people, clinic.people or "odd name"')
    if any(value for part, value in found.args.items() if part not in ("this", "db")):
        raise PolicyError("a table's name is expected, and nothing beside it")
    parts = [part for part in (found.args.get("db"), found.this) if part is not None]
    return engine.name([Word(part.name, quoted=bool(part.args.get("quoted"))) for part in parts])
