"""Resolve documents in `/home/u/.openclaw`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memd.settings.agents import OpenClawHome, resolve

HOME = Path("/home/u")
STATE = HOME / ".openclaw"
FILE = STATE / "openclaw.json"


def resolved(document: object, **more: Any) -> OpenClawHome:
    """Return the agents and settings of a document."""
    return resolve(document, **({"config_path": FILE, "state_dir": STATE, "home": HOME} | more))


def resolved_search(**keys: Any) -> OpenClawHome:
    """Return the settings from `agents.defaults.memorySearch` with these keys."""
    return resolved({"agents": {"defaults": {"memorySearch": keys}}})


def problems_of(home: OpenClawHome, agent: str | None = None) -> list[str]:
    """Return the problems of the file or of one agent, without the file's name."""
    problems = home.problems if agent is None else home.agents[agent].problems
    assert all(problem.message.startswith(f"{FILE}: ") for problem in problems)
    return [problem.message.removeprefix(f"{FILE}: ") for problem in problems]
