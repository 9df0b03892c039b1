"""CREATE MODEL ... WITH SHARING (...): the site's file of a round, from a policy and with its gates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError, SchemaDrifted
from ppdm_sql.policy.policy import ShareCounts
from ppdm_sql.policy.words import many
from ppdm_sql.sharing.private.codebook import Codebook, own_site, read_codebook
from ppdm_sql.sharing.private.keys import PrivateKeys, read_private
from ppdm_sql.sharing.private.reporting import report_counts
from ppdm_sql.source.relation import Source, describe_source, open_source
from ppdm_sql.trees.tree import attribute_of


@dataclass(frozen=True)
class CountsReported:
    """What the statement did."""

    name: str
    site: str
    round: str
    rows: int
    files: tuple[str, ...]

    @property
    def text(self) -> str:
        names = ", ".join(Path(file).name for file in self.files)
        return f"{self.site} counted {many(self.rows, 'row')} for {self.name} in round {self.round}: wrote {names}"

    def as_json(self) -> dict[str, Any]:
        return {
            "statement": "share", "model": self.name, "site": self.site, "round": self.round, "rows": self.rows,
            "files": list(self.files),
        }  # fmt: skip


def check_sharing(engine: Engine, statement: ShareCounts, out: Path, *, describes: bool = True) -> None:
    """Refuses before the run what can be known before it; describes: the tables of the query are there by now."""
    codebook, _ = _agreed(statement)
    _folder(statement, out)
    if describes:
        source = describe_source(engine, statement.query, statement.policy, statement.place, statement.query_place)
        _check_columns(source, codebook)


def share_counts(engine: Engine, statement: ShareCounts, out: Path) -> CountsReported:
    codebook, keys = _agreed(statement)
    folder = _folder(statement, out)
    source = open_source(engine, statement.query, statement.policy, statement.place, statement.query_place)
    _check_columns(source, codebook)
    report = report_counts(engine, source.relation, codebook, keys, folder)
    name = str(engine.name(statement.name))
    return CountsReported(name, keys.name, codebook.round, report.rows, tuple(str(path) for path in report.files))


def _agreed(statement: ShareCounts) -> tuple[Codebook, PrivateKeys]:
    base = Path(statement.place.file).parent if statement.place.file else Path()
    codebook, keys = read_codebook(base / statement.codebook), read_private(base / statement.key)
    own_site(codebook, keys.name, keys.public)
    return codebook, keys


def _folder(statement: ShareCounts, out: Path) -> Path:
    folder = (out / statement.out).resolve()
    if not folder.is_relative_to(out.resolve()):
        raise PolicyError("the folder of OUT is not below the folder of exports (--out)")
    return folder


def _check_columns(source: Source, codebook: Codebook) -> None:
    """The columns that have a role are those of the codebook, and still of its types."""
    agreed = {one.name: one for one in (*(each.attribute for each in codebook.attributes), codebook.target)}
    if source.target != codebook.target.name:
        raise PolicyError(f'the codebook says that the target is "{codebook.target.name}"')
    listed = {*source.insensitive, source.target}
    for name in sorted(listed ^ agreed.keys()):
        where = "statement" if name in listed else "codebook"
        raise PolicyError(f'column "{name}" is only in the {where}: both must name the same columns')
    drifted = [
        f'column "{name}" was {attribute.kind.value} when the codebook was agreed on and is {source.info(name).shape}'
        for name, attribute in agreed.items()
        if (now := attribute_of(source.info(name))).kind is not attribute.kind or now.zoned != attribute.zoned
    ]
    if drifted:
        raise SchemaDrifted(f"{'; '.join(drifted)}; nothing was counted.  Cast it back in the SELECT")
