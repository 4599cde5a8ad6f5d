"""The exercise of docs/architecture.md, applied to a copy of the sources and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.provider_server import serve_provider
from tests.support.sockets import RawClient
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.tree import CLIENT, DAEMON, ROOT

KEY = "key-of-the-exercise"

NOTES = {
    "memory/walnut.md": "walnut shelf, walnut table, walnut stool",
    "memory/pinned/oil.md": "oil for the walnut shelf is in the lower drawer",
}


@pytest.fixture
def changed(tmp_path: Path) -> dict[str, str]:
    """The environment in which the changed copy of the sources is imported."""
    shutil.copytree(DAEMON, tmp_path / "daemon" / "memd")
    shutil.copytree(CLIENT, tmp_path / "client" / "memd_client")
    blocks = re.findall(r"```diff\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), re.DOTALL)
    assert len(blocks) == 4
    assert len(re.findall(r"^\+\+\+ b/", blocks[0], re.MULTILINE)) == 2, "a program is two tables"
    for block in blocks:
        patch = tmp_path / "block.diff"
        patch.write_text(block)
        subprocess.run(["git", "apply", patch.name], cwd=tmp_path, check=True)
    sources = os.pathsep.join(str(tmp_path / part) for part in ("daemon", "client"))
    return {"PYTHONPATH": sources, "ACME_API_KEY": KEY}


CHAT = """{"role": "user", "text": "Which hinge fits the walnut cabinet?"}
{"role": "assistant", "text": "The brass hinge, sold as 40-B."}
"""


def test_exercise_adds_a_program(changed: dict[str, str]) -> None:
    with StateHome(KEYWORD_ONLY) as home:
        chat = home.root / "acme" / "chats" / "cabinet.jsonl"
        chat.parent.mkdir(parents=True)
        chat.write_text(CHAT)
        (home.root / "memd.toml").write_text("[sources.acme]\n")
        with DaemonProcess(home, changed | {"ACME_HOME": str(home.root / "acme")}) as daemon:
            with daemon.client() as client:
                (hit,) = client.search("brass hinge").hits
            listed = daemon.memctl("sources").stdout
    assert (hit.path, hit.source) == ("acme/cabinet", "acme")
    assert hit.session is not None
    assert (hit.session.title, hit.session.open) == (
        "Which hinge fits the walnut cabinet?",
        "acme open cabinet",
    )
    assert "acme" in listed


def test_exercise_adds_a_stage_a_provider_and_a_request(changed: dict[str, str]) -> None:
    with serve_provider("compatible", key=KEY) as server:
        model, remote = server.facts.model, {"baseUrl": server.url}
        search = {"provider": "acme", "model": model, "remote": remote, "sync": {"watch": False}}
        with StateHome({"agents": {"defaults": {"memorySearch": search}}}) as home:
            for path, text in NOTES.items():
                home.note(path, text)
            with DaemonProcess(home, changed) as daemon, daemon.client(timeout_s=60) as client:
                client.index()
                reply = client.search("walnut", explain=True)
                with RawClient(home.socket) as raw:
                    counted = raw.greet().call("count_notes", {"agent": "main"})

    assert (reply.mode, reply.provider) == ("hybrid", "acme")
    assert reply.hits[0].path == "memory/pinned/oil.md"
    assert reply.hits[0].explain is not None
    assert "pinned" in reply.hits[0].explain["steps"]
    assert counted[2:] == [None, {"notes": len(NOTES)}]
