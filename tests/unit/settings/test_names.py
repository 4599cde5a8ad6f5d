"""memd.toml and the plugin's config accept every memory setting, for all agents and for one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memd.settings.agents import AgentConfig, OpenClawHome, load_settings
from memd.settings.fields import settings_of
from memd.settings.layers import snake_case
from memd.settings.lifecycle import LifecycleSettings
from memd.settings.memd_toml import MemdToml, read_daemon_settings
from memd.settings.names import REFUSED_AGENT, REFUSED_DEFAULTS, REFUSED_SEARCH, refused_keys
from memd.settings.reload import CurrentSettings, changed_keys, keep_last_valid
from memd.settings.schema import MemorySearch
from tests.support.sample_settings import SAMPLES, SIBLINGS, nested, set_at, toml_text
from tests.unit.settings import resolving
from tests.unit.settings.resolving import HOME

TOML = HOME / ".config" / "memd" / "memd.toml"
PLUGIN = "plugins.entries.memd.config"


def resolved(document: dict[str, Any] | None = None, toml: str = "") -> OpenClawHome:
    """Return the settings from openclaw.json and memd.toml; the agents are `main` and `work`."""
    own = MemdToml(TOML, tomllib.loads(toml))
    return resolving.resolved(document or {}, agent_folders=["main", "work"], toml=own)


def in_plugin(tables: dict[str, Any]) -> dict[str, Any]:
    return set_at({}, PLUGIN, tables)


def said(home: OpenClawHome) -> list[tuple[str, str, str]]:
    """Return file, key and expected type of every problem, of all agents and of each."""
    errors = [*home.problems, *(each for agent in home.agents.values() for each in agent.problems)]
    return [
        (Path(error.data["file"]).name, error.data["key"], error.data.get("expected", "")) for error in errors
    ]


def facts_of(agent: AgentConfig) -> tuple[Any, Any]:
    return agent.settings, agent.life


def test_there_is_a_sample_of_every_setting() -> None:
    search = {f"search.{key}" for key, _ in settings_of(MemorySearch)}

    assert SAMPLES.keys() == search | {key for key, _ in settings_of(LifecycleSettings)}


@pytest.mark.parametrize("name", SAMPLES)
def test_every_setting_has_the_same_effect_in_every_place(name: str) -> None:
    names = [name, *filter(None, [SIBLINGS.get(name)])]
    tables = nested({each: SAMPLES[each] for each in names})
    snake = nested({snake_case(each): SAMPLES[each] for each in names})
    default = facts_of(resolved().agents["work"])

    homes = {
        "memd.toml": resolved(toml=toml_text(snake)),
        "memd.toml, one agent": resolved(toml=toml_text({"agents": {"work": snake}})),
        "memd.toml, in OpenClaw's spelling": resolved(toml=toml_text(tables)),
        "memd.toml, one agent in OpenClaw's spelling": resolved(toml=toml_text({"agents": {"work": tables}})),
        "plugin": resolved(in_plugin(tables)),
        "plugin, one agent": resolved(in_plugin({"agents": {"work": tables}})),
    }
    if "search" in tables:
        homes["openclaw.json"] = resolved({"memory": tables})

    found = {place: facts_of(home.agents["work"]) for place, home in homes.items()}
    assert [place for place in found if found[place] != found["memd.toml"]] == []
    assert (found["memd.toml"] != default) is (name != "search.store.driver")
    for place, home in homes.items():
        assert (said(home), home.unknown_keys) == ([], ())
        if "one agent" in place:
            assert facts_of(home.agents["main"]) == facts_of(resolved().agents["main"])


def test_problems_name_a_key_of_memd_toml_as_it_is_spelled_there() -> None:
    wrong = resolved(toml="[search.query]\nmax_results = true\n[search.sync]\nwatchDebounceMs = true\n")
    unknown = resolved(toml="[search.query]\nmax_result = 3\n")

    assert {error.data["key"] for error in wrong.problems} == {
        "search.query.max_results",
        "search.sync.watchDebounceMs",
    }
    assert [error.message.partition("memd.toml: ")[2] for error in unknown.typos] == [
        "`search.query.max_result` is not a setting. Did you mean 'max_results'?"
    ]


def test_agent_settings_override_shared_ones_and_memd_toml_overrides_openclaw_json() -> None:
    def entry(count: int) -> dict[str, Any]:
        return {"query": {"maxResults": count}}

    document: dict[str, Any] = {}
    places = [
        ("agents.defaults.memorySearch", ""),
        ("memory.search", ""),
        (f"{PLUGIN}.search", ""),
        ("", "search"),
        ("agents.entries.work.memorySearch", ""),
        ("agents.entries.work.memory.search", ""),
        (f"{PLUGIN}.agents.work.search", ""),
        ("", "agents.work.search"),
    ]
    toml: dict[str, Any] = {}
    for count, (place, table) in enumerate(places, start=20):
        set_at(toml if table else document, place or table, entry(count))

        home = resolved(document, toml_text(toml))

        assert home.agents["work"].settings.query.max_results == count, place or table
        assert home.agents["main"].settings.query.max_results == min(count, 23)


def test_lifecycle_settings_have_the_same_precedence() -> None:
    document: dict[str, Any] = {}
    toml: dict[str, Any] = {}
    key = "compaction.reserveTokensFloor"
    places = [
        (document, f"agents.defaults.{key}"),
        (document, f"{PLUGIN}.{key}"),
        (toml, key),
        (document, f"agents.entries.work.{key}"),
        (document, f"{PLUGIN}.agents.work.{key}"),
        (toml, f"agents.work.{key}"),
    ]
    for count, (file, place) in enumerate(places, start=1):
        set_at(file, place, count)

        home = resolved(document, toml_text(toml))

        assert home.agents["work"].life.flush.reserve_tokens_floor == count, place
        assert home.agents["main"].life.flush.reserve_tokens_floor == min(count, 3)


def test_extra_paths_of_all_files_add_up() -> None:
    home = resolved(
        {"memory": {"search": {"extraPaths": ["/a"]}}} | in_plugin({"search": {"extraPaths": ["/b"]}}),
        'search.extraPaths = ["/c"]\nagents.work.search.extraPaths = ["/d", "/a"]\n',
    )

    assert [each.path for each in home.agents["work"].settings.extra_paths] == ["/a", "/b", "/c", "/d"]


@pytest.mark.parametrize(
    ("toml", "key", "kind"),
    [
        ("search.query.maxResults = 'x'", "search.query.maxResults", "a whole number"),
        ("search.query = 3", "search.query", "an object"),
        ("search = 3", "search", "an object"),
        ("compaction.memoryFlush = true", "compaction.memoryFlush", "an object"),
        ("facts.recallLimit = 0", "facts.recallLimit", "a whole number of at least 1"),
        ("citations = 1", "citations", 'one of "auto", "off", "on"'),
        ("search.sources = ['rumours']", "search.sources[0]", 'one of "memory", "sessions"'),
        (
            "userTimezone = 'Mars/Base'",
            "userTimezone",
            "the name of a time zone, such as Europe/Prague",
        ),
        ("agents.work = 3", "agents.work", "an object"),
        ("agents.work.search.enabled = 3", "agents.work.search.enabled", "true or false"),
        (
            "agents.work.search.endpoint.apiKey = {source = 'exec', id = 'sk-secret'}",
            "agents.work.search.endpoint.apiKey",
            'a string, or {source: "env", id: "NAME"}',
        ),
    ],
)
def test_invalid_value_is_reported_with_file_key_and_type(toml: str, key: str, kind: str) -> None:
    own = resolved(toml=f"{toml}\n")
    in_json = resolved(in_plugin(tomllib.loads(toml)))

    assert {*said(own)} == {("memd.toml", key, kind)}
    assert {*said(in_json)} == {("openclaw.json", f"{PLUGIN}.{key}", kind)}
    for home in (own, in_json):
        assert facts_of(home.agents["main"]) == facts_of(resolved().agents["main"])
        assert "sk-secret" not in repr([home.problems, home.agents["work"].problems])
        assert bool(home.agents["work"].problems) is key.startswith("agents.work")


def test_api_key_may_be_text_or_a_variable() -> None:
    for written, key in [
        ("'sk-1'", "sk-1"),
        ("'${BOX_KEY}'", "${BOX_KEY}"),
        ("{source = 'env', id = 'BOX_KEY'}", "${BOX_KEY}"),
    ]:
        remote = resolved(toml=f"search.endpoint.apiKey = {written}\n").agents["main"].settings.endpoint

        assert remote is not None
        assert remote.api_key == key


@pytest.mark.parametrize("name", ["endpoint", "remote"])
def test_endpoint_is_read_under_both_names_in_every_file(name: str) -> None:
    search = {"search": {name: {"baseUrl": "https://box.example", "batch": {"enabled": False}}}}
    toml = f"[search.{name}]\nbase_url = 'https://box.example'\nbatch.enabled = false\n"

    for home in (resolved(toml=toml), resolved(in_plugin(search)), resolved({"memory": search})):
        endpoint = home.agents["main"].settings.endpoint
        assert endpoint is not None
        assert (endpoint.base_url, endpoint.batch.enabled) == ("https://box.example", False)
        assert (home.problems, home.unknown_keys, home.typos) == ((), (), ())


def test_names_of_the_endpoint_in_several_files_are_one_setting() -> None:
    document = {"memory": {"search": {"remote": {"apiKey": "sk-1", "baseUrl": "https://old.example"}}}}

    endpoint = (
        resolved(document, toml="search.endpoint.base_url = 'https://new.example'\n")
        .agents["main"]
        .settings.endpoint
    )

    assert endpoint is not None
    assert (endpoint.api_key, endpoint.base_url) == ("sk-1", "https://new.example")


def test_endpoint_under_both_names_in_one_place_is_reported() -> None:
    home = resolved(toml="[agents.main.search]\nendpoint.api_key = 'new'\nremote.api_key = 'old'\n")

    (problem,) = home.agents["main"].problems
    endpoint = home.agents["main"].settings.endpoint
    assert endpoint is not None
    assert endpoint.api_key == "new"
    assert problem.data["key"] == "agents.main.search.remote"
    assert problem.message.endswith("is another name of `endpoint`, which is set too; remove one of them")


def test_unknown_keys_and_agents_are_listed_with_their_file() -> None:
    toml = """
    search.quarry = 1
    search.query.rerank.enabled = true
    facts.colour = 1
    compaction.memoryFlush.reserveTokensFloor = 1
    agents.work.log_level = "debug"
    agents.wrok.search.enabled = false
    """
    home = resolved(in_plugin({"startDaemon": True, "search": {"query": {"boost": 1}}}), toml)

    assert said(home) == []
    assert home.unknown_keys == (
        "memd.toml: agents.work.log_level",
        "memd.toml: agents.wrok",
        "memd.toml: compaction.memoryFlush.reserveTokensFloor",
        "memd.toml: facts.colour",
        "memd.toml: search.quarry",
        "memd.toml: search.query.rerank",
        f"{PLUGIN}.search.query.boost",
    )


def test_memory_settings_and_daemon_settings_are_separate() -> None:
    tables = nested(SAMPLES) | {"agents": {"work": {}}, "catch_up_ms": 99}

    settings, problems = read_daemon_settings(MemdToml(TOML, tables))

    assert (settings.catch_up_ms, problems) == (99, ())
    assert resolved(toml="catch_up_ms = 99\n") == resolved()


def test_settings_are_read_from_the_configured_file(tmp_path: Path) -> None:
    toml = tmp_path / "own.toml"
    environ = {"OPENCLAW_STATE_DIR": str(tmp_path), "MEMD_CONFIG": str(toml)}
    toml.write_text("catch_up_ms = 99\n[search.query]\nmaxResults = 9\n")

    home, daemon, problems = load_settings(environ, tmp_path)

    assert (daemon.catch_up_ms, problems, home.problems) == (99, (), ())
    assert home.agents["main"].settings.query.max_results == 9

    toml.write_text("[search")
    broken, _, problems = load_settings(environ, tmp_path)
    assert len(problems) == 1
    assert (broken.problems, broken.has_own, broken.readable) == ((), False, True)


@pytest.mark.parametrize(
    "bad",
    ["search.chunking.tokens = 'x'", "search = 3", "agents.work.search.chunking.tokens = 'x'", "[search"],
)
def test_invalid_memd_toml_keeps_the_last_valid_settings_of_agents(tmp_path: Path, bad: str) -> None:
    environ = {"OPENCLAW_STATE_DIR": str(tmp_path), "MEMD_CONFIG": str(tmp_path / "memd.toml")}
    (tmp_path / "openclaw.json").write_text(json.dumps({"agents": {"entries": {"main": {}, "work": {}}}}))
    (tmp_path / "memd.toml").write_text("search.chunking.tokens = 300\n")
    good, _, _ = load_settings(environ, tmp_path)
    (tmp_path / "memd.toml").write_text(f"{bad}\n")
    fresh, _, _ = load_settings(environ, tmp_path)

    kept = keep_last_valid(good, fresh)

    assert kept.agents["work"].settings == good.agents["work"].settings
    main = kept.agents["main"].settings.chunking.tokens
    assert main == (400 if bad.startswith("agents") else 300)


def test_log_names_changed_lifecycle_settings() -> None:
    before, after = (
        CurrentSettings(home, read_daemon_settings(MemdToml(TOML, {}))[0])
        for home in (resolved(), resolved(toml="agents.work.facts.recallLimit = 9\n"))
    )

    assert [*changed_keys(before, after)] == ["agents.work.facts.recallLimit"]


def test_keys_that_openclaw_refuses_are_found_in_files_of_its_present_releases() -> None:
    document: dict[str, Any] = {
        "memory": {
            "search": {
                "provider": "none",
                "sync": {},
                "query": {"maxResults": 3, "hybrid": {"enabled": True}},
            }
        },
        "agents": {
            "defaults": {"memorySearch": {}, "compaction": {"memoryFlush": {"prompt": "x"}}},
            "list": [{"id": "a", "memorySearch": {}}, 3],
            "entries": {"b": {"memory": {"search": {"store": {"path": "x"}}}, "userTimezone": "UTC"}},
        },
    }

    assert refused_keys(document) == (
        "memory.search.sync",
        "memory.search.query.hybrid",
        "agents.defaults.memorySearch",
        "agents.defaults.compaction.memoryFlush.prompt",
        "agents.list[0].memorySearch",
        "agents.entries.b.userTimezone",
        "agents.entries.b.memory.search.store.path",
    )
    assert resolved(document).refused_keys == refused_keys(document)
    assert refused_keys(document | {"meta": {"lastTouchedVersion": "2026.9.6"}}) == refused_keys(document)
    assert refused_keys(document | {"meta": {"lastTouchedVersion": "2026.1.30"}}) == ()
    strange: list[Any] = [
        None,
        [],
        {"agents": 3},
        {"agents": {"list": {}, "entries": []}},
        {"memory": {"search": 1}},
    ]
    assert [refused_keys(each) for each in strange] == [()] * len(strange)


def test_refused_names_are_whole_groups_if_openclaw_refuses_all_of_them() -> None:
    assert {*REFUSED_SEARCH} == {
        "chunking",
        "sync",
        "query.hybrid",
        "store.driver",
        "store.path",
        "cache.maxEntries",
        "local.modelCacheDir",
        "local.gpuLayers",
        "endpoint",
        "remote.batch.wait",
        "remote.batch.concurrency",
        "remote.batch.pollIntervalMs",
        "remote.batch.timeoutMinutes",
    }
    assert {*REFUSED_DEFAULTS} == {
        "memorySearch",
        "compaction.reserveTokensFloor",
        "compaction.memoryFlush.prompt",
        "compaction.memoryFlush.systemPrompt",
    }
    assert REFUSED_AGENT == ("memorySearch", "compaction", "userTimezone")


def test_reranker_is_an_unknown_key() -> None:
    home = resolved({"memory": {"search": {"query": {"rerank": {"enabled": True}}}}})

    assert home.unknown_keys == ("memory.search.query.rerank",)
