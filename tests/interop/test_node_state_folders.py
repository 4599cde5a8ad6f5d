"""The Node client and state folders: the same sockets as Python's, and a daemon for each folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client.discovery import socket_path, state_folder
from tests.support.blocking_node_client import node_client_project
from tests.support.node import run_node
from tests.support.profiles import FOLDERS, NOTES, QUERY, Profiles, other

PATHS = """
import { socketPath } from "memd-client";
import { stateFolder } from "./node_modules/memd-client/lib/state-folder.js";
const found = JSON.parse(process.argv[2]).map((environ) => [socketPath(environ), stateFolder(environ)]);
console.log(JSON.stringify(found));
"""

SEARCHES = """
import { Client } from "memd-client";
const [query, stateDir, socketPath] = process.argv.slice(2);
const found = [];
for (const options of [{}, { stateDir }, { socketPath }]) {
  const client = new Client({ autostart: true, ...options });
  try {
    found.push((await client.search({ query })).hits.map((hit) => hit.snippet).join("\\n"));
    if (options.stateDir) await client.appendNote({ text: "The heron was seen." });
  } catch (error) {
    found.push(`${error.code}: ${error.message} (${error.hint})`);
  }
  await client.close();
}
console.log(JSON.stringify(found));
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Node project with the client and the scripts."""
    where = node_client_project(tmp_path_factory.mktemp("node"))
    (where / "paths.mjs").write_text(PATHS)
    (where / "searches.mjs").write_text(SEARCHES)
    return where


def _run(project: Path, script: str, *arguments: str, environ: dict[str, str] | None = None) -> Any:
    ended = run_node([script, *arguments], cwd=project, environ=environ or {})
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def _homes(root: Path) -> Iterator[Path]:
    """Yield home directories: without OpenClaw, with it, with its old folder, and with odd folders."""
    for name in ("empty", "new", "old", "clawd", "agents", "linked"):
        home = root / name
        home.mkdir()
        yield home
    (root / "new" / ".openclaw" / "workspace-ops").mkdir(parents=True)
    (root / "new" / ".openclaw-work").mkdir()
    (root / "new" / "link").symlink_to(".openclaw-work")
    (root / "new" / "dangling").symlink_to("../nowhere/else")
    (root / "old" / ".openclaw").mkdir()
    (root / "old" / ".clawdbot").mkdir()
    (root / "old" / ".clawdbot" / "clawdbot.json").touch()
    (root / "clawd" / ".clawdbot").mkdir()
    (root / "clawd" / "clawd").mkdir()
    (root / "agents" / ".openclaw" / "agents" / "main").mkdir(parents=True)
    (root / "linked" / ".openclaw").symlink_to(root / "new" / ".openclaw")


def test_node_finds_the_same_folders_and_sockets_as_python(project: Path, tmp_path: Path) -> None:
    cases: list[dict[str, str]] = [
        {},
        {"OPENCLAW_CONFIG_PATH": "/etc/openclaw.json"},
        {"XDG_DATA_HOME": "/data/./x/"},
        {"XDG_DATA_HOME": "relative"},
        {"MEMD_SOCKET": "/run/own.sock", "OPENCLAW_STATE_DIR": "/srv/claw"},
        {"OPENCLAW_HOME": "~/service"},
        {"OPENCLAW_HOME": "/srv/claw", "OPENCLAW_STATE_DIR": "~/x"},
        {"OPENCLAW_HOME": "null"},
        *({"OPENCLAW_STATE_DIR": path} for path in (
            "", " ", "~", "~/.openclaw", "~/.openclaw/", " ~/.openclaw-work ", "~/link", "~/link/..", "~/dangling",
            "~/dangling/deeper", "/srv/ünï/☃", "/", "relative/folder", "~/.clawdbot", "~/.local/share/memd/state",
        )),
    ]  # fmt: skip
    environs = [
        {"HOME": str(home), "XDG_RUNTIME_DIR": "/run/u", **case}
        for home in _homes(tmp_path)
        for case in cases
    ]
    before = Path.cwd()
    os.chdir(project)  # relative paths
    try:
        expected = [[socket_path(environ), state_folder(environ)] for environ in environs]
    finally:
        os.chdir(before)

    found = _run(project, "paths.mjs", json.dumps(environs))

    differences = [row for row in zip(environs, expected, found, strict=True) if row[1] != row[2]]
    assert differences == []
    assert len({socket for socket, _ in expected}) > 6


@pytest.mark.parametrize("name", FOLDERS)
def test_node_client_uses_the_daemon_of_its_state_folder(project: Path, name: str) -> None:
    with Profiles() as profiles:
        theirs = other(name)
        for each in FOLDERS:
            profiles.memctl(each, "index")

        own, named, of_socket = _run(
            project,
            "searches.mjs",
            QUERY,
            str(profiles.state(theirs)),
            profiles.socket(theirs),
            environ={"OPENCLAW_STATE_DIR": "", "OPENCLAW_CONFIG_PATH": "", **profiles.environ(name)},
        )

        assert NOTES[name] in own
        assert NOTES[theirs] not in own
        assert NOTES[theirs] in named
        assert "heron" in profiles.text(theirs)
        assert "heron" not in profiles.text(name)
        if name == "work":  # the environment names a folder, and the socket is that of another
            assert of_socket.startswith("state_dir_mismatch: ")
            assert str(profiles.state("home")) in of_socket
            assert "unset MEMD_SOCKET" in of_socket
