"""What a plugin in the memory slot has to do as OpenClaw's own memory does, in the real OpenClaw.

Conversations parted by `/new`, wikis, recall across conversations, the doctor and the commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.openclaw import (
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

pytestmark = pytest.mark.long

WAIT_S = 120.0
REMEMBERED = "REMEMBER the heron gauge stands at 8443"
TALKS = ["MESSAGE of the heron", "MESSAGE of the stork", "MESSAGE of the crane"]


def script(conversation: ModelRequest) -> TextReply | ToolCall:
    """Search when asked to, and as the look into memory before a reply; read what a wiki has; else say little."""
    results = [json.loads(result) for result in conversation.results]
    path = re.search(r"SEARCH notes, then read (\S+)", conversation.prompt)
    if path is not None and len(results) < 2:
        query = {"query": "MESSAGE of the stork", "corpus": "memory", "minScore": 0}
        return [ToolCall("memory_search", query), ToolCall("memory_get", {"path": path[1]})][len(results)]
    if "SEARCH everything" in conversation.prompt:
        if not results:
            return ToolCall("memory_search", {"query": "heron gauge", "corpus": "all"})
        pages = [row["path"] for row in results[0]["results"] if row["corpus"] == "wiki"]
        if len(results) == 1 and pages:
            return ToolCall("memory_get", {"path": pages[0], "corpus": "wiki"})
    if is_recall(conversation) and not results:
        return ToolCall("memory_search", {"query": "where does the heron gauge stand"})
    return TextReply("Noted.")


def is_recall(conversation: ModelRequest) -> bool:
    """Return whether it is OpenClaw's look into memory before a reply: that run has no tools but memory's."""
    return "memory_search" in conversation.tools and "write" not in conversation.tools


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    """The model of OpenClaw's agents."""
    with serve_model(script) as server:
        yield server


@pytest.fixture(scope="module")
def claw(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenClawInstallation]:
    """OpenClaw with the plugin in the memory slot, its own memory off, transcripts searched, and a wiki."""
    said = settings(model.url)
    said["memory"]["search"] |= {
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": True},
    }
    with StateHome(said) as home:
        home.note("MEMORY.md", "# Memory\n\nThe lunch is soup.\n")
        openclaw = OpenClawInstallation(home)
        openclaw.install(plugin_folder(tmp_path_factory.mktemp("plugin")))
        openclaw.run("plugins", "disable", "memory-core")
        openclaw.run("plugins", "enable", "memory-wiki", "--accept-capabilities")
        own = {"startDaemon": False, "sessionNotes": True}
        openclaw.change({"plugins": {"entries": {"memd": {"config": own}}}})
        yield openclaw


def test_three_conversations_with_new_between_leave_three_notes_each_its_own_and_private(
    claw: OpenClawInstallation, model: ModelServer
) -> None:
    workspace = claw.home.workspace()

    def notes() -> list[str]:
        return sorted(path.read_text() for path in workspace.glob("memory/sessions/*.md"))

    def found(session: str) -> tuple[str, str]:
        """Return what a session's search finds, and whether it can read the note of the second talk."""
        model.asked.clear()
        (note,) = [path for path in workspace.glob("memory/sessions/*.md") if TALKS[1] in path.read_text()]
        claw.turn(
            f"SEARCH notes, then read {note.relative_to(workspace)} please", session=session, local=False
        )
        search, read = model.asked[-1].results
        return search, json.loads(read)["status"]

    before = (claw.home.state / "openclaw.json").read_text()
    claw.change({"tools": {"sessions": {"visibility": "self"}}})
    try:
        with DaemonProcess(claw.home) as daemon, OpenClawGateway(claw) as gateway, daemon.client() as memory:
            for number, said in enumerate(TALKS, start=1):
                claw.turn(said, local=False)
                gateway.call("sessions.reset", key="agent:main:main", reason="new")
                daemon.wait_for(lambda _, number=number: len(notes()) == number, WAIT_S)
            hits = memory.search("MESSAGE of the stork", sources=["sessions"], min_score=0).hits
            own, of_group = found("agent:main:main"), found("agent:main:telegram:group:-100")
    finally:
        (claw.home.state / "openclaw.json").write_text(before)

    assert (TALKS[1] in own[0], own[1]) == (True, "ok")
    assert (TALKS[1] in of_group[0], of_group[1]) == (False, "not_found")

    for talk in TALKS:
        (note,) = [note for note in notes() if f"user: {talk}\n" in note]
        assert note.endswith(f"\n\nuser: {talk}\nassistant: Noted.\n")
    assert len({note.split("**Session ID**: ")[1].split("\n")[0] for note in notes()}) == 1
    # a hit shows one conversation, and all three are still found
    assert {talk for talk in TALKS for hit in hits if talk in hit.snippet} == set(TALKS)
    assert all(hit.snippet.count("MESSAGE") == 1 for hit in hits)


