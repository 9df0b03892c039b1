"""The sections that describe rather than measure: the head, the columns, the tree, the statement, the certificate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache

from markupsafe import Markup

from ppdm_sql import __version__, resources
from ppdm_sql.catalog.store import now
from ppdm_sql.checks.risk import risk
from ppdm_sql.report.audience import Audience
from ppdm_sql.report.elements import Cell, Code, Figure, ReportTable, Section, Tile, prose, table
from ppdm_sql.report.facts import FILE, Facts
from ppdm_sql.report.svg import embed_drawing
from ppdm_sql.trees.picture import as_svg
from ppdm_sql.trees.show import as_text

_LONGEST_TREE = 400  # lines of the tree as a text


# -- head --------------------------------------------------------------------------------------------------


def kind_text(facts: Facts) -> str:
    return facts.kind.title(facts.record)


def verdict(facts: Facts) -> Markup:
    """The whole page in one sentence."""
    name, found = facts.verified.name, facts.verified
    if not found.holds:
        what = "differs from what was published" if found.problems else "does not meet its requirements"
        return prose(f"{{name}} does NOT hold: it {what}. Do not hand it over.", name=name)
    return prose(facts.kind.report_words.verdict, name=name)


def problems(facts: Facts, audience: Audience) -> tuple[str, ...]:
    """What is wrong, and what is worth knowing; in public only that something is."""
    return () if audience.public else (*facts.verified.problems, *facts.verified.notes)


def lines(facts: Facts, audience: Audience) -> tuple[tuple[str, str], ...]:
    content, at = facts.manifest, now()
    found = [
        ("published", content.release.published_at.replace("T", " ").replace("Z", " UTC")),
        ("method", facts.record.algorithm + ("" if audience.public else f", seed {facts.record.seed}")),
        ("made by", f"ppdm_sql {content.made_by.ppdm_sql} on {content.made_by.engine}"),
        ("this page", f"{at:%Y-%m-%d %H:%M:%S} UTC, by ppdm_sql {__version__}"),
        ("readers", _READERS[audience.public]),
    ]
    if not audience.public:
        found.insert(1, ("made from", facts.kind.origins_text(facts.record)))
    return tuple(found)


_READERS = {
    True: "anybody",
    False: "internal: the page has the statement, names of tables and exact counts",
}


def tiles(facts: Facts, audience: Audience) -> tuple[Tile, ...]:
    return tuple(_tiles(facts, audience))


def _tiles(facts: Facts, audience: Audience) -> Iterator[Tile]:
    found, record, words = facts.verified, facts.record, facts.kind.report_words
    yield Tile(words.rows, audience.count(found.rows))
    if not facts.kind.describes_people:
        return
    yield Tile(words.classes, audience.count(found.classes))
    if facts.classes is not None and facts.classes.sizes.k is not None:
        who = "people" if facts.classes.counted == "persons" else "rows"
        comparable = (facts.classes.counted == "persons") == (record.roles.counts_entities)
        asked = f"required: {facts.k}" if facts.k and comparable else ""
        yield Tile(f"{who} in the smallest class", audience.count(facts.classes.sizes.k), asked)
        yield Tile("highest re-identification risk", *_worst(facts, audience))
    if record.suppressed_rows:
        yield Tile("rows left out", audience.count(record.suppressed_rows))
    swapped = facts.manifest.figures.get("swapped rows")
    if swapped:
        yield Tile("rows with a swapped value", audience.count(swapped), "not their own value")


def _worst(facts: Facts, audience: Audience) -> tuple[str, str]:
    assert facts.classes is not None
    after = risk(facts.classes.sizes).prosecutor_max
    before = facts.before.measures.risk.prosecutor_max if facts.before else None
    was = f"in the source: {audience.worst(float(before))}" if before is not None else ""
    return ("–" if after is None else audience.worst(float(after))), was


# -- columns -----------------------------------------------------------------------------------------------

_ROLES = {
    "quasi-identifier": "what an attacker may know about a person: generalized",
    "sensitive": "what must not become known about a person",
    "target": "what is to be predicted",
    "insensitive": "published unchanged",
    "identifier": "names a person: left out",
    "weight": "for how many people of a population a row stands: counted in the risk with weights",
    "entity": "identifies the person of a row: counted, and left out",
    "pseudo": "made from the model",
}


def columns(facts: Facts, audience: Audience) -> Section:
    policy, roles = facts.manifest.policy, facts.record.roles
    given: dict[str, list[str]] = {}
    for role, names in (
        ("quasi-identifier", policy.quasi_identifiers),
        ("sensitive", policy.sensitive),
        ("target", [policy.target] if policy.target else []),
        (facts.kind.report_words.other_columns, policy.insensitive),
        *((("identifier", roles.identifiers), ("entity", [roles.entity] if roles.entity else []),
           ("weight", [roles.weight] if roles.weight else []))
          if not audience.public else ()),
    ):  # fmt: skip
        for name in names:
            given.setdefault(name, []).append(role)
    published = facts.kind.published_columns(facts.record)
    types = published if facts.kind.has_rows else None
    rows: list[tuple[Cell | str, ...]] = [
        (Cell(name), ", ".join(given.get(name, [])), *([types.get(name, "not published")] if types is not None else []))
        for name in [*published, *(name for name in given if name not in published)]
    ]
    used = {role for found in given.values() for role in found}
    head = ("column", "role", "type") if facts.kind.has_rows else ("column", "role")
    told = table("Columns and their roles", head, rows)
    terms = tuple((role, what) for role, what in _ROLES.items() if role in used)
    notes = facts.manifest.column_notes or {}
    tables = (told, *([_notes_table(notes)] if notes else []))
    return Section("columns", "Columns and their roles", tables=tables, terms=terms)


def _notes_table(notes: Mapping[str, str]) -> ReportTable:
    """What a reader must know before computing with a column."""
    return table("How columns are published", ("column", "what it says"), [(Cell(name), notes[name]) for name in notes])


# -- the tree ----------------------------------------------------------------------------------------------


def tree(facts: Facts, audience: Audience) -> Section | None:
    """A published model as a picture with its counts."""
    if not facts.kind.keeps_model:
        return None
    title = "The model"
    if audience.public:
        return Section("tree", title, (prose(_NOT_DRAWN),))
    if facts.tree is None:
        return Section("tree", title, (prose("The stored tree differs from the published one and is not drawn."),))
    found = facts.tree
    lines = as_text(found).split("\n")
    more = [f"… {len(lines) - _LONGEST_TREE:,} more lines"] if len(lines) > _LONGEST_TREE else []
    described = (
        f"A tree of {len(found.nodes):,} nodes, {len(found.leaves):,} leaves and {found.depth} levels; the same as "
        "text is below."
    )
    drawn = embed_drawing(
        as_svg(found, title=facts.verified.name), "tree", "The published tree", described, keep_size=True
    )
    figure = Figure("The published tree; each box shows the number of training rows", drawn, wide=True)
    text = Code("The tree as text", "\n".join([*lines[:_LONGEST_TREE], *more]))
    return Section("tree", title, (), (figure,), codes=(text,))


_NOT_DRAWN = "The tree with its values and counts is in the model file. This page is public and does not repeat them."


# -- statement, risks, certificate -------------------------------------------------------------------------


def statement(facts: Facts, audience: Audience) -> Section | None:
    """What was asked, as it was written; it can name tables and values, so it stays inside."""
    if audience.public:
        return None
    written = Code("The statement", facts.record.policy_text, opened=True)
    words = [prose("This statement alone decided what was published.")]
    if facts.exports:
        files = ", ".join(dict.fromkeys(item.detail or "" for item in facts.exports))
        words.append(prose("Exported copies: {files}. They cannot be taken back.", files=files))
    return Section("statement", "The policy", tuple(words), codes=(written,))


def not_promised(facts: Facts, audience: Audience) -> Section:
    """What a reader must not take for granted."""
    terms = tuple((name, message) for name, message in sorted(facts.manifest.residual_risks.items()))
    if audience.public:  # a count in a message is one of few
        terms = tuple((name, _UNCOUNTED if any(map(str.isdigit, text)) else text) for name, text in terms)
    words = [prose("The release promises no more than the guarantees above. The publisher knew these limits.")]
    accepted = facts.manifest.policy.accepted_risks
    if accepted and not audience.public:
        words.append(prose("Accepted by name in the statement: {names}.", names=", ".join(accepted)))
    joint = facts.manifest.joint
    if joint:
        words.append(prose(_JOINT[all(item.holds for item in joint)]))
    return Section("limits", "What is not promised", tuple(words), terms=terms)


_JOINT = {
    True: "It was verified together with the other current releases of the same tables: anyone who has them all finds "
    "no smaller class.",
    False: "Together with the other current releases of the same tables it has smaller classes, or their size cannot "
    "be measured; the publisher accepted this.",
}
_UNCOUNTED = "the publisher knows of such a case and accepted it"


def certificate(facts: Facts, audience: Audience) -> Section:
    """How a recipient finds out that all this is true."""
    record = facts.record
    hashes = [
        ("release id", record.release_id),
        ("content hash", str(record.content_hash)),
        *(() if audience.public else (("manifest sha256", record.manifest_sha256),)),
    ]
    tables = [table("Hashes", ("of", "value"), [(Cell(name), value) for name, value in hashes])]
    used = [
        (
            Cell(item.requirement, item.column or ""),
            Cell(_file(item.statement_sha256 or ""), item.statement_sha256 or ""),
        )
        for item in facts.manifest.findings
    ]
    if used:
        tables.append(table("Statements that measured it", ("requirement", "statement, and its sha256"), used))
    codes: tuple[Code, ...] = ()
    if not facts.kind.has_rows:
        words = prose("The sha256 of the exported model file is the content hash: <code>sha256sum model.json</code>.")
    elif facts.certificate is None:
        words = prose("There is no certificate: the stored release differs from what was published.")
    else:
        words = prose(
            f"With the release as a DuckDB file, here called {FILE}, these statements measure the guarantees again, "
            "without ppdm_sql. Every row they print must say <q>holds</q>."
        )
        codes = (Code("The statements a recipient runs", facts.certificate),)
    return Section("certificate", "How to verify it yourself", (words,), tables=tuple(tables), codes=codes)


def _file(sha256: str) -> str:
    return _statements().get(sha256, "of another version")


@cache
def _statements() -> dict[str, str]:
    """The reviewed statements of this version by their hash."""
    folder = resources.folder("sql")
    return {
        hashlib.sha256(file.read_text(encoding="utf-8").encode()).hexdigest(): f"sql/verify/{file.name}"
        for file in sorted((folder / "verify").glob("*.sql"))
    }
