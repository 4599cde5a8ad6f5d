"""Whose workspace an import writes into, whether or not a daemon runs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import click

from memd.cli.connect import Session
from memd.importing.agents import Agent, load_agents
from memd.system.nearest_name import did_you_mean
from memd_client.discovery import home_directory
from memd_client.errors import AgentUnknownError, MemdError, MemoryDisabledError


@dataclass(frozen=True, slots=True)
class Place:
    """An agent, and why no daemon could be asked about it; empty where one answered."""

    agent: Agent
    away: str = ""


def find_place(session: Session, wanted: str | None) -> Place:
    """Return the agent to import for: as the daemon knows it, else as the settings say."""
    away = ""
    disabled: set[str] = set()
    home = Path(home_directory())
    try:
        with session.client() as client:
            status = client.status()
    except MemdError as error:
        away = error.message
        agents = load_agents(os.environ, home)
    else:
        config, state = Path(status.config_path), Path(status.state_dir)
        disabled = {each.agent for each in status.agents if not each.enabled}
        agents = [
            Agent(each.agent, Path(each.workspace), config, state, home)
            for each in status.agents
            if each.enabled and each.workspace
        ]
    if wanted is None:
        if len(agents) == 1:
            return Place(agents[0], away)
        ids = ", ".join(each.id for each in agents) or "none"
        raise click.UsageError(f"Name the agent whose memory it is to be with --agent; there are: {ids}.")
    name = wanted.strip().lower()
    for each in agents:
        if each.id == name:
            return Place(each, away)
    if name in disabled:
        raise MemoryDisabledError(f"Agent {name} has no memory: search.enabled is false.")
    meant = did_you_mean(wanted, [each.id for each in agents])
    raise AgentUnknownError(f'No agent has the id "{wanted}"{meant or "."}')
