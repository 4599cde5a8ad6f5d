"""Layers of memorySearch keys become bounded settings; an error affects one key of one agent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memd.settings.schema import ExtraPath
from memd.settings.search import DEFAULT_MODELS
from tests.unit.settings.resolving import FILE, STATE, problems_of, resolved, resolved_search


def test_older_and_newer_settings_resolve_to_the_same() -> None:
    defaults, own = {"provider": "local", "query": {"maxResults": 9}}, {"query": {"minScore": 0.5}}
    old = {"agents": {"defaults": {"memorySearch": defaults}, "list": [{"id": "a", "memorySearch": own}]}}
    new = {"memory": {"search": defaults}, "agents": {"entries": {"a": {"memory": {"search": own}}}}}

    before, after = resolved(old).agents["a"], resolved(new).agents["a"]

    assert before == after
    query = after.settings.query
    assert (after.settings.provider, query.max_results, query.min_score, query.min_score_set) == (
        "local",
        9,
        0.5,
        True,
    )


def test_explicit_min_score_differs_from_the_default() -> None:
    assert not resolved_search(query={"minScore": None}).agents["main"].settings.query.min_score_set
    assert not resolved_search(query={"minScore": "high"}).agents["main"].settings.query.min_score_set
    assert resolved_search(query={"minScore": 0.35}).agents["main"].settings.query.min_score_set
    assert resolved_search(query={"maxResults": 6}).agents["main"].settings.query.max_results_set
    assert not resolved_search(query={"minScore": 0.35}).agents["main"].settings.query.max_results_set


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"chunking": {"tokens": 0, "overlap": 5}}, {"chunking": {"tokens": 1, "overlap": 0}}),
        ({"chunking": {"tokens": 100, "overlap": 100}}, {"chunking": {"tokens": 100, "overlap": 99}}),
        ({"chunking": {"overlap": -1}}, {"chunking": {"overlap": 0}}),
        ({"query": {"maxResults": 0, "minScore": -1}}, {"query": {"maxResults": 1, "minScore": 0}}),
        (
            {"query": {"hybrid": {"candidateMultiplier": 2.9}}},
            {"query": {"hybrid": {"candidateMultiplier": 2}}},
        ),
        ({"query": {"hybrid": {"vectorWeight": 1}}}, {"query": {"hybrid": {"vectorWeight": 1 / 1.3}}}),
        ({"query": {"hybrid": {"mmr": {"lambda": 7}}}}, {"query": {"hybrid": {"mmr": {"lambda": 1}}}}),
        (
            {"query": {"hybrid": {"temporalDecay": {"halfLifeDays": 0.5}}}},
            {"query": {"hybrid": {"temporalDecay": {"halfLifeDays": 1}}}},
        ),
        ({"cache": {"maxEntries": 0}}, {"cache": {"maxEntries": 1}}),
        ({"sync": {"watchDebounceMs": -1}}, {"sync": {"watchDebounceMs": 0}}),
        ({"sync": {"sessions": {"deltaBytes": -5}}}, {"sync": {"sessions": {"deltaBytes": 0}}}),
        ({"sources": ["sessions", "memory", "sessions"]}, {"sources": ("memory",)}),
        ({"sources": []}, {"sources": ("memory",)}),
        ({"provider": "openai"}, {"model": "text-embedding-3-small"}),
        ({"provider": "voyage", "model": "m"}, {"model": "m"}),
        ({"provider": "local", "remote": {"baseUrl": "u"}}, {"endpoint": {"baseUrl": "u"}}),
        ({"provider": "local", "remote": {"batch": {"wait": False}}}, {"endpoint": None}),
        ({"store": {"path": "idx/{agentId}/../m.db"}}, {"store": {"path": str(STATE / "idx" / "m.db")}}),
    ],
)
def test_values_are_kept_within_their_bounds(keys: dict[str, Any], expected: dict[str, Any]) -> None:
    home = resolved_search(**keys)

    _assert_holds(msgspec.to_builtins(home.agents["main"].settings), expected)
    assert home.problems == ()


def _assert_holds(value: Any, expected: Any) -> None:
    """Assert that a nested value has every expected key."""
    if isinstance(expected, dict):
        for key, inner in expected.items():
            _assert_holds(value[key], inner)
    else:
        assert value == (pytest.approx(expected) if isinstance(expected, float) else expected)


def test_overrides_apply_per_key_and_null_is_ignored() -> None:
    document = {
        "agents": {
            "defaults": {"memorySearch": {"remote": {"baseUrl": "u", "headers": {"A": "1", "B": "2"}}}},
            "list": [{"id": "a", "memorySearch": {"remote": {"baseUrl": None, "headers": {"C": "3"}}}}],
        }
    }

    remote = resolved(document).agents["a"].settings.endpoint

    assert remote is not None
    assert (remote.base_url, remote.headers) == ("u", {"C": "3"})


def test_extra_paths_add_up_without_duplicates() -> None:
    document = {
        "agents": {
            "defaults": {"memorySearch": {"extraPaths": ["~/notes", " docs ", ""]}},
            "list": [
                {"id": "a", "memorySearch": {"extraPaths": ["docs", {"path": "wiki", "pattern": "**/*.md"}]}}
            ],
        }
    }

    paths = resolved(document).agents["a"].settings.extra_paths

    assert paths == (
        ExtraPath(path="~/notes"),
        ExtraPath(path="docs"),
        ExtraPath(path="wiki", pattern="**/*.md"),
    )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"query": {"maxResults": "9"}}, "query.maxResults: expected a whole number, found a string"),
        ({"query": {"minScore": True}}, "query.minScore: expected a number, found true or false"),
        ({"query": []}, "query: expected an object, found a list"),
        ({"enabled": 1}, "enabled: expected true or false, found the number 1"),
        (
            {"query": {"hybrid": {"fusion": "best"}}},
            'query.hybrid.fusion: expected one of "normalized", "rrf", "weighted", found a string',
        ),
        ({"sources": "memory"}, "sources: expected a list of sources, found a string"),
        ({"sources": ["notes"]}, 'sources[0]: expected one of "memory", "sessions", found a string'),
        (
            {"extraPaths": [7]},
            "extraPaths[0]: expected a path, or an object with a path and a pattern, found the number 7",
        ),
        ({"extraPaths": "a"}, "extraPaths: expected a list of paths, found a string"),
        (
            {"remote": {"apiKey": {"secret": "s3cr3t"}}},
            'remote.apiKey: expected a string, or {source: "env", id: "NAME"}, found an object',
        ),
        (
            {"remote": {"apiKey": {"source": "file", "provider": "default", "id": "/s3cr3t"}}},
            'remote.apiKey: expected a string, or {source: "env", id: "NAME"}, found an object',
        ),
        (
            {"remote": {"apiKey": {"source": "env", "id": "s3cr3t !"}}},
            'remote.apiKey: expected a string, or {source: "env", id: "NAME"}, found an object',
        ),
        (
            {"outputDimensionality": 0},
            "outputDimensionality: expected a whole number of at least 1, found the number 0",
        ),
        (
            {"outputDimensionality": "768"},
            "outputDimensionality: expected a whole number of at least 1, found a string",
        ),
        ({"queryInputType": 3}, "queryInputType: expected a string, found the number 3"),
        (
            {"remote": {"batch": {"enabled": 1}}},
            "remote.batch.enabled: expected true or false, found the number 1",
        ),
        (
            {"remote": {"headers": {"A": 1}}},
            "remote.headers: expected an object whose values are strings, found an object",
        ),
        ({"store": {"path": "a\0b"}}, "store.path: expected a path, found a string with a NUL character"),
        ({"store": {"driver": "lancedb"}}, 'store.driver: expected "sqlite", found a string'),
        (
            {"local": {"gpuLayers": -1}},
            'local.gpuLayers: expected "auto" or a whole number of at least 0, found the number -1',
        ),
        (
            {"local": {"gpuLayers": "all"}},
            'local.gpuLayers: expected "auto" or a whole number of at least 0, found a string',
        ),
    ],
)
def test_wrong_type_is_reported_with_file_key_and_type(keys: dict[str, Any], problem: str) -> None:
    document = {
        "agents": {
            "defaults": {"memorySearch": {"chunking": {"tokens": 123}}},
            "list": [{"id": "other"}, {"id": "bad", "memorySearch": {**keys, "model": "kept"}}],
        }
    }

    home = resolved(document)

    assert problems_of(home, "bad") == [f"agents.list[1].memorySearch.{problem}"]
    error = home.agents["bad"].problems[0]
    assert error.data["file"] == str(FILE)
    assert error.data["expected"]
    assert "s3cr3t" not in str(error.to_wire())
    usual = msgspec.structs.replace(home.agents["other"].settings, model="kept")
    store = msgspec.structs.replace(usual.store, path=str(STATE / "memory" / "bad.memd.sqlite"))
    assert home.agents["bad"].settings == msgspec.structs.replace(usual, store=store)
    assert (problems_of(home), problems_of(home, "other")) == ([], [])


def test_invalid_override_keeps_the_shared_value() -> None:
    document = {
        "agents": {
            "defaults": {"memorySearch": {"query": {"maxResults": 9}}},
            "list": [{"id": "a", "memorySearch": {"query": {"maxResults": "many"}}}],
        }
    }

    assert resolved(document).agents["a"].settings.query.max_results == 9


def test_invalid_shared_value_is_reported_once() -> None:
    home = resolved(
        {"memory": {"search": {"sync": {"watch": "no"}}}, "agents": {"list": [{"id": "a"}, {"id": "b"}]}}
    )

    assert problems_of(home) == ["memory.search.sync.watch: expected true or false, found a string"]
    assert (problems_of(home, "a"), problems_of(home, "b")) == ([], [])


def test_unknown_keys_are_listed() -> None:
    document = {
        "channels": {"anything": 1},
        "memory": {"backend": "builtin", "search": {"query": {"minScoreSet": True, "hybrid": {"boost": 2}}}},
        "agents": {"list": [{"id": "a", "name": "A", "memorySearch": {"store": {"fts": {}}, "x" * 100: 1}}]},
    }

    home = resolved(document)

    assert home.unknown_keys == (
        "agents.list[0].memorySearch.store.fts",
        "agents.list[0].memorySearch." + "x" * 64 + "…",
        "memory.search.query.hybrid.boost",
        "memory.search.query.minScoreSet",
    )
    assert (problems_of(home), problems_of(home, "a")) == ([], [])


def test_explicit_batch_setting_differs_from_the_default() -> None:
    for keys, asked in [
        ({}, False),
        ({"enabled": None}, False),
        ({"enabled": True}, True),
        ({"enabled": False}, True),
    ]:
        remote = resolved_search(remote={"batch": keys}).agents["main"].settings.endpoint

        assert remote is not None
        assert remote.batch.enabled_set is asked

    assert (
        "agents.defaults.memorySearch.remote.batch.enabledSet"
        in resolved_search(remote={"batch": {"enabledSet": True}}).unknown_keys
    )


def test_input_type_is_the_default_of_both() -> None:
    own = {"id": "a", "memorySearch": {"inputType": " passage "}}
    document = {"agents": {"defaults": {"memorySearch": {"queryInputType": "query"}}, "list": [own]}}

    settings = resolved(document).agents["a"].settings

    assert (settings.query_input_type, settings.document_input_type) == ("query", "passage")


def test_blank_input_types_are_none_and_a_size_drops_its_fraction() -> None:
    settings = resolved_search(documentInputType="  ", outputDimensionality=768.9).agents["main"].settings

    assert (settings.document_input_type, settings.output_dimensionality) == (None, 768)


def test_api_key_may_refer_to_the_environment() -> None:
    home = resolved_search(remote={"apiKey": {"source": "env", "provider": "default", "id": "MY_KEY"}})

    remote = home.agents["main"].settings.endpoint
    assert remote is not None
    assert remote.api_key == "${MY_KEY}"
    assert home.problems == ()


def test_default_models_are_those_of_the_catalog() -> None:
    from memd.embedding.remote.catalog import KNOWN

    assert {name: KNOWN[name].default_model for name in DEFAULT_MODELS} == DEFAULT_MODELS
