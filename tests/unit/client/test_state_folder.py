"""Detection of OpenClaw's state directory, and memd's own state directory without one."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memd.sample import copy_sample, sample_dir
from memd.settings.agents import load_home
from memd_client.discovery import socket_path, state_folder
from memd_client.errors import ConfigInvalidError
from memd_client.hook_program import find_daemon
from memd_client.state_folder import find_openclaw, find_state_dir, own_state_dir

CASES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "nothing": (lambda folder: None, False),
    "an empty folder": (lambda folder: folder.mkdir(), False),
    "a file": (lambda folder: folder.write_text(""), False),
    "indexes of memd": (lambda folder: (folder / "memory").mkdir(parents=True), False),
    "a folder for agents, empty": (lambda folder: (folder / "agents").mkdir(parents=True), False),
    "an agent": (lambda folder: (folder / "agents" / "main").mkdir(parents=True), True),
    "a workspace": (lambda folder: (folder / "workspace").mkdir(parents=True), True),
    "a workspace of another agent": (lambda folder: (folder / "workspace-ops").mkdir(parents=True), True),
    "a settings file": (lambda folder: _settings(folder, "openclaw.json"), True),
    "an old settings file": (lambda folder: _settings(folder, "clawdbot.json"), True),
    "a link to nowhere": (lambda folder: folder.symlink_to("nowhere"), False),
}


def _settings(folder: Path, name: str) -> None:
    folder.mkdir()
    (folder / name).write_text("{}")


@pytest.mark.parametrize("folder", [".openclaw", ".clawdbot"])
@pytest.mark.parametrize(("make", "counts"), CASES.values(), ids=CASES)
def test_state_folder_counts_only_if_openclaw_uses_it(
    tmp_path: Path, folder: str, make: Callable[[Path], object], counts: bool
) -> None:
    make(tmp_path / folder)

    home = str(tmp_path)
    expected = str(tmp_path / folder) if counts else None
    assert find_openclaw(home) == expected
    assert find_state_dir({}, lambda: home) == (expected or own_state_dir({}, home))


def test_old_state_folder_with_a_sibling_workspace_counts(tmp_path: Path) -> None:
    (tmp_path / "clawd").mkdir()
    assert find_openclaw(str(tmp_path)) is None
    (tmp_path / ".clawdbot").mkdir()
    assert find_openclaw(str(tmp_path)) == str(tmp_path / ".clawdbot")


def test_configured_settings_file_implies_the_openclaw_state_folder(tmp_path: Path) -> None:
    environ = {"OPENCLAW_CONFIG_PATH": str(tmp_path / "c.json")}

    assert find_state_dir(environ, lambda: str(tmp_path)) == str(tmp_path / ".openclaw")


def test_without_openclaw_agent_and_index_are_in_memds_data_folder(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path / "data")}

    agent = load_home(environ, tmp_path).agents["main"]

    assert agent.workspace == tmp_path / "data" / "memd" / "state" / "workspace"
    assert agent.index_path == tmp_path / "data" / "memd" / "state" / "memory" / "main.memd.sqlite"


@pytest.mark.skipif(sys.platform == "darwin", reason="another usual place")
def test_relative_data_folder_is_ignored(tmp_path: Path) -> None:
    usual = str(tmp_path / ".local" / "share" / "memd" / "state")

    assert own_state_dir({"XDG_DATA_HOME": "data"}, str(tmp_path)) == usual
    assert own_state_dir({}, str(tmp_path)) == usual


def test_sample_does_not_create_memds_own_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)

    copy_sample(sample_dir())

    own = Path(own_state_dir({}, str(tmp_path)))
    assert not own.exists()
    assert sample_dir().parent == own.parent


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with OpenClaw's default folder and that of a profile; the working directory."""
    for name in (".openclaw", ".openclaw-work"):
        _settings(tmp_path / name, "openclaw.json")
    (tmp_path / "link").symlink_to(".openclaw")
    (tmp_path / "work").symlink_to(".openclaw-work")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def name_of(home: Path, **environ: str) -> str:
    """Return the name of the socket in an environment."""
    return Path(socket_path({"HOME": str(home), "XDG_RUNTIME_DIR": "/run/u", **environ})).name


