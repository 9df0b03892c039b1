"""From the files of a round to a model of the catalog, its file, its manifest and its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql import __version__
from ppdm_sql.catalog.manifest import manifest_text
from ppdm_sql.catalog.store import sha256_of
from ppdm_sql.classifiers.naive_bayes import NaiveBayes
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, RequirementBreached
from ppdm_sql.models.bayes_kind import BayesKind
from ppdm_sql.models.library import Model, keep_opened
from ppdm_sql.sharing.private.codebook import MASKS, Codebook
from ppdm_sql.sharing.private.files import write_whole
from ppdm_sql.sharing.private.folder import checked_grid, open_total, read_answers
from ppdm_sql.sharing.private.pools import PooledCounts, dominated_cells, pool_counts, pooled_model
from ppdm_sql.sharing.private.vector import Vector
from ppdm_sql.statements.load import statement

FORMAT = "ppdm-shared-counts/1"
MOST = Fraction(9, 10)
NOT_PROMISED = {
    "semi_honest": "a site that counts wrongly spoils the model, and nobody notices",
    "coalition": "all sites but one learn that one's counts from the sum",
    "opener": "every site that opens the round sees the totals before small ones are pooled",
    "several_sites": "a person with rows at two sites is counted twice",
    "rounds": "the difference of two rounds is the counts of the rows that came and went in between",
    "background": "counts of k people or more are printed exactly: no noise is added",
    "pooling": "anyone who knows how cells are pooled can see which of them had fewer than k rows",
}


@dataclass(frozen=True)
class OpenedRound:
    """What a round opened: the printed counts and the model of them."""

    codebook: Codebook
    total: Vector
    pooled: PooledCounts
    model: NaiveBayes

    @property
    def pools(self) -> list[dict[str, Any]]:
        """Each pool by its place: attribute, class, the codes of its cells (NULL behind the others) and its rows."""
        return [
            {"attribute": place, "class": label, "codes": list(pool.codes), "rows": pool.rows}
            for place, one in enumerate(self.pooled.attributes)
            for label, pool in enumerate(one.pools)
            if pool is not None
        ]


def open_round(codebook: Codebook, folder: Path) -> OpenedRound:
    """The sum of all files, checked, and what of it may be printed."""
    total = open_total(codebook, folder, codebook.length)
    pooled = pool_counts(codebook, checked_grid(codebook, total))
    return OpenedRound(codebook, total, pooled, pooled_model(codebook, pooled))


def dominated(opened: OpenedRound, mine: Vector, most: Fraction = MOST) -> dict[str, int]:
    """Column -> printed numbers that are nearly all this site's own."""
    own = mine.reshape(len(opened.codebook.classes), opened.codebook.width).astype(np.int64)
    return dominated_cells(opened.codebook, opened.pooled, own, most)


def refuse_vetoes(opened: OpenedRound, folder: Path) -> None:
    """A model is published when every site has seen its own share and agreed."""
    against = [one.site for one in read_answers(opened.codebook, folder, opened.total) if not one.agrees]
    if against:
        raise RequirementBreached(
            f"{', '.join(against)} did not agree: too much of some counts is theirs alone; nothing was published"
        )


def store(engine: Engine, opened: OpenedRound, name: str, *, replace: bool = False) -> Model:
    """The model under a name in the catalog of the site that opened it."""
    codebook = opened.codebook
    told = f"round {codebook.round} of {', '.join(codebook.site_names)}, k = {codebook.k}"
    return keep_opened(engine, name, opened.model, told, k=codebook.k, replace=replace)


# -- files -------------------------------------------------------------------------------------------------


def write_model(opened: OpenedRound, name: str, path: Path) -> list[Path]:
    """The model file, what it promises, and how a recipient checks that with a bare DuckDB."""
    if path.suffix != ".json":
        raise PolicyError("a model file must end in .json")
    text = BayesKind().document(opened.model, name)
    manifest = manifest_of(opened, path.name, text)
    files = {
        path: text,
        path.with_name(f"{path.name}.certificate.sql"): certificate_text(path.name, sha256_of(text)),
        path.with_name(f"{path.name}.manifest.json"): manifest_text(manifest),
    }
    for one, content in files.items():
        write_whole(one, content.encode())
    return list(files)


def manifest_of(opened: OpenedRound, file: str, text: str) -> dict[str, Any]:
    codebook, pooled = opened.codebook, opened.pooled
    return {
        "format": FORMAT,
        "round": codebook.round,
        "codebook_sha256": codebook.sha256,
        "mode": codebook.mode,
        "k": codebook.k,
        "sites": list(codebook.site_names),
        "mixers": [mixer.name for mixer in codebook.mixers],
        "model": {"file": file, "sha256": sha256_of(text)},
        "left_out": {
            "classes": len(codebook.classes) - len(pooled.kept),
            "attributes": [
                one.attribute.name for place, one in enumerate(codebook.attributes) if place not in pooled.places
            ],
        },
        "pools": opened.pools,
        "not_promised": _not_promised(codebook),
        "made_by": {"ppdm_sql": __version__},
    }


def _not_promised(codebook: Codebook) -> Mapping[str, str]:
    if codebook.mode == MASKS:
        return NOT_PROMISED
    return NOT_PROMISED | {"coalition": "both mixers together, or all sites but one, learn the counts of a site"}


def certificate_text(file: str, sha256: str) -> str:
    """Plain DuckDB SQL: every row it prints must say that it holds."""
    values = {"model": file, "manifest": f"{file}.manifest.json", "sha256": sha256}
    query = statement("sharing/certificate").copy()
    for hole in list(query.find_all(exp.Parameter, exp.Placeholder)):
        hole.replace(exp.Literal.string(values[hole.name]))
    return _HEAD + query.sql("duckdb", pretty=True, comments=False) + ";\n"


_HEAD = """-- duckdb < this file, in the folder of the model and its manifest.  Every row must say: holds.
"""
