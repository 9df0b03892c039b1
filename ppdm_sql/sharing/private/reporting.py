"""What a site does in a round: count, note it in its ledger, write its file; look at the sum and answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from ppdm_sql.classifiers.naive_bayes import NaiveBayes
from ppdm_sql.engines.base import Engine
from ppdm_sql.errors import PolicyError
from ppdm_sql.models import library
from ppdm_sql.sharing.private.accuracy import confusion_vector
from ppdm_sql.sharing.private.codebook import LABEL, PAIR, Codebook, own_site
from ppdm_sql.sharing.private.folder import write_answer, write_vector
from ppdm_sql.sharing.private.itemsets import Threshold, candidates_of, subject_of, support_vector
from ppdm_sql.sharing.private.keys import PrivateKeys
from ppdm_sql.sharing.private.ledger import last_report, note_report
from ppdm_sql.sharing.private.message import TESTS
from ppdm_sql.sharing.private.opening import dominated, open_round
from ppdm_sql.sharing.private.queries import check_label_codebook
from ppdm_sql.sharing.private.vector import Vector, count_vector
from ppdm_sql.statements.names import Name


@dataclass(frozen=True)
class SiteReport:
    rows: int
    files: list[Path]


def report_counts(engine: Engine, relation: Name, codebook: Codebook, keys: PrivateKeys, out: Path) -> SiteReport:
    """The ledger knows of the report before anybody else can."""
    own_site(codebook, keys.name, keys.public)
    if codebook.mode in (LABEL, PAIR):
        check_label_codebook(codebook, codebook.mode)
    if codebook.mode == PAIR and not codebook.mixers:
        raise PolicyError("two sites without mixers write no files: both call share serve-pair, which counts")
    vector = noted_counts(engine, relation, codebook, keys)
    files = write_vector(vector, codebook, keys, out)
    return SiteReport(int(vector.reshape(-1, codebook.width)[:, 0].sum()), files)


def noted_counts(engine: Engine, relation: Name, codebook: Codebook, keys: PrivateKeys) -> Vector:
    """The counts of the site, which its ledger knows from now on."""
    own_site(codebook, keys.name, keys.public)
    vector = count_vector(engine, relation, codebook)
    note_report(engine, codebook, keys.name, vector)
    return vector


def report_test(
    engine: Engine, relation: Name, codebook: Codebook, keys: PrivateKeys, model: str, out: Path
) -> SiteReport:
    """The confusion matrix goes the way of the counts."""
    own_site(codebook, keys.name, keys.public)
    learned = library.load(engine, model).learned
    if not isinstance(learned, NaiveBayes):
        raise PolicyError(f'model "{model}" was not opened from counts')
    vector = confusion_vector(engine, relation, codebook, learned)
    note_report(engine, codebook, keys.name, vector, TESTS)
    return SiteReport(int(vector.sum()), write_vector(vector, codebook, keys, out, TESTS))


def report_supports(
    engine: Engine,
    relation: Name,
    codebook: Codebook,
    keys: PrivateKeys,
    shared: Path,
    threshold: Threshold,
    level: int,
) -> SiteReport:
    """A level of itemsets: the candidates follow from the files of the levels before."""
    own_site(codebook, keys.name, keys.public)
    candidates = candidates_of(codebook, shared, threshold, level)
    vector = support_vector(engine, relation, codebook, candidates)
    subject = subject_of(candidates, level, threshold)
    note_report(engine, codebook, keys.name, vector, subject)
    return SiteReport(int(vector[0]), write_vector(vector, codebook, keys, shared, subject))


def answer(engine: Engine, codebook: Codebook, keys: PrivateKeys, folder: Path, most: Fraction) -> dict[str, int]:
    """Writes whether the site agrees; gives the columns of which too much is its own."""
    own_site(codebook, keys.name, keys.public)
    mine = last_report(engine, codebook, keys.name)
    if mine is None:
        raise PolicyError(f"{keys.name} has not reported in round {codebook.round} from this database")
    opened = open_round(codebook, folder)
    found = dominated(opened, np.array(mine.numbers, dtype=np.uint64), most)
    write_answer(codebook, keys, folder, opened.total, agrees=not found)
    return found
