"""An openclaw.json resolves to the settings the reference resolves it to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memd.settings.agents import resolve
from memd.settings.schema import MemorySearch

HOME = Path("/home/u")
STATE_DIR = HOME / ".openclaw"

FOLDER = Path(os.environ.get("MEMD_CONFORMANCE") or Path(__file__).parents[3] / "shared" / "conformance")
CASES = json.loads((FOLDER / "config.json").read_text("utf-8")) if (FOLDER / "config.json").is_file() else []

pytestmark = pytest.mark.skipif(
    not CASES, reason=f"no config.json in {FOLDER}; set MEMD_CONFORMANCE to the cases"
)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: json.dumps(case["openclaw_json"])[:80] + case["agent"]
)
def test_settings_resolve_as_in_the_reference(case: dict[str, Any]) -> None:
    home = resolve(
        case["openclaw_json"],
        config_path=STATE_DIR / "openclaw.json",
        state_dir=STATE_DIR,
        home=HOME,
        agent_folders=[case["agent"]],
    )

    agent = home.agents[case["agent"]]

    assert _as_recorded(agent.settings, case["expected"]) == case["expected"]
    assert (home.problems, agent.problems) == ((), ())


def _as_recorded(settings: MemorySearch, expected: dict[str, Any] | None) -> Any:
    """Return the settings in the recorded shape: null when off, nothing unset, no keys of later eras."""
    if not settings.enabled:
        return None
    shape = msgspec.to_builtins(settings)
    del shape["query"]["minScoreSet"]
    del shape["query"]["hybrid"]["weightsSet"]
    del shape["chunking"]["sizesSet"]
    # Ours is beside theirs: releases of today refuse to start over a file at their old place that isn't theirs.
    shape["store"]["path"] = shape["store"]["path"].replace(".memd.sqlite", ".sqlite")
    if shape["remote"] is not None:
        del shape["remote"]["batch"]["enabledSet"]
    return _without_later(_without_unset(shape), expected or {})


def _without_unset(value: Any) -> Any:
    """Return a value without the keys that hold null."""
    if not isinstance(value, dict):
        return list(value) if isinstance(value, tuple) else value
    return {key: _without_unset(inner) for key, inner in value.items() if inner is not None}


LATER = ("extraPaths", "fusion", "mmr", "temporalDecay")
"""Keys the recorded release did not have yet: compared only where a case holds them."""


def _without_later(value: Any, expected: Any) -> Any:
    """Return a value without the later keys the recorded one lacks."""
    if not isinstance(value, dict) or not isinstance(expected, dict):
        return value
    kept = {key: inner for key, inner in value.items() if key not in LATER or key in expected}
    return {key: _without_later(inner, expected.get(key)) for key, inner in kept.items()}
