"""PSEUDONYM (...), ROUND (...), MASK (...), SHIFT (...): the clauses of treatments, read by what these declare."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ppdm_sql.policy.reader import Reader, read_word
from ppdm_sql.policy.tokens import Token, describe_token
from ppdm_sql.policy.values import read_number, read_string
from ppdm_sql.policy.words import did_you_mean, printable
from ppdm_sql.statements.names import Word, is_same_word
from ppdm_sql.treatments import Treated, Treatment, treatment_named
from ppdm_sql.treatments.base import ClausePart, parts_of

_LONGEST_NAME = 200


def read_treated(reader: Reader, word: str) -> list[tuple[Treated, Token]]:
    """( column part ..., ... )."""
    wanted = treatment_named(word)

    def read(group: Reader) -> tuple[Treated, Token]:
        token = group.peek()
        column = read_word(group, "a column")
        return Treated(column, _read_parts(group, wanted, token)), token

    return reader.items(f"after {word}, as in {wanted.example}", read)


def _read_parts(group: Reader, wanted: type[Treatment], column: Token) -> Treatment:
    declared = parts_of(wanted)
    values: dict[str, Fraction | str] = {}
    while not group.at_end and not group.sign(","):
        token = group.peek()
        name = next((name for name, part in declared.items() if group.words(*part.before)), None)
        if name is None:
            words = [" ".join(part.before) for part in declared.values()]
            group.fail(f"{wanted.word} does not know {printable(token.text)}: {did_you_mean(token.text, words)}", token)
        if name in values:
            group.wrong(f"{' '.join(declared[name].before)} is written twice", token)
        values[name] = _read_part(group, declared[name], wanted)
    lacking = [part for name, part in declared.items() if not part.optional and name not in values]
    if lacking:
        group.fail(f"{' '.join(lacking[0].before)} is missing, as in {wanted.example}", column)
    found = wanted(**values)
    if found.missing is not None:
        group.fail(f"{wanted.word} needs {found.missing}, as in {wanted.example}", column)
    return found


def _read_part(group: Reader, part: ClausePart, wanted: type[Treatment]) -> Fraction | str:
    group.accept(*part.before)
    legal = f"{' '.join(part.before)} of {wanted.word} takes {part.legal}"
    if part.text:
        token = group.peek()
        text = read_string(group, part.legal)
        if not text.strip() or len(text) > _LONGEST_NAME or not text.isprintable():
            group.fail(f"{legal}, of 1 to {_LONGEST_NAME} characters", token)
        return text
    value = read_number(group, legal, part.holds)
    for word in part.after:
        group.expect_word(word, f"in {wanted.example}")
    return value


def note_treated(reader: Reader, treated: Sequence[tuple[Treated, Token]], entity: Word | None) -> None:
    """Mistakes among the treatments of a policy: a column with two, and persons that do not fit."""
    for place, (one, token) in enumerate(treated):
        if any(is_same_word(one.word, other.word) for other, _ in treated[:place]):
            reader.wrong(f"the column {describe_token(token)} has two treatments", token)
        if one.treatment.by_person and entity is None:
            reader.wrong(f"{one.treatment.word} needs an ENTITY (or a PSEUDONYM): whose rows belong together", token)
    persons = [(one, token) for one, token in treated if one.treatment.names_person]
    for one, token in persons[1:]:
        reader.wrong(f"{one.treatment.word} takes one column, the person's", token)
    for one, token in persons[:1]:
        if entity is not None and not is_same_word(one.word, entity):
            reader.wrong(
                f"the column of {one.treatment.word} says who it is, and ENTITY names another one: leave one out",
                token,
            )
