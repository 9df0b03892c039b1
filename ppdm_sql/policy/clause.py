"""The WITH ANONYMIZATION clause: ALGORITHM, REQUIRE, the role lists and the rest, each at most once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from ppdm_sql.policy import algorithms
from ppdm_sql.policy.changes import read_changes
from ppdm_sql.policy.policy import Changes, Inducer, Place, Policy, Supersedes
from ppdm_sql.policy.reader import Reader, UnreadablePolicyError, read_name, read_word
from ppdm_sql.policy.require import read_requirements
from ppdm_sql.policy.roles import RoleColumn, note_double_roles, read_column, read_columns, roles_of
from ppdm_sql.policy.tokens import Token, TokenKind, describe_token
from ppdm_sql.policy.treatments import note_treated, read_treated
from ppdm_sql.policy.values import OptionReading, read_number, read_options, read_whole
from ppdm_sql.policy.words import ReleaseKind, clauses, did_you_mean, nearest, printable
from ppdm_sql.requirements import About, Requirement, UniqueShare, requirements_about
from ppdm_sql.requirements.loss import WORD, LossLimit
from ppdm_sql.statements.names import Word, is_same_word
from ppdm_sql.treatments import Treated, treatment_words

LARGEST_SEED = 2**63 - 1  # a BIGINT on every engine

_ALL = 100  # percent
_ONE_COLUMN = ("TARGET", "ENTITY")


@dataclass
class _Draft:
    """The policy while it is read; a clause with a mistake leaves its default here."""

    kind: ReleaseKind | None  # None when the head of the statement is wrong
    seen: dict[str, Token] = field(default_factory=dict)
    algorithm: str = ""
    options: OptionReading = field(default_factory=lambda: OptionReading({}, {}))
    requirements: tuple[Requirement, ...] = ()
    losses: dict[LossLimit, Token] = field(default_factory=dict)
    columns: dict[str, list[RoleColumn]] = field(default_factory=dict)
    preserve: tuple[Inducer, ...] = ()
    supersedes: Supersedes | None = None
    accepted_risks: tuple[str, ...] = ()
    seed: int = 0
    suppress: Fraction | None = None
    readers: tuple[Word, ...] = ()
    changes: Changes = field(default_factory=Changes)
    treated: list[tuple[Treated, Token]] = field(default_factory=list)


def read_clause(
    reader: Reader, kind: ReleaseKind | None, opening: Token, *, growing: bool = False, live: bool = False
) -> Policy:
    """The policy between the brackets; opening is the WITH, where what is missing is reported."""
    draft = _Draft(kind)
    while not reader.at_end:
        try:
            _read_one(reader, draft)
        except UnreadablePolicyError:
            reader.skip(lambda: _at_clause(reader) or _near_clause(reader))
    _note_missing(reader, draft, opening)
    _note_idle(reader, draft)
    if not growing:
        for name in ("CHANGES", "KEY"):
            if name in draft.seen:
                reader.wrong(f"{name} is for a release that grows, which has GROWING behind its name", draft.seen[name])
    _note_losses(reader, draft)
    _note_treated(reader, draft, growing=growing)
    _note_weight(reader, draft, growing=growing, live=live)
    note_double_roles(reader.report, draft.columns)
    return Policy(
        algorithm=draft.algorithm,
        requirements=draft.requirements,
        loss_limits=tuple(draft.losses),
        roles=roles_of(draft.columns, reader.place),
        options=draft.options.values,
        option_places=draft.options.places,
        preserve=draft.preserve,
        supersedes=draft.supersedes,
        accepted_risks=draft.accepted_risks,
        seed=draft.seed,
        suppress=draft.suppress,
        readers=draft.readers,
        changes=draft.changes,
        treated=tuple(one for one, _ in draft.treated),
        treated_places={one.word: reader.place(token) for one, token in draft.treated},
        require_place=reader.place(draft.seen["REQUIRE"]) if "REQUIRE" in draft.seen else None,
    )


def _by_first_word() -> dict[str, str]:
    """A clause by the word it starts with."""
    return _first_words(treatment_words())


@lru_cache(maxsize=8)
def _first_words(treatments: tuple[str, ...]) -> dict[str, str]:
    return {words[0]: name for name, words in clauses().items()}


def _at_clause(reader: Reader) -> bool:
    return reader.peek().word in _by_first_word()


def _near_clause(reader: Reader) -> bool:
    """Where to go on after a mistake: a misspelt clause should be told too, not skipped."""
    return nearest(reader.peek().word, _by_first_word()) is not None


def _read_one(reader: Reader, draft: _Draft) -> None:
    token = reader.peek()
    name = _by_first_word().get(token.word) or _misspelt(reader)
    if name in draft.seen:
        reader.wrong(f"{name} is written twice, first at {reader.report.where(draft.seen[name])}", token)
        draft = _Draft(draft.kind)  # read on for its mistakes, but the first one counts
    draft.seen[name] = token
    reader.take()
    if "_" not in token.text:  # else a misspelt QUASI_IDENTIFIER stands for both words
        for before, word in zip(clauses()[name], clauses()[name][1:], strict=False):
            reader.expect_word(word, f"after {before}")
    if name in treatment_words():
        draft.treated += read_treated(reader, name)
    elif name in _READERS:
        _READERS[name](reader, draft)
    else:
        draft.columns[name] = _one_column(reader, name) if name in _ONE_COLUMN else read_columns(reader, name)


def _misspelt(reader: Reader) -> str:
    """The clause that was probably meant, with the mistake noted; the reading stops if there is none."""
    token = reader.peek()
    if reader.accept_sign(","):
        reader.fail("clauses are not separated by commas", token)
    if token.kind is not TokenKind.WORD:
        reader.take()
        reader.fail(f"expected a clause, such as REQUIRE k = 10, not {describe_token(token)}", token)
    # Both words in one (QUASI_IDENTIFIER) and the first word alone (QUASY) are tried.
    names = {"_".join(words): name for name, words in clauses().items()} | _by_first_word()
    near = nearest(token.text, names)
    if near is None:
        reader.take()
        reader.fail(f"unknown clause {printable(token.text)}: {did_you_mean(token.text, clauses())}", token)
    reader.wrong(f"unknown clause {printable(token.text)}: did you mean {names[near]}?", token)
    return names[near]


def _algorithm(reader: Reader, draft: _Draft) -> None:
    token = reader.peek()
    if token.kind is not TokenKind.WORD or _at_clause(reader):
        reader.fail(f"expected an algorithm, such as mondrian, not {describe_token(token)}")
    reader.take()
    draft.algorithm = token.text.lower()
    if draft.algorithm not in algorithms.words():
        hint = did_you_mean(token.text, algorithms.words())
        reader.wrong(f"unknown algorithm {printable(token.text)}: {hint}", token)
    elif draft.kind and draft.kind not in algorithms.releases_of(draft.algorithm):
        others = ", ".join(algorithms.makers_of(draft.kind))
        reader.wrong(f"{draft.algorithm} makes no {draft.kind}; valid algorithms: {others}", token)
    if reader.sign("("):
        draft.options = read_options(reader, f"after {draft.algorithm}")


def _require(reader: Reader, draft: _Draft) -> None:
    draft.requirements = read_requirements(
        reader,
        at_clause=lambda: _at_clause(reader),
        near_clause=lambda: _near_clause(reader),
        losses=draft.losses,
    )


def _one_column(reader: Reader, role: str) -> list[RoleColumn]:
    columns = read_columns(reader, role)
    if len(columns) > 1:
        reader.wrong(f"{role} takes one column, not {len(columns)}", columns[1].token)
    return columns


def _preserve(reader: Reader, draft: _Draft) -> None:
    def read(group: Reader) -> Inducer:
        place = group.place(group.peek())
        name = read_word(group, "a model or a learner")
        if not group.sign("("):
            return Inducer(name, place=place)
        options = read_options(group, "after a learner")
        return Inducer(name, options.values, place, options.places)

    draft.preserve = tuple(reader.items("after PRESERVE", read))


def _supersedes(reader: Reader, draft: _Draft) -> None:
    draft.supersedes = Supersedes(everything=reader.accept("ALL"))
    if not reader.sign("("):
        return
    if draft.supersedes.everything:
        reader.fail("SUPERSEDES ALL has no list of releases: write SUPERSEDES ALL or SUPERSEDES (name, ...)")

    def read(group: Reader) -> tuple[Place, tuple[Word, ...]]:
        place = group.place(group.peek())
        return place, read_name(group, "the name of a release")

    found = reader.items("after SUPERSEDES", read)
    draft.supersedes = Supersedes(tuple(name for _, name in found), places=tuple(place for place, _ in found))


def _accept_risk(reader: Reader, draft: _Draft) -> None:
    def read(group: Reader) -> str:
        token = group.peek()
        if token.kind is not TokenKind.WORD:
            group.fail(f"expected the name of a risk, not {describe_token(token)}")
        return group.take().text.lower()

    draft.accepted_risks = tuple(reader.items("after ACCEPT RISK", read))


def _seed(reader: Reader, draft: _Draft) -> None:
    start = reader.at
    try:
        draft.seed = read_whole(reader, f"SEED must be a whole number from 0 to {LARGEST_SEED}", 0, LARGEST_SEED)
    except UnreadablePolicyError:
        if reader.at == start:  # no number at all; behind a wrong one the next clause can be read
            raise


def _suppress(reader: Reader, draft: _Draft) -> None:
    """SUPPRESS AT MOST p %."""
    allowed = "SUPPRESS AT MOST takes a percentage from 0 to 100, such as 1 %"
    share = read_number(reader, allowed, lambda number: 0 <= number <= _ALL)
    reader.expect_sign("%", "after the number of SUPPRESS AT MOST")
    draft.suppress = share / _ALL


def _readers(reader: Reader, draft: _Draft) -> None:
    roles: list[Word] = []
    while not roles or reader.accept_sign(","):
        if _at_clause(reader):  # the list has no bracket, so a role named like a clause cannot be told from one
            reader.fail(f"expected a role, not {reader.peek().text} (quote a role of that name)")
        roles.append(read_word(reader, "a role"))
    draft.readers = tuple(roles)


def _weight(reader: Reader, draft: _Draft) -> None:
    draft.columns["WEIGHT COLUMN"] = read_column(reader, "WEIGHT COLUMN")


def _changes(reader: Reader, draft: _Draft) -> None:
    draft.changes = read_changes(reader)


_READERS: Mapping[str, Callable[[Reader, _Draft], None]] = {
    "ALGORITHM": _algorithm,
    "REQUIRE": _require,
    "PRESERVE": _preserve,
    "SUPERSEDES": _supersedes,
    "ACCEPT RISK": _accept_risk,
    "SEED": _seed,
    "SUPPRESS AT MOST": _suppress,
    "GRANT SELECT TO": _readers,
    "CHANGES": _changes,
    "WEIGHT COLUMN": _weight,
}


def _note_idle(reader: Reader, draft: _Draft) -> None:
    """A clause that nothing would look at must not look as if it were heeded."""
    if draft.preserve and draft.algorithm in algorithms.words():
        keepers = algorithms.tree_preservers()
        if draft.algorithm not in keepers:
            told = f"PRESERVE needs ALGORITHM {', '.join(keepers)}: {draft.algorithm} preserves no tree"
            reader.wrong(told, draft.seen["PRESERVE"])
    formed = [column for column in draft.columns.get("QUASI IDENTIFIER", ()) if column.form is not None]
    if draft.kind == "MODEL" and formed:
        told = (
            f"AS {formed[0].form.value if formed[0].form else ''} is for a TABLE or VIEW: a MODEL publishes no columns"
        )
        reader.wrong(told, formed[0].token)
    if draft.kind == "MODEL" and "GRANT SELECT TO" in draft.seen:
        told = "GRANT SELECT TO needs a TABLE or VIEW: a MODEL is stored in the catalog, and EXPORT hands it over"
        reader.wrong(told, draft.seen["GRANT SELECT TO"])


def _note_treated(reader: Reader, draft: _Draft, *, growing: bool) -> None:
    """Treatments that do not fit; a PSEUDONYM says who the ENTITY is, where nothing else does."""
    persons = [(one, token) for one, token in draft.treated if one.treatment.names_person]
    if persons and "ENTITY" not in draft.columns:
        draft.columns["ENTITY"] = [RoleColumn(persons[0][0].word, persons[0][1])]
    entity = next((one.word for one in draft.columns.get("ENTITY", ())), None)
    note_treated(reader, draft.treated, entity)
    for one, token in draft.treated if draft.kind == "MODEL" else ():
        reader.wrong(f"{one.treatment.word} is for a TABLE or VIEW: a MODEL publishes no columns", token)
    if growing and persons:
        reader.wrong(
            f"{persons[0][0].treatment.word} is not for a release that grows: the nights on which a person's rows "
            "arrive can identify the person",
            persons[0][1],
        )


def _note_weight(reader: Reader, draft: _Draft, *, growing: bool, live: bool) -> None:
    """Weights belong to the rows of one table or view that is stored, each row a person of a sample."""
    if "WEIGHT COLUMN" not in draft.columns:
        return
    token = draft.seen["WEIGHT COLUMN"]
    form = "a MODEL" if draft.kind == "MODEL" else "a GROWING release" if growing else "a LIVE view" if live else None
    if form is not None:
        reader.wrong(f"WEIGHT COLUMN is for a TABLE or VIEW that is stored, not for {form}", token)
    if algorithms.parts_columns(draft.algorithm):
        reader.wrong(f"WEIGHT COLUMN is for one table or view, and {draft.algorithm} makes several", token)
    if "ENTITY" in draft.columns:
        told = "WEIGHT COLUMN counts every row as a person, and the policy has an ENTITY: weigh one row per person"
        reader.wrong(f"{told}, without ENTITY", token)
    if any(isinstance(one, UniqueShare) and one.fraction is not None for one in draft.requirements):
        told = "WEIGHT COLUMN and unique ... FRACTION both say which part of a population the rows are"
        reader.wrong(f"{told}: leave one of them out", token)


def _note_losses(reader: Reader, draft: _Draft) -> None:
    """What is required of utility speaks of quasi-identifiers, and does not replace what protects people."""
    quasi = [one.word for one in draft.columns.get("QUASI IDENTIFIER", [])]
    for limit, token in draft.losses.items():
        if draft.kind == "MODEL":
            reader.wrong("loss is for a TABLE or VIEW: a MODEL has no labels", token)
        elif limit.column is not None and quasi and not any(is_same_word(limit.column, word) for word in quasi):
            hint = did_you_mean(limit.column.text, [word.text for word in quasi])
            told = f"{printable(limit.column.text)} is not a quasi-identifier: {hint}"
            reader.wrong(f"{WORD}: {told}", token)
    if draft.losses and not draft.requirements and not reader.report.mistakes:
        reader.wrong("REQUIRE asks for nothing that protects people, such as k = 10", draft.seen["REQUIRE"])


def _note_missing(reader: Reader, draft: _Draft, opening: Token) -> None:
    for name, example in (
        ("ALGORITHM", "ALGORITHM mondrian"),
        ("REQUIRE", "REQUIRE k = 10"),
        ("QUASI IDENTIFIER", "QUASI IDENTIFIER (age, zip)"),
    ):
        if name not in draft.seen:
            reader.wrong(f"{name} is missing, as in {example}", opening)
    about_values = [item.word for item in requirements_about(draft.requirements, About.VALUES)]
    if about_values and "SENSITIVE" not in draft.seen:
        told = f"SENSITIVE is missing: {', '.join(about_values)} protects the columns listed there"
        reader.wrong(told, draft.seen["REQUIRE"])
