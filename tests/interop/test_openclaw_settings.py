"""Our settings in OpenClaw: the examples of the docs are valid, and the plugin's config reaches the daemon."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import json5
import pytest

from memd.settings.agents import OpenClawHome as Settings
from memd.settings.agents import load_home
from memd.settings.fields import settings_of
from memd.settings.layers import NAMES_IN_OPENCLAW
from memd.settings.memd_toml import MemdToml
from memd.settings.names import (
    DEFAULTS,
    REFUSED_AGENT,
    REFUSED_DEFAULTS,
    is_refused,
    life_settings,
    openclaw_key,
)
from memd.settings.schema import MemorySearch
from tests.support.openclaw import RUN_S, OpenClawInstallation, openclaw, plugin_folder, settings
from tests.support.programs import examples
from tests.support.sample_settings import SAMPLES, nested
from tests.support.state_homes import StateHome

EXAMPLES = [*examples("json5")]


@pytest.fixture(scope="module")
def claw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenClawInstallation]:
    """OpenClaw with the plugin installed from its folder."""
    with StateHome(settings("http://127.0.0.1:9")) as home:
        openclaw = OpenClawInstallation(home)
        for agent in ("main", "work"):  # examples are of both
            (home.state / "agents" / agent).mkdir(parents=True)
        openclaw.install(plugin_folder(tmp_path_factory.mktemp("plugin")))
        yield openclaw


@pytest.fixture
def config(claw: OpenClawInstallation) -> Iterator[Path]:
    """Its settings file, as it was before once a test is done."""
    path = claw.home.state / "openclaw.json"
    before = path.read_text()
    yield path
    path.write_text(before)


def validated(claw: OpenClawInstallation) -> str:
    """Return what OpenClaw says of its settings file; empty if it is valid and there is nothing to say."""
    done = claw.run("config", "validate", ok=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def read(claw: OpenClawInstallation, toml: dict[str, Any] | None = None) -> Settings:
    """Return what the daemon makes of the settings file, and of a memd.toml."""
    own = MemdToml(claw.home.root / "memd.toml", toml or {})
    return load_home({"OPENCLAW_STATE_DIR": str(claw.home.state)}, claw.home.root, own)


@pytest.mark.long
@pytest.mark.parametrize(("page", "text"), EXAMPLES, ids=[page.name for page, _ in EXAMPLES])
def test_openclaw_takes_every_example_of_its_settings_and_the_daemon_too(
    claw: OpenClawInstallation, config: Path, page: Path, text: str
) -> None:
    example = json5.loads(text)
    claw.change(example)

    assert validated(claw) == ""
    home = read(claw)
    problems = [*home.problems, *(each for agent in home.agents.values() for each in agent.problems)]
    assert (problems, home.unknown_keys, home.refused_keys) == ([], (), ())


@pytest.mark.long
def test_every_setting_in_the_plugins_config_is_valid_and_reaches_the_daemon(
    claw: OpenClawInstallation, config: Path
) -> None:
    tables = nested(SAMPLES)
    expected = {
        name: read(claw, {"agents": {"main": tables}} if name == "one" else tables).agents["main"]
        for name in ("all", "one")
    }

    for name, own in (("all", tables), ("one", {"agents": {"main": tables}})):
        before = config.read_text()
        claw.change({"plugins": {"entries": {"memd": {"config": own}}}})

        assert validated(claw) == ""
        assert read(claw).agents["main"] == expected[name]
        config.write_text(before)


@pytest.mark.long
def test_openclaw_adds_no_defaults_to_memory_settings_of_the_plugin(
    claw: OpenClawInstallation, config: Path
) -> None:
    claw.change({"plugins": {"entries": {"memd": {"config": {"search": {"query": {"maxResults": 9}}}}}}})
    before = read(claw).agents

    claw.run("config", "set", "memory.search.query.minScore", "0.5", "--strict-json")

    shown = claw.json("config", "get", "plugins.entries.memd.config")
    assert shown["search"] == {"query": {"maxResults": 9}}
    assert "agents" not in shown
    written = json.loads(config.read_text())["plugins"]["entries"]["memd"]["config"]
    assert written["search"] == {"query": {"maxResults": 9}}
    after = read(claw).agents["main"]
    assert after.settings.query.min_score == 0.5
    assert after.settings.query.max_results == before["main"].settings.query.max_results == 9
    assert after.life == before["main"].life


@pytest.mark.long
def test_what_the_plugins_schema_refuses_is_named(claw: OpenClawInstallation, config: Path) -> None:
    own = {
        "search": {"query": {"hybrid": {"vectorWeight": "much"}}, "quarry": 1},
        "agents": {"a": {"facts": {"x": 1}}},
    }
    claw.change({"plugins": {"entries": {"memd": {"config": own}}}})

    said = validated(claw)

    for key in ("search.query.hybrid.vectorWeight", "quarry", "agents.a.facts"):
        assert key in said


@pytest.mark.long
def test_what_we_say_openclaw_accepts_is_what_its_schema_has(claw: OpenClawInstallation) -> None:
    schema = json.loads(claw.run("config", "schema").stdout)
    agents = schema["properties"]["agents"]["properties"]
    agent = agents["entries"]["additionalProperties"]
    search = schema["properties"]["memory"]["properties"]["search"]

    keys = [*NAMES_IN_OPENCLAW, *(openclaw_key(key) for key, _ in settings_of(MemorySearch))]
    assert [key for key in keys if has(search, key) is is_refused(key)] == []
    assert [key for key in keys if has(agent, f"memory.search.{key}") is is_refused(key)] == []
    places = [place for _, place, _ in life_settings() if place.startswith(f"{DEFAULTS}.")]
    defaults = [place.removeprefix(f"{DEFAULTS}.") for place in places]
    assert [key for key in defaults if has(agents["defaults"], key) is (key in REFUSED_DEFAULTS)] == []
    assert [key for key in (*REFUSED_AGENT, *defaults) if has(agent, key)] == []
    assert [key for key in REFUSED_DEFAULTS if has(agents["defaults"], key)] == []


def has(schema: dict[str, Any], name: str) -> bool:
    """Return whether a schema has a property under a dotted name."""
    for key in name.split("."):
        if key not in schema.get("properties", {}):
            return False
        schema = schema["properties"][key]
    return True


SOURCES_OF_OPENCLAW = """
import { readdir } from "node:fs/promises";
const dist = process.argv[2];
const resolvers = [];
for (const name of (await readdir(dist)).filter((file) => /^memory-search-[^.]+\\.mjs$/.test(file))) {
  const members = Object.values(await import(`${dist}/${name}`));
  resolvers.push(...members.filter((member) => member.name === "resolveMemorySearchIndexConfig"));
}
const answers = JSON.parse(process.argv[3]).map((cfg) => resolvers[0](cfg, "main"));
console.log(JSON.stringify(answers.map(({ sources, searchSources }) => [sources, searchSources])));
process.exit(0);
"""
"""Prints the sources that OpenClaw indexes and searches for the agent `main` of each configuration."""

BOTH = ["memory", "sessions"]
SEARCH: list[dict[str, Any]] = [
    {},
    {"sources": BOTH},
    {"sources": ["sessions"]},
    {"sources": ["sessions", "memory"], "rememberAcrossConversations": True},
    {"rememberAcrossConversations": False},
    {"sources": BOTH, "rememberAcrossConversations": False},
    {"sources": BOTH, "rememberAcrossConversations": False, "experimental": {"sessionMemory": True}},
    {"experimental": {"sessionMemory": True}},
    {"experimental": {"sessionMemory": False}, "sources": BOTH},
]
AROUND: list[dict[str, Any]] = [
    {},
    {"session": {"dmScope": "main"}},
    {"session": {"dmScope": "per-channel-peer"}},
    {"bindings": [{"agentId": "main", "match": {"channel": "x"}, "session": {"dmScope": "main"}}]},
    {"bindings": [{"agentId": "main", "match": {"channel": "x"}}]},
    {"agents": {"entries": {"main": {"memory": {"search": {"rememberAcrossConversations": False}}}}}},
    {"agents": {"entries": {"main": {"memory": {"search": {"sources": BOTH}}}}}},
]


@pytest.mark.long
def test_the_sources_of_an_agent_are_those_of_openclaw_once_memd_has_its_memory_slot(tmp_path: Path) -> None:
    slot = {"plugins": {"slots": {"memory": "memd"}}}
    documents = [{**slot, **around, "memory": {"search": search}} for around in AROUND for search in SEARCH]
    (tmp_path / "sources.mjs").write_text(SOURCES_OF_OPENCLAW)
    node, package = openclaw()

    done = subprocess.run(
        [node, tmp_path / "sources.mjs", package / "dist", json.dumps(documents)],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=True,
    )

    def ours(document: dict[str, Any]) -> list[list[str]]:
        (tmp_path / "openclaw.json").write_text(json.dumps(document))
        home = load_home({"OPENCLAW_STATE_DIR": str(tmp_path)}, tmp_path)
        assert (home.problems, home.unknown_keys) == ((), ())
        agent = home.agents["main"].settings
        return [list(agent.sources), list(agent.searched_sources or agent.sources)]

    theirs = json.loads(done.stdout)
    assert [ours(document) for document in documents] == theirs
    assert [["memory", "sessions"], ["memory"]] in theirs
    assert [["memory"], ["memory"]] in theirs


def test_without_memd_in_the_memory_slot_transcripts_stay_opt_in(tmp_path: Path) -> None:
    for search in ({}, {"sources": BOTH}):
        (tmp_path / "openclaw.json").write_text(json.dumps({"memory": {"search": search}}))
        home = load_home({"OPENCLAW_STATE_DIR": str(tmp_path)}, tmp_path)
        assert home.agents["main"].settings.sources == ("memory",)
