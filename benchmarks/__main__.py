"""make bench: every case in a process of its own, told as ratios to the plain GROUP BY of the same table."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import data, model_cases, profile, pseudo_cases, publish, release_cases, tree_data
from benchmarks.tree_cases import TREE_CASES

RESULTS = Path(__file__).parent / "results"
_BESIDE = model_cases.FLOORS | pseudo_cases.FLOORS | release_cases.FLOORS  # a case and the one it is a ratio to
_FLOORS = ("group_by", "group_bys", *set(_BESIDE.values()))
ROWS, TREE_ROWS = [1_000_000, 10_000_000], [30_000, 1_000_000, 10_000_000]
LONGEST = 300  # seconds a case may take; some peers would take an hour


def main() -> None:
    options = _options()
    RESULTS.mkdir(exist_ok=True)
    if options.publish:
        chosen = publish.Chosen(options.rows, options.repeat, options.case, options.data, options.memory_limit)
        publish.run(chosen, RESULTS / "publish.json")
        return
    if options.profile:
        profile.run(options.rows[0], options.repeat, options.peers, RESULTS / "profile.json")
        return
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="ppdm_bench_") as folder:
        for rows in options.rows:
            database = Path(folder) / f"census_{rows}.duckdb"
            print(f"making {rows:,} rows", flush=True)
            data.make(database, rows)
            found += _measured(database, rows, options)
            database.unlink()
        for rows in options.tree_rows:
            database = Path(folder) / f"people_{rows}.duckdb"
            print(f"making {rows:,} rows for trees", flush=True)
            tree_data.make(database, rows)
            found += _trees(database, rows, options)
            found += _models(database, rows, options)
            found += _releases(database, rows, options)
            database.unlink()
        if options.spill:
            found += _spilled(Path(folder))
    found.append({"rows": 0, "case": "ppdm --help", **_best(["-m", "ppdm_sql", "--help"], 5)})
    (RESULTS / "latest.json").write_text(json.dumps(found, indent=2) + "\n")
    _print(found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", help=f"default: {_words(ROWS)}")
    parser.add_argument("--tree-rows", type=int, nargs="*", help=f"default: those of --rows, else {_words(TREE_ROWS)}")
    parser.add_argument("--repeat", type=int, default=3, help="runs per case; the least counts")
    parser.add_argument("--peers", metavar="PYTHON", help="a Python that has the peers; without it they are left out")
    parser.add_argument("--publish", action="store_true", help="publications alone, compared with a shuffled copy")
    parser.add_argument("--case", nargs="*", default=[], choices=publish.CASES, help="of --publish; default: all")
    parser.add_argument("--memory-limit", metavar="SIZE", help="of the database, for --publish: 1GB")
    parser.add_argument("--profile", action="store_true", help="profile, draft and all measures of a table alone")
    parser.add_argument("--data", metavar="FOLDER", help="of the public tables: for the grid on Adult of --publish")
    parser.add_argument("--spill", action="store_true", help="also 100M rows x 5 columns under 1 GB")
    found = parser.parse_args()
    if found.tree_rows is None:
        found.tree_rows = TREE_ROWS if found.rows is None else found.rows
    if found.rows is None:
        found.rows = ROWS
    return found


def _words(sizes: list[int]) -> str:
    return " ".join(map(str, sizes))


def _measured(database: Path, rows: int, options: argparse.Namespace) -> list[dict[str, object]]:
    cases = ["group_by", "k_only", "all_measures", "mondrian"]
    if rows <= 1_000_000:
        cases += ["mondrian_target", "mondrian_diverse"]
    found = []
    for name in cases:
        repeat = options.repeat if rows <= 1_000_000 else 1 if name.startswith("mondrian") else 2
        found.append({"rows": rows, "case": name, **_case(name, database, repeat)})
    if options.peers and rows <= 1_000_000:
        peer = _case("pycanon_measures", database, 1, python=options.peers)
        found.append({"rows": rows, "case": "pycanon_measures", **peer})
    return found


def _trees(database: Path, rows: int, options: argparse.Namespace) -> list[dict[str, object]]:
    """Trees and naive Bayes; peers read the same file in the same run."""
    repeat = options.repeat if rows <= 1_000_000 else 2
    found: list[dict[str, object]] = []
    for name in ("group_bys", "naive_bayes", "tree", "tree_exact", "tree_c45"):
        found.append({"rows": rows, "case": name, **_case(name, database, repeat)})
    for name in ("lightgbm_tree", "sklearn_exact") if options.peers else ():
        runs = repeat if name == "lightgbm_tree" else 1
        found.append({"rows": rows, "case": name, **_case(name, database, runs, python=options.peers)})
    return found


def _models(database: Path, rows: int, options: argparse.Namespace) -> list[dict[str, object]]:
    """Published models; kadet up to a million rows, the audit and pseudo-rows on all, pruning once."""
    names = ["leaf_scan", "span_audit", "span_audit_private", "random_rows", "pgen", "basegen"]
    repeat = options.repeat if rows <= 1_000_000 else 1
    if rows <= 1_000_000:
        names += ["c45", "kadet_c45", "kadet_private", "kadet_published"]
    if rows == min(options.tree_rows):
        names.append("atp_prune")
    return [{"rows": rows, "case": name, **_case(name, database, repeat)} for name in names]


def _releases(database: Path, rows: int, options: argparse.Namespace) -> list[dict[str, object]]:
    """Tables guided by trees."""
    repeat = options.repeat if rows <= 1_000_000 else 1
    names = ("c45_nine", "mondrian_nine", *release_cases.FLOORS)
    return [{"rows": rows, "case": name, **_case(name, database, repeat)} for name in names]


def _spilled(folder: Path) -> list[dict[str, object]]:
    """The k-check of a table far larger than the memory it may use."""
    rows, database = 100_000_000, folder / "large.duckdb"
    print(f"making {rows:,} rows x 5 columns", flush=True)
    data.make_narrow(database, rows)
    return [{"rows": rows, "case": "k_narrow (1 GB)", **_case("k_narrow", database, 1, "1GB")}]


def _case(name: str, database: Path, repeat: int, *more: str, python: str = sys.executable) -> dict[str, float]:
    print(f"  {name}", flush=True)
    runs = [_run([python, "-m", "benchmarks.cases", name, str(database), *more]) for _ in range(repeat)]
    return min(runs, key=lambda run: run["seconds"])


def _run(arguments: list[str]) -> dict[str, float]:
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        print(f"    stopped after {LONGEST} s: its figure is at least that")
        return {"seconds": float(LONGEST), "cpu": float("nan"), "peak_mb": float("nan")}
    if done.returncode:
        print(done.stderr[-2000:])
        return {"seconds": float("nan"), "cpu": float("nan"), "peak_mb": float("nan")}
    return json.loads(done.stdout.splitlines()[-1])


def _best(arguments: list[str], repeat: int) -> dict[str, float]:
    import time

    least = float("inf")
    for _ in range(repeat):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        least = min(least, time.perf_counter() - started)
    return {"seconds": least, "cpu": float("nan"), "peak_mb": float("nan")}


def _print(found: list[dict[str, object]]) -> None:
    """Ratios are to the plain GROUP BY of the same table; trees and naive Bayes to the 14 of theirs.

    Models: kadet to plain C4.5, the audit to the count of the leaves, pseudo-rows to random(); kactus2 and tpp to the
    C4.5 tree alone.
    """
    floors = {(item["rows"], item["case"]): item["seconds"] for item in found if item["case"] in _FLOORS}
    print(f"\n{'rows':>12} {'case':<20} {'seconds':>9} {'x GROUP BY':>11} {'cpu s':>8} {'peak MB':>8} {'accuracy':>9}")
    for item in found:
        other = "group_bys" if item["case"] in TREE_CASES else "group_by"
        floor = floors.get((item["rows"], _BESIDE.get(str(item["case"]), other)))
        ratio = f"{item['seconds'] / floor:11.1f}" if floor else " " * 11
        right = f"{item['accuracy']:9.4f}" if "accuracy" in item else ""
        told = f"{item['rows']:>12,} {item['case']:<20} {item['seconds']:>9.2f} {ratio} {item['cpu']:>8.1f}"
        print(f"{told} {item['peak_mb']:>8.0f} {right}")


if __name__ == "__main__":
    main()