def test_a_private_conversation_recalls_another_one_and_wikis_are_searched(
    claw: OpenClawInstallation, model: ModelServer
) -> None:
    page = claw.home.root / "heron.md"
    page.write_text("# Heron gauge\n\nThe heron gauge of the wiki is made of brass.\n")
    claw.run("wiki", "init")
    claw.run("wiki", "ingest", str(page))
    active = {"enabled": True, "config": {"enabled": True, "mode": "always", "timeoutMs": 60_000}}
    before = (claw.home.state / "openclaw.json").read_text()
    claw.change({"plugins": {"entries": {"active-memory": active}}})
    model.asked.clear()

    def send(key: str, text: str) -> None:
        params = json.dumps({"sessionKey": key, "message": text, "idempotencyKey": f"{key} {text}"})
        claw.json("gateway", "call", "chat.send", "--params", params, "--timeout", "90000")
        daemon.wait_for(
            lambda _: any(text in asked.prompt and not is_recall(asked) for asked in model.asked), WAIT_S
        )

    try:
        with DaemonProcess(claw.home) as daemon, OpenClawGateway(claw) as gateway:
            send("agent:main:main", REMEMBERED)
            send("agent:main:telegram:direct:8", "Where does the heron gauge stand, do you remember?")
            claw.turn("SEARCH everything", session="agent:main:x", local=False)
            logged = gateway.log()
    finally:
        (claw.home.state / "openclaw.json").write_text(before)

    recalled = [json.loads(asked.results[0]) for asked in model.asked if is_recall(asked) and asked.results]
    shown = [[row["snippet"] for row in found["results"]] for found in recalled]
    assert any(REMEMBERED in snippet for snippet in shown[-1])
    # no recall finds the conversation it runs for, nor its own prompt
    assert not any("do you remember?" in snippet for snippets in shown for snippet in snippets)
    assert "does not support protected private transcript recall" not in logged
    found, read = (json.loads(result) for result in model.asked[-1].results)
    assert {"corpus": "wiki", "outcome": "ok"} in found["corpora"]
    assert {row["corpus"] for row in found["results"]} >= {"sessions", "wiki"}
    assert (read["status"], "made of brass" in read["text"]) == ("ok", True)


def test_the_doctor_says_nothing_of_memory_but_what_it_says_of_every_other_plugin(
    claw: OpenClawInstallation,
) -> None:
    def notes() -> str:
        said = claw.run("doctor", "--non-interactive", ok=False).stdout
        return " ".join(said.partition("Memory search")[2].partition("├")[0].replace("│", " ").split())

    before = (claw.home.state / "openclaw.json").read_text()
    with DaemonProcess(claw.home):
        usual = notes()
        claw.change({"memory": {"search": {"rememberAcrossConversations": False}}})
        quiet = notes()
    (claw.home.state / "openclaw.json").write_text(before)

    # OpenClaw 2026.9.6 says this whenever memory-core isn't in the slot, without asking the plugin that is
    assert "does not support protected private transcript recall" in usual
    assert quiet == ""


def test_the_commands_of_openclaws_memory_work_on_the_daemon(claw: OpenClawInstallation) -> None:
    with DaemonProcess(claw.home):
        deep = claw.run("memory", "status", "--deep").stdout
        indexed = claw.json("memory", "index", "--force", "--agent", "main")
        unconfirmed = claw.run("memory", "reset", ok=False)
        reset = claw.run("memory", "reset", "--yes").stdout
        again = claw.run("memory", "status", "--index", "--verbose").stdout
        unknown = claw.run("memory", "index", "--agent", "nobody", ok=False)
    stopped = claw.run("memory", "index", "--json", ok=False)

    assert "keyword index: ok" in deep
    assert indexed["agents"][0]["error"] is None
    assert indexed["agents"][0]["files"] > 0
    assert unconfirmed.returncode == 1
    assert "--yes" in unconfirmed.stderr
    assert reset.startswith("main: ")
    assert "main: up to date" in again
    assert str(claw.home.workspace()) in again
    assert unknown.returncode == 1
    assert "nobody" in unknown.stderr
    assert stopped.returncode == 1
    assert json.loads(stopped.stdout)["error"]["code"] == "daemon_unreachable"


def test_dreaming_asked_of_memd_is_refused_and_asked_of_memory_core_is_without_effect(
    claw: OpenClawInstallation,
) -> None:
    path: Path = claw.home.state / "openclaw.json"
    before = path.read_text()
    try:
        claw.change({"plugins": {"entries": {"memd": {"config": {"dreaming": {"enabled": True}}}}}})
        refused = claw.run("config", "validate", ok=False)
        path.write_text(before)
        dreaming = {"enabled": True, "config": {"dreaming": {"enabled": True}}}
        claw.change({"plugins": {"entries": {"memory-core": dreaming}}})
        own = claw.json("plugins", "inspect", "memory-core", "--runtime")["plugin"]
        ours = claw.json("plugins", "inspect", "memd", "--runtime")["plugin"]
    finally:
        path.write_text(before)

    assert refused.returncode != 0
    assert "plugins.entries.memd.config.dreaming.enabled" in refused.stdout + refused.stderr
    assert own["activationReason"] == 'memory slot set to "memd"'
    assert ours["toolNames"] == ["memory_search", "memory_get"]
