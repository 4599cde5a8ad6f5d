"""Detection of OpenClaw's state directory, and memd's own state directory without one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memd.sample import copy_sample, sample_dir
from memd.settings.agents import load_home
from memd.settings.openclaw_file import find_state_dir
from memd.system.state_dirs import find_openclaw, own_state_dir

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

    assert find_openclaw(tmp_path) == (tmp_path / folder if counts else None)
    assert find_state_dir({}, tmp_path) == (tmp_path / folder if counts else own_state_dir({}, tmp_path))


def test_old_state_folder_with_a_sibling_workspace_counts(tmp_path: Path) -> None:
    (tmp_path / "clawd").mkdir()
    assert find_openclaw(tmp_path) is None
    (tmp_path / ".clawdbot").mkdir()
    assert find_openclaw(tmp_path) == tmp_path / ".clawdbot"


def test_configured_settings_file_implies_the_openclaw_state_folder(tmp_path: Path) -> None:
    environ = {"OPENCLAW_CONFIG_PATH": str(tmp_path / "c.json")}

    assert find_state_dir(environ, tmp_path) == tmp_path / ".openclaw"


def test_without_openclaw_agent_and_index_are_in_memds_data_folder(tmp_path: Path) -> None:
    environ = {"XDG_DATA_HOME": str(tmp_path / "data")}

    agent = load_home(environ, tmp_path).agents["main"]

    assert agent.workspace == tmp_path / "data" / "memd" / "state" / "workspace"
    assert agent.index_path == tmp_path / "data" / "memd" / "state" / "memory" / "main.memd.sqlite"


@pytest.mark.skipif(sys.platform == "darwin", reason="another usual place")
def test_relative_data_folder_is_ignored(tmp_path: Path) -> None:
    usual = tmp_path / ".local" / "share" / "memd" / "state"

    assert own_state_dir({"XDG_DATA_HOME": "data"}, tmp_path) == usual
    assert own_state_dir({}, tmp_path) == usual


def test_sample_does_not_create_memds_own_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)

    copy_sample(sample_dir())

    assert not own_state_dir({}, tmp_path).exists()
    assert sample_dir().parent == own_state_dir({}, tmp_path).parent
