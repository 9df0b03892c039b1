"""What a column holds about people, by the form of its values and by the words of its name.

A value is tested by a regular expression inside the database; what comes back is how many rows match.  Expressions are
written without backslashes, so that every engine reads them alike.  No pattern proves anything: a suggestion is a
reason to look, and draft.py turns it into a role that is safe if it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

EMAIL, PHONE, NAME, ID, ADDRESS = "e-mail", "phone", "name", "id", "address"
POSTCODE, BIRTH, DATE, FREE_TEXT, ONLINE = "postcode", "birth date", "date", "free text", "online trace"
DIRECT = frozenset({EMAIL, PHONE, NAME, ID, ADDRESS, FREE_TEXT, ONLINE})  # identify a person by themselves

# Each is counted over the rows of a column; MENTIONS and WORDS serve FREE_TEXT.
MENTIONS, WORDS = "mentions", "words"
VALUE_PATTERNS: Mapping[str, str] = {
    EMAIL: "^[^@ ]+@[^@ ]+[.][A-Za-z]{2,}$",
    PHONE: "^([+]|00?[1-9]|[(]0?)[0-9 ()/.-]{6,20}$|^[(]?[0-9]{3}[)]?[ .-]{1,2}[0-9]{3}[ .-][0-9]{4}$",
    ID: (
        "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"  # UUID
        "|^[0-9]{3}-[0-9]{2}-[0-9]{4}$"  # social security number
        "|^[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){3,7} ?[A-Z0-9]{0,3}$"  # IBAN
        "|^[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}$"  # card
    ),
    ONLINE: "^https?://|^[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}$",
    NAME: "^[A-Z][^0-9@_]*[ ,]+[A-Z][^0-9@_]*$",
    ADDRESS: "^[^0-9]{3,}[ ][0-9]{1,4}[ ]?[a-zA-Z]?$|^[0-9]{1,5} [A-Z][a-z]+ [A-Z][a-z]+",
    POSTCODE: (
        "^[0-9]{4,5}(-[0-9]{4})?$|^[A-Za-z]{1,2}[0-9][0-9A-Za-z]? ?[0-9][A-Za-z]{2}$"
        "|^[A-Za-z][0-9][A-Za-z] ?[0-9][A-Za-z][0-9]$|^[0-9]{4} ?[A-Z]{2}$"
    ),
    DATE: "^[0-9]{4}-[0-9]{2}-[0-9]{2}|^[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}$",
    MENTIONS: "[^@ ]+@[^@ ]+[.][A-Za-z]{2,}|(^|[ :(])[+]?[0-9][0-9 ()/-]{8,}[0-9]($|[ .,;)])",
    WORDS: "^[^ ]+( +[^ ]+){4,}",
}


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PERSON = word_set(
    "full first last given family middle maiden patient person customer client employee student user member contact "
    "mother father spouse guardian doctor physician sur fore nick birth display legal real preferred upper lower owner "
    "holder author sender recipient account login"
)
_NAME_WORDS: Mapping[str, frozenset[str]] = {
    EMAIL: word_set("email mail emails"),
    PHONE: word_set("phone tel telephone mobile fax cellphone telefon"),
    ADDRESS: word_set("address addr street strasse"),
    POSTCODE: word_set("zip zipcode postcode postal postalcode plz"),
    BIRTH: word_set("birth dob birthdate birthday born geburtsdatum geburtstag"),
    ONLINE: word_set("ip url cookie"),
    ID: word_set("id ids uuid guid ssn mrn nhs passport iban pid uid account acct licence license key rowid"),
    NAME: word_set(
        "surname lastname firstname forename givenname fullname middlename nickname username vorname nachname spouse "
        "doctor physician"
    ),
    FREE_TEXT: word_set("note notes remark remarks comment comments freetext narrative memo message anamnesis"),
}
_NUMBER_WORDS = word_set("number no nr num code")  # of a person only where nearly every row has its own
_MOST_PER_ID = 50  # rows per value: a column with fewer values is a ward or a clinic, not a person
_LEAST_IDS = 20
_LEAST_VARIETY = Fraction(1, 20)  # of names: families and namesakes share them
_LEAST_NAMES = 5  # a column that is called a name and has more texts than this holds names


@dataclass(frozen=True)
class Look:
    """What a column looks like, and how that is known."""

    meaning: str
    by_values: Fraction | None  # the share of known rows whose value has the form; None: by the name alone

    def __str__(self) -> str:
        if self.by_values is None:
            return f"{self.meaning} (by its name)"
        return f"{self.meaning} ({float(100 * self.by_values):.3g} % of the values)"


@dataclass(frozen=True)
class ValueCounts:
    """The counts of a column that a look is decided by."""

    known: int  # rows with a value
    distinct: int
    matches: Mapping[str, int]  # pattern -> rows

    def share(self, pattern: str) -> Fraction:
        return Fraction(self.matches.get(pattern, 0), max(self.known, 1))

    @property
    def variety(self) -> Fraction:
        """Different values per row that has one."""
        return Fraction(self.distinct, max(self.known, 1))


def name_words(name: str) -> list[str]:
    """The words of a column's name, in small letters.

    >>> name_words("PatientID"), name_words("date_of-birth"), name_words("eMail"), name_words("ZIP5")
    (['patient', 'id'], ['date', 'of', 'birth'], ['email'], ['zip', '5'])
    """
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    apart = re.sub(r"([A-Za-z])([0-9])", r"\1 \2", apart)
    words = [word.lower() for word in re.split(r"[^A-Za-z0-9]+", apart) if word]
    return " ".join(words).replace("e mail", "email").replace("post code", "postcode").split()


def look_of(name: str, counts: ValueCounts, *, is_text: bool, is_moment: bool, is_whole: bool) -> Look | None:
    """What a column looks like; the forms that identify people come first.

    >>> found = look_of("contact", ValueCounts(100, 98, {EMAIL: 97}), is_text=True, is_moment=False, is_whole=False)
    >>> str(found)
    'e-mail (97 % of the values)'
    >>> look_of("dob", ValueCounts(100, 98, {}), is_text=False, is_moment=True, is_whole=False).meaning
    'birth date'
    """
    by_name = _meaning_of_name(name)
    if counts.known == 0:
        return Look(by_name, None) if by_name in DIRECT else None
    if is_moment:
        return Look(BIRTH, None) if by_name == BIRTH else None
    by_values = _look_of_values(counts) if is_text else None
    if by_values is not None and not (by_values.meaning == DATE and by_name == BIRTH):
        return by_values
    if by_name in DIRECT and not _has_many(counts):  # a telephone that is yes or no
        return Look(NAME, None) if by_name == NAME and is_text and counts.distinct > _LEAST_NAMES else None
    if by_name is None and is_whole and counts.variety >= Fraction(9, 10) and _NUMBER_WORDS & set(name_words(name)):
        return Look(ID, None)
    if by_name is None or not (is_text or is_whole) or (by_name == FREE_TEXT and not is_text):
        return None
    return Look(by_name, None)


def _has_many(counts: ValueCounts) -> bool:
    """Whether a column has so many values that they can be people's own."""
    return counts.distinct > _LEAST_IDS and counts.distinct * _MOST_PER_ID >= counts.known


