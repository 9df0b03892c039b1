"""Models by name: saved, replaced, dropped.  What a tree is, is known elsewhere (trees/stored.py); here are its rows.

Nothing here opens a transaction: the caller's makes a model and its rows appear together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from sqlglot import exp

from ppdm_sql import __version__
from ppdm_sql.catalog.store import append, new_id, next_number, now, ordered_json_text
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.json_reader import read_json
from ppdm_sql.statements.load import statement
from ppdm_sql.statements.names import PREFIX, SCHEMA, Name, column, identifier

ModelEvent = Literal["replaced", "dropped", "exported"]

OF_PSEUDO_ROWS = "PSEUDO DATA "  # before the source of a model that was learned from such rows; no table's name has it

OF_OPENED_COUNTS = "OPENED COUNTS "  # the same before the round whose counts a model was made from

_JSON = frozenset({"options", "target", "attributes", "classes", "body"})
_LONGEST = 200

# The tables that hold a tree, and the columns of their rows besides model_id.
TABLES: Mapping[str, Mapping[str, str]] = {
    "model_node": {
        "node": "int64", "parent": "int64", "depth": "int64", "attribute": "int64", "attribute_name": "string",
        "threshold": "string", "rows": "int64", "answer": "string", "variance": "float64", "gain": "float64",
    },
    "model_branch": {
        "node": "int64", "branch": "int64", "child": "int64", "condition": "string", "takes_null": "bool_",
        "takes_others": "bool_", "label": "string",
    },
    "model_value": {"node": "int64", "branch": "int64", "position": "int64", "value": "string"},
    "model_count": {"node": "int64", "class_number": "int64", "class_value": "string", "rows": "int64"},
}  # fmt: skip

_QUERIES = {  # each gives the columns of its table, in their order
    "model_node": "catalog/model_nodes",
    "model_branch": "catalog/model_branches",
    "model_value": "catalog/model_values",
    "model_count": "catalog/model_counts",
}

Stored = Mapping[str, Sequence[Mapping[str, Any]]]  # rows by table


@dataclass(frozen=True)
class ModelRecord:
    """A model's head.  JSON fields hold plain values."""

    name: str
    kind: str
    inducer: str
    options: dict[str, Any]
    target: Any
    attributes: Any
    classes: Any
    rows: int
    left_out: int = 0
    rare: int | None = None
    source_query: str | None = None
    body: Any = None
    model_id: str = field(default_factory=new_id)
    version: str = __version__
    saved_at: datetime = field(default_factory=now)
    nodes: int = 0  # follow from the rows; not stored
    leaves: int = 0

    @property
    def target_name(self) -> str:
        """For people; a head that was damaged names none."""
        return str(self.target.get("name", "?")) if isinstance(self.target, dict) else "?"

    @property
    def is_raw(self) -> bool:
        """Whether it may name values that only one person's row has; of an imported model that is not known."""
        return self.rare is not None and self.rare <= 1 and not self.is_of_pseudo_rows

    @property
    def is_of_pseudo_rows(self) -> bool:
        """Whether its rows were marked as pseudo-data when it was learned from them."""
        return self.source_query is not None and self.source_query.startswith(OF_PSEUDO_ROWS)

    @property
    def opened_counts(self) -> str | None:
        """The round of a model that was made from the opened counts of several sites; None for every other."""
        if self.source_query is None or not self.source_query.startswith(OF_OPENED_COUNTS):
            return None
        return self.source_query.removeprefix(OF_OPENED_COUNTS)


_READ = (
    "model_id", "name", "kind", "inducer", "options", "target", "attributes", "classes", "body", "source_query",
    "rows", "left_out", "rare", "version", "saved_at", "nodes", "leaves",
)  # fmt: skip
_DERIVED = ("nodes", "leaves")


def save(engine: Engine, model: ModelRecord, stored: Stored, *, replace: bool = False) -> None:
    """Notes a model and its rows; a name that is taken needs `replace`."""
    check_name(model.name)
    former = find(engine, model.name)
    if former is not None and not replace:
        raise PolicyError(f'model "{model.name}" already exists; --replace replaces it')
    row = {name: _column_value(name, getattr(model, name)) for name in _READ if name not in _DERIVED}
    append(engine, "model", row, generation=statement("catalog/next_model_generation"))
    for table, rows in stored.items():
        _append_all(engine, table, model.model_id, rows)
    if former is not None:
        add_event(engine, former.model_id, "replaced")
    _add_event(engine, model.model_id, "saved")


def check_name(name: str) -> None:
    if not 0 < len(name) <= _LONGEST or not name.strip() or not name.isprintable():
        raise PolicyError(f"the name of a model must have 1 to {_LONGEST} printable characters")
    if name.casefold().startswith(PREFIX):
        raise PolicyError(f"the name of a model cannot begin with {PREFIX}: that prefix is reserved for ppdm_sql")


def add_event(engine: Engine, model_id: str, event: ModelEvent) -> None:
    """'replaced' and 'dropped' end a model's life under its name."""
    _add_event(engine, model_id, event)


def find(engine: Engine, name: str) -> ModelRecord | None:
    found = _read(engine, name)
    return found[0] if found else None


def list_models(engine: Engine) -> list[ModelRecord]:
    """Every model that has a name, in order of name."""
    return _read(engine, None)


def rows_of(engine: Engine, model_id: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of every table that holds a tree, as they were saved."""
    return {
        table: [dict(zip(TABLES[table], row, strict=True)) for row in engine.fetch(statement(name), model_id=model_id)]
        for table, name in _QUERIES.items()
    }


def _read(engine: Engine, name: str | None) -> list[ModelRecord]:
    rows = engine.fetch(statement("catalog/models"), name=name)
    return [ModelRecord(**{key: _value(key, value) for key, value in zip(_READ, row, strict=True)}) for row in rows]


def _column_value(name: str, value: Any) -> Any:
    return ordered_json_text(value) if name in _JSON and not (name == "body" and value is None) else value


def _value(name: str, value: Any) -> Any:
    """A text that is no longer JSON reads as None, which makes no model: the others can still be listed."""
    if name not in _JSON or value is None:
        return value
    try:
        return read_json(value, "the catalog")
    except PolicyError:
        return None


def _add_event(engine: Engine, model_id: str, event: str) -> None:
    row = {"event_id": new_id(), "model_id": model_id, "event": event, "happened_at": now()}
    append(engine, "model_event", row, seq=next_number("model_event"))


def _append_all(engine: Engine, table: str, model_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Many rows at once: loaded into a working table, then added.  One INSERT per node would take seconds."""
    import pyarrow as pa

    if not rows:
        return
    columns = {"model_id": "string", **TABLES[table]}
    values = {name: pa.array([row[name] for row in rows], getattr(pa, kind)()) for name, kind in TABLES[table].items()}
    loaded = engine.work.load("model_rows", {"model_id": pa.array([model_id] * len(rows), pa.string()), **values})
    into = exp.Schema(this=Name(SCHEMA, table).table(), expressions=[identifier(name) for name in columns])
    query = exp.Select(expressions=[column(name) for name in columns]).from_(loaded.table())
    engine.execute(exp.Insert(this=into, expression=query))
    engine.work.drop(loaded)
