"""Run by the peers' Python: reads tables as JSON lists of rows and writes what pyCANON says of each."""

from __future__ import annotations

import json
import sys

import pandas as pd


def figures(rows: list[list[str]]) -> dict[str, float]:
    from pycanon import anonymity  # here, because the Python of the tests does not have it

    data, asked = pd.DataFrame(rows, columns=["q", "r", "s"]), (["q", "r"], ["s"])
    alpha, k = anonymity.alpha_k_anonymity(data, *asked)
    return {
        "k": int(k),
        "alpha": float(alpha),
        "distinct_l": int(anonymity.l_diversity(data, *asked)),
        "t": float(anonymity.t_closeness(data, *asked)),
        "beta": float(anonymity.basic_beta_likeness(data, *asked)),
        "enhanced_beta": float(anonymity.enhanced_beta_likeness(data, *asked)),
        "delta": float(anonymity.delta_disclosure(data, *asked)),
    }


if __name__ == "__main__":
    json.dump([figures(rows) for rows in json.load(sys.stdin)], sys.stdout)
