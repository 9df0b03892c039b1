"""PRESERVE (model): an existing tree, taken from the catalog by its name.

The promise is stronger than for an inducer: not the largest tree that the requirements allow, but this one, whole.
So the model must be one that recoding can keep, it must come from these rows, and a requirement that would stop its
growth stops the publication.
"""

from __future__ import annotations

from ppdm_sql.engines.base import ColumnInfo, Engine
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.induction.inducers import INDUCERS, Settings, induce, settings
from ppdm_sql.models import library
from ppdm_sql.models.library import Model
from ppdm_sql.policy.policy import Inducer, Policy
from ppdm_sql.policy.words import nearest, printable
from ppdm_sql.source.relation import Source, match
from ppdm_sql.trees.tree import Node, attribute_of
from ppdm_sql.watching import Progress

KEPT = {"prune": False, "exact": True, "exact_midpoints": True, "rare": 1}  # settings under which a tree survives


def is_model(inducer: Inducer) -> bool:
    """Whether an entry of PRESERVE means a model: a bare word that is an inducer's name means the inducer."""
    return bool(inducer.name.text) and (inducer.name.quoted or inducer.name.text.lower() not in INDUCERS)


def find_models(engine: Engine, policy: Policy) -> tuple[Model | None, ...]:
    """Per entry of PRESERVE the model it names, where it names one."""
    return tuple(find_model(engine, one) if is_model(one) else None for one in policy.preserve)


def find_model(engine: Engine, inducer: Inducer) -> Model:
    """The model of this name, if it is a tree that recoding can keep."""
    word = inducer.name
    names = [record.name for record in library.list_models(engine)]
    name = match(word, dict.fromkeys(names))
    if name is None:
        near = nearest(word.text, [*INDUCERS, *names])
        hint = f": did you mean {near}?" if near else ""
        raise PolicyError(
            "PRESERVE keeps cart, id3 and regression trees, and models by their names; there is no model "
            f"{printable(word.text)}{hint}"
        )
    if inducer.options:
        raise PolicyError(f'PRESERVE: model "{name}" already has its settings and takes no options')
    if next(record.kind for record in library.list_models(engine) if record.name == name) != "tree":
        raise PolicyError(f'PRESERVE: model "{name}" is not a tree')
    return library.load(engine, name)


def builder_of(model: Model) -> Settings:
    """The inducer and settings a model was grown with; refused where recoding changes what they give."""
    record = model.record
    name = record.name
    if record.inducer not in INDUCERS:
        raise PolicyError(f'PRESERVE: model "{name}" was not grown by a learner of this version')
    if record.inducer == "c45":
        raise PolicyError(
            f'PRESERVE cannot keep model "{name}": the correction of c45 counts the distinct values of a column, and '
            "recoding changes them; train it with cart, id3 or regression"
        )
    try:
        chosen = settings(record.inducer, record.options)
    except PolicyError as error:
        raise PolicyError(f'PRESERVE: the settings of model "{name}" are not those of a learner: {error}') from None
    wrong = [f"{key} = {_word(value)}" for key, value in KEPT.items() if getattr(chosen, key) != value]
    if wrong:
        raise PolicyError(
            f'PRESERVE cannot keep model "{name}": only a tree that uses every value, names every category and is '
            f"not pruned survives recoding; train it with {', '.join(wrong)}"
        )
    return chosen


def _word(value: object) -> str:
    return str(value).lower()


def columns_of(model: Model, source: Source) -> tuple[ColumnInfo, tuple[ColumnInfo, ...]]:
    """Target and attributes of a model among the published columns, in the model's order: ties are decided by it."""
    name, tree = model.record.name, model.tree
    if tree.target.name not in source.published:
        raise PolicyError(f'PRESERVE: "{tree.target.name}", the target of model "{name}", is not published')
    other = [one.name for one in tree.attributes if one.name not in source.quasi]
    if other:
        told = ", ".join(f'"{column}"' for column in other)
        raise PolicyError(f'PRESERVE: model "{name}" uses {told}, which must be a QUASI IDENTIFIER')
    infos = tuple(source.info(one.name) for one in tree.attributes)
    changed = [
        one.name for one, info in zip(tree.attributes, infos, strict=True) if attribute_of(info).kind != one.kind
    ]
    if changed:
        raise PolicyError(f'PRESERVE: the type of column "{changed[0]}" has changed since model "{name}" was trained')
    return source.info(tree.target.name), infos


def check_source(engine: Engine, source: Source, model: Model, chosen: Settings, progress: Progress) -> None:
    """Grows the model again from the source: it must be the same, node for node."""
    target, attributes = columns_of(model, source)
    again = induce(engine, source.relation, attributes, target, chosen, progress=progress)
    here, kept = again.tree, model.tree
    told = f'model "{model.record.name}" does not come from these rows'
    rows = f"it was grown from {model.record.rows} rows, the source has {again.rows}; nothing was published"
    if here.classes != kept.classes:
        raise RequirementBreached(
            f"{told}: it knows {len(kept.classes)} classes, the source {len(here.classes)}, and not the same; {rows}"
        )
    different = abs(len(here.nodes) - len(kept.nodes)) + sum(
        not _same(one, other) for one, other in zip(here.nodes, kept.nodes, strict=False)
    )
    if different:
        raise RequirementBreached(
            f"{told}: {different} of its {len(kept.nodes)} nodes differ from those that its settings give now; {rows}"
        )


def _same(one: Node, other: Node) -> bool:
    """Whether two nodes ask the same and hold the same rows; gains are floating point and follow from that."""
    mean = None if one.moments is None else one.moments.mean
    others = None if other.moments is None else other.moments.mean
    return (one.parent, one.counts, one.split, one.children, mean) == (
        other.parent,
        other.counts,
        other.split,
        other.children,
        others,
    )


def refuse_incomplete(model: Model, leaves: int) -> None:
    """A requirement ended the growth before the tree was the model's."""
    name, wanted = model.record.name, len(model.tree.leaves)
    if leaves < wanted:
        raise RequirementBreached(
            f'model "{name}" cannot be kept: its tree has {wanted} leaves, and after {leaves} one more split would '
            "break "
            "a requirement; nothing was published.  Weaken the requirements, or preserve a learner with fewer leaves"
        )
