"""Rows whose classes are asked for in modes label and pair, and the score of a class for such a row.

    score of class i = (s_i + a) * prod_k (s_ik + a) / prod_k (known_ik + a * d_k)

s_i are the rows of the class, s_ik those with the row's value of attribute k, known_ik those where it is not NULL, d_k
the values that the codebook lists, a its laplace.  An attribute that is NULL in the query is left out.  Two scores are
compared by cross-multiplication, in whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ppdm_sql.errors import PolicyError, PpdmError
from ppdm_sql.json_reader import read_json
from ppdm_sql.sharing.private.codebook import LABEL, Codebook
from ppdm_sql.sharing.private.files import read_whole

MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class LabelQuery:
    """A row as the servers see it: per attribute the code of its value, None where it is NULL."""

    codes: tuple[int | None, ...]


def read_queries(path: Path, codebook: Codebook) -> list[LabelQuery]:
    """A list of rows; a value that the codebook does not list is refused, because its zero would say something."""
    content = read_json(read_whole(path), path.name)
    if not isinstance(content, list) or not content or not all(isinstance(row, dict) for row in content):
        raise PolicyError(f"{path.name} must be a list of rows, each an object of columns and values")
    return [_query(codebook, row, f"{path.name}, row {place}") for place, row in enumerate(content, start=1)]


def _query(codebook: Codebook, row: dict[str, object], place: str) -> LabelQuery:
    names = {one.attribute.name for one in codebook.attributes}
    if row.keys() != names:
        raise PolicyError(f"{place}: it must have the columns of the codebook and no others")
    codes: list[int | None] = []
    for one in codebook.attributes:
        value = row[one.attribute.name]
        try:
            code = one.domain.code_of(one.attribute, value)
        except (TypeError, ValueError, ArithmeticError, PpdmError):
            raise PolicyError(f'{place}: "{one.attribute.name}" is not of its type') from None
        if value is not None and code >= one.width:
            raise PolicyError(f'{place}: "{one.attribute.name}" is not in the codebook')
        codes.append(None if value is None else code)
    return LabelQuery(tuple(codes))


def check_label_codebook(codebook: Codebook, mode: str = LABEL) -> None:
    if codebook.mode != mode:
        raise PolicyError(f"the codebook is for mode {codebook.mode}, not for mode {mode}")
    if codebook.laplace < 1:
        raise PolicyError(f"mode {mode} needs laplace of 1 or more: without it two classes can both be impossible")


def score_bits(codebook: Codebook, most_rows: int) -> int:
    """How long the numbers that are compared can get; a field of that size never wraps around."""
    widest = max(one.width for one in codebook.attributes)
    one_factor = (most_rows + codebook.laplace * widest).bit_length()
    return max(70, (2 * len(codebook.attributes) + 1) * one_factor + 2)


@dataclass(frozen=True)
class Factor:
    """A sum of the vector's numbers, and what is added to it."""

    places: tuple[int, ...]
    more: int


def score_factors(codebook: Codebook, query: LabelQuery, label: int) -> tuple[list[Factor], list[Factor]]:
    """The factors of the numerator and of the denominator of a class's score."""
    base, laplace = label * codebook.width, codebook.laplace
    above, below = [Factor((base,), laplace)], []
    for start, one, code in zip(codebook.starts, codebook.attributes, query.codes, strict=True):
        if code is not None:
            first = base + start
            above.append(Factor((first + code,), laplace))
            below.append(Factor(tuple(range(first, first + one.width)), laplace * one.width))
    return above, below
