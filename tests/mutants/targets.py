"""Which files are changed, and which tests have to notice it: the fast and decisive ones come first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_RANDOM = "tests/verify/test_judge_random.py::test_the_judge_says_what_the_definitions_say_on_500_tables"


@dataclass(frozen=True)
class Target:
    name: str
    files: tuple[str, ...]  # patterns
    tests: tuple[str, ...]

    def paths(self) -> list[str]:
        found = {path for pattern in self.files for path in ROOT.glob(pattern) if path.name != "__init__.py"}
        return sorted(str(path.relative_to(ROOT)) for path in found)


TARGETS = (
    Target(
        "verify trees",
        ("ppdm_sql/verify/same_model.py", "ppdm_sql/verify/spans.py"),
        (
            "ppdm_sql/verify", "tests/verify/test_same_model.py", "tests/release/test_model_release.py",
            "tests/release/test_joint_models.py", "tests/methods/test_tpp_release.py",
        ),
    ),
    Target(
        "verify",
        ("ppdm_sql/verify/*.py", "sql/verify/*.sql"),
        (
            "ppdm_sql/verify", "tests/verify/test_judge_edges.py", "tests/verify/test_judge_bounds.py",
            "tests/verify/test_judge_entropy.py", "tests/verify/test_verify_content.py",
            *(f"{_RANDOM}[{batch}]" for batch in range(12)), "tests/attacks/test_files.py",
        ),
    ),
    Target(
        "checks",
        ("ppdm_sql/checks/*.py", "sql/checks/*.sql"),
        (
            "ppdm_sql/checks", "tests/checks/test_check_statements.py", "tests/checks/test_measure_edges.py",
            "tests/checks/test_histograms.py", "tests/checks/test_measure_random.py",
        ),
    ),
    Target(
        "joint",
        ("ppdm_sql/planning/joint.py", "ppdm_sql/planning/composition.py", "ppdm_sql/release/supersede.py", "sql/release/*.sql"),
        (
            "tests/release/test_joint.py", "tests/release/test_joint_rows.py", "tests/release/test_joint_models.py",
            "tests/release/test_superseded.py", "tests/release/test_model_release.py",
            "tests/pseudodata/test_pseudodata.py", "tests/attacks/test_pseudo_attacks.py",
        ),
    ),
    Target(
        "publish",
        ("ppdm_sql/release/publish.py", "ppdm_sql/planning/measure_table.py"),
        (
            "tests/release/test_publish.py", "tests/release/test_session_calls.py", "tests/release/test_superseded.py",
            "tests/release/test_live.py", "tests/attacks/test_injection.py",
        ),
    ),
    Target(
        "quoting",
        ("ppdm_sql/statements/names.py", "ppdm_sql/statements/load.py", "ppdm_sql/statements/rowtext.py"),
        (
            "ppdm_sql/statements", "tests/engines/test_engine_names.py", "tests/checks/test_check_statements.py",
            "tests/attacks/test_injection.py", "tests/release/test_publish.py",
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


def belonging_tests(target: Target) -> list[str]:
    """The tests of a target that exist: a later version may have renamed one."""
    return [test for test in target.tests if (ROOT / test.partition("::")[0]).exists()]
