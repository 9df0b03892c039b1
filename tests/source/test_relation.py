"""Roles against columns: every mistake at once, and no column under two names."""

from __future__ import annotations

import pytest

from ppdm_sql.engines.base import ColumnInfo, Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.policy import Policy, Roles
from ppdm_sql.requirements import KAnonymity
from ppdm_sql.source.relation import resolve
from ppdm_sql.statements.names import Name, Word

COLUMNS = [ColumnInfo("Age", Kind.INTEGER, "INTEGER"), ColumnInfo("zip", Kind.TEXT, "VARCHAR")]


def resolved(**roles):
    return resolve(Name("t"), COLUMNS, Policy("mondrian", (KAnonymity(2),), Roles(**roles)), ("main.t",))


def test_a_word_without_quotes_finds_its_column_whatever_its_case():
    assert resolved(quasi=(Word("age"), Word("ZIP"))).quasi == ("Age", "zip")


def test_a_word_in_quotes_is_exact():
    with pytest.raises(PolicyError, match='column "age" does not exist'):
        resolved(quasi=(Word("age", quoted=True), Word("zip")))


def test_one_column_under_two_spellings_is_told():
    with pytest.raises(PolicyError, match='"Age" is named twice'):
        resolved(quasi=(Word("age"), Word("zip")), insensitive=(Word("Age", quoted=True),))


def test_every_column_without_a_role_is_told():
    with pytest.raises(PolicyError) as refused:
        resolved()
    assert [mistake.message.split(" has")[0] for mistake in refused.value.mistakes] == ['column "Age"', 'column "zip"']
