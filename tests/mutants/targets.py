"""Which files are changed, and which tests have to notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Target:
    name: str
    files: tuple[str, ...]  # patterns
    tests: tuple[str, ...]  # files and folders, as patterns

    def paths(self) -> list[str]:
        found = {path for pattern in self.files for path in ROOT.glob(pattern) if path.name != "__init__.py"}
        return sorted(str(path.relative_to(ROOT)) for path in found)

    def test_paths(self) -> list[str]:
        return sorted(str(path.relative_to(ROOT)) for pattern in self.tests for path in ROOT.glob(pattern))

    def has_test(self, test: str) -> bool:
        """Whether a test, such as tests/a/test_b.py::test_c, is one of the target's."""
        file = test.partition("::")[0]
        return any(file == path or file.startswith(f"{path}/") for path in self.test_paths())


TARGETS = (
    Target(
        "verify",
        ("ppdm_sql/verify/*.py", "sql/verify/*.sql"),
        (
            "ppdm_sql/verify", "tests/verify", "tests/release/test_model_release.py", "tests/release/test_joint_models.py",
            "tests/methods/test_tpp_release.py",
        ),
    ),
    Target("checks", ("ppdm_sql/checks/*.py", "sql/checks/*.sql"), ("ppdm_sql/checks", "tests/checks")),
    Target(
        "joint",
        (
            "ppdm_sql/planning/joint*.py", "ppdm_sql/planning/composition.py", "ppdm_sql/planning/people.py",
            "ppdm_sql/release/supersede.py", "sql/*/joint*.sql", "sql/*/link_differences.sql",
        ),
        (
            "tests/*/test_joint*.py", "tests/*/test_same_people.py", "tests/*/test_superseded.py",
            "tests/*/test_two_roles.py", "tests/*/test_model_release.py", "tests/*/test_partitions.py",
            "tests/pseudodata/test_pseudodata.py", "tests/attacks/test_pseudo_attacks.py",
            "tests/release/test_release_statements.py",
        ),
    ),
    Target(
        "publish",
        ("ppdm_sql/release/publish.py", "ppdm_sql/planning/measure_table.py", "sql/*/model_*.sql"),
        (
            "tests/release/test_publish.py", "tests/release/test_session_calls.py", "tests/release/test_live.py",
            "tests/release/test_release_statements.py", "tests/release/test_model_release.py",
            "tests/*/test_superseded.py", "tests/*/test_rows_and_people.py", "tests/attacks/test_injection.py",
        ),
    ),
    Target(
        "quoting",
        ("ppdm_sql/statements/names.py", "ppdm_sql/statements/load.py", "ppdm_sql/statements/rowtext.py"),
        (
            "ppdm_sql/statements", "tests/engines/test_engine_names.py", "tests/checks", "tests/attacks/test_injection.py",
            "tests/release/test_publish.py",
        ),
    ),
)  # fmt: skip


def files() -> dict[str, Target]:
    """Every file that is changed, with the first target that names it."""
    found: dict[str, Target] = {}
    for target in TARGETS:
        for path in target.paths():
            found.setdefault(path, target)
    return found


def all_tests() -> list[str]:
    return sorted({test for target in TARGETS for test in target.test_paths()})
