"""The OpenClaw plugin: its own logic under Node, held against a real daemon, and in the real OpenClaw of npm.

OpenClaw runs in a throwaway home; its model is a server on loopback that follows a script.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.node import installed, run_node
from tests.support.openclaw import (
    PLUGIN,
    ModelRequest,
    ModelServer,
    OpenClawGateway,
    OpenClawInstallation,
    TextReply,
    ToolCall,
    plugin_folder,
    serve_model,
    settings,
)
from tests.support.state_homes import StateHome

NOTE = "# 2026-03-04\n\nThe staging gateway listens on port 8443.\n\nLunch was soup.\n"
CURATED = "# Facts\n\nReviews are on Thursdays.\n"
TYPES = ("typescript@7.0.2", "@types/node@26.6.6")


def script(conversation: ModelRequest) -> TextReply | ToolCall:
    """Search, read the lines that were found, and answer with them; or say what the search said."""
    results = [json.loads(result) for result in conversation.results]
    if not results:
        return ToolCall("memory_search", {"query": "which port does the staging gateway use"})
    if len(results) == 1 and results[0]["results"]:
        return ToolCall("memory_get", {"path": results[0]["results"][0]["path"], "from": 3, "lines": 1})
    if len(results) == 1:
        return TextReply(f"I couldn't look it up. {results[0]['warning']}")
    return TextReply(f"My notes say: {results[1]['text']}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin after `npm install`."""
    return plugin_folder(tmp_path_factory.mktemp("plugin"))


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """The model of OpenClaw's agents."""
    with serve_model(script) as server:
        yield server


@pytest.fixture(scope="module")
def claw(folder: Path, model: ModelServer) -> Iterator[OpenClawInstallation]:
    """OpenClaw with the plugin installed from its folder, its own memory turned off, and no daemon yet."""
    with StateHome(settings(model.url)) as home:
        home.note("memory/2026-03-04.md", NOTE)
        home.note("MEMORY.md", CURATED)
        openclaw = OpenClawInstallation(home)
        openclaw.install(folder)
        openclaw.run("plugins", "disable", "memory-core")
        openclaw.change({"plugins": {"entries": {"memd": {"config": {"startDaemon": False}}}}})
        yield openclaw


def test_the_plugins_own_logic_holds(folder: Path) -> None:
    needs_daemon = {"daemon.test.js", "hang.test.js"}
    tests = sorted(path.name for path in (folder / "test").glob("*.test.js") if path.name not in needs_daemon)

    done = run_node(["--test", *(f"test/{name}" for name in tests)], cwd=folder)

    assert done.returncode == 0, done.stdout


def test_its_types_are_right(folder: Path) -> None:
    compiler = installed(*TYPES) / "node_modules"

    done = run_node(
        [
            compiler / "typescript" / "bin" / "tsc",
            "--project",
            "tsconfig.json",
            "--typeRoots",
            compiler / "@types",
        ],
        cwd=folder,
    )

    assert done.returncode == 0, done.stdout


def test_it_says_what_the_daemon_says_and_asks_it_for_everything(folder: Path) -> None:
    with StateHome() as home:
        home.configure(
            {
                "agents": {"defaults": {"userTimezone": "Europe/Prague"}},
                "memory": {
                    "search": {
                        "provider": "none",
                        "sources": ["memory", "sessions"],
                        "experimental": {"sessionMemory": True},
                    }
                },
            }
        )
        home.note("memory/2026-03-04.md", NOTE)
        talk = home.state / "agents" / "main" / "sessions" / "4f1c.jsonl"
        talk.parent.mkdir(parents=True)
        said = [
            ("user", "Tell me about the marmalade tasting"),
            ("assistant", "The marmalade tasting is in June"),
        ]
        lines = [{"type": "message", "message": {"role": role, "content": text}} for role, text in said]
        talk.write_text("".join(json.dumps(line) + "\n" for line in lines))
        with DaemonProcess(home):
            done = run_node(["--test", "test/daemon.test.js"], cwd=folder, environ=home.environ())

    assert done.returncode == 0, done.stdout


@pytest.mark.long
def test_installed_from_its_folder_it_takes_the_memory_slot_and_is_healthy(
    claw: OpenClawInstallation,
) -> None:
    with DaemonProcess(claw.home):
        inspected = claw.json("plugins", "inspect", "memd", "--runtime")
        healthy = claw.run("plugins", "doctor").stdout
        status = claw.run("memory", "status").stdout

    config = json.loads((claw.home.state / "openclaw.json").read_text())
    assert config["plugins"]["slots"]["memory"] == "memd"
    assert inspected["plugin"]["status"] == "loaded"
    assert inspected["plugin"]["activationReason"] == "selected memory slot"
    assert inspected["plugin"]["toolNames"] == ["memory_search", "memory_get"]
    assert inspected["diagnostics"] == []
    assert "checks passed" in healthy
    assert f"answers at {claw.home.socket}" in status
    assert "main: up to date, 2 files" in status


