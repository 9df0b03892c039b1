"""The relation a policy reads: its query, its columns with exact types, and who plays which role.

A query that only picks columns and rows of one stored table is read where it stands.  Anything else (joins,
functions, LIMIT, files, attached databases) is first written into a working table, so that every later count sees
the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp, parse_one

from ppdm_sql.engines.base import ColumnInfo, Engine, Kind
from ppdm_sql.errors import EngineError, Mistake, PolicyError, UnknownColumn
from ppdm_sql.policy.forms import Form
from ppdm_sql.policy.options import at
from ppdm_sql.policy.places import place_of
from ppdm_sql.policy.policy import HierarchySource, Place, Policy, Tuning
from ppdm_sql.policy.words import many
from ppdm_sql.source.faults import explain_text, no_column
from ppdm_sql.source.form_roles import form_mistakes, refuse_native_ranges, renamed
from ppdm_sql.source.lineage import NO_TABLE, WINDOW, Behind, Lineage, Origin
from ppdm_sql.source.outside import bind_outside, reads_outside
from ppdm_sql.source.persons import refuse_spellings
from ppdm_sql.source.tables import all_tables, base_tables, leaves_rows_out, makes_columns, named_relations
from ppdm_sql.source.weights import refuse_weights, weight_mistakes
from ppdm_sql.statements.names import PREFIX, Name, Word
from ppdm_sql.treatments import Treatment


@dataclass(frozen=True)
class Source:
    """A relation with its roles resolved; every name is exact, as the engine stores it."""

    relation: Name
    columns: Mapping[str, ColumnInfo]
    tables: tuple[str, ...]  # the base tables behind the query: what the ledger is kept by
    identifiers: tuple[str, ...] = ()
    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    insensitive: tuple[str, ...] = ()
    entity: str | None = None
    hierarchies: Mapping[str, HierarchySource] | None = None
    nulls_as_value: frozenset[str] = frozenset()  # sensitive columns whose NULLs count as a value
    tunings: Mapping[str, Tuning] = field(default_factory=dict)  # what is said about a column besides its hierarchy
    origins: Mapping[str, str] = field(default_factory=dict)  # column -> what the query computes it from
    made_of: Mapping[str, Origin] = field(default_factory=dict)  # column -> the columns of the tables in that
    shapes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # table -> all its columns
    some_rows: bool = False  # the query, or a view it reads, leaves rows out
    forms: Mapping[str, Form] = field(default_factory=dict)  # of quasi-identifiers that are not published as labels
    key: tuple[str, ...] = ()  # what identifies the rows of a growing release
    weight: str | None = None  # for how many people of a population a row stands
    cohort: str | None = None  # the column that says in which cohort a row was published, where the policy shows it

    treated: Mapping[str, Treatment] = field(default_factory=dict)  # columns that are published in another form
    pseudonym: str | None = None  # the column that says, by a pseudonym, who it is; the ENTITY is PERSON then
    before: Mapping[str, ColumnInfo] | None = None  # the columns before treatments

    @property
    def query_columns(self) -> Mapping[str, ColumnInfo]:
        """The columns as the query returns them."""
        return self.columns if self.before is None else self.before

    def outward(self, name: str) -> str:
        """A column by the name it has in the query."""
        return self.pseudonym if name == PERSON and self.pseudonym is not None else name

    @property
    def own_values(self) -> tuple[str, ...]:
        """The columns that leave with values of their own, treated or not: all that pass but pseudonyms."""
        return tuple(name for name in self.passed if name != self.pseudonym)

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that leave, in the order of the query, by the names they have there."""
        weight = {self.weight} - set(self.insensitive)
        dropped = {*self.identifiers, *self.key, self.entity, *weight}
        return tuple(name for name in self.columns if name not in dropped)

    @property
    def passed(self) -> tuple[str, ...]:
        """The columns that are published unchanged."""
        return tuple(name for name in self.published if name not in self.quasi)

    @property
    def release_columns(self) -> tuple[str, ...]:
        """The columns of the release: those that leave, each in its form."""
        return (*renamed(self.published, self.forms), *self._shown_cohort)

    @property
    def release_quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers by their columns in the release; rows that agree in all of them are a class."""
        return (*renamed(self.quasi, self.forms), *self._shown_cohort)

    @property
    def _shown_cohort(self) -> tuple[str, ...]:
        return () if self.cohort is None else (self.cohort,)

    def behind(self, names: Collection[str]) -> frozenset[Behind]:
        """The columns of the tables that these columns are made of; by their own names where that is not known."""
        made = [self.made_of[name].columns if name in self.made_of else {(NO_TABLE, name.casefold())} for name in names]
        return frozenset().union(*made)

    def info(self, name: str) -> ColumnInfo:
        return self.columns[name]


def open_source(
    engine: Engine, query: str, policy: Policy, place: Place | None = None, start: Place | None = None,
    *, show_values: bool = False,
) -> Source:  # fmt: skip
    """The policy's query as a relation of the engine, its roles resolved and its types checked.

    place: of the statement; start: of the query in it.
    """
    source = describe_source(engine, query, policy, place, start, show_values=show_values)
    if reads_outside(source.tables) or not reads_in_place(parse_one(query, dialect=engine.dialect)):
        listed = [exp.Column(this=exp.Identifier(this=name, quoted=True)) for name in source.columns]
        picked = exp.Select(expressions=listed).from_(source.relation.table())
        source = replace(source, relation=engine.work.table("snapshot", picked, analyze=True))
    if source.entity is not None:
        refuse_spellings(engine, source.relation, source.info(source.entity))
    if source.weight is not None and policy.roles.weight is not None:
        where = policy.roles.places.get(policy.roles.weight, place)
        refuse_weights(engine, source.relation, source.info(source.weight), where)
    return source


def describe_source(
    engine: Engine, query: str, policy: Policy, place: Place | None = None, start: Place | None = None,
    *, show_values: bool = False,
) -> Source:  # fmt: skip
    """The same without reading a row: the query as a temporary view, its roles and types.

    Described once while the view is there: a statement is checked before it runs.
    """

    def describe() -> tuple[Policy, Source]:
        return policy, _describe(engine, query, policy, place, start, show_values=show_values)

    return engine.work.remember(("source", query, id(policy), show_values), describe)[1]


def _describe(
    engine: Engine, query: str, policy: Policy, place: Place | None, start: Place | None, *, show_values: bool
) -> Source:
    written = parse_one(query, dialect=engine.dialect)

    def where(part: exp.Table) -> Place | None:
        return place_of(start or place, query, part)

    tree = bind_outside(engine, written, place, where)
    listed = base_tables(engine, tree, place, where)
    try:
        view = engine.work.view_of_text("source", query)
    except EngineError as error:
        raise explain_text(engine, error, query, start or place, tree) from error
    engine.look_up([view, *named_relations(engine, tree)], columns=True)
    tables = all_tables(engine, view, query, listed, place)
    named = None if show_values else _names_for_messages(engine, tree)
    source = resolve(view, engine.columns(view), policy, tables, place, named)
    native = {name: source.info(name) for name, form in source.forms.items() if form is Form.NATIVE_RANGE}
    places = {name: where for word, where in policy.roles.places.items() if (name := match(word, native)) is not None}
    refuse_native_ranges(engine, native, places, place)
    lineage = Lineage(engine)
    made_of = lineage.columns(tree)
    unknown = Origin(frozenset().union(*(one.columns for one in made_of.values())))
    source = replace(
        source,
        origins=_origins(tree, engine.dialect),
        made_of={name: made_of.get(name.casefold(), unknown) for name in source.columns},
        shapes=lineage.tables,
        some_rows=leaves_rows_out(engine, tree),
    )
    _refuse_drawn_keys(engine, source, place)
    return source


def _names_for_messages(engine: Engine, tree: exp.Expr) -> frozenset[str] | None:
    """The columns that a message may name: of a query that reads a PIVOT, whose columns are values, those it names.

    None: all of them.
    """
    if not makes_columns(engine, tree):
        return None
    return frozenset(word.name for word in tree.find_all(exp.Identifier))


# -- what the query does ---------------------------------------------------------------------------------


def _origins(tree: exp.Expr, dialect: str = "") -> dict[str, str]:
    """What the columns of a query are computed from; a column that is not here is one of the table, by its own name.

    >>> _origins(parse_one("SELECT t.id, years AS age, zip / 10 AS zip FROM t"))
    {'id': 'id', 'age': 'years', 'zip': 'zip / 10'}
    """
    if not isinstance(tree, exp.Select):
        return {}
    picked = ((item.alias_or_name, item.unalias()) for item in tree.expressions if not item.is_star)
    return {
        name: item.name if isinstance(item, exp.Column) else item.sql(dialect, comments=False) for name, item in picked
    }


def _refuse_drawn_keys(engine: Engine, source: Source, place: Place | None) -> None:
    """Refuses a person that a statement makes up: the next statement makes up another one."""
    roles = [*((("ENTITY", source.entity),) if source.entity else ()), *(("IDENTIFIER", n) for n in source.identifiers)]
    computed = any(source.made_of[name].calls for _, name in roles)
    drawn = {WINDOW} | engine.unsteady_names() if computed else frozenset()
    mistakes = [
        at(
            place,
            f"{role} ({name}) is computed by {', '.join(sorted(source.made_of[name].calls & drawn))}, which returns a "
            "different value for the same person each time: select a column of the table that identifies the person",
        )
        for role, name in roles
        if source.made_of[name].calls & drawn
    ]
    if mistakes:
        raise PolicyError(*mistakes, file=place.file if place else None)


def reads_in_place(tree: exp.Expr) -> bool:
    """Whether a query only picks columns and rows of one table, so that reading it twice gives the same.

    >>> reads_in_place(parse_one("SELECT a, b AS c FROM t WHERE a > 1"))
    True
    >>> [reads_in_place(parse_one(q)) for q in ("SELECT a FROM t LIMIT 3", "SELECT a FROM t WHERE RANDOM() < 0.5")]
    [False, False]
    """
    if not isinstance(tree, exp.Select):
        return False
    plain = {"expressions", "from_", "where", "kind"}
    if any(value for part, value in tree.args.items() if part not in plain):
        return False
    if any(True for _ in tree.find_all(exp.Func, exp.Subquery, exp.Join)):
        return False
    picked = (item.this if isinstance(item, exp.Alias) else item for item in tree.expressions)
    return all(isinstance(item, exp.Column | exp.Star) for item in picked)


# -- roles ---------------------------------------------------------------------------------------------


def resolve(
    relation: Name,
    columns: Sequence[ColumnInfo],
    policy: Policy,
    tables: tuple[str, ...],
    place: Place | None = None,
    named: Collection[str] | None = None,
) -> Source:
    """The policy's words against the columns there are; all mistakes are reported together.

    named: the columns that a message may name; None: all.  PIVOT makes columns out of values.
    """
    roles = policy.roles
    by_name = {info.name: info for info in columns}
    shown = [name for name in by_name if named is None or name in named]
    mistakes = [*_unusable(columns, shown, place)]
    missing: list[str] = []

    def find_columns(words: Sequence[Word]) -> tuple[str, ...]:
        names = []
        for word in words:
            name = match(word, by_name)
            if name is None:
                missing.append(word.text)
                mistakes.append(at(roles.places.get(word, place), no_column(word.text, shown)))
            else:
                names.append(name)
        return tuple(names)

    identifiers, quasi = find_columns(roles.identifiers), find_columns(roles.quasi)
    sensitive = find_columns(roles.sensitive)
    insensitive = find_columns(roles.insensitive)
    target = next(iter(find_columns([roles.target] if roles.target else [])), None)
    entity = next(iter(find_columns([roles.entity] if roles.entity else [])), None)
    key = find_columns(roles.key)
    weight = next(iter(find_columns([roles.weight] if roles.weight else [])), None)
    resolved = ((match(word, by_name), wanted) for word, wanted in roles.hierarchies.items())
    hierarchies = {name: wanted for name, wanted in resolved if name is not None}
    forms = {name: form for word, form in roles.forms.items() if (name := match(word, by_name)) is not None}
    given = {*identifiers, *quasi, *sensitive, *insensitive, *key, target, entity, weight}
    if not mistakes:  # a misspelt role would leave its column without one: that is reported already
        without = [name for name in by_name if name not in given]
        mistakes.extend(_without_role(without, shown, place))
    mistakes.extend(_nested_type_mistakes(by_name, given, identifiers, place))
    if weight is not None and roles.weight is not None:
        several = (*identifiers, *quasi, *sensitive, *key, target, entity)
        mistakes.extend(weight_mistakes(by_name[weight], several, roles.places.get(roles.weight, place)))
    mistakes.extend(_in_two_roles([identifiers, quasi, sensitive, insensitive, (entity,) if entity else ()], place))
    if not mistakes:
        placed = {name: roles.places.get(word, place) for word in roles.forms if (name := match(word, by_name))}
        dropped = {*identifiers, *key, entity, *({weight} - set(insensitive))}
        leaving = [name for name in by_name if name not in dropped]
        mistakes.extend(form_mistakes(by_name, forms, hierarchies, leaving, placed))
    if missing:
        raise UnknownColumn(missing, *mistakes, file=place.file if place else None)
    if mistakes:
        raise PolicyError(*mistakes, file=place.file if place else None)
    tunings = {name: one for word, one in roles.tunings.items() if (name := match(word, by_name)) is not None}
    nulls_as_value = frozenset(name for word in roles.nulls_as_value if (name := match(word, by_name)) is not None)
    return Source(
        relation, by_name, tables, identifiers, quasi, sensitive, target, insensitive, entity, hierarchies,
        nulls_as_value, forms=forms, tunings=tunings, key=key, weight=weight,
        cohort=_cohort_column(policy, by_name, place),
    )  # fmt: skip


COHORT = "cohort"
PERSON = "ppdm_person"


def _cohort_column(policy: Policy, columns: Mapping[str, object], place: Place | None) -> str | None:
    """The column that CHANGES (show = cohort) adds."""
    if policy.changes.show != "cohort":
        return None
    taken = next((name for name in columns if name.casefold() == COHORT), None)
    if taken is not None:
        told = f'CHANGES (show = cohort) adds a column "{COHORT}", and the query has one: rename that with AS'
        raise PolicyError(at(place, told), file=place.file if place else None)
    return COHORT


def match(word: Word, names: Mapping[str, object]) -> str | None:
    """The column a word means: exactly that name, or without quotes the only one that differs in case alone."""
    if word.text in names:
        return word.text
    if word.quoted:
        return None
    alike = [name for name in names if name.casefold() == word.text.casefold()]
    return alike[0] if len(alike) == 1 else None


def _without_role(names: Sequence[str], shown: Sequence[str], place: Place | None) -> Iterator[Mistake]:
    for name in names:
        if name in shown:
            yield at(place, f'column "{name}" has no role: give it one, or leave it out of the SELECT')
    made = sum(name not in shown for name in names)
    if made:
        which = f"{many(made, 'column')} of a PIVOT {'has' if made == 1 else 'have'} no role"
        yield at(
            place, f"{which}: list the columns in the SELECT (their names are data values; --show-values shows them)"
        )


def _unusable(columns: Sequence[ColumnInfo], shown: Sequence[str], place: Place | None) -> Iterator[Mistake]:
    folded: set[str] = set()
    for info in columns:
        which = f'column "{info.name}"' if info.name in shown else "a column of a PIVOT"
        if info.name.casefold() in folded:
            yield at(place, f"{which} occurs twice: rename one with AS")
        folded.add(info.name.casefold())
        if info.name.casefold().startswith(PREFIX):
            yield at(place, f"{which}: the prefix {PREFIX} is reserved for ppdm_sql; rename it with AS")


def _nested_type_mistakes(
    by_name: Mapping[str, ColumnInfo], given: set[str | None], identifiers: tuple[str, ...], place: Place | None
) -> Iterator[Mistake]:
    for name, info in by_name.items():
        if name in given and name not in identifiers and info.kind is Kind.UNSUPPORTED:
            shape = info.declared.split("(")[0]
            yield at(place, f'column "{name}": type {shape} cannot be published; cast or unnest it in the SELECT')


def _in_two_roles(roles: Sequence[tuple[str, ...]], place: Place | None) -> Iterator[Mistake]:
    """A column under two spellings; one spelling in two roles is reported by the grammar.  TARGET goes with others."""
    seen: set[str] = set()
    for name in (name for names in roles for name in names):
        if name in seen:
            yield at(place, f'column "{name}" is named twice among the roles')
        seen.add(name)
