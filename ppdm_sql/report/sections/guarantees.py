"""What was asked and what was achieved, in the policy's words and in plain ones."""

from __future__ import annotations

from ppdm_sql.catalog.manifest import FindingRecord
from ppdm_sql.errors import PolicyError
from ppdm_sql.planning.manifest import achieved_text
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.report.audience import Audience
from ppdm_sql.report.elements import Cell, Section, prose, table
from ppdm_sql.report.facts import Facts
from ppdm_sql.requirements import About, text_is_about

GONE = "The source can no longer be read by the statement, so the release cannot be compared with it."


def guarantees(facts: Facts, audience: Audience) -> Section:
    """What was asked, how the source stands, and what the release achieves."""
    if not facts.kind.describes_people:
        return _of_the_model(facts, audience)
    rows = [_guarantee(facts, audience, finding) for finding in facts.verified.findings]
    paragraphs = [prose(facts.kind.report_words.measured)]
    if facts.record.roles.counts_entities and facts.kind.has_rows and facts.kind.rows_stay:
        paragraphs.append(prose(_PERSONS))
    paragraphs += [prose("{told}.", told=told) for told in _null_readings(facts, audience)]
    if facts.before is not None:
        paragraphs.append(prose(f"The source was measured today, with {_rows_today(facts, audience)}."))
    elif facts.kind.has_rows or rows:
        paragraphs.append(prose(GONE))
    found = table("Requirements", ("requirement", "source", "release", "verdict"), rows)
    return Section("guarantees", "What was required and what was achieved", tuple(paragraphs), tables=(found,))


def _null_readings(facts: Facts, audience: Audience) -> list[str]:
    """How NULLs in sensitive columns were counted, without their number, for readers who do not see the notes."""
    if not audience.public:
        return []
    counting = facts.manifest.policy.null_value_columns
    return [
        f'NULL in "{name}" counts as a value of its own'
        if name in counting
        else f'l, confidence and t measure the known values of "{name}" only, not its NULLs'
        for name in facts.manifest.sensitive_nulls or {}
    ]


_PERSONS = (
    "Here k counts people, whom the stored rows do not identify. It was measured when the release was published "
    "and holds as long as the rows are unchanged; the sizes below are counted from the catalog's private links."
)


def _rows_today(facts: Facts, audience: Audience) -> str:
    """How many rows the source has.  In public that would tell, by the difference, how many were left out."""
    assert facts.before is not None
    return "all its rows" if audience.public else f"{facts.before.measures.rows:,} rows"


def _guarantee(facts: Facts, audience: Audience, finding: FindingRecord) -> tuple[Cell, ...]:
    who = "people" if facts.record.roles.counts_entities else "rows"
    meaning = _meaning(finding.requirement, f"{who} {facts.kind.report_words.alike}")
    where = f"{meaning} (column {finding.column})" if finding.column else meaning
    known = facts.before.of(finding.requirement, finding.column) if facts.before else None
    was = "–" if known is None else _achieved_text(finding.requirement, achieved_text(known.achieved), audience)
    now = _achieved_text(finding.requirement, finding.achieved, audience)
    if finding.holds:
        verdict = Cell("holds", tone="good")
    else:
        broken = f"{audience.count(finding.breaching_classes)} classes, {audience.count(finding.breaching_rows)} rows"
        verdict = Cell("BROKEN", broken, "bad")
    return Cell(finding.requirement, where), Cell(was), Cell(now), verdict


def _achieved_text(requirement: str, figure: str | None, audience: Audience) -> str:
    """A figure with its requirement; a class that is too small is not counted out in public."""
    if figure is None:
        return "–"
    if text_is_about(requirement, About.SIZE) and figure.isdigit():
        return audience.count(int(figure))
    return figure


def _meaning(text: str, whom: str) -> str:
    try:
        (found,) = requirements([text])
    except PolicyError:  # a catalog that was edited
        return ""
    return found.promise(whom)


def _of_the_model(facts: Facts, audience: Audience) -> Section:
    """Pseudo-rows have no guarantee of their own."""
    assert facts.pseudo is not None
    told = prose(
        "These rows are pseudo-data: they were made from the model {model} and describe nobody. No k, l or t is "
        "claimed for them. What protects people is what was measured for the model:",
        model=facts.pseudo.model,
    )
    rows = [
        (
            Cell(item.requirement, f"column {item.column}" if item.column else ""),
            Cell(_achieved_text(item.requirement, item.achieved, audience)),
            Cell("holds", tone="good") if item.holds else Cell("BROKEN", tone="bad"),
        )
        for item in facts.pseudo.model_findings
    ]
    found = table("Requirements of the model, when it was published", ("requirement", "model", "verdict"), rows)
    return Section("guarantees", "Guarantees: those of the model", (told,), tables=(found,))
