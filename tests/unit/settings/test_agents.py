"""Agents from openclaw.json of any release, and from any document."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd.settings.agents import OpenClawHome, agent_id_of, load_home
from memd.settings.endpoints import ProviderEntry
from memd.settings.reload import keep_last_valid
from tests.unit.settings.resolving import HOME, STATE, problems_of, resolved, resolved_search


def test_without_settings_the_agent_is_main_with_the_default_workspace() -> None:
    home = resolved({})

    assert list(home.agents) == ["main"]
    assert home.default_agent == "main"
    main = home.agents["main"]
    assert (main.workspace, main.index_path) == (STATE / "workspace", STATE / "memory" / "main.memd.sqlite")
    assert main.is_default


def test_agents_come_from_list_entries_and_folders() -> None:
    document = {"agents": {"list": [{"id": "Work"}], "entries": {"home lab": {"workspace": "~/lab"}}}}

    home = resolved(document, agent_folders=["ops", "work"])

    assert list(home.agents) == ["work", "home-lab", "ops"]
    assert home.default_agent == "work"
    assert home.agents["home-lab"].workspace == HOME / "lab"


@pytest.mark.parametrize(
    ("agents", "default"),
    [
        ([{"id": "a"}, {"id": "b"}], "a"),
        ([{"id": "a"}, {"id": "main"}], "main"),
        ([{"id": "a"}, {"id": "b", "default": True}, {"id": "main", "default": True}], "b"),
    ],
)
def test_default_agent_is_the_marked_one_else_main_else_the_first(
    agents: list[dict[str, Any]], default: str
) -> None:
    assert resolved({"agents": {"list": agents}}, agent_folders=["main"]).default_agent == default


def test_workspace_is_the_agents_own_else_the_default() -> None:
    document = {
        "agents": {"defaults": {"workspace": "/w"}, "list": [{"id": "a", "workspace": "own"}, {"id": "b"}]}
    }

    home = resolved(document)

    assert home.agents["a"].workspace == STATE / "own"
    assert home.agents["b"].workspace == Path("/w")


def test_agent_folder_named_by_openclaw_overrides_a_shared_workspace() -> None:
    document = {"agents": {"list": [{"id": "main"}, {"id": "b"}, {"id": "c", "workspace": "/own"}]}}

    home = resolved(document, has_workspace=lambda _: True)

    assert [agent.workspace for agent in home.agents.values()] == [
        STATE / "workspace",
        STATE / "workspace-b",
        Path("/own"),
    ]


def test_old_directory_has_its_workspace_in_the_home_folder() -> None:
    old = HOME / ".clawdbot"

    home = resolved(
        {"agents": {"list": [{"id": "main"}, {"id": "b"}]}}, state_dir=old, has_workspace=lambda _: True
    )

    assert home.agents["main"].workspace == HOME / "clawd"
    assert home.agents["b"].workspace == HOME / "clawd-b"


@pytest.mark.parametrize(
    ("agents", "problem"),
    [
        ([], "agents: expected an object, found a list"),
        ({"list": {}}, "agents.list: expected a list of agents, found an object"),
        ({"list": ["a"]}, "agents.list[0]: expected an object, found a string"),
        ({"list": [{}]}, "agents.list[0].id: expected a string, found null"),
        ({"entries": {"a": 3}}, "agents.entries.a: expected an object, found the number 3"),
        ({"defaults": {"workspace": 3}}, "agents.defaults.workspace: expected a path, found the number 3"),
        (
            {"list": [{"id": "main"}, {"id": "MAIN "}]},
            "agents.list[1].id: is the id of another agent; ignored",
        ),
    ],
)
def test_invalid_document_still_has_an_agent(agents: object, problem: str) -> None:
    home = resolved({"agents": agents})

    assert problems_of(home) == [problem]
    assert list(home.agents) == ["main"]


@pytest.mark.parametrize("raw", ["../up", "a/b", "a\\b", "", " ", ".hidden", "a\0", "a\nb", "---", "助手"])
def test_id_that_is_not_a_file_name_is_refused(raw: str) -> None:
    home = resolved({"agents": {"list": [{"id": raw}, {"id": "ok"}]}})

    assert agent_id_of(raw) is None
    assert list(home.agents) == ["ok"]
    assert "is not a valid id of an agent" in problems_of(home)[0]


def test_agents_never_share_an_index_file() -> None:
    document = {
        "agents": {
            "defaults": {"memorySearch": {"store": {"path": "/data/all.sqlite"}}},
            "list": [
                {"id": "a"},
                {"id": "b"},
                {"id": "c", "memorySearch": {"store": {"path": "/x/{agentId}"}}},
            ],
        }
    }

    home = resolved(document)

    paths = [str(agent.index_path) for agent in home.agents.values()]
    assert paths == ["/data/all.sqlite", str(STATE / "memory" / "b.memd.sqlite"), "/x/c"]
    assert "the index of agent a" in problems_of(home, "b")[0]
    assert all(agent.settings.store.path == str(agent.index_path) for agent in home.agents.values())


def test_earlier_index_is_used_unless_it_is_another_agents() -> None:
    document = {
        "agents": {
            "list": [
                {"id": "a"},
                {"id": "b", "memorySearch": {"store": {"path": "memory/a.sqlite"}}},
                {"id": "c"},
            ]
        }
    }

    home = resolved(document)

    earlier = {agent.id: agent.earlier_index for agent in home.agents.values()}
    assert earlier == {"a": None, "b": None, "c": STATE / "memory" / "c.sqlite"}


def test_openclaw_database_is_never_an_index() -> None:
    home = resolved_search(store={"path": "~/.openclaw/agents/main/agent/openclaw-agent.sqlite"})

    assert home.agents["main"].index_path == STATE / "memory" / "main.memd.sqlite"
    assert "OpenClaw's own database" in problems_of(home, "main")[0]


def test_last_valid_settings_are_kept(tmp_path: Path) -> None:
    def load(agent: object, defaults: object = None) -> OpenClawHome:
        """Write a settings file with two agents and return the resolved settings."""
        document = {
            "agents": {
                "defaults": {"memorySearch": defaults},
                "list": [{"id": "a", "memorySearch": agent}, {"id": "b"}],
            }
        }
        (tmp_path / "openclaw.json").write_text(json.dumps(document))
        return load_home({"OPENCLAW_STATE_DIR": str(tmp_path)}, tmp_path)

    good = load({"query": {"maxResults": 11}}, {"chunking": {"tokens": 300}})

    bad_agent = keep_last_valid(good, load({"query": {"maxResults": "x"}}, {"chunking": {"tokens": 200}}))
    assert bad_agent.agents["a"].settings == good.agents["a"].settings
    assert len(bad_agent.agents["a"].problems) == 1
    assert bad_agent.agents["b"].settings.chunking.tokens == 200

    bad_default = keep_last_valid(good, load({}, {"chunking": {"tokens": "x"}}))
    assert bad_default.agents == good.agents
    assert len(bad_default.problems) == 1

    (tmp_path / "openclaw.json").write_text("{")
    broken = keep_last_valid(good, load_home({"OPENCLAW_STATE_DIR": str(tmp_path)}, tmp_path))
    assert broken.agents == good.agents
    assert len(broken.problems) == 1

    assert keep_last_valid(good, load({})) == load({})


def _entries(**entries: Any) -> OpenClawHome:
    """Return the settings from `models.providers` with these entries."""
    return resolved({"models": {"mode": "merge", "providers": entries}})


def test_model_providers_are_kept_by_id() -> None:
    home = _entries(
        mine={
            "baseUrl": "http://box:8080/v1",
            "apiKey": {"source": "env", "provider": "default", "id": "MY_KEY"},
            "api": "openai-completions",
            "auth": "api-key",
            "headers": {"X-Team": "a"},
            "models": [{"id": "bge-m3", "name": "BGE", "cost": {}}, {"name": "no id"}, "plain"],
        },
        openai={"apiKey": "sk-secret"},
    )

    assert home.providers["mine"] == ProviderEntry(
        id="mine",
        base_url="http://box:8080/v1",
        api_key="${MY_KEY}",
        api="openai-completions",
        headers={"X-Team": "a"},
        models=("bge-m3", "plain"),
    )
    assert home.providers["openai"].api_key == "sk-secret"
    assert (home.problems, home.unknown_keys) == ((), ())
    assert "sk-secret" not in repr(home)


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ([], "models: expected an object, found a list"),
        ({"providers": "x"}, "models.providers: expected an object, found a string"),
        ({"providers": {"p": "sk-secret"}}, "models.providers.p: expected an object, found a string"),
        (
            {"providers": {"p": {"apiKey": {"source": "exec", "id": "sk-secret"}}}},
            'models.providers.p.apiKey: expected a string, or {source: "env", id: "NAME"}, found an object',
        ),
        (
            {"providers": {"p": {"baseUrl": 3}}},
            "models.providers.p.baseUrl: expected a string, found the number 3",
        ),
        (
            {"providers": {"p": {"headers": {"A": ["sk-secret"]}}}},
            "models.providers.p.headers: expected an object whose values are strings, found an object",
        ),
        (
            {"providers": {"p": {"models": {}}}},
            "models.providers.p.models: expected a list of models, found an object",
        ),
    ],
)
def test_invalid_model_provider_is_reported_and_ignored_per_key(models: object, problem: str) -> None:
    home = resolved({"models": models})

    assert problems_of(home) == [problem]
    assert "sk-secret" not in repr(home.problems)
    for entry in home.providers.values():
        assert entry == ProviderEntry(id="p")


def test_last_valid_model_provider_is_kept() -> None:
    good = _entries(**{"a.b": {"api": "ollama"}, "other": {"api": "ollama"}, "gone": {"api": "ollama"}})

    slip = keep_last_valid(good, _entries(**{"a.b": {"api": 3}, "other": {"api": "openai"}}))
    assert {name: entry.api for name, entry in slip.providers.items()} == {"a.b": "ollama", "other": "openai"}

    spoilt = keep_last_valid(good, resolved({"models": {"providers": 3}}))
    assert spoilt.providers == good.providers

    assert keep_last_valid(good, resolved({})).providers == {}


_WORDS = """
agents list entries defaults id workspace memorySearch memory search query sources default store path hybrid
minScore extraPaths remote headers batch chunking tokens vectorWeight cache maxEntries provider sync local mmr
lambda {agentId} models providers baseUrl apiKey api source env inputType outputDimensionality
"""
_KEYS = st.sampled_from([*_WORDS.split(), "\ud800", ""])
_TEXTS = ["main", "../x", "~", "\ud800", "\0", "memory", "sessions", "openai", "{agentId}", "a" * 5000]
_LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), st.sampled_from(_TEXTS)
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=40,
)
_SEARCH = st.dictionaries(_KEYS, _VALUES, max_size=6)
_DOCUMENTS = _VALUES | st.fixed_dictionaries(
    {},
    optional={
        "memory": st.fixed_dictionaries({"search": _SEARCH}),
        "models": st.fixed_dictionaries({"providers": st.dictionaries(_KEYS, _SEARCH | _VALUES, max_size=3)}),
        "agents": st.fixed_dictionaries(
            {},
            optional={
                "defaults": st.fixed_dictionaries({"memorySearch": _SEARCH, "workspace": _LEAVES}),
                "list": st.lists(
                    st.fixed_dictionaries({"id": _LEAVES, "memorySearch": _SEARCH | _VALUES}), max_size=3
                ),
                "entries": st.dictionaries(_KEYS, _VALUES, max_size=3),
            },
        ),
    },
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(_DOCUMENTS, st.lists(st.sampled_from(["main", "x y", "\ud800", "..", "ops"]), max_size=3))
def test_any_document_resolves_to_valid_agents(document: object, folders: list[str]) -> None:
    home = resolved(document, agent_folders=folders)

    assert home.agents[home.default_agent].is_default
    assert sum(agent.is_default for agent in home.agents.values()) == 1
    assert len({agent.index_path for agent in home.agents.values()}) == len(home.agents)
    for agent_id, agent in home.agents.items():
        assert agent.id == agent_id == agent_id_of(agent_id)
        assert agent.workspace.is_absolute()
        hybrid = agent.settings.query.hybrid
        assert hybrid.vector_weight + hybrid.text_weight == pytest.approx(1)
        assert 0 <= agent.settings.chunking.overlap < agent.settings.chunking.tokens
        os.fsencode(agent.workspace)
        os.fsencode(agent.index_path)
        for problem in (*agent.problems, *home.problems):
            problem.message.encode()
        msgspec.json.encode([*home.unknown_keys])
