"""The words that may follow ALGORITHM, and what answers to each.

A method is imported when its word is read: one line here is all that the language knows of it.  methods/registry.py
has the same with types, for everybody who plans a release.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Protocol, cast

from ppdm_sql.policy.words import ReleaseKind


class Algorithm(Protocol):
    """What the language asks of a method; methods/base.py says the rest."""

    @property
    def name(self) -> str: ...
    @property
    def makes(self) -> frozenset[ReleaseKind]: ...
    @property
    def preserves_trees(self) -> bool: ...
    @property
    def parts_columns(self) -> bool: ...


_METHODS: Mapping[str, str] = {
    "mondrian": "ppdm_sql.methods.mondrian.method:MONDRIAN",
    "kactus": "ppdm_sql.methods.kactus.method:KACTUS",
    "kactus2": "ppdm_sql.methods.kactus.method:KACTUS2",
    "tpp": "ppdm_sql.methods.tpp.method:TPP",
    "kadet": "ppdm_sql.methods.kadet.method:KADET",
    "ldm": "ppdm_sql.methods.ldm:LDM",
    "atp": "ppdm_sql.methods.atp.method:ATP",
    "incognito": "ppdm_sql.methods.incognito.method:INCOGNITO",
    "hilbert": "ppdm_sql.methods.hilbert.method:HILBERT",
    "koptimize": "ppdm_sql.methods.koptimize.method:KOPTIMIZE",
    "tds": "ppdm_sql.methods.tds.method:TDS",
    "tdr": "ppdm_sql.methods.tds.method:TDR",
    "dmpd": "ppdm_sql.methods.dmpd.method:DMPD",
}
# Words of methods to come.  A policy that uses one is right, only this version cannot run it.
_RESERVED: Mapping[str, frozenset[ReleaseKind]] = {}
_registered: dict[str, Algorithm] = {}


def register(algorithm: Algorithm) -> None:
    """Adds a method under its name, which must be new."""
    if algorithm.name in words():
        raise ValueError(f"there is already an algorithm {algorithm.name}")
    _registered[algorithm.name] = algorithm


def available() -> tuple[str, ...]:
    """The words of the methods that this version has."""
    return (*_METHODS, *_registered)


def words() -> tuple[str, ...]:
    """Every word that may follow ALGORITHM."""
    return (*available(), *_RESERVED)


def find(word: str) -> Algorithm | None:
    """The method of this name; None for a word that is reserved or unknown."""
    if word in _registered:
        return _registered[word]
    if word not in _METHODS:
        return None
    module, _, name = _METHODS[word].partition(":")
    return cast(Algorithm, getattr(importlib.import_module(module), name))


def releases_of(word: str) -> frozenset[ReleaseKind]:
    """What an algorithm makes."""
    found = find(word)
    return _RESERVED.get(word, frozenset()) if found is None else found.makes


def parts_columns(word: str) -> bool:
    """Whether an algorithm publishes several tables instead of one."""
    found = find(word)
    return found is not None and found.parts_columns


def makers_of(kind: ReleaseKind) -> tuple[str, ...]:
    """The words of the algorithms that make this kind of release."""
    return tuple(word for word in words() if kind in releases_of(word))


def tree_preservers() -> tuple[str, ...]:
    """The words of the methods that PRESERVE can be used with."""
    found = {word: find(word) for word in available()}
    return tuple(word for word, one in found.items() if one is not None and one.preserves_trees)
