"""OpenClaw's files on disk: paths, and errors of broken files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memd.settings.agents import load_home
from memd.settings.schema import MemorySearch
from memd_client.state_folder import own_state_dir


def test_state_directory_is_configured_or_new_or_old(tmp_path: Path) -> None:
    assert load_home({}, tmp_path).state_dir == Path(own_state_dir({}, str(tmp_path)))

    (tmp_path / ".clawdbot").mkdir()
    (tmp_path / ".clawdbot" / "clawdbot.json").write_text('{"agents": {"list": [{"id": "crab"}]}}')
    old = load_home({}, tmp_path)
    assert (old.state_dir, old.config_path.name) == (tmp_path / ".clawdbot", "clawdbot.json")
    assert old.agents["crab"].workspace == tmp_path / "clawd"

    (tmp_path / ".openclaw" / "memory").mkdir(parents=True)
    assert load_home({}, tmp_path).state_dir == tmp_path / ".clawdbot", "nothing there is OpenClaw's"
    (tmp_path / ".openclaw" / "workspace").mkdir()
    assert load_home({}, tmp_path).config_path == tmp_path / ".openclaw" / "openclaw.json"
    named = load_home(
        {"OPENCLAW_STATE_DIR": "~/mine", "OPENCLAW_CONFIG_PATH": str(tmp_path / "c.json")}, tmp_path
    )
    assert (named.state_dir, named.config_path) == (tmp_path / "mine", tmp_path / "c.json")
    assert [problem.message for problem in named.problems] == [f"{tmp_path / 'c.json'} does not exist"]


def test_json5_is_read_and_folders_add_agents(tmp_path: Path) -> None:
    for folder in ("agents/ops", "agents/.trash", "agents/b@d", "workspace-ops"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "agents" / "file").write_text("")
    (tmp_path / "openclaw.json").write_text(
        "\ufeff// mine\n{agents: {list: [{id: 'main',},],},}", encoding="utf-8"
    )

    home = load_home({"OPENCLAW_STATE_DIR": str(tmp_path)}, tmp_path)

    assert list(home.agents) == ["main", "b-d", "ops"]
    assert home.agents["ops"].workspace == tmp_path / "workspace-ops"
    assert home.problems == ()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{agents: {\n  list: [,]}}", "is not JSON5: line 2, column 10"),
        (b'{"agents": ', "is not JSON5: line 1, column 12"),
        (b"", "is empty"),
        (b"// only a comment\n", "is not JSON5: line 2, column 1"),
        (b"\xff\xfe{}", "is not UTF-8 (byte 0)"),
        (b"[1, 2]", "must contain an object, found a list"),
        (b'{"a":' * 20_000, "is nested too deeply"),
        (b" " * (4 * 1024 * 1024 + 1), "is too big: 4,194,305 bytes, the limit is 4,194,304"),
    ],
)
def test_broken_file_keeps_agents_of_the_folders(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "agents" / "ops").mkdir(parents=True)
    file = tmp_path / "openclaw.json"
    file.write_bytes(content)

    home = load_home({"OPENCLAW_STATE_DIR": str(tmp_path)}, tmp_path)

    assert [error.message for error in home.problems] == [f"{file} {problem}"]
    assert list(home.agents) == ["ops"]
    assert home.agents["ops"].settings.query == MemorySearch().query
    assert not home.readable


def test_folder_pipe_and_broken_links_are_problems(tmp_path: Path) -> None:
    made: dict[str, Callable[[Path], object]] = {
        "folder": lambda path: path.mkdir(),
        "pipe": os.mkfifo,
        "link": lambda path: path.symlink_to(tmp_path / "nowhere"),
        "loop": lambda path: path.symlink_to(path),
    }
    for name, make in made.items():
        path = tmp_path / name
        make(path)

        home = load_home({"OPENCLAW_STATE_DIR": str(tmp_path), "OPENCLAW_CONFIG_PATH": str(path)}, tmp_path)

        assert len(home.problems) == 1, name
        assert home.problems[0].message.startswith(str(path)), name
