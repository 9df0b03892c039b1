"""What all sites of a round agree on before anybody counts: classes, values and bins, sites, mixers, mode and k.

The codebook is a file that people read and compare: `ppdm share codebook show` prints its sha256.  Every message of
the round carries that hash, so two sites with different codebooks cannot be added up.

The vector of a site, in this order: for each class its rows, then for each attribute the rows of each value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from ppdm_sql.catalog.store import json_text, sha256_of
from ppdm_sql.classifiers.document_reader import Reading
from ppdm_sql.classifiers.domains import CategoricalDomain, Domain, checked_names, domain_from_dict, domain_to_dict
from ppdm_sql.classifiers.values import (
    attribute_from_dict,
    attribute_to_dict,
    classes_from_dict,
    value_to_dict,
)
from ppdm_sql.engines.base import Kind
from ppdm_sql.errors import PolicyError
from ppdm_sql.json_reader import read_json
from ppdm_sql.sharing.private.files import read_whole
from ppdm_sql.sharing.private.keys import PrivateKeys, PublicKeys
from ppdm_sql.trees.tree import Attribute, Value

FORMAT = "ppdm codebook 1"
MASKS, MIXERS, LABEL, PAIR = "masks", "mixers", "label", "pair"
MODES = (MASKS, MIXERS, LABEL, PAIR)
LEAST_SITES = 3  # of two sites each knows the other's counts from the sum
MOST_SITES = 1000
MOST_NUMBERS = 4_000_000
MIXERS_OF = {MASKS: (0,), MIXERS: (2,), LABEL: (3,), PAIR: (0, 2)}  # how many there can be
_ROUND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class AgreedAttribute:
    """An attribute with the values or bins that are counted."""

    attribute: Attribute
    domain: Domain
    other: bool = False  # values that are not listed are counted together; else they are refused
    nulls: bool = True  # NULL may occur, and is not counted; else it is refused

    @property
    def width(self) -> int:
        """How many numbers a class has of it."""
        if isinstance(self.domain, CategoricalDomain):
            return len(self.domain.values) + self.other
        return self.domain.size

    def to_dict(self) -> dict[str, object]:
        told = {"column": attribute_to_dict(self.attribute), **domain_to_dict(self.attribute, self.domain)}
        return told | ({} if self.attribute.ordered else {"other": self.other}) | {"nulls": self.nulls}


@dataclass(frozen=True)
class Holdout:
    """One row of so many is left for the test; which one follows from its values and the seed."""

    every: int
    seed: int


@dataclass(frozen=True)
class Codebook:
    round: str
    mode: str
    k: int
    target: Attribute
    classes: tuple[Value, ...]
    attributes: tuple[AgreedAttribute, ...]
    sites: tuple[PublicKeys, ...]
    mixers: tuple[PublicKeys, ...] = ()
    laplace: int = 1
    holdout: Holdout | None = None

    @cached_property
    def width(self) -> int:
        """The numbers of one class."""
        return 1 + sum(one.width for one in self.attributes)

    @property
    def length(self) -> int:
        return len(self.classes) * self.width

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the numbers of each attribute begin among those of a class."""
        return tuple(accumulate((one.width for one in self.attributes), initial=1))[:-1]

    @cached_property
    def sha256(self) -> str:
        return sha256_of(json_text(self.to_dict()))

    @cached_property
    def shape_sha256(self) -> str:
        """The hash of what is counted, at any sites and in any round."""
        return sha256_of(json_text(self._shape()))

    @property
    def site_names(self) -> tuple[str, ...]:
        return tuple(site.name for site in self.sites)

    @property
    def computing(self) -> tuple[PublicKeys, ...]:
        """Who computes the class of a row: the servers or mixers; in mode pair without mixers the two sites."""
        return self.mixers or self.sites

    def site(self, name: str) -> PublicKeys | None:
        return next((site for site in self.sites if site.name == name), None)

    def mixer(self, name: str) -> PublicKeys | None:
        return next((mixer for mixer in self.mixers if mixer.name == name), None)

    def _shape(self) -> dict[str, object]:
        return {
            "target": attribute_to_dict(self.target),
            "classes": [value_to_dict(value, self.target.kind) for value in self.classes],
            "attributes": [one.to_dict() for one in self.attributes],
            "holdout": None if self.holdout is None else {"every": self.holdout.every, "seed": self.holdout.seed},
        }

    def to_dict(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "round": self.round,
            "mode": self.mode,
            "k": self.k,
            "laplace": self.laplace,
            **self._shape(),
            "sites": [site.to_dict() for site in self.sites],
            "mixers": [mixer.to_dict() for mixer in self.mixers],
        }

    def to_text(self) -> str:
        """The file: an attribute, a site and a mixer on a line of its own."""
        lines = []
        for name, value in self.to_dict().items():
            if isinstance(value, list) and value and isinstance(value[0], dict) and name != "classes":
                inside = ",\n".join(f"    {_dump(one)}" for one in value)
                lines.append(f"  {_dump(name)}: [\n{inside}\n  ]")
            else:
                lines.append(f"  {_dump(name)}: {_dump(value)}")
        return "{\n" + ",\n".join(lines) + "\n}\n"


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# -- reading -----------------------------------------------------------------------------------------------


