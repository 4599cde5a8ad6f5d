"""`search_agents` with a real daemon: five agents, one query vector, separate errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from memd_client import Client
from memd_client.errors import AgentUnknownError
from tests.support.daemon import DaemonProcess
from tests.support.provider_server import ProviderServer, serve_provider
from tests.support.state_homes import StateHome, agents_config


@dataclass
class ProviderScenario:
    """A client of the daemon, and the provider that its agents share."""

    client: Client
    provider: ProviderServer


@pytest.fixture(scope="module")
def scene() -> Iterator[ProviderScenario]:
    """Agents main, work and home; `off` has memory disabled, `broken` a broken index."""
    with serve_provider("openai", dims=64) as provider, StateHome() as home:
        remote = {"baseUrl": provider.url, "apiKey": provider.key}
        shared = {"provider": "openai", "model": provider.facts.model, "remote": remote}
        config = agents_config(home.state, "work", "home", "off", "broken", memory_search=shared)
        config["agents"]["list"][3]["memorySearch"] = {"enabled": False}
        home.configure(config)
        home.note("memory/ports.md", "The staging gateway listens on port 4711.\n")
        home.note("memory/ports.md", "The staging gateway listens on port 4711.\n", "work")
        home.note(
            "memory/later.md", "The staging gateway restarts on Mondays, after the nightly backup.\n", "work"
        )
        home.note("memory/garden.md", "Tomatoes want sun.\n", "home")
        (home.state / "memory" / "broken.memd.sqlite").mkdir(parents=True)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            yield ProviderScenario(client, provider)


def test_hits_of_all_agents_are_one_list_and_equal_texts_of_two_agents_stay_separate(
    scene: ProviderScenario,
) -> None:
    reply = scene.client.search_agents("which port does the staging gateway listen on")

    assert sorted((hit.agent, hit.path) for hit in reply.hits[:2]) == [
        ("main", "memory/ports.md"),
        ("work", "memory/ports.md"),
    ]
    assert reply.hits[0].snippet == reply.hits[1].snippet
    rows = {row.agent: row for row in reply.agents}
    assert list(rows) == ["main", "work", "home", "broken"]
    assert {rows[agent].mode for agent in ("main", "work", "home")} == {"hybrid"}
    assert rows["broken"].error is not None
    assert rows["broken"].error.code == "index_io"


def test_query_is_embedded_once_per_vector_space(scene: ProviderScenario) -> None:
    scene.client.search_agents("a query that is new to every agent")

    assert scene.provider.texts_embedded["a query that is new to every agent"] == 1


def test_hits_of_each_agent_equal_those_of_its_own_search(scene: ProviderScenario) -> None:
    query = "staging gateway"
    together = scene.client.search_agents(query, max_results=20)

    for agent in ("main", "work", "home"):
        alone = scene.client.search(query, agent=agent, max_results=20)
        hits = [(hit.path, hit.score) for hit in together.hits if hit.agent == agent]
        assert hits == [(hit.path, hit.score) for hit in alone.hits]
        assert all(hit.agent is None for hit in alone.hits)


def test_requested_agent_with_disabled_memory_is_a_row_with_an_error(scene: ProviderScenario) -> None:
    reply = scene.client.search_agents("tomatoes", agents=["off", "home"], max_results=1)

    assert [hit.agent for hit in reply.hits] == ["home"]
    assert [row.error.code if row.error else None for row in reply.agents] == ["memory_disabled", None]


def test_unknown_agent_is_refused_before_any_search(scene: ProviderScenario) -> None:
    with pytest.raises(AgentUnknownError, match="nobody"):
        scene.client.search_agents("never embedded", agents=["main", "nobody"])

    assert scene.provider.texts_embedded["never embedded"] == 0
