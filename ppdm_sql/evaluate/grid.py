"""A grid over methods and requirements: which statements are to be tried.

A point is the policy's own statement with another method and other requirements in it; everything else of it stays,
except what the other method would refuse (options, PRESERVE, the hierarchies of quasi-identifiers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from ppdm_sql.errors import NotAvailable, PolicyError
from ppdm_sql.methods import registry
from ppdm_sql.methods.base import Method
from ppdm_sql.policy import algorithms
from ppdm_sql.policy.policy import Policy, Publish, Statement
from ppdm_sql.policy.render import render_statement
from ppdm_sql.policy.stored_requirements import requirement
from ppdm_sql.policy.words import ReleaseKind, did_you_mean, printable
from ppdm_sql.requirements import About, Requirement, requirement_class, requirement_words
from ppdm_sql.source.hierarchy import Hierarchy
from ppdm_sql.source.relation import Source

MOST_POINTS = 1000

Grid = Mapping[str, tuple[Requirement, ...]]  # what is required, by its word


@dataclass(frozen=True)
class Point:
    """One statement of the grid.  Positions count from 1; 0 is kept for the raw data."""

    position: int
    statement: Publish
    left_out: tuple[str, ...] = field(default=())  # clauses of the policy that this method would refuse

    @property
    def keeps_hierarchies(self) -> bool:
        """Whether the method generalizes along the hierarchies of quasi-identifiers."""
        return self.method.takes_hierarchies

    def hierarchies_of(self, given: Mapping[str, Hierarchy], source: Source) -> dict[str, Hierarchy]:
        """The hierarchies that the method is given."""
        return {name: one for name, one in given.items() if self.keeps_hierarchies or name not in source.quasi}

    @property
    def method(self) -> Method:
        return registry.method_named(self.algorithm)

    @property
    def algorithm(self) -> str:
        return self.statement.policy.algorithm

    @property
    def requirements(self) -> tuple[str, ...]:
        return tuple(map(str, self.statement.policy.requirements))

    @property
    def k(self) -> int | None:
        return self.statement.policy.k


# -- what was asked ----------------------------------------------------------------------------------------


def read_grid(texts: Sequence[str]) -> dict[str, tuple[Requirement, ...]]:
    """The axes of a grid, each as word=value,value; a word may come once.

    >>> {word: [str(one) for one in asked] for word, asked in read_grid(["k=5,10", "recursive_l=(3, 2),(2,2)"]).items()}
    {'k': ['k = 5', 'k = 10'], 'recursive_l': ['recursive_l = (3, 2)', 'recursive_l = (2, 2)']}
    """
    axes: dict[str, tuple[Requirement, ...]] = {}
    for text in texts:
        word, equals, values = (part.strip() for part in text.partition("="))
        word = word.lower()
        if not equals or not word:
            raise PolicyError(f"--grid {printable(text)}: a grid is written word=value,value, as in k=5,10,50")
        if requirement_class(word) is None:
            hint = did_you_mean(word, requirement_words())
            raise PolicyError(f"--grid {printable(word)}: unknown requirement: {hint}")
        if word in axes:
            raise PolicyError(f"--grid {word}: given twice; write all its values in one, as in {word}=5,10")
        axes[word] = tuple(dict.fromkeys(_value(word, value) for value in _split(values)))
    return axes


def _value(word: str, value: str) -> Requirement:
    try:
        return requirement(f"{word} = {value}")
    except PolicyError as error:
        raise PolicyError(*(f"--grid {word}: {mistake.message}" for mistake in error.mistakes)) from None


def _split(values: str) -> list[str]:
    """The values between commas, brackets kept together.

    >>> _split("(3, 2),(2,2), 5")
    ['(3, 2)', '(2,2)', '5']
    """
    found, depth = [""], 0
    for sign in values:
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return [one.strip() for one in found]


def read_methods(text: str) -> tuple[str, ...]:
    """Methods between commas; each is known, and this version has it."""
    found = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",")))
    for name in found:
        if name not in algorithms.words():
            raise PolicyError(f"--method {printable(name)}: unknown method: {did_you_mean(name, algorithms.words())}")
        method = registry.find_method(name)
        if method is not None and method.parts_columns:
            raise PolicyError(f"--method {name}: it publishes several tables, which are not evaluated as one")
        if name not in available():
            raise NotAvailable(f"--method {name}: not in this version; valid methods: {', '.join(available())}")
    return found


def available() -> tuple[str, ...]:
    """The methods this version has, tables first."""
    every = dict.fromkeys((*registry.table_methods(), *registry.model_methods()))
    return tuple(name for name in every if not registry.method_named(name).parts_columns)


def choose_statement(statements: Sequence[Statement], release: str | None = None, file: str | None = None) -> Publish:
    """The statement of a file that is meant: the only one, or that of this name."""
    found = [one for one in statements if isinstance(one, Publish)]
    names = [".".join(word.text for word in one.name) for one in found]
    if not found:
        raise PolicyError("the file publishes nothing: it has no CREATE ... WITH ANONYMIZATION", file=file)
    if release is not None:
        found = [one for one, name in zip(found, names, strict=True) if name == release]
        if len(found) != 1:
            listed = ", ".join(map(printable, names))
            message = f"the file has {len(found) or 'no'} release {printable(release)}; valid names: {listed}"
            raise PolicyError(f"--release: {message}", file=file)
    elif len(found) > 1:
        listed = ", ".join(map(printable, names))
        raise PolicyError(f"the file has {len(found)} releases ({listed}): choose one with --release", file=file)
    return found[0]


# -- the statements ----------------------------------------------------------------------------------------


def points_of(statement: Publish, methods: Sequence[str], grid: Grid, dialect: str) -> list[Point]:
    """Every method with every combination of requirements, the last axis moving fastest."""
    _check_sensitive(statement.policy, grid)
    count = len(methods)
    for values in grid.values():
        count *= len(values)
    if count > MOST_POINTS:
        raise PolicyError(f"the grid has {count:,} points, more than {MOST_POINTS:,}: give it fewer values")
    made = [
        _point(position, statement, method, combination, dialect)
        for position, (method, combination) in enumerate(product(methods, product(*grid.values())), start=1)
    ]
    return made


def _check_sensitive(policy: Policy, grid: Grid) -> None:
    about_values = [word for word, asked in grid.items() if any(one.about is About.VALUES for one in asked)]
    if about_values and not policy.roles.sensitive:
        raise PolicyError(f"--grid {about_values[0]}: it protects SENSITIVE columns, and the policy has none")


def _point(position: int, statement: Publish, method: str, asked: Sequence[Requirement], dialect: str) -> Point:
    policy = replace(statement.policy, requirements=_replace_requirements(statement.policy.requirements, asked))
    policy, left_out = _for_method(policy, method)
    kind = _kind(statement, method)
    live = statement.live and method == statement.policy.algorithm
    if statement.live and not live:
        left_out = (*left_out, "LIVE")
    made = replace(statement, policy=policy, kind=kind, live=live)
    return Point(position, replace(made, text=render_statement(made, dialect)), left_out)


def _kind(statement: Publish, method: str) -> ReleaseKind:
    """The policy's, where the method makes it; a method for models makes one, unless the policy itself is its own."""
    makes = registry.method_named(method).makes
    makes_models = "MODEL" in makes
    if statement.kind in makes and (not makes_models or method == statement.policy.algorithm):
        return statement.kind
    return "MODEL" if makes_models else "TABLE"


def _replace_requirements(former: Sequence[Requirement], asked: Sequence[Requirement]) -> tuple[Requirement, ...]:
    """Those of the policy, with the asked ones in place of their kind."""
    by_word = {item.word: item for item in former} | {item.word: item for item in asked}
    return tuple(by_word.values())


def _for_method(policy: Policy, method: str) -> tuple[Policy, tuple[str, ...]]:
    """The policy with another method in it, and what of it that method would refuse."""
    left_out, facts = [], registry.method_named(method)
    if policy.options and method != policy.algorithm:
        left_out.append(f"the options of {policy.algorithm}")
        policy = replace(policy, options={})
    if policy.preserve and not facts.preserves_trees:
        left_out.append("PRESERVE")
        policy = replace(policy, preserve=())
    if not facts.takes_hierarchies:
        kept = {word: one for word, one in policy.roles.hierarchies.items() if word not in policy.roles.quasi}
        if len(kept) < len(policy.roles.hierarchies):
            left_out.append("the HIERARCHY of quasi-identifiers")
            policy = replace(policy, roles=replace(policy.roles, hierarchies=kept))
    return replace(policy, algorithm=method), tuple(left_out)
