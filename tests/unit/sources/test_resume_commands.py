"""Commands that open a conversation in its program: each is run by a shell, in another folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from memd.programs.catalog import how_to_open

COMMANDS = {
    "claude-code": "claude --resume ID",
    "codex": "codex resume ID",
    "gemini": "gemini --resume ID",
    "cursor": "cursor-agent --resume ID",
    "copilot": "copilot --resume ID",
    "opencode": "opencode --session ID",
}
FOLDERS = ("code/shop", "code/eva's shop", 'code/$(touch pwned); `x` "y"', "-shop", "code/a\nb", "")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, with programs that print their folder, name and arguments."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    for command in COMMANDS.values():
        program = home / "bin" / command.split()[0]
        program.write_text('#!/bin/sh\npwd\necho "$(basename "$0") $*"\n')
        program.chmod(0o700)
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.mark.parametrize("program", COMMANDS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_printed_command_resumes_the_session_in_its_folder(home: Path, program: str, folder: str) -> None:
    outside = home.parent / "elsewhere" / folder
    for place in (home / folder, outside):
        place.mkdir(parents=True, exist_ok=True)
        command = how_to_open(program, "ID", str(place))
        ran = subprocess.run(
            ["sh", "-c", command],
            env={**os.environ, "PATH": f"{home}/bin:{os.environ['PATH']}"},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ran.returncode, ran.stdout) == (0, f"{place}\n{COMMANDS[program]}\n"), ran.stderr


def test_folder_below_home_is_short_and_an_unknown_one_is_left_out(home: Path) -> None:
    assert how_to_open("claude-code", "ID", f"{home}/code/shop") == "cd ~/code/shop && claude --resume ID"
    assert how_to_open("claude-code", "ID", f"{home}s/shop") == f"cd {home}s/shop && claude --resume ID"
    for unknown in ("", "code/shop"):
        assert how_to_open("claude-code", "ID", unknown) == "claude --resume ID"
    assert how_to_open("claude-code", "agent-1", str(home)) == ""
    assert how_to_open("cursor-editor", "ID", str(home)) == ""
