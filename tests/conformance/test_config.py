"""An openclaw.json resolves to the same settings as in OpenClaw."""

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
def test_settings_resolve_as_recorded(case: dict[str, Any]) -> None:
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
    """Return settings in the recorded form: null if disabled, without unset and later keys."""
    if not settings.enabled:
        return None
    shape = msgspec.to_builtins(settings)
    del shape["query"]["minScoreSet"]
    del shape["query"]["maxResultsSet"]
    del shape["query"]["hybrid"]["weightsSet"]
    del shape["chunking"]["sizesSet"]
    del shape["local"]["gpuLayers"]
    # memd's index is next to OpenClaw's: current releases refuse to start with another file in the old location.
    shape["store"]["path"] = shape["store"]["path"].replace(".memd.sqlite", ".sqlite")
    shape["remote"] = shape.pop("endpoint")  # OpenClaw's name
    if shape["remote"] is not None:
        del shape["remote"]["batch"]["enabledSet"]
    return _without_later(_without_unset(shape), expected or {})


def _without_unset(value: Any) -> Any:
    """Return a value without keys that are null."""
    if not isinstance(value, dict):
        return list(value) if isinstance(value, tuple) else value
    return {key: _without_unset(inner) for key, inner in value.items() if inner is not None}


LATER = ("extraPaths", "fusion", "mmr", "temporalDecay", "work", "currency", "preferTrusted")
"""Keys missing in the recorded release: compared only if a case has them."""


def _without_later(value: Any, expected: Any) -> Any:
    """Return a value without later keys that the recorded one lacks."""
    if not isinstance(value, dict) or not isinstance(expected, dict):
        return value
    kept = {key: inner for key, inner in value.items() if key not in LATER or key in expected}
    return {key: _without_later(inner, expected.get(key)) for key, inner in kept.items()}
