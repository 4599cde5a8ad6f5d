"""Recorded cases of OpenClaw's behaviour, as pytest parameters."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(os.environ.get("MEMD_CONFORMANCE") or Path(__file__).parents[3] / "shared" / "conformance")
"""The folder named by MEMD_CONFORMANCE, else the one next to the repository."""


def recorded(name: str, label: str) -> pytest.MarkDecorator:
    """Return a mark that runs a test for every recorded case, passed as `case`."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        reason = f"no {path.name} in {FOLDER}; set MEMD_CONFORMANCE to the cases"
        return pytest.mark.parametrize(
            "case", [pytest.param(None, id="no cases", marks=pytest.mark.skip(reason=reason))]
        )
    cases: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=f"{at}-{case.get(label, '')!s:.40}") for at, case in enumerate(cases)]
    )
