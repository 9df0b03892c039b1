"""The texts of statements that never change: each is rendered once per engine, not at every look into the catalog."""

from __future__ import annotations

from sqlglot import exp

# The tree is kept with its texts: as long as it is here, no other tree can have its id.
_SHARED: dict[int, tuple[exp.Expr, dict[str, str]]] = {}


def share(tree: exp.Expr) -> None:
    """From now on the tree is read and never changed."""
    _SHARED[id(tree)] = (tree, {})


def without_places(tree: exp.Expr) -> exp.Expr:
    """The same tree without comments and places in its text, which every copy would copy one by one."""
    for node in tree.walk():
        node.pop_comments()
        node._meta = None
    return tree


def texts_of(tree: exp.Expr) -> dict[str, str] | None:
    """The texts of a shared tree by dialect, to be filled by the engine that renders it; None for any other tree.

    >>> one, other = exp.select("1"), exp.select("1")
    >>> share(one)
    >>> texts_of(one), texts_of(other), texts_of(one.copy())
    ({}, None, None)
    """
    found = _SHARED.get(id(tree))
    return None if found is None else found[1]
