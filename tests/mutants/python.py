"""One change in a Python file, by the operators of cosmic-ray.

Only changes that mean something are drawn: a comparison becomes its neighbour or its opposite, not `is`.  The | of an
annotation, which nothing evaluates, is left alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

_COMPARISONS = (
    "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt", "Eq_NotEq", "NotEq_Eq",
    "Is_IsNot", "IsNot_Is",
)  # fmt: skip
_ARITHMETIC = ("Add_Sub", "Sub_Add", "Mul_Add", "Div_Mul", "FloorDiv_Mul", "Mod_Mul", "Pow_Mul", "LShift_RShift",
               "RShift_LShift", "BitAnd_BitOr")  # fmt: skip
OPERATORS = (
    *(f"ReplaceComparisonOperator_{pair}" for pair in _COMPARISONS),
    *(f"ReplaceBinaryOperator_{pair}" for pair in _ARITHMETIC),
    "ReplaceUnaryOperator_Delete_Not", "ReplaceUnaryOperator_Delete_USub", "AddNot", "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd", "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak", "NumberReplacer", "ZeroIterationForLoop",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A change: where it is, what it is called, and the file as it becomes."""

    path: str
    line: int
    operator: str
    code: str = ""  # empty: not made yet, see made()
    occurrence: int = 0

    @property
    def is_comparison(self) -> bool:
        return "Comparison" in self.operator

    def diff(self, root: Path) -> str:
        before = (root / self.path).read_text(encoding="utf-8").splitlines()
        lines = difflib.unified_diff(before, self.code.splitlines(), lineterm="", n=0)
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def mutants(root: Path, path: str) -> Iterator[Mutant]:
    """Where a change is possible; made() makes it, which takes a thousand times as long."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    text = (root / path).read_text(encoding="utf-8")
    nodes, written = list(ast_nodes(get_ast(text))), text.splitlines()
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        lines = [start[0] for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, line in enumerate(lines):
            if not _is_idle(name, written[line - 1]):
                yield Mutant(path, line, name, occurrence=occurrence)


def _is_idle(operator: str, line: str) -> bool:
    """Nothing depends on @dataclass(frozen=True), nor on zip(..., strict=True), which only guards against mistakes.

    >>> _is_idle("ReplaceTrueWithFalse", "zip(a, b, strict=True)"), _is_idle("AddNot", "if zip(a, b, strict=True):")
    (True, False)
    """
    return line.lstrip().startswith("@") or (operator == "ReplaceTrueWithFalse" and "strict=True" in line)


def made(root: Path, mutant: Mutant) -> Mutant:
    """The mutant with its code."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    if mutant.code:
        return mutant
    text = (root / mutant.path).read_text(encoding="utf-8")
    code = mutate_code(text, get_operator(f"core/{mutant.operator}")(), mutant.occurrence)
    if code is None or code == text:
        raise ValueError(f"{mutant.operator} changes nothing in {mutant.path}:{mutant.line}")
    return replace(mutant, code=code)


def is_program(mutant: Mutant) -> bool:
    """Whether the changed file compiles; the * of a signature and the ** of a call are no operators.

    >>> [is_program(Mutant("a.py", 1, "Mul_Add", f"def f(a, {sign}, b): pass")) for sign in "*+"]
    [True, False]
    """
    try:
        return mutant.path.endswith(".sql") or bool(compile(mutant.code, mutant.path, "exec"))
    except SyntaxError:
        return False
