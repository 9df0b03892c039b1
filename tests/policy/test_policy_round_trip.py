"""Any legal policy, written as text, is read back as it was."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.grammar import parse
from ppdm_sql.policy.policy import Export, PassThrough, Publish, Refresh
from ppdm_sql.statements.names import Word
from tests.policy.rendered import QUERIES, clauses, policies, statement, string, word, words
from tests.sizes import examples

quick = settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])

_gaps = st.sampled_from([" ", "\n", "\t ", " /* WITH ANONYMIZATION ( */ ", " -- ;'\"(\n"])
_cases = st.sampled_from([str.upper, str.lower, str.title])
_names = st.lists(words, min_size=1, max_size=2).map(tuple)


def _is_free(name: tuple[Word, ...]) -> bool:
    """Not one of our own names, and no bare word that stands in the head of a statement."""
    ours = name[-1].text.lower().startswith("ppdm_") or (len(name) == 2 and name[0].text.lower() == "ppdm")
    return not ours and (name[0].quoted or name[0].text.upper() not in ("AS", "LIVE", "TO", "WITH", "FROM", "IF"))


@quick
@given(policies(), _names.filter(_is_free), st.sampled_from(QUERIES), _gaps, _cases, st.randoms())
def test_a_policy_is_read_back_as_it_was_written(policy, name, query, gap, keyword, random):
    parts = clauses(policy)
    random.shuffle(parts)
    text = statement(name, query, parts, gap, keyword)
    before = "SELECT ';'; "
    first, second = parse(f"{before}{text};")
    assert first == PassThrough("SELECT ';'", first.place)
    assert isinstance(second, Publish)
    assert second.policy == policy
    assert list(second.policy.options) == list(policy.options)
    assert (second.name, second.query, second.text) == (name, query, text)
    assert (second.place.line, second.place.column) == (1, len(before) + 1)


@quick
@given(
    _names.filter(_is_free), st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1)
)
def test_names_and_paths_are_read_back_as_they_were_written(name, path):
    written = ".".join(map(word, name))
    assume(not (len(name) == 1 and not name[0].quoted and name[0].text.lower() == "table"))
    text = f"REFRESH {written}; EXPORT {written} TO {string(path)}"
    refresh, export = parse(text)
    assert refresh == Refresh(name, refresh.place)
    assert export == Export(name, path, {}, export.place)


@quick
@given(policies(), st.data())
def test_a_second_role_of_any_column_is_refused(policy, data):
    roles = policy.roles
    held = {"IDENTIFIER": roles.identifiers, "INSENSITIVE": roles.insensitive, "ENTITY": (roles.entity,)}
    column = data.draw(st.sampled_from([*roles.quasi, *roles.sensitive]))
    role = data.draw(st.sampled_from([name for name, columns in held.items() if not any(columns)] or ["ENTITY"]))
    parts = [*(part for part in clauses(policy) if not part.startswith(f"{role} ")), f"{role} ({word(column)})"]
    with pytest.raises(PolicyError, match=rf"is {role} here and | here and {role} at"):
        parse(statement((Word("x"),), QUERIES[0], parts))
