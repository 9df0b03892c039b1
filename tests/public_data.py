"""The folder of public tables some tests read; they are not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("PPDM_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
needs_data = pytest.mark.skipif(not (DATA / "MANIFEST.json").exists(), reason="PPDM_DATA names no folder of tables")
