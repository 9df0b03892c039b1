"""One open database and everything a statement can ask of it: the Python API, and what the commands call.

>>> import duckdb, ppdm_sql
>>> con = duckdb.connect()
>>> _ = con.execute("CREATE TABLE t AS SELECT range % 3 AS a, 'x' || range % 2 AS b FROM range(60)")
>>> db = ppdm_sql.connect(con)
>>> release = db.publish('''CREATE TABLE t_open AS SELECT a, b FROM t
...     WITH ANONYMIZATION (ALGORITHM mondrian REQUIRE k = 10 QUASI IDENTIFIER (a) SENSITIVE (b))''')
>>> release.rows, release.findings[0].holds
(60, True)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ppdm_sql.catalog import migrate, releases
from ppdm_sql.catalog.evaluations import Evaluation
from ppdm_sql.catalog.releases import ReleaseRecord, ReleaseSummary
from ppdm_sql.checks.measure import Measures, Sensitive, measure
from ppdm_sql.engines.base import Engine
from ppdm_sql.engines.connect import open_engine
from ppdm_sql.engines.shadows import check_builtins_once
from ppdm_sql.errors import EngineError, PolicyError, PpdmError
from ppdm_sql.model_calls import ModelCalls
from ppdm_sql.planning.planner import Planner
from ppdm_sql.policy import grammar
from ppdm_sql.policy.policy import (
    DropRelease,
    Explain,
    Export,
    PassThrough,
    PseudoData,
    Publish,
    Refresh,
    ShareCounts,
    Statement,
    Verify,
)
from ppdm_sql.policy.stored_requirements import is_damaged, refuse_damaged
from ppdm_sql.release.drop import drop
from ppdm_sql.release.export.write import check_recordable
from ppdm_sql.release.kinds.registry import kind_of, kind_of_statement
from ppdm_sql.release.pass_through import pass_on
from ppdm_sql.release.preflight import Preflight
from ppdm_sql.release.publication import plan_refresh, refreshing_statement, run_publication
from ppdm_sql.release.results import Dropped, Exported, Passed, Planned, Published, Result, Verified
from ppdm_sql.release.reverify import reverify_damaged
from ppdm_sql.sharing.private.statement import share_counts
from ppdm_sql.source.faults import explain_statement
from ppdm_sql.source.given import name_of
from ppdm_sql.statements.names import PREFIX, Name
from ppdm_sql.watching import Progress, silent

if TYPE_CHECKING:
    import duckdb

    from ppdm_sql.evaluate.advise import Advice
    from ppdm_sql.evaluate.advise_parts import PartsAdvice
    from ppdm_sql.evaluate.run import Watcher as GridWatcher
    from ppdm_sql.report.write import Reported

Told = Callable[[Statement, Result], None]

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def connect(
    database: str | Path | duckdb.DuckDBPyConnection,
    *,
    out: str | Path | None = None,
    show_values: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Session:
    """Opens a database: a DuckDB file, an open DuckDB connection, 'postgresql://...' or 'spark:...'.

    out is the folder that exports stay below (default: the current one).  allow=["in"] opens folders of files for
    reading; an open connection reads what it could read before.
    """
    engine = open_engine(str(database) if isinstance(database, Path) else database, **options)
    return Session(engine, out=Path(out) if out else Path.cwd(), show_values=show_values, progress=progress or silent)


def _in_workspace(
    method: Callable[Concatenate[Session, Given], Answer],
) -> Callable[Concatenate[Session, Given], Answer]:
    """A method of the session whose working tables are dropped at its end."""

    @wraps(method)
    def call(session: Session, /, *given: Given.args, **named: Given.kwargs) -> Answer:
        with session.engine.workspace():
            return method(session, *given, **named)

    return call


class Session(ModelCalls):
    """Runs policies in one database."""

    def __init__(self, engine: Engine, *, out: Path, show_values: bool, progress: Progress) -> None:
        super().__init__(engine, progress)
        self._out = out
        self._planner = Planner(engine, show_values, progress)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.engine.close()

    def register(self, name: str, frame: object) -> None:
        """Makes a pandas DataFrame or a pyarrow Table a table of this session, which a policy can publish from."""
        if not self.engine.reads_files:
            raise PolicyError(f"{self.engine.title} reads no data frames: load the rows into a table first")
        relation = name_of(self.engine, name)
        if relation.schema is not None or relation.last.startswith(PREFIX):
            raise PolicyError(f"a data frame needs a plain name that does not start with {PREFIX}, such as people")
        if self.engine.relation_kind(relation) is not None:
            raise PolicyError(f'"{relation}" names a relation of the database: choose another name for the data frame')
        self.engine.register(relation, frame)

    # -- statements --------------------------------------------------------------------------------

    def parse(self, text: str, file: str | None = None) -> list[Statement]:
        return grammar.parse(text, file=file, dialect=self.engine.dialect)

    def execute(self, text: str, *, file: str | None = None, told: Told | None = None) -> list[Result]:
        """Runs every statement of a policy; the whole text is read and checked first, so a mistake runs nothing.

        An error of a later statement has the results of the earlier ones in its attribute results.
        """
        results: list[Result] = []
        try:
            for statement, result in self.run_all(self.parse(text, file)):
                results.append(result)
                (told or _tell_nobody)(statement, result)
        except PpdmError as error:
            error.results = tuple(results)
            raise
        return results

    def run_all(self, statements: Sequence[Statement]) -> Iterator[tuple[Statement, Result]]:
        """Checks all statements, then runs one after the other; what was found out about the first holds in its run."""
        ahead: list[Result] = []
        with self.engine.workspace():
            self._check_ahead(statements)
            if statements and not isinstance(statements[0], PassThrough):  # its text may drop what the check looks at
                ahead.append(self.run(statements[0]))
        for number, statement in enumerate(statements):
            yield statement, ahead.pop() if number == 0 and ahead else self.run(statement)

    @_in_workspace
    def run(self, statement: Statement | str) -> Result:
        """Runs one statement, of parse() or as a text; execute() runs a text of several."""
        statement = self._one(statement) if isinstance(statement, str) else statement
        match statement:
            case PassThrough():
                return self._pass_through(statement)
            case Publish() | PseudoData():
                return self._publish(statement)
            case ShareCounts():
                return share_counts(self.engine, statement, self._out)
            case Refresh():
                return self._refresh(statement)
            case Verify():
                return self.verify(self.engine.name(statement.name))
            case Export():
                return self.export(self.engine.name(statement.name), statement.path, statement.options)
            case DropRelease():
                return self.drop(self.engine.name(statement.name))
            case Explain():
                return self._explain(statement)
            case _:
                raise PolicyError(f"run takes one statement, as text or from parse(), not {type(statement).__name__}")

    def _one(self, text: str) -> Statement:
        statements = self.parse(text)
        if len(statements) != 1:
            raise PolicyError(f"run takes one statement, not {len(statements)}; execute runs several")
        self.check_ahead(statements)
        return statements[0]

    @_in_workspace
    def check_ahead(self, statements: Sequence[Statement], *, exports: bool = True) -> None:
        """Refuses everything that can be known to be wrong before the first statement runs."""
        self._check_ahead(statements, exports=exports)

    def _check_ahead(self, statements: Sequence[Statement], *, exports: bool = True) -> None:
        if statements and not isinstance(statements[0], PassThrough):  # ordinary SQL may drop what is in the way
            check_builtins_once(self.engine)
        Preflight(self._planner, self._out if exports else None).check(statements)

    def _pass_through(self, statement: PassThrough) -> Passed:
        try:
            return Passed(statement.text, pass_on(self.engine, statement.text))
        except EngineError as error:
            raise explain_statement(
                self.engine, error, statement.text, statement.place, show_values=self._planner.show_values
            ) from error

    @_in_workspace
    def publish(self, text: str) -> Published:
        """Runs one CREATE ... WITH ANONYMIZATION."""
        return self._publish(self._one_publish(text))

    def plan(self, statement: Publish | str, *, rows: int = 5) -> Planned:
        """What one CREATE ... WITH ANONYMIZATION would publish, with so many of its rows; writes nothing."""
        return self._plan(self._one_publish(statement) if isinstance(statement, str) else statement, rows=rows)

    def plan_all(self, statements: Sequence[Statement], *, rows: int = 5) -> Iterator[Planned]:
        """What each publication among the statements of a file would publish, with so many rows; writes nothing."""
        coming: set[Name] = set()
        for statement in statements:
            if isinstance(statement, Publish | PseudoData):
                yield self._plan(statement, coming, rows=rows)
                if kind_of_statement(statement).keeps_model:
                    coming.add(self.engine.name(statement.name))
            elif isinstance(statement, ShareCounts):
                yield Planned.in_words(self.engine, statement)
            elif isinstance(statement, Refresh):
                yield from filter(None, [self._plan_refresh(statement, rows=rows)])

    @_in_workspace
    def check(self, statement: Publish | str) -> Measures:
        """How the source of a policy stands against its requirements, as it is now; changes nothing."""
        statement = self._one_publish(statement) if isinstance(statement, str) else statement
        self.engine.check_builtins()
        source = self._planner.source(statement)
        hierarchies = self._planner.hierarchies(statement, source)
        return measure(
            self.engine,
            source.relation,
            quasi=[source.info(name) for name in source.quasi],
            sensitive=[
                Sensitive(source.info(name), hierarchies.get(name), name in source.nulls_as_value)
                for name in source.sensitive
            ],
            requirements=statement.policy.requirements,
            entity=source.info(source.entity) if source.entity else None,
            weight=source.info(source.weight) if source.weight else None,
        )

    def _one_publish(self, text: str) -> Publish:
        statements = self.parse(text)
        if len(statements) != 1 or not isinstance(statements[0], Publish):
            raise PolicyError("expected one CREATE ... WITH ANONYMIZATION (...)")
        return statements[0]

    # -- publishing --------------------------------------------------------------------------------

    def _publish(self, statement: Publish | PseudoData) -> Published:
        kind_of_statement(statement).check(statement)
        check_builtins_once(self.engine)
        return Published.of(self.engine, run_publication(self._planner, statement))

    def _refresh(self, statement: Refresh) -> Published:
        return self._publish(refreshing_statement(self.engine, self._current(self.engine.name(statement.name))))

    @_in_workspace
    def _plan_refresh(self, statement: Refresh, *, rows: int = 5) -> Planned | None:
        """What REFRESH would do tonight, for releases that do not publish everything again."""
        record = self._current(self.engine.name(statement.name))
        return plan_refresh(replace(self._planner, preview_rows=rows), record)

    @_in_workspace
    def _plan(self, statement: Publish | PseudoData, coming: Collection[Name] = (), *, rows: int = 5) -> Planned:
        kind = kind_of_statement(statement)
        kind.check(statement)
        self.engine.check_builtins()
        return kind.plan(replace(self._planner, preview_rows=rows), statement, coming)

    def _explain(self, statement: Explain) -> Planned:
        if isinstance(statement.statement, Publish | PseudoData):
            return self._plan(statement.statement)
        planned = self._plan_refresh(statement.statement) if isinstance(statement.statement, Refresh) else None
        return planned or Planned.in_words(self.engine, statement.statement)

    # -- choosing: learners and measures are loaded when they are asked for ------------------------

    @_in_workspace
    def evaluate(
        self,
        statement: Publish | str,
        *,
        methods: Sequence[str] = (),
        grid: Sequence[str] = (),
        protocol: str = "holdout",
        learner: str | None = None,
        seed: int | None = None,
        workload: str | Path | None = None,
        again: bool = False,
        watch: GridWatcher | None = None,
    ) -> Evaluation:
        """Tries methods and requirements (grid=["k=5,10"]) on the table of a policy; only figures are kept."""
        from ppdm_sql.evaluate.run import evaluate_policy, watch_nothing

        self.engine.check_builtins()
        return evaluate_policy(
            self.engine, self._one_publish(statement) if isinstance(statement, str) else statement,
            methods=methods, grid=grid, protocol=protocol, learner=learner, seed=seed, workload=workload,
            again=again, watch=watch or watch_nothing, show_values=self._planner.show_values,
        )  # fmt: skip

    @_in_workspace
    def advise(
        self,
        statement: Publish | str,
        *,
        sample: int | None = None,
        learner: str | None = None,
        seed: int | None = None,
        watch: GridWatcher | None = None,
    ) -> Advice:
        """A method and a k for the table of a policy, whose own requirements are the least; publishes nothing."""
        from ppdm_sql.evaluate.advise import SAMPLE, advise
        from ppdm_sql.evaluate.run import watch_nothing

        self.engine.check_builtins()
        return advise(
            self.engine, self._one_publish(statement) if isinstance(statement, str) else statement,
            sample=sample or SAMPLE, learner=learner, seed=seed, watch=watch or watch_nothing,
            show_values=self._planner.show_values,
        )  # fmt: skip

    def advise_parts(
        self, statement: Publish | str, asked: Mapping[str, int] | None = None, *, runs: int = 1, front: bool = False,
        seed: int | None = None,
    ) -> PartsAdvice:  # fmt: skip
        """The parts of ALGORITHM dmpd for the table of a policy, by a search; publishes nothing."""
        from ppdm_sql.evaluate.advise_parts import advise_parts

        self.engine.check_builtins()
        wanted = self._one_publish(statement) if isinstance(statement, str) else statement
        return advise_parts(
            self.engine, wanted, asked or {}, runs=runs, front=front, seed=seed, progress=self._planner.progress
        )

    # -- releases ----------------------------------------------------------------------------------

    @_in_workspace
    def verify(self, name: Name | str) -> Verified:
        """Re-measures a release from what is stored; raises nothing, the result says what was found."""
        record = self._find_release(_name(name))
        if is_damaged(record):
            return reverify_damaged(self.engine, record)
        return kind_of(record).verify(self.engine, record)

    @_in_workspace
    def export(self, name: Name | str, path: str | Path, options: Mapping[str, Any] | None = None) -> Exported:
        """Writes a release into a new file, re-measured there before it gets its name."""
        check_recordable(self.engine)
        record = self._current(_name(name))
        return kind_of(record).export(
            self.engine, record, str(path), dict(options or {}), out=self._out, progress=self._progress
        )

    @_in_workspace
    def report(self, name: Name | str, path: str | Path, *, readers: str = "internal", force: bool = False) -> Reported:
        """Writes one HTML page about a release, for internal or public readers; the release is measured for it."""
        from ppdm_sql.report.write import report  # charts and templates take their time to load

        record = self._current(_name(name))
        return report(
            self.engine, record, str(path), verify=lambda: self.verify(name), out=self._out, readers=readers,
            force=force, progress=self._progress,
        )  # fmt: skip

    @_in_workspace
    def drop(self, name: Name | str) -> Dropped:
        self.engine.check_writable()
        return drop(self.engine, self._find_release(_name(name)))

    def release(self, name: Name | str) -> Published:
        return Published.of(self.engine, self._current(_name(name)))

    def releases(self, *, include_gone: bool = False) -> list[ReleaseSummary]:
        if not migrate.is_there(self.engine):
            return []
        return releases.list_releases(self.engine, include_gone)

    def _current(self, name: Name) -> ReleaseRecord:
        """The release of a name, in a state in which it can be used."""
        found = self._find_release(name)
        refuse_damaged(found)
        return found

    def _find_release(self, name: Name) -> ReleaseRecord:
        self.engine.check_builtins()  # what is found is measured, exported or withdrawn next
        found = releases.current(self.engine, name) if migrate.is_there(self.engine) else None
        if found is None:
            raise PolicyError(f'there is no release "{name}" in this database (ppdm list shows the releases)')
        return found


def _tell_nobody(statement: Statement, result: Result) -> None: ...


def _name(name: Name | str) -> Name:
    if isinstance(name, Name):
        return name
    return Name(*name.split(".", 1)) if "." in name else Name(name)
