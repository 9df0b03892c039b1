"""A change put into a process that has loaded the file already.

A change inside a function replaces the code of that function, wherever the function is referred to.  A change of
what runs when a module is loaded cannot be put in: it needs a process of its own.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType


def swap_code(file: Path, before: str, after: str) -> bool:
    """Puts the change into the functions of the loaded module; False where that is not possible."""
    pairs = changed_functions(compile(before, str(file), "exec"), compile(after, str(file), "exec"))
    if not pairs:
        return False
    places = {(old.co_qualname, old.co_firstlineno): new for old, new in pairs}
    found = set()
    for function in loaded_functions(file):
        key = (function.__code__.co_qualname, function.__code__.co_firstlineno)
        if key in places and function.__code__.co_freevars == places[key].co_freevars:
            function.__code__ = places[key]
            found.add(key)
    return found == set(places)


def loaded_functions(file: Path) -> list[FunctionType]:
    names = {name for name, module in sys.modules.items() if getattr(module, "__file__", None) == str(file)}
    return [one for one in gc.get_objects() if type(one) is FunctionType and one.__module__ in names]


def changed_functions(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """The outermost functions that differ, before and after; None where the module itself differs.

    >>> def differing(*texts):
    ...     pairs = changed_functions(*(compile(text, "f.py", "exec") for text in texts))
    ...     return pairs and [old.co_qualname for old, _ in pairs]
    >>> differing("class A:\\n def f(self):\\n  return 1", "class A:\\n def f(self):\\n  return 2")
    ['A.f']
    >>> differing("def f(a=1):\\n return a", "def f(a=2):\\n return a") is None
    True
    """
    if _own_parts(old) != _own_parts(new):
        return None
    found: list[tuple[CodeType, CodeType]] = []
    for before, after in zip(_nested(old), _nested(new), strict=True):
        if not _is_function(before):  # the body of a class runs when the module is loaded
            inner = changed_functions(before, after)
            if inner is None:
                return None
            found += inner
        elif _all_parts(before) != _all_parts(after):
            found.append((before, after))
    return found


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & 0x2)  # CO_NEWLOCALS: a function, a lambda or a comprehension


def _nested(code: CodeType) -> Iterator[CodeType]:
    return (one for one in code.co_consts if isinstance(one, CodeType))


def _own_parts(code: CodeType) -> tuple[object, ...]:
    constants = [repr(one) for one in code.co_consts if not isinstance(one, CodeType)]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, len(list(_nested(code)))


def _all_parts(code: CodeType) -> tuple[object, ...]:
    return (*_own_parts(code), [_all_parts(one) for one in _nested(code)])


def clear_caches() -> None:
    """What functions of the project remember is worked out again."""
    for one in gc.get_objects():
        if isinstance(one, _lru_cache_wrapper) and one.__module__.startswith("ppdm_sql"):
            one.cache_clear()


def lines_of_statement(text: str, line: int) -> range | None:
    """The lines of the innermost statement that holds a line; None outside of functions.

    >>> lines_of_statement("A = 1\\ndef f():\\n  return (1 +\\n    2)\\n", 4)
    range(3, 5)
    >>> lines_of_statement("A = 1\\n", 1)
    """
    best: range | None = None
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for one in ast.walk(function):
            if isinstance(one, ast.stmt) and one is not function and line in (own := _own_lines(one)):
                best = own if best is None or len(own) <= len(best) else best
    return best


def _own_lines(one: ast.stmt) -> range:
    """A compound statement has its head only."""
    body = getattr(one, "body", None) or getattr(one, "cases", None)
    first = body[0].pattern.lineno if body and isinstance(body[0], ast.match_case) else body[0].lineno if body else 0
    return range(one.lineno, max(first, one.lineno + 1) if body else (one.end_lineno or one.lineno) + 1)
