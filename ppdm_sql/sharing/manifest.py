"""Does a model file fit the manifest that was handed over with it?

Nothing is signed: a sender who writes both can write what he likes.  What is refused here is a manifest of another
file, of another model, of one that does not hold, and counts that break what the manifest promises.  From counts the
groups can be told that questions about public columns alone lead to; finer ones only the source knows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ppdm_sql.catalog.manifest import Manifest, PolicyRecord, read_manifest
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.checks.histograms import parts_meet
from ppdm_sql.errors import PolicyError, Tampered
from ppdm_sql.policy.stored_requirements import requirements
from ppdm_sql.requirements import About, Requirement
from ppdm_sql.trees.tree import Node, Tree


def read_model_manifest(name: str, text: str) -> Manifest:
    """The manifest of an exported model."""
    content = read_manifest(name, text)
    if content.policy.target is None or content.export is None or not content.export.is_model:
        raise PolicyError(f"{name} is not the manifest of a published model")
    return content


def refuse_other_file(name: str, content: Manifest, text: str) -> None:
    """The file must be the one that the manifest speaks of, and the manifest must say that it holds."""
    if content.export is None or {content.export.sha256, content.content_hash} != {sha256_of(text)}:
        raise Tampered(f"{name} differs from the file its manifest was written for")
    if not content.findings or not all(item.holds for item in content.findings):
        raise PolicyError(f"{name}: its manifest does not say that its requirements hold")
    if {item.requirement for item in content.findings} != set(content.policy.requirements):
        raise Tampered(f"{name}: the findings in its manifest do not match its policy")


def refuse_other_model(name: str, content: Manifest, tree: Tree) -> None:
    """What the manifest says of the model must be true of the tree in the file, as far as its counts can tell."""
    policy = content.policy
    if policy.target != tree.target.name:
        raise Tampered(f"{name}: its manifest describes a model of another target")
    if content.rows != tree.root.rows:
        raise Tampered(f"{name}: its manifest describes {content.rows:,} rows, the tree {tree.root.rows:,}")
    public = {column for column in policy.quasi_identifiers if column != tree.target.name}
    groups = public_groups(tree, public)
    for asked in requirements(policy.requirements):
        broken = _breaking(tree, groups, asked, policy)
        if broken:
            raise Tampered(f"{name}: {asked} does not hold by the counts of its tree: {broken:,} groups break it")


def public_groups(tree: Tree, public: Collection[str]) -> list[Node]:
    """The nodes that questions about public columns alone lead to, and that ask no further one."""
    found = []
    waiting = [tree.root]
    while waiting:
        node = waiting.pop()
        if node.split is not None and tree.attributes[node.split.attribute].name in public:
            waiting.extend(tree.children(node))
        elif node.rows:
            found.append(node)
    return found


def _breaking(tree: Tree, groups: Sequence[Node], asked: Requirement, policy: PolicyRecord) -> int:
    """How many groups break a requirement; of what counts cannot tell none is said to."""
    counts = np.array([node.counts for node in groups], dtype=np.int64).reshape(len(groups), len(tree.classes))
    target = tree.target.name
    if asked.about is About.SIZE:
        # a class that everybody knows divides the groups further
        sizes = counts[counts > 0] if target in policy.quasi_identifiers else counts.sum(axis=1)
        return int((~parts_meet(asked, sizes)).sum())
    if target not in policy.sensitive or target in policy.quasi_identifiers:
        return 0
    if not asked.counts_suffice:
        return 0  # along an order or a hierarchy: the file does not say which
    reference = np.array(tree.root.counts, dtype=np.int64)
    return int((~parts_meet(asked, counts, reference=reference)).sum())
