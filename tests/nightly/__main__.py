"""python -m tests.nightly [PART ...] [--tables 10000] [--kills 500] [--sizes 20] [--agree 5000] [--streams 20] [--seed 1] [--methods tds,tdr]"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from dataclasses import fields
from pathlib import Path

from tests.nightly.summary import Options

PARTS = ("tables", "agree", "disk", "kills", "nights")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.nightly", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}; default: all")
    for one in fields(Options):
        if one.name != "quiet":
            parser.add_argument(
                f"--{one.name}", type=type(one.default), default=one.default, help="default: %(default)s"
            )
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    parser.add_argument("--markdown", type=Path, help="also write the summary into this file")
    parser.add_argument("--json", type=Path, help="write figures and problems into this file")
    given = parser.parse_args()
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}: valid parts: {', '.join(PARTS)}")
    options = Options(**{one.name: getattr(given, one.name) for one in fields(Options)})
    texts, figures = [], {}
    for name in given.parts or PARTS:
        started = time.monotonic()
        part = importlib.import_module(f"tests.nightly.{name}").run(options)
        seconds = time.monotonic() - started
        texts.append(part.markdown(seconds))
        figures[name] = {**part.figures, "seconds": round(seconds), "problems": part.problems}
        print(texts[-1], end="\n\n", flush=True)
    if given.markdown:
        given.markdown.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    if given.json:
        given.json.write_text(json.dumps({"options": vars(options), "parts": figures}, indent=2), encoding="utf-8")
    return 1 if any(figure["problems"] for figure in figures.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