def test_default_folder_has_the_usual_socket_however_it_is_named(home: Path) -> None:
    names = ["", "~/.openclaw", "~/.openclaw/", f"{home}/./.openclaw", ".openclaw", "link", f" {home}/link "]

    assert {name_of(home, OPENCLAW_STATE_DIR=name) for name in names} == {"memd.sock"}
    assert name_of(home, OPENCLAW_HOME=str(home)) == "memd.sock"
    assert name_of(home, OPENCLAW_HOME="undefined") == "memd.sock"


def test_another_folder_has_a_socket_of_its_own_however_it_is_named(home: Path) -> None:
    names = ["~/.openclaw-work", f"{home}/.openclaw-work/", "work", "./work/../.openclaw-work"]
    sockets = {name_of(home, OPENCLAW_STATE_DIR=name) for name in names}

    (socket,) = sockets
    assert re.fullmatch(r"memd-[0-9a-f]{8}\.sock", socket)
    assert name_of(home, OPENCLAW_STATE_DIR="~/.openclaw-missing") not in {socket, "memd.sock"}
    assert Path(socket_path({"HOME": str(home), "XDG_RUNTIME_DIR": "/run/u"}, "work")).name == socket


def test_number_of_a_folder_never_changes() -> None:
    """The Node client, hooks and a service that was installed long ago compute the same number."""
    environ = {
        "HOME": "/home/eva",
        "XDG_RUNTIME_DIR": "/run/u",
        "OPENCLAW_STATE_DIR": "/home/eva/.openclaw-work",
    }

    assert socket_path(environ) == "/run/u/memd/memd-27c25368.sock"


def test_home_of_openclaw_has_its_own_state_folder_and_socket(home: Path) -> None:
    environ = {"HOME": str(home), "OPENCLAW_HOME": "~/service"}

    assert state_folder(environ) == f"{home}/service/.openclaw"
    assert state_folder({**environ, "OPENCLAW_STATE_DIR": "~/x"}) == f"{home}/service/x"
    assert name_of(home, OPENCLAW_HOME="~/service") != "memd.sock"


def test_folder_of_openclaw_keeps_its_socket_when_openclaw_is_installed(tmp_path: Path) -> None:
    named = {"OPENCLAW_STATE_DIR": str(tmp_path / ".openclaw")}
    before = name_of(tmp_path, **named)
    _settings(tmp_path / ".openclaw", "openclaw.json")

    assert (before, name_of(tmp_path, **named), name_of(tmp_path)) == ("memd.sock",) * 3


def test_named_socket_is_used_unchanged(home: Path) -> None:
    environ = {"HOME": str(home), "MEMD_SOCKET": "/run/own.sock", "OPENCLAW_STATE_DIR": "~/.openclaw-work"}

    assert socket_path(environ) == "/run/own.sock"


def test_state_folder_must_be_utf8(home: Path) -> None:
    with pytest.raises(ConfigInvalidError, match="OPENCLAW_STATE_DIR is not UTF-8"):
        state_folder({"HOME": str(home), "OPENCLAW_STATE_DIR": "/\udcff"})


def test_hook_prefers_the_folder_of_its_environment_to_the_installed_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    here = {"HOME": str(home), "XDG_RUNTIME_DIR": "/run/u"}
    work = {**here, "OPENCLAW_STATE_DIR": "~/.openclaw-work"}
    installed = {"--state-dir": str(home / ".openclaw-work")}

    default = ("/run/u/memd/memd.sock", str(home / ".openclaw"))
    of_work = (socket_path(work), str(home / ".openclaw-work"))
    assert find_daemon({}, here) == default
    assert find_daemon({}, work) == of_work
    assert find_daemon(installed, here) == of_work
    assert find_daemon({"--state-dir": default[1]}, work) == of_work
    assert find_daemon({"--socket": "/s"}, here) == ("/s", "")
    assert find_daemon({"--socket": "/s"}, work) == ("/s", of_work[1])
    assert find_daemon({"--socket": "/s", **installed}, here) == ("/s", of_work[1])
