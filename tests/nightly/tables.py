"""Random tables published by every method through the public API, and judged from what was published."""

from __future__ import annotations

import re
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import duckdb
import pyarrow as pa
from sqlglot import exp

import ppdm_sql
from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.policy.forms import form_columns
from ppdm_sql.requirements import KAnonymity, SetAnonymity
from ppdm_sql.statements.names import Name, column
from ppdm_sql.trees.follow import follower
from tests.nightly.cases import PERSON, ROW, VISIT, WORDS, Case, random_case
from tests.nightly.judge import breaches, read, spans
from tests.nightly.summary import Options, Part, in_blocks, table

PER_DATABASE = 25  # cases that share a database in memory: its catalog grows with each
PUBLISHED, SEVERAL_CLASSES = 0.6, 0.5
Groups = dict[tuple[object, ...], list[Mapping[str, object]]]


@dataclass(frozen=True)
class Outcome:
    """What became of one case."""

    seed: int
    method: str
    features: tuple[str, ...]
    classes: int | None  # None: refused
    refusal: str = ""
    violation: str = ""


def run(options: Options) -> Part:
    outcomes: list[Outcome] = []
    publish = partial(publish_block, methods=options.methods)
    for done in in_blocks(publish, range(options.seed, options.seed + options.tables), PER_DATABASE, options):
        outcomes += done
        violations = sum(bool(one.violation) for one in outcomes)
        options.say(f"tables: {len(outcomes)} of {options.tables}, {violations} violations")
    return summarize(outcomes)


def publish_block(seeds: Iterable[int], methods: str = "") -> list[Outcome]:
    with ppdm_sql.connect(duckdb.connect()) as session:
        return [publish_one(session, random_case(seed, methods)) for seed in seeds]


def publish_one(session: ppdm_sql.Session, case: Case) -> Outcome:
    method = f"{case.method} {case.kind.lower()}"
    made = (case.seed, method, tuple(case.features))
    name, release = Name(f"t{case.seed}"), f"t{case.seed}_open"
    engine = session.engine
    along = {column_name: f"h{case.seed}_{place}" for place, column_name in enumerate(case.hierarchies)}
    try:
        engine.load(name, case.arrow(), temporary=False)
        for column_name, lines in case.hierarchies.items():
            levels = {f"level{place}": list(labels) for place, labels in enumerate(zip(*lines, strict=True))}
            engine.load(Name(along[column_name]), pa.table(levels), temporary=False)
        session.publish(case.text(name.last, release, along))
        groups = (
            _model_groups(session, case, release) if case.kind == "MODEL" else published_groups(session, case, release)
        )
        found = [*_breaches(case, groups), *_rows_too_few(case, groups)]
        refused: list[str] = []
        found += refresh_and_judge(session, case, name, release, groups, refused) if case.nights else []
        session.drop(release)
        return Outcome(*made, classes=len(groups), refusal="; ".join(refused[:1]), violation="; ".join(found))
    except PpdmError as error:
        failed = error.exit_code == 3 or isinstance(error, PolicyError)  # the policy is right: nobody may say it is not
        return Outcome(*made, None, refusal=_reason(error), violation=f"{error}" if failed else "")
    except Exception:  # whatever it is, the run goes on and names the seed
        return Outcome(*made, None, violation=traceback.format_exc(limit=-3))
    finally:
        for relation in (name, *map(Name, along.values())):
            engine.drop_table(relation)


def _reason(error: PpdmError) -> str:
    """A refusal without its names and numbers."""
    words = re.sub(r'"[^"]*"', '"..."', str(error).splitlines()[0].partition(": ")[2] or str(error))
    return re.sub(r"\d[\d,.]*", "N", words)[:70]


# -- reading ---------------------------------------------------------------------------------------------


def published_groups(session: ppdm_sql.Session, case: Case, release: str) -> Groups:
    """The published rows by what is printed of their quasi-identifiers.  NULL is not the text NULL."""
    names = [*case.shown, *(name for name in case.columns if name not in {*case.quasi, case.entity, VISIT})]
    query = exp.Select(expressions=[exp.cast(column(name), "TEXT") for name in names]).from_(Name(release).table())
    found: Groups = defaultdict(list)
    persons = {str(row[ROW]): row.get(PERSON) for rows in (case.rows, *case.nights) for row in rows}
    for texts in session.engine.fetch(query):
        row = dict(zip(names, texts, strict=True))
        seen: dict[str, object] = {name: read(row[name], case.columns[name]) for name in case.sensitive}
        seen |= {PERSON: persons.get(row[ROW]), ROW: row[ROW]}
        found[tuple(row[name] for name in case.shown)].append(seen)
    return found


def _model_groups(session: ppdm_sql.Session, case: Case, release: str) -> Groups:
    tree = session.model(release).tree
    asked = {tree.attributes[node.split.attribute].name for node in tree.nodes if node.split}
    return spans(follower(tree), case.rows, [name for name in case.private if name in asked])


