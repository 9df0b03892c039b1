"""A pseudo-data table: rows made from a released model, stored and recorded as what they are.

They describe nobody, so no requirement is measured on them and none is claimed: k of a pseudo-table would say nothing.
The guarantee is that of the model they come from, whose release and hash stand in the manifest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sqlglot import exp

from ppdm_sql import __version__
from ppdm_sql.catalog import releases
from ppdm_sql.catalog.manifest import (
    FORMAT,
    IdentityRecord,
    MakerRecord,
    Manifest,
    PolicyRecord,
    PseudoRecord,
    RolesRecord,
)
from ppdm_sql.catalog.mark import MARK
from ppdm_sql.catalog.releases import ReleaseRecord
from ppdm_sql.catalog.store import new_id, now
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import OptionError, PolicyError, PpdmError, Tampered
from ppdm_sql.models import library
from ppdm_sql.planning import manifest
from ppdm_sql.planning.joint import shown_name
from ppdm_sql.planning.staging import published_query
from ppdm_sql.planning.target import Target, find_target
from ppdm_sql.policy.clause import LARGEST_SEED
from ppdm_sql.policy.options import AsWritten, Choice, Whole, about_option, read_options
from ppdm_sql.policy.policy import OptionValue, PseudoData
from ppdm_sql.pseudodata.domains import read_domains
from ppdm_sql.pseudodata.generate import GenerationOrder, Made, generate
from ppdm_sql.pseudodata.intervals import BANDS, NUMBERS
from ppdm_sql.pseudodata.paths import CLASSES, MOST_ROWS, TIMES
from ppdm_sql.release.kinds.registry import kind_of
from ppdm_sql.release.ledger_lock import publishing
from ppdm_sql.release.model import problems_of
from ppdm_sql.release.readers import note_readers
from ppdm_sql.release.supersede import retire_pseudo
from ppdm_sql.release.swap import clear_name, clear_storage
from ppdm_sql.verify.content import content_hash
from ppdm_sql.watching import Progress

_PGEN_ONLY = {
    "classes": "the tree decides the class of every row",
    "numbers": "every column is drawn over its whole domain",
    "bands": "every column is drawn over its whole domain",
}
RISKS = {
    "pseudo": "these rows were made from a model and describe nobody; what holds for them need not hold for people",
    "diversity": "no k, l or t is claimed for pseudo-rows: their guarantee is that of the model they were made from",
}


@dataclass(frozen=True)
class PseudoOptions:
    algorithm: Annotated[str, Choice("pgen", "basegen")] = "pgen"
    classes: Annotated[str, Choice(*CLASSES)] = CLASSES[0]
    numbers: Annotated[str, Choice(*NUMBERS)] = NUMBERS[0]
    bands: Annotated[str, Choice(*BANDS)] = BANDS[0]
    rows: Annotated[int | None, Whole(1, MOST_ROWS)] = None
    seed: Annotated[int, Whole(0, LARGEST_SEED)] = 0
    domains: Annotated[OptionValue | None, AsWritten("a list of columns and their values")] = None


def read_order(statement: PseudoData) -> GenerationOrder:
    """The options, checked."""
    chosen = read_options(PseudoOptions, statement.options, "PSEUDO DATA")
    for name, why in _PGEN_ONLY.items():
        if chosen.algorithm == "basegen" and name in statement.options:
            raise OptionError(name, f"{name} of PSEUDO DATA is for pgen: with basegen {why}")
    with about_option("domains"):
        domains = read_domains(chosen.domains)
    return GenerationOrder(
        algorithm=chosen.algorithm,
        rows=chosen.rows,
        times=TIMES,
        seed=chosen.seed,
        classes=chosen.classes,
        domains=domains,
        numbers=chosen.numbers,
        bands=chosen.bands,
    )


def publish_pseudo(engine: Engine, statement: PseudoData, run_id: str, progress: Progress) -> ReleaseRecord:
    """Makes the rows and stores them under the statement's name, or leaves everything as it was."""
    order = read_order(statement)
    release_id = new_id()
    model = released_model(engine, statement)
    tree = library.load(engine, model.relation_name).tree
    progress("making rows", 0, None)
    made = generate(engine, tree, order)
    stage = made.store(engine, "pseudo_rows")
    find_target(engine, statement, release_id)
    with publishing(engine):
        model = _same_model(engine, statement, model)
        target = find_target(engine, statement, release_id)
        if target.former is not None:
            note_readers(engine, target.former)
        clear_name(engine, target)
        engine.create_table(target.storage, published_query(engine, stage, made.columns, order.seed))
        record = _record(engine, statement, order, made, model, target, release_id, run_id)
        if target.is_view:
            columns = published_query(engine, target.storage, made.columns, order.seed)
            columns.set("order", None)
            engine.create_view(target.name, columns, replace=True)
        engine.comment(target.name, target.kind, comment_on(record))
        retire_pseudo(engine, record, target.former)
        clear_storage(engine, target)
        note_readers(engine, record)
    engine.work.drop(stage)
    return record