def read_codebook(path: Path) -> Codebook:
    """The codebook of a file; one that breaks a rule of its mode is refused."""
    return codebook_from_dict(read_json(read_whole(path), path.name), path.name)


_ENTRIES = (
    "format", "round", "mode", "k", "laplace", "target", "classes", "attributes", "holdout", "sites", "mixers",
)  # fmt: skip


def codebook_from_dict(content: object, place: str = "the codebook") -> Codebook:
    given = Reading(content, place)
    given["format"].one_of([FORMAT])
    given.only(_ENTRIES)
    if not _ROUND.fullmatch(given["round"].text()):
        given["round"].refuse("must have 1 to 80 letters, digits, dots, - or _")
    target = attribute_from_dict(given["target"])
    classes = classes_from_dict(given["classes"], target)
    attributes = tuple(_attribute(part) for part in given["attributes"].items(least=1))
    checked_names([one.attribute for one in attributes], target, given["attributes"])
    found = Codebook(
        given["round"].text(),
        given["mode"].one_of(MODES),
        given["k"].whole(1),
        target,
        classes,
        attributes,
        _parties(given["sites"]),
        _parties(given["mixers"]),
        given["laplace"].whole(0),
        _holdout(given["holdout"]),
    )
    check_codebook(found, given)
    return found


def _attribute(given: Reading) -> AgreedAttribute:
    attribute = attribute_from_dict(given["column"])
    if attribute.kind is Kind.UNSUPPORTED:
        given.refuse("is of a kind that cannot be counted")
    keys = ("boundaries",) if attribute.ordered else ("categories", "other")
    given.only(("column", *keys, "nulls"))
    domain = domain_from_dict(given, attribute)
    other = False if attribute.ordered else given["other"].boolean()
    found = AgreedAttribute(attribute, domain, other, given["nulls"].boolean())
    if not found.width:
        given.refuse("lists no value")
    return found


def _parties(given: Reading) -> tuple[PublicKeys, ...]:
    return tuple(PublicKeys.read(part) for part in given.items())


def _holdout(given: Reading) -> Holdout | None:
    if given.content is None:
        return None
    given.only(("every", "seed"))
    return Holdout(given["every"].whole(2), given["seed"].whole(0))


def check_codebook(codebook: Codebook, given: Reading | None = None) -> None:
    """Refuses what no round may be held with, before anybody counts."""
    given = given or Reading(None, "the codebook")
    names = [party.name for party in (*codebook.sites, *codebook.mixers)]
    keys = [key for party in (*codebook.sites, *codebook.mixers) for key in (party.sign, party.exchange, party.seal)]
    if len(set(names)) != len(names) or len(set(keys)) != len(keys):
        given.refuse("names a site or a mixer twice, or gives two of them the same key")
    if list(codebook.site_names) != sorted(codebook.site_names):
        given.refuse("must list the sites in the order of their names")
    least = 2 if codebook.mode in (LABEL, PAIR) else LEAST_SITES
    if not least <= len(codebook.sites) <= MOST_SITES:
        told = "of fewer each would know the others' counts from the sum" if least == LEAST_SITES else "a sum needs two"
        given.refuse(f"mode {codebook.mode} needs {least} to {MOST_SITES} sites: {told}")
    if len(codebook.mixers) not in MIXERS_OF[codebook.mode]:
        possible = " or ".join(str(number) for number in MIXERS_OF[codebook.mode])
        given.refuse(f"mode {codebook.mode} needs {possible} mixers, not {len(codebook.mixers)}")
    if codebook.mode == PAIR and not codebook.mixers and len(codebook.sites) != MIXERS_OF[PAIR][1]:
        given.refuse("mode pair is for two sites; more of them need two mixers")
    if codebook.length > MOST_NUMBERS:
        given.refuse(f"counts {codebook.length:,} numbers; at most {MOST_NUMBERS:,} are added up")


def own_site(codebook: Codebook, name: str, public: PublicKeys) -> PublicKeys:
    """The site whose key this is; refused where the codebook has another key of it, or none."""
    site = codebook.site(name)
    return _own(site, public, "site", name)


def own_mixer(codebook: Codebook, name: str, public: PublicKeys) -> PublicKeys:
    return _own(codebook.mixer(name), public, "mixer", name)


def place_of(codebook: Codebook, keys: PrivateKeys) -> int:
    """Which of the computing parties this is."""
    listed = next((one for one in codebook.computing if one.name == keys.name), None)
    return codebook.computing.index(_own(listed, keys.public, "server", keys.name))


def _own(listed: PublicKeys | None, public: PublicKeys, what: str, name: str) -> PublicKeys:
    if listed is None:
        raise PolicyError(f"{name} is not a {what} of this codebook")
    if listed != public:
        raise PolicyError(f"the codebook lists another key of {name}: was it made before the key?")
    return listed


def other_sites(codebook: Codebook, name: str) -> Sequence[PublicKeys]:
    return [site for site in codebook.sites if site.name != name]
