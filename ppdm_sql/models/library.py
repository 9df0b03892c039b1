"""Models by name in a database: train, keep, apply, hand over.  What the session and `ppdm model` call."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ppdm_sql.catalog import migrate, models, releases
from ppdm_sql.catalog.mark import is_pseudo
from ppdm_sql.catalog.models import ModelRecord
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.classifiers.conjunctive_rules import ConjunctiveRules
from ppdm_sql.classifiers.naive_bayes import NaiveBayes
from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.models.kind import Chosen, LearnedModel, ModelKind
from ppdm_sql.models.kinds import kind_named, kind_of_inducer
from ppdm_sql.models.parts_kind import PartsKind, PartTrees
from ppdm_sql.models.tree_kind import TreeKind
from ppdm_sql.source.given import name_of, relation_of
from ppdm_sql.source.relation import match
from ppdm_sql.statements.names import PREFIX, SCHEMA, Name, Word
from ppdm_sql.trees import exchange
from ppdm_sql.trees.expression import create_macro, kept_columns
from ppdm_sql.trees.tree import Tree
from ppdm_sql.watching import Progress, silent


@dataclass(frozen=True)
class Model:
    """A model that has a name: its record and what was learned, a tree, a naive Bayes model or a list of rules."""

    record: ModelRecord
    learned: Tree | NaiveBayes | ConjunctiveRules | PartTrees
    release: ReleaseRecord | None = None  # that published it; None: it is a working copy

    @property
    def kind(self) -> ModelKind[Any]:
        return kind_named(self.record.kind)

    @property
    def tree(self) -> Tree:
        """The tree; a model of another kind has none."""
        if not isinstance(self.learned, Tree):
            raise PolicyError(f'model "{self.record.name}" is {self.kind.title}, but a tree is needed here')
        return self.learned

    @property
    def size(self) -> str:
        return self.kind.size(self.record)

    def _repr_html_(self) -> str:
        return self.kind.html(self.learned)

    @property
    def warning(self) -> str:
        """What to know before it is handed over."""
        if self.release is not None:
            return self._as_released(self.release)
        if self.record.is_of_pseudo_rows:
            return (
                "trained on synthetic rows: it can reveal no more than the published models they were generated from, "
                "and has no guarantees but theirs"
            )
        if self.record.opened_counts is not None:
            return (
                f"made from the opened counts of {self.record.opened_counts}: smaller counts are in pools; its "
                "manifest, which share open --out writes, says what is not promised"
            )
        if self.record.is_raw:
            return "this is a raw model: it can name values that a single row has; it is NOT anonymized"
        if self.record.rare is None:
            return "this model was imported: ppdm_sql does not know whether it is anonymized"
        kept = f"values of fewer than {self.record.rare} rows are not named, but "
        return f"{kept}its thresholds and counts come from the raw data; it is not anonymized"

    @property
    def is_as_released(self) -> bool:
        """Whether it is, to the byte, a model that was published."""
        release = self.release
        if release is None or not release.manifest_is_intact:
            return False
        return sha256_of(self.kind.document(self.learned, self.record.name)) == release.content_hash

    def _as_released(self, release: ReleaseRecord) -> str:
        if not self.is_as_released:
            return f'this is not the model that release "{self.record.name}" published: it is NOT anonymized'
        asked = ", ".join(release.requirements)
        return (
            f'release "{self.record.name}" ({release.release_id}), measured for {asked} when it was published; EXPORT '
            "writes it with its manifest and certificate"
        )


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
    """Learns a model from a table or a SELECT and keeps it under a name.

    Categories held by fewer than `rare` rows are not named in it; rare = 1 is a raw model, which names all.
    """
    if rare is not None and "rare" in (options or {}):
        raise PolicyError("rare is given twice")
    kind = kind_of_inducer(inducer)
    chosen = kind.settings(inducer, {**(options or {}), **({} if rare is None else {"rare": rare})})
    _make_ready(engine, name, replace=replace)
    relation = relation_of(engine, source)
    parts = _parts_of(engine, relation)
    if parts:
        return _train_on_parts(engine, name, parts, target, chosen, source, replace=replace, progress=progress)
    columns = {info.name: info for info in engine.columns(relation)}
    ours = [f'"{name}"' for name in columns if name.casefold().startswith(PREFIX)]
    if ours:
        raise PolicyError(f"column {', '.join(ours)}: the prefix {PREFIX} is reserved for ppdm_sql; rename it with AS")
    found = _learn(engine, kind, relation, columns, target, chosen, progress)
    record = kind.record(name, found, chosen, _whence(engine, relation, source))
    return _save(engine, kind, record, found.learned, replace=replace)


def _parts_of(engine: Engine, relation: Name) -> list[Name]:
    """The tables that a relation lists, where it is the list of a release of several tables."""
    found = releases.current(engine, relation) if migrate.is_there(engine) else None
    if found is None or found.is_damaged or found.manifest.projections is None:
        return []
    return [Name(*found.name.parts[:-1], part.table) for part in found.manifest.projections.parts]


def _train_on_parts(
    engine: Engine,
    name: str,
    parts: Sequence[Name],
    target: str,
    chosen: Chosen,
    source: str,
    *,
    replace: bool,
    progress: Progress,
) -> Model:
    """A tree of every table of a release whose tables share the class."""
    if not isinstance(kind_of_inducer(chosen.inducer), TreeKind):
        raise PolicyError(
            f'"{source}" is a release of several tables: a learner of trees, such as c45, learns one of each, and '
            f"{chosen.inducer} does not"
        )
    tables = []
    for part in parts:
        columns = {info.name: info for info in engine.columns(part)}
        wanted = match(Word(target), columns)
        if wanted is None:
            raise PolicyError(
                f'the target column "{target}" is not in {part}: it must be the one that all tables share'
            )
        tables.append((part, [info for info in columns.values() if info.name != wanted], columns[wanted]))
    kind = PartsKind()
    found = kind.learn_parts(engine, tables, chosen, progress)
    return _save(engine, kind, kind.record(name, found, chosen, source), found.learned, replace=replace)


def train_on(
    engine: Engine,
    name: str,
    relation: Name,
    taken: Sequence[str],
    target: str,
    *,
    inducer: str,
    source: str,
    options: Mapping[str, Any] | None = None,
    replace: bool = False,
    progress: Progress = silent,
) -> Model:
    """Learns from some columns of rows that describe nobody: every category may be named."""
    if "rare" in (options or {}):
        raise PolicyError("rare protects the rows of people: in pseudo-rows every category is named")
    kind = kind_of_inducer(inducer)
    chosen = kind.settings(inducer, {**(options or {}), "rare": 1})
    _make_ready(engine, name, replace=replace)
    columns = {info.name: info for info in engine.columns(relation) if info.name in taken}
    found = _learn(engine, kind, relation, columns, target, chosen, progress)
    record = kind.record(name, found, chosen, _whence(engine, relation, source))
    return _save(engine, kind, record, found.learned, replace=replace)


def _whence(engine: Engine, relation: Name, source: str) -> str:
    """The source as the catalog keeps it: with the word that its rows describe nobody, where they are so marked."""
    return f"{models.OF_PSEUDO_ROWS}{source}" if is_pseudo(engine, relation) else source


def _learn(
    engine: Engine,
    kind: ModelKind[Any],
    relation: Name,
    columns: Mapping[str, ColumnInfo],
    target: str,
    chosen: Chosen,
    progress: Progress,
) -> LearnedModel[Any]:
    """What a kind learns of one column from all others."""
    wanted = match(Word(target), columns)
    if wanted is None:
        raise PolicyError(f'the target column "{target}" does not exist{_near(target, list(columns))}')
    attributes = [info for info in columns.values() if info.name != wanted]
    return kind.learn(engine, relation, attributes, columns[wanted], chosen, progress)


def import_model(engine: Engine, text: str | bytes, name: str | None = None, *, replace: bool = False) -> Model:
    """Keeps the model of an exchange file, under the name given or the one in the file; the file is not believed."""
    document = exchange.read(text)
    kind = kind_named(document.kind)
    found = kind.read(document)
    wanted = name if name is not None else document.name
    if wanted is None:
        raise PolicyError("the file does not name its model: give it a name with --name")
    _make_ready(engine, wanted, replace=replace)
    return _save(engine, kind, kind.record(wanted, found), found.learned, replace=replace)


def keep_opened(engine: Engine, name: str, learned: NaiveBayes, told: str, *, k: int, replace: bool = False) -> Model:
    """Keeps a model that was made from counts which several sites opened together; told: of which round."""
    kind = kind_of_inducer("naive_bayes")
    _make_ready(engine, name, replace=replace)
    chosen = Chosen("naive_bayes", {"laplace": learned.laplace, "laplace_prior": learned.laplace_prior, "rare": k})
    found = LearnedModel(learned, sum(learned.priors), 0)
    record = kind.record(name, found, chosen, f"{models.OF_OPENED_COUNTS}{told}")
    return _save(engine, kind, record, learned, replace=replace)


def _make_ready(engine: Engine, name: str, *, replace: bool) -> None:
    """Refuses before any work what would be refused after it."""
    models.check_name(name)
    engine.check_writable()
    migrate.ensure(engine)
    _refuse_release(engine, name)
    if not replace and models.find(engine, name) is not None:
        raise PolicyError(f'model "{name}" already exists; --replace replaces it')


def _save(engine: Engine, kind: ModelKind[Any], record: ModelRecord, learned: Any, *, replace: bool) -> Model:
    with engine.transaction():
        models.save(engine, record, kind.rows(learned), replace=replace)
    return load(engine, record.name)


def load(engine: Engine, name: str) -> Model:
    record = _record(engine, name)
    return Model(record, kind_named(record.kind).load(engine, record), release_of(engine, name))


def list_models(engine: Engine) -> list[ModelRecord]:
    return models.list_models(engine) if _are_there(engine) else []


def drop(engine: Engine, name: str) -> None:
    """Frees the name; the catalog keeps what was there."""
    record = _record(engine, name)
    engine.check_writable()
    _refuse_release(engine, name)
    models.add_event(engine, record.model_id, "dropped")


def release_of(engine: Engine, name: str) -> ReleaseRecord | None:
    """The release of a model that was published by a statement; the others are working copies."""
    return releases.of_model(engine, name) if migrate.is_there(engine) else None


def _refuse_release(engine: Engine, name: str) -> None:
    """A published model is replaced and dropped by the statements for releases, which keep the ledger."""
    if release_of(engine, name) is not None:
        raise PolicyError(f'model "{name}" is a release: change it with CREATE OR REPLACE MODEL or DROP RELEASE')


def export_text(engine: Engine, name: str) -> tuple[str, Model]:
    """The exchange file of a model; that it was handed out is noted where the database can be written."""
    if release_of(engine, name) is not None:  # the ledger must know that it was handed over
        raise PolicyError(f'model "{name}" is a release: export it with EXPORT (ppdm export, session.export)')
    model = load(engine, name)
    text = model.kind.document(model.learned, name)
    if not engine.read_only:
        models.add_event(engine, model.record.model_id, "exported")
    return text, model


def audited_tree(model: Model) -> Tree:
    """The tree of a model that is to be audited; a model of another kind forms no groups."""
    if isinstance(model.learned, Tree):
        return model.learned
    raise PolicyError(
        f'model "{model.record.name}" is {model.kind.title}, and an audit measures the groups that the tests of a '
        "tree form: what the counts of such a model reveal about a person is not measured"
    )


def _are_there(engine: Engine) -> bool:
    return engine.relation_kind(Name(SCHEMA, "model")) is not None


def _record(engine: Engine, name: str) -> ModelRecord:
    found = models.find(engine, name) if _are_there(engine) else None
    if found is None:
        near = _near(name, [record.name for record in list_models(engine)])
        raise PolicyError(f'there is no model "{name}" in this database{near or " (ppdm model list shows the models)"}')
    return found


def _near(word: str, known: Sequence[str]) -> str:
    found = difflib.get_close_matches(word, known, n=1)
    return f': did you mean "{found[0]}"?' if found else ""


# -- applying --------------------------------------------------------------------------------------------------------


def predict_into(
    engine: Engine, model: Model, source: str, into: str, keep: Sequence[str] | None = None, progress: Progress = silent
) -> Predicted:
    """Writes the kept columns of every row (default: all) and what the model says of it into a new table."""
    engine.check_writable()
    target = name_of(engine, into)
    if target.last.casefold().startswith(PREFIX) or (target.schema or "").casefold() == SCHEMA:
        raise PolicyError(f"{target}: names with the prefix {PREFIX}, and schema {SCHEMA}, are reserved for ppdm_sql")
    if engine.relation_kind(target) is not None:
        raise PolicyError(f"table {target} already exists; a prediction never overwrites a table")
    progress("reading the table", 0, None)
    relation = relation_of(engine, source)
    columns = {info.name: info for info in engine.columns(relation)}
    kept = [name for name in columns if not name.casefold().startswith(PREFIX)]
    if keep is not None:
        kept = kept_columns(engine, relation, [match(Word(name), columns) or name for name in keep])
    progress("applying the model to the rows", 0, None)
    model.kind.write(engine, model.learned, relation, kept, target)
    counted = exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(target.table())
    return Predicted(str(target), int(engine.fetch_one(counted)[0]))


def install(
    engine: Engine, name: str, *, view: str | None, source: str | None, keep: Sequence[str], replace: bool
) -> str:
    """Makes macro predict_<name>, or a view over a table; gives how it is called."""
    engine.check_writable()
    model = load(engine, name)
    if view is None or source is None:
        taken, told = model.kind.expression(engine, model.learned)
        create_macro(engine, name, taken, told, replace_it=replace)
        return f"predict_{name}({', '.join(taken)})"
    target, relation = name_of(engine, view), name_of(engine, source)
    if engine.relation_kind(target) == "table" or (engine.relation_kind(target) and not replace):
        raise PolicyError(f"{target} already exists: --replace replaces a view, never a table")
    engine.create_view(target, model.kind.query(engine, model.learned, relation, keep), replace=replace)
    return str(target)


# -- relations -------------------------------------------------------------------------------------------------------