def _same_model(engine: Engine, statement: PseudoData, used: ReleaseRecord) -> ReleaseRecord:
    """The model's release under the lock; refused when it is another model than the rows were made from."""
    found = released_model(engine, statement)
    if found.content_hash != used.content_hash:
        raise PpdmError(
            f"another session replaced model {shown_name(used)} while rows were made from it; nothing was published.  "
            "Run it again"
        )
    return found


def comment_on(record: ReleaseRecord) -> str:
    """What the comment of a pseudo-table says, here and in an exported database."""
    model = record.manifest.pseudo_model
    chosen = "".join(f", {name} {record.options[name]}" for name in ("numbers", "bands") if name in record.options)
    return (
        f"{MARK} {record.release_id}: made from model {model}, describes nobody; "
        f"{record.algorithm}, {record.rows} rows, seed {record.seed}{chosen}"
    )


def released_model(engine: Engine, statement: PseudoData) -> ReleaseRecord:
    name = engine.name(statement.model)
    found = releases.current(engine, name)
    if found is None or not kind_of(found).keeps_model:
        raise PolicyError(
            f'there is no released model "{name}": pseudo-data needs a model that CREATE MODEL ... WITH ANONYMIZATION '
            "published"
        )
    problems = problems_of(engine, found)
    if problems:
        raise Tampered(f"{shown_name(found)}: {'; '.join(problems)}; nothing was made from it")
    return found


def _record(
    engine: Engine,
    statement: PseudoData,
    order: GenerationOrder,
    made: Made,
    model: ReleaseRecord,
    target: Target,
    release_id: str,
    run_id: str,
) -> ReleaseRecord:
    at = now()
    columns = {info.name: info.declared for info in engine.columns(target.storage)}
    content = content_hash(engine, target.storage, list(columns))
    told = Manifest(
        format=FORMAT,
        release=IdentityRecord(release_id, str(target.name), f"{at:%Y-%m-%dT%H:%M:%SZ}"),
        pseudo_data=PseudoRecord(shown_name(model), model.release_id, model.content_hash, model.manifest.findings),
        policy=PolicyRecord(
            algorithm=order.algorithm,
            options=manifest.plain(statement.options),
            requirements=(),
            quasi_identifiers=(),
            sensitive=(),
            target=None,
            insensitive=tuple(columns),
            counts_entities=False,
            accepted_risks=(),
            seed=order.seed,
        ),
        columns=columns,
        rows=made.rows,
        classes=1,
        suppressed_rows=0,
        k_when_null_matches_all=None,
        figures={},
        findings=(),
        joint=(),
        residual_risks=RISKS,
        content_hash=content,
        made_by=MakerRecord(__version__, engine.title),
    )
    stored = int(engine.fetch_one(_row_count(target))[0])
    if stored != made.rows:
        raise PpdmError(f"expected {made.rows} pseudo-rows, found {stored}; nothing was published")
    record = ReleaseRecord(
        release_id=release_id,
        run_id=run_id,
        schema_name=target.name.schema,
        relation_name=target.name.last,
        kind="TABLE",
        algorithm=order.algorithm,
        options=manifest.plain(statement.options),
        seed=order.seed,
        requirements=(),
        roles=RolesRecord(
            source_columns={},
            identifiers=(),
            quasi=(),
            sensitive={},
            levels={},
            target=None,
            insensitive=tuple(columns),
            entity=None,
            person_columns=(),
            file=None,
        ),
        source_query="",
        policy_text=statement.text,
        storage=target.storage.last if target.is_view else None,
        key_columns=(),
        k_promised=None,
        rows=made.rows,
        classes=1,
        suppressed_rows=0,
        content_hash=content,
        columns=columns,
        manifest=told,
        manifest_sha256=told.sha256,
        published_at=at,
    )
    releases.record(engine, record)
    return record


def _row_count(target: Target) -> exp.Select:
    return exp.Select(expressions=[exp.Count(this=exp.Star())]).from_(target.storage.table())
