"""The words of the policy language, and the nearest one to a word that is not among them."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from ppdm_sql.statements.handed_over import escape_hidden
from ppdm_sql.treatments import treatment_words

ReleaseKind = Literal["TABLE", "VIEW", "MODEL"]

KINDS: tuple[ReleaseKind, ...] = ("TABLE", "VIEW", "MODEL")

# A clause by its name, and the bare words it starts with.  The first words differ, so one word decides.
CLAUSES: Mapping[str, tuple[str, ...]] = {
    "ALGORITHM": ("ALGORITHM",),
    "REQUIRE": ("REQUIRE",),
    "IDENTIFIER": ("IDENTIFIER",),
    "QUASI IDENTIFIER": ("QUASI", "IDENTIFIER"),
    "SENSITIVE": ("SENSITIVE",),
    "TARGET": ("TARGET",),
    "INSENSITIVE": ("INSENSITIVE",),
    "ENTITY": ("ENTITY",),
    "KEY": ("KEY",),
    "WEIGHT COLUMN": ("WEIGHT", "COLUMN"),
    "CHANGES": ("CHANGES",),
    "PRESERVE": ("PRESERVE",),
    "SUPERSEDES": ("SUPERSEDES",),
    "ACCEPT RISK": ("ACCEPT", "RISK"),
    "SEED": ("SEED",),
    "SUPPRESS AT MOST": ("SUPPRESS", "AT", "MOST"),
    "GRANT SELECT TO": ("GRANT", "SELECT", "TO"),
}


def clauses() -> Mapping[str, tuple[str, ...]]:
    """All clauses, with those of the treatments that there are."""
    return {**CLAUSES, **{word: (word,) for word in treatment_words()}}


# Words people bring from papers and other tools; difflib does not see that they mean ours.
FOREIGN_REQUIREMENTS: Mapping[str, str] = {
    "l": "distinct_l, simple_l, recursive_l or entropy_l",
    "c": "recursive_l = (c, l)",
    "k_anonymity": "k",
    "l_diversity": "distinct_l, simple_l, recursive_l or entropy_l",
    "t_closeness": "t",
}

_CLAUSE_WORD = "anonymization"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, or None.

    >>> nearest("REQUIER", CLAUSES), nearest("banana", CLAUSES)
    ('REQUIRE', None)
    """
    if not 3 <= len(word) <= 40:  # shorter words resemble everything; longer ones only cost time
        return None
    by_folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.7)
    return by_folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The second half of a message about an unknown word: the nearest one, or all there are."""
    names = tuple(known)
    near = nearest(word, names)
    return f"did you mean {near}?" if near else f"valid options: {', '.join(names)}"


def many(count: int, one: str, several: str | None = None) -> str:
    """A count with its noun.

    >>> many(1, "leaf", "leaves"), many(1200, "leaf", "leaves"), many(0, "rule")
    ('1 leaf', '1,200 leaves', '0 rules')
    """
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def printable(text: str) -> str:
    r"""A word of the policy as a message may show it: short, and no control character for the terminal.

    >>> printable("age"), printable("a" * 60), printable("a" + chr(27) + "[2J")
    ('age', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...', 'a\\x1b[2J')
    """
    cut = text if len(text) <= 40 else text[:40] + "..."
    return escape_hidden(cut)


def resembles_anonymization(word: str) -> bool:
    """Whether a bare word of ordinary SQL is, or was meant to be, ANONYMIZATION.

    A name made of several words (anonymization_log) is a name, unless it swallowed the WITH.

    >>> [resembles_anonymization(w) for w in ("anonymization", "ANONYMISATION", "with_anonymization")]
    [True, True, True]
    >>> [resembles_anonymization(w) for w in ("anonymization_log", "anonymized", "organization")]
    [False, False, False]
    """
    # Cheap and exact first: nearly every word of a large script ends here.
    return 9 <= len(word) <= 60 and _resembles(unicodedata.normalize("NFKC", word).casefold())


@lru_cache(maxsize=4096)
def _resembles(word: str) -> bool:
    parts = [part for part in word.split("_") if part]
    if len(parts) > 1 and "with" not in parts and any(_is_close(part) for part in parts):
        return False
    return _is_close(word)


def _is_close(word: str) -> bool:
    letters = "".join(c for c in word if c.isalnum())  # zero-width characters do not hide the word
    if not 9 <= len(letters) <= 18:
        return False
    matcher = difflib.SequenceMatcher(None, letters, _CLAUSE_WORD, autojunk=False)
    return matcher.real_quick_ratio() >= 0.8 and matcher.quick_ratio() >= 0.8 and matcher.ratio() >= 0.8


def roles_text(roles: Sequence[str]) -> str:
    """Roles in words.

    >>> roles_text(["analyst", "public"]), roles_text(["(taken away)"])
    ('role analyst, everybody', 'a role whose right was taken away')
    """
    words = {"public": "everybody", "(taken away)": "a role whose right was taken away"}
    return ", ".join(words.get(role, f"role {role}") for role in roles)
