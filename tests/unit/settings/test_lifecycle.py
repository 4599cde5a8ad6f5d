"""Lifecycle settings: read from OpenClaw's keys, with errors reported and other keys ignored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.settings.lifecycle import Compaction, FactsSettings, Flush, LifecycleSettings, SessionNote
from memd.settings.names import life_settings
from tests.unit.settings.resolving import resolved

WORDS = sorted({word for _, place, _ in life_settings() for word in place.split(".")} | {"list", "id"})


def life_of(document: object, agent: str = "main") -> LifecycleSettings:
    return resolved(document).agents[agent].life


def test_facts_are_neither_captured_nor_recalled_by_default() -> None:
    assert life_of({}) == LifecycleSettings()
    assert not LifecycleSettings().facts.auto_capture
    assert not LifecycleSettings().facts.auto_recall


def test_every_key_is_read_from_openclaw_json() -> None:
    life = life_of(
        {
            "memory": {"citations": "on", "backend": "builtin"},
            "agents": {
                "defaults": {
                    "userTimezone": "Europe/Prague",
                    "compaction": {
                        "mode": "safeguard",
                        "reserveTokensFloor": 30_000,
                        "memoryFlush": {
                            "enabled": False,
                            "softThresholdTokens": 1,
                            "forceFlushTranscriptBytes": 0,
                            "prompt": "p",
                            "systemPrompt": "s",
                        },
                    },
                }
            },
            "hooks": {
                "internal": {"entries": {"session-memory": {"messages": 3, "slugModel": "mine/small"}}}
            },
            "plugins": {
                "entries": {"memory-lancedb": {"config": {"autoCapture": True, "embedding": {"apiKey": "k"}}}}
            },
        }
    )

    assert life == LifecycleSettings(
        citations="on",
        time_zone="Europe/Prague",
        compaction=Compaction(
            reserve_tokens_floor=30_000,
            memory_flush=Flush(
                enabled=False,
                soft_threshold_tokens=1,
                force_flush_transcript_bytes=0,
                prompt="p",
                system_prompt="s",
            ),
        ),
        session_note=SessionNote(messages=3, slug_model="mine/small"),
        facts=FactsSettings(auto_capture=True),
    )


def test_agent_entry_overrides_the_defaults() -> None:
    document = {
        "agents": {
            "defaults": {"userTimezone": "UTC", "compaction": {"memoryFlush": {"softThresholdTokens": 5}}},
            "list": [
                {"id": "main"},
                {"id": "far", "userTimezone": "Asia/Tokyo", "compaction": {"reserveTokensFloor": 7}},
            ],
        }
    }

    assert life_of(document).time_zone == "UTC"
    far = life_of(document, "far")
    assert (far.time_zone, far.flush.reserve_tokens_floor, far.flush.soft_threshold_tokens) == (
        "Asia/Tokyo",
        7,
        5,
    )


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"memory": {"citations": "maybe"}}, "memory.citations"),
        ({"agents": {"defaults": {"userTimezone": "Mars/Olympus"}}}, "agents.defaults.userTimezone"),
        ({"agents": {"defaults": {"userTimezone": "../../etc/passwd"}}}, "agents.defaults.userTimezone"),
        (
            {"agents": {"defaults": {"compaction": {"memoryFlush": {"softThresholdTokens": -1}}}}},
            "agents.defaults.compaction.memoryFlush.softThresholdTokens",
        ),
        (
            {"plugins": {"entries": {"memory-lancedb": {"config": {"recallMinScore": 2}}}}},
            "plugins.entries.memory-lancedb.config.recallMinScore",
        ),
    ],
)
def test_invalid_value_is_reported_and_the_default_used(document: object, key: str) -> None:
    home = resolved(document)

    assert home.agents["main"].life == LifecycleSettings()
    assert key in [error.data.get("key") for error in home.problems]


@pytest.mark.parametrize(
    ("size", "bytes_"), [("2mb", 2 * 1024**2), ("1.5 KB", 1536), ("700", 700), (0, 0), ("much", 2 * 1024**2)]
)
def test_a_size_may_have_a_unit(size: object, bytes_: int) -> None:
    flush = {"forceFlushTranscriptBytes": size}
    home = resolved({"agents": {"defaults": {"compaction": {"memoryFlush": flush}}}})

    assert home.agents["main"].life.flush.force_flush_transcript_bytes == bytes_
    assert bool(home.problems) == (size == "much")


def test_keys_of_other_programs_are_not_unknown() -> None:
    home = resolved(
        {
            "memory": {"backend": "builtin", "qmd": {}},
            "agents": {"defaults": {"model": "x", "compaction": {"mode": "default"}}},
            "plugins": {"slots": {"memory": "memory-core"}},
        }
    )

    assert home.unknown_keys == ()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_any_document_resolves_to_settings(document: object) -> None:
    for agent in resolved(document).agents.values():
        assert isinstance(agent.life, LifecycleSettings)