def _breaches(case: Case, groups: Groups) -> Iterable[str]:
    # kadet publishes no row number in a table, so nobody can tell whose rows a class holds; its model is judged by persons.
    entity = None if (case.kind, case.method) == ("TABLE", "kadet") else case.entity
    lines = case.hierarchies.get(WORDS)
    hierarchy = {line[0]: tuple(line) for line in lines} if lines else None
    sets = [item for item in case.requirements if isinstance(item, SetAnonymity)]
    asked = [item for item in case.requirements if not isinstance(item, SetAnonymity)]
    reading = {"nulls_as_value": case.nulls_as_value, "entity": entity, "hierarchy": hierarchy}
    yield from breaches(groups, asked, case.sensitive, **reading)
    for item in sets:
        known = [made for word in item.on for made in form_columns(word.text, case.forms.get(word.text))]
        places = [case.shown.index(name) for name in known]
        coarser: Groups = defaultdict(list)
        for labels, rows in groups.items():
            coarser[_some(labels, places)].extend(rows)
        for found in breaches(coarser, [KAnonymity(item.k)], [], **reading):
            yield f"{item}: {found}"


def _some(labels: tuple[object, ...], places: Sequence[int]) -> tuple[object, ...]:
    """Some of the labels of a class; of a row that was published on several nights, those of every night."""
    if any(isinstance(one, tuple) for one in labels):
        return tuple(None if one is None else _some(one, places) for one in labels)  # type: ignore[arg-type]
    return tuple(labels[place] for place in places)


def refresh_and_judge(
    session: ppdm_sql.Session, case: Case, source: Name, release: str, first: Groups, refused: list[str]
) -> Iterable[str]:
    """The nights of a growing release, read by someone who holds all of them up to each night.

    He distinguishes rows by the labels that each had on each night.  A night that is refused leaves last night's release.
    """
    nights = [first]
    for rows in case.nights:
        session.engine.drop_table(source)
        session.engine.load(source, case.arrow(rows), temporary=False)
        try:
            session.run(f"REFRESH {release}")
        except PpdmError as error:
            if error.exit_code != 1 or isinstance(error, PolicyError):
                raise
            refused.append(f"a night: {_reason(error)}")
        nights.append(published_groups(session, case, release))
        signatures: dict[object, list[object]] = defaultdict(lambda: [None] * len(nights))
        for night, groups in enumerate(nights):
            for labels, members in groups.items():
                for row in members:
                    signatures[row[ROW]][night] = labels
        for night, groups in enumerate(nights):
            alike: Groups = defaultdict(list)
            for members in groups.values():
                for row in members:
                    alike[tuple(signatures[row[ROW]])].append(row)
            for found in _breaches(case, alike):
                yield f"night {night} read in night {len(nights) - 1}: {found}"


def _rows_too_few(case: Case, groups: Groups) -> Iterable[str]:
    left_out = len(case.rows) - sum(map(len, groups.values()))
    if case.most_left_out is not None and left_out * 100 > case.most_left_out * len(case.rows):
        yield f"{left_out} of {len(case.rows)} rows were left out, and {case.most_left_out} % may be"


# -- telling ---------------------------------------------------------------------------------------------


def summarize(outcomes: list[Outcome]) -> Part:
    published = [one for one in outcomes if one.classes is not None]
    several = [one for one in published if (one.classes or 0) > 1]
    shares = (len(published) / max(len(outcomes), 1), len(several) / max(len(published), 1))
    problems = [f"seed {one.seed} ({one.method}): {one.violation}" for one in outcomes if one.violation]
    if shares[0] < PUBLISHED:
        problems.append(f"only {shares[0]:.1%} of the tables were published; {PUBLISHED:.0%} are needed")
    if shares[1] < SEVERAL_CLASSES:
        problems.append(f"only {shares[1]:.1%} of the releases have several classes; {SEVERAL_CLASSES:.0%} are needed")
    lines = []
    for method in [*sorted({one.method for one in outcomes}), "all"]:
        mine = [one for one in outcomes if method in (one.method, "all")]
        out = [one for one in mine if one.classes is not None]
        many = sum((one.classes or 0) > 1 for one in out)
        bad = sum(bool(one.violation) for one in mine)
        lines.append([method, len(mine), len(out), many, len(mine) - len(out), bad])
    text = table(["method", "tables", "published", "with several classes", "refused", "violations"], lines)
    features = Counter(feature for one in published for feature in one.features)
    text += "\n" + table(["in the published policies", "releases"], [list(pair) for pair in features.most_common()])
    refusals = Counter(one.refusal for one in outcomes if one.refusal)
    text += "\n" + table(["refused because", "tables"], [list(pair) for pair in refusals.most_common(12)])
    figures = {"tables": len(outcomes), "published": len(published), "several_classes": len(several)}
    return Part("tables", text, figures | {"violations": sum(bool(one.violation) for one in outcomes)}, problems)
