"""CREATE MODEL name AS query WITH SHARING (...): a site's part of a round of private counting."""

from __future__ import annotations

from dataclasses import dataclass, field

from ppdm_sql.policy.policy import Policy, Roles
from ppdm_sql.policy.reader import Reader, UnreadablePolicyError
from ppdm_sql.policy.roles import RoleColumn, read_columns
from ppdm_sql.policy.tokens import Token, describe_token
from ppdm_sql.policy.values import read_string
from ppdm_sql.policy.words import nearest
from ppdm_sql.statements.names import Word

CLAUSE = "SHARING"
_FILES = {"CODEBOOK": "the codebook's file", "KEY": "the file of the private key", "OUT": "the folder to write to"}
_ROLES = ("ATTRIBUTES", "TARGET", "IDENTIFIER")
_WORDS = (*_FILES, *_ROLES)


@dataclass
class SharingClause:
    """What stands between the brackets."""

    files: dict[str, str] = field(default_factory=dict)
    columns: dict[str, list[RoleColumn]] = field(default_factory=dict)

    @property
    def policy(self) -> Policy:
        """The roles as every source is opened with: attributes leave as counts alone."""
        target = self.words("TARGET")
        roles = Roles(
            identifiers=self.words("IDENTIFIER"), insensitive=self.words("ATTRIBUTES"),
            target=target[0] if target else None,
        )  # fmt: skip
        return Policy("naive_bayes", (), roles)

    def words(self, role: str) -> tuple[Word, ...]:
        return tuple(column.word for column in self.columns.get(role, ()))


def read_sharing(reader: Reader, opening: Token) -> SharingClause:
    """CODEBOOK 'file' KEY 'file' OUT 'folder' TARGET (column) ATTRIBUTES (...) [IDENTIFIER (...)], in any order."""
    clause = SharingClause()
    while not reader.at_end:
        try:
            _read_part(reader, clause)
        except UnreadablePolicyError:
            reader.skip(lambda: reader.peek().word in _WORDS)
    for word in ("CODEBOOK", "KEY", "OUT"):
        if word not in clause.files:
            reader.wrong(f"WITH SHARING needs {word} 'file'", opening)
    for word in ("TARGET", "ATTRIBUTES"):
        if not clause.columns.get(word):
            reader.wrong(f"WITH SHARING needs {word} (...)", opening)
    if len(clause.columns.get("TARGET", ())) > 1:
        reader.wrong("TARGET takes one column", opening)
    return clause


def _read_part(reader: Reader, clause: SharingClause) -> None:
    token = reader.peek()
    word = token.word
    if word in clause.files or word in clause.columns:
        reader.fail(f"{word} is written twice", reader.take())
    if word in _FILES:
        reader.take()
        clause.files[word] = read_string(reader, _FILES[word])
    elif word in _ROLES:
        reader.take()
        clause.columns[word] = read_columns(reader, word)
    else:
        near = nearest(word, _WORDS) if word else None
        told = f"did you mean {near}?" if near else f"WITH SHARING has {', '.join(_WORDS)}"
        reader.fail(f"{describe_token(token)} is not a part of WITH SHARING: {told}")
