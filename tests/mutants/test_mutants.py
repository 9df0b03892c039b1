"""The mutators change one place, and a change meets the tests that can notice it."""

from __future__ import annotations

import os
import sys
import types

import pytest
import sqlglot

from tests.mutants import sql
from tests.mutants.baseline import Footprint, noticing_tests
from tests.mutants.swap import swap_code
from tests.mutants.targets import ROOT, TARGETS, all_tests, files
from tests.mutants.worker import limit_memory
from tests.sizes import first

BEFORE = "def size(n):\n    return n < 3\n\n\nLIMIT = 3\n"


def test_every_target_has_files_and_tests():
    for target in TARGETS:
        assert target.paths(), target.name
        assert target.test_paths(), target.name
    assert "ppdm_sql/verify/same_model.py" in files()
    assert "tests/verify" in all_tests()


STATEMENTS = sorted((path for path in files() if path.endswith(".sql")), key=lambda path: (ROOT / path).stat().st_size)


@pytest.mark.parametrize("path", first(2, STATEMENTS))
def test_a_changed_statement_still_parses_and_differs(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    for mutant in sql.mutants(ROOT, path):
        assert mutant.code != text
        assert mutant.diff(ROOT).count("\n") == 1  # one line, before and after
        assert sqlglot.parse_one(mutant.code, dialect="duckdb")


def test_python_is_changed_in_one_place():
    pytest.importorskip("cosmic_ray", reason="make mutants installs cosmic-ray")
    from tests.mutants import python

    path = "ppdm_sql/statements/names.py"
    found = list(python.mutants(ROOT, path))
    assert any(mutant.is_comparison for mutant in found)
    for mutant in found[:5]:
        assert python.made(ROOT, mutant).diff(ROOT).count("\n") == 1


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    file = tmp_path / "sizes.py"
    module = types.ModuleType("sizes")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, "sizes", module)
    exec(compile(BEFORE, str(file), "exec"), module.__dict__)
    return file, module


def test_a_change_inside_a_function_reaches_those_who_hold_the_function(loaded):
    file, module = loaded
    size = module.size
    assert swap_code(file, BEFORE, BEFORE.replace("<", "<="))
    assert size(3)


def test_a_change_outside_of_functions_needs_a_new_process(loaded):
    file, module = loaded
    assert not swap_code(file, BEFORE, BEFORE.replace("LIMIT = 3", "LIMIT = 4"))
    assert module.size(2)


def test_a_change_meets_the_tests_that_run_its_line():
    found = {
        "slow": Footprint(2, {"sizes.py": [2]}),
        "fast": Footprint(1, {"sizes.py": [2]}),
        "other": Footprint(1, {"other.py": [2]}),
        "process": Footprint(9, starts_processes=True),
        "query": Footprint(1, statements=["sql/a.sql"]),
    }
    assert noticing_tests(found, "sizes.py", 2, BEFORE, {}) == ["fast", "slow", "process"]
    assert noticing_tests(found, "sizes.py", 2, BEFORE, {"slow": 1}) == ["slow", "fast", "process"]
    assert list(noticing_tests(found, "sizes.py", 5, BEFORE, {}))[:3] == ["fast", "slow", "process"]
    assert len(noticing_tests(found, "sizes.py", 5, BEFORE, {})) == 5
    assert noticing_tests(found, "sql/a.sql", 1, "", {}) == ["query", "process"]


def test_a_change_that_only_grows_ends():
    """In a child, because a limit cannot be taken back: 64 MB are there, 1 GB is not."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            limit_memory(2**29)
            small = bytearray(2**26)
            code = 2 if bytearray(2**30) and small else 3
        except MemoryError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