@pytest.mark.long
def test_an_agents_turn_searches_memory_and_reads_the_right_lines(
    claw: OpenClawInstallation, model: ModelServer
) -> None:
    model.asked.clear()
    with DaemonProcess(claw.home):
        answer = claw.turn("Which port does the staging gateway use?")

    assert answer.strip() == "My notes say: The staging gateway listens on port 8443."
    first, _, last = model.asked
    assert {"memory_search", "memory_get"} <= set(first.tools)
    assert first.system.count("## Memory\n- Before you answer") == 1
    assert first.system.count(CURATED.rstrip()) == 1
    found, read = (json.loads(result) for result in last.results)
    assert found["results"][0]["path"] == "memory/2026-03-04.md"
    assert "citation" not in found["results"][0]  # said once: path and lines
    assert (read["status"], read["from"], read["lines"]) == ("ok", 3, 1)


@pytest.mark.long
def test_with_the_daemon_stopped_a_turn_completes_and_says_why_memory_is_missing(
    claw: OpenClawInstallation, model: ModelServer
) -> None:
    model.asked.clear()

    answer = claw.turn("And which port is it today?", session="agent:main:stopped")

    assert answer.startswith("I couldn't look it up. Memory search is unavailable:")
    assert model.asked[0].system.count(CURATED.rstrip()) == 1
    assert str(claw.home.socket) in answer
    result = json.loads(model.asked[-1].results[0])
    assert (result["disabled"], result["unavailable"], result["code"]) == (True, True, "daemon_unreachable")
    assert result["action"]


@pytest.mark.long
def test_facts_are_put_before_a_message_and_kept_from_it(
    claw: OpenClawInstallation, model: ModelServer
) -> None:
    entry = {
        "config": {"autoRecall": True, "autoCapture": True},
        "hooks": {"allowConversationAccess": True},
    }
    path = claw.home.state / "openclaw.json"
    before = path.read_text()
    model.asked.clear()
    try:
        claw.change({"plugins": {"entries": {"memd": entry}}})
        with DaemonProcess(claw.home) as daemon, daemon.client() as memory:
            memory.memory_store("The user's staging port is forwarded by Ada")
            claw.turn("I prefer the staging port that Ada keeps", session="agent:main:facts")
            kept = memory.memory_recall("I prefer the port that Ada keeps")
    finally:
        path.write_text(before)

    assert "<relevant-memories>" in model.asked[0].prompt
    assert "forwarded by Ada" in model.asked[0].prompt
    assert kept.facts[0].text == "I prefer the staging port that Ada keeps"


@pytest.mark.long
def test_a_session_that_ends_in_the_gateway_leaves_a_note_if_the_settings_ask_for_it(
    folder: Path, model: ModelServer
) -> None:
    with StateHome(settings(model.url)) as home:
        home.note("memory/2026-03-04.md", NOTE)
        claw = OpenClawInstallation(home)
        claw.install(folder)
        claw.run("plugins", "disable", "memory-core")
        claw.change({"plugins": {"entries": {"memd": {"config": {"sessionNotes": True}}}}})
        with DaemonProcess(home) as daemon, OpenClawGateway(claw) as gateway:
            answer = claw.turn("Which port does the staging gateway use?", local=False)
            gateway.call("sessions.reset", key="agent:main:main", reason="new")
            daemon.wait_for(lambda _status: any(home.workspace().glob("memory/sessions/*staging*.md")))
            logged = gateway.log()

        note = next(home.workspace().glob("memory/sessions/*staging*.md")).read_text()
    assert "8443" in answer
    assert "memd: 0.1.0 keeps the agents' memory" in logged
    assert note.startswith("<!-- memd:session=agent:main:main -->\n# Session: ")
    assert "user: Which port does the staging gateway use?" in note
    assert "assistant: My notes say: The staging gateway listens on port 8443." in note


@pytest.mark.long
def test_the_plugin_starts_the_daemon_if_the_settings_allow(claw: OpenClawInstallation) -> None:
    command = [sys.executable, "-m", "memd"]  # no installation of memd is on PATH
    claw.change(
        {"plugins": {"entries": {"memd": {"config": {"startDaemon": True, "daemonCommand": command}}}}}
    )
    daemon = DaemonProcess(claw.home)
    try:
        status = claw.run("memory", "status").stdout
        with daemon.client() as client:
            pid = client.status().pid
        os.kill(pid, signal.SIGTERM)
    finally:
        claw.change({"plugins": {"entries": {"memd": {"config": {"startDaemon": False}}}}})

    assert f"answers at {claw.home.socket}" in status


@pytest.mark.long
def test_settings_that_the_schema_refuses_are_named(claw: OpenClawInstallation) -> None:
    path = claw.home.state / "openclaw.json"
    before = path.read_text()
    try:
        claw.change({"plugins": {"entries": {"memd": {"config": {"toolDeadlineMs": "soon"}}}}})
        refused = claw.run("config", "validate", ok=False)
    finally:
        path.write_text(before)

    assert refused.returncode != 0
    assert "plugins.entries.memd.config.toolDeadlineMs" in refused.stdout + refused.stderr


def test_the_manifest_has_a_schema_for_every_setting_and_documents_it() -> None:
    manifest = json.loads((PLUGIN / "openclaw.plugin.json").read_text())
    page = (PLUGIN.parent.parent / "docs" / "openclaw-plugin.md").read_text()

    assert manifest["kind"] == "memory"
    assert manifest["configSchema"]["additionalProperties"] is False
    for name in manifest["configSchema"]["properties"]:
        assert f"`{name}`" in page, name
