"""Settings of `--compare`, and the settings file of the private daemon."""

from __future__ import annotations

from typing import Any

import pytest

from memd.evaluation.comparison import parse_settings, private_document, with_local_provider
from memd_client.errors import ConfigInvalidError


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("query.hybrid.fusion=rrf", "query.hybrid.fusion", "rrf"),
        ("search.query.maxResults = 10", "query.maxResults", 10),
        ("query.hybrid.mmr.enabled=true", "query.hybrid.mmr.enabled", True),
        ('sources=["memory"]', "sources", ["memory"]),
        ("local.modelPath=/models/a=b.gguf", "local.modelPath", "/models/a=b.gguf"),
    ],
)
def test_value_is_toml_or_else_text(text: str, key: str, value: object) -> None:
    assert parse_settings([text], allow_remote=False) == {key: value}


@pytest.mark.parametrize("text", ["", "query", "=3", "query.maxResults=", "query..x=1"])
def test_setting_that_cannot_be_compared_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(ConfigInvalidError) as refused:
        parse_settings([text], allow_remote=False)
    assert "docs/configuration.md" in refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "provider=openai",
        "provider=auto",
        "fallback=gemini",
        "remote.baseUrl=http://127.0.0.1:1",
        "endpoint={}",
    ],
)
def test_setting_that_would_send_notes_is_refused(text: str) -> None:
    assert parse_settings([text], allow_remote=True)
    with pytest.raises(ConfigInvalidError, match="would send the notes"):
        parse_settings([text], allow_remote=False)


@pytest.mark.parametrize(
    ("given", "provider", "used"),
    [
        ({}, "local", "local"),
        ({}, "openai", "none"),
        ({"local.modelPath": "/m.gguf"}, "openai", "local"),
        ({"provider": "none"}, "local", "none"),
        ({"provider": "local"}, "openai", "local"),
    ],
)
def test_private_daemon_uses_no_remote_provider(given: dict[str, Any], provider: str, used: str) -> None:
    completed = with_local_provider(given, provider)

    assert (completed["provider"], completed["fallback"]) == (used, "none")


def test_private_document_changes_one_agent_and_opens_no_index_of_the_user() -> None:
    own: dict[str, Any] = {
        "socket": "/run/memd.sock",
        "max_file_mb": 5,
        "search": {"store": {"path": "/home/ann/{agentId}.sqlite"}, "query": {"maxResults": 9}},
        "agents": {"work": {"search": {"store": {"path": "/home/ann/work.sqlite"}}}},
    }
    made = private_document(own, "main", ["work"], {"query.hybrid.fusion": "rrf"}, "/tmp/e/{agentId}.sqlite")

    assert made == {
        "max_file_mb": 5,
        "search": {"store": {"path": "/tmp/e/{agentId}.sqlite"}, "query": {"maxResults": 9}},
        "agents": {
            "work": {"search": {"enabled": False, "store": {"path": "/tmp/e/{agentId}.sqlite"}}},
            "main": {
                "search": {
                    "store": {"path": "/tmp/e/{agentId}.sqlite"},
                    "query": {"hybrid": {"fusion": "rrf"}},
                }
            },
        },
    }
    assert own["socket"] == "/run/memd.sock"
    assert own["agents"]["work"]["search"]["store"]["path"] == "/home/ann/work.sqlite"