def _look_of_values(counts: ValueCounts) -> Look | None:
    """The first form that nearly all values of a text column have."""
    most, several = Fraction(4, 5), counts.distinct > _LEAST_IDS
    for meaning in (EMAIL, ID, ONLINE, DATE, PHONE):
        if counts.share(meaning) >= most:
            return Look(meaning, counts.share(meaning))
    if several and counts.variety >= Fraction(1, 5) and counts.share(WORDS) >= Fraction(3, 10):
        return Look(FREE_TEXT, counts.share(WORDS))
    if several and counts.share(MENTIONS) >= Fraction(1, 100) and counts.share(POSTCODE) < most:
        return Look(FREE_TEXT, counts.share(MENTIONS))
    for meaning, least in ((ADDRESS, Fraction(1, 5)), (NAME, _LEAST_VARIETY)):
        if several and counts.variety >= least and counts.share(meaning) >= most:
            return Look(meaning, counts.share(meaning))
    if counts.distinct > 5 and counts.share(POSTCODE) >= Fraction(9, 10):
        return Look(POSTCODE, counts.share(POSTCODE))
    return None


def _meaning_of_name(name: str) -> str | None:
    words = name_words(name)
    for meaning, known in _NAME_WORDS.items():
        if known & set(words):
            return meaning
    if "name" in words and set(words) <= _PERSON | {"name"}:
        return NAME
    return None
