"""`memctl sample`, `memctl --sample`, and when it is offered."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memd.cli import connect
from memd_client.messages import IndexReply
from tests.unit.cli.memctl_runner import MAIN, found, indexed, memctl, status_of

EMPTY = replace(MAIN, files=0, chunks=0, vectors=0)

VARIABLES = ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "MEMD_CONFIG", "MEMD_SOCKET")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home directory; exported variables are restored."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in (*VARIABLES, "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        os.environ.pop(name, None)
    os.environ.update(HOME=str(tmp_path), XDG_RUNTIME_DIR=str(tmp_path / "run"))
    return tmp_path


def notes_of(home: Path) -> Path:
    """Return the workspace of the sample in a home directory."""
    return next(home.rglob("sample/openclaw.json")).parent / "workspace"


@pytest.mark.parametrize(
    "arguments",
    [[], ["status"], ["search", "lease"], ["index"], ["agents"]],
    ids=" ".join,
)
def test_sample_is_offered_without_notes(home: Path, arguments: list[str]) -> None:
    replies: dict[str, Any] = {
        "status": status_of(EMPTY),
        "search": found(abstained=True),
        "index": IndexReply([indexed(files=0)]),
    }

    ran = memctl(*arguments, has_memory=False, **replies)

    assert ran.code == 0
    assert "memctl sample" in ran.err
    assert "memd/state/workspace/memory" in ran.err
    assert "memctl sample" not in memctl(*arguments, has_memory=True, **replies).err
    assert list(home.iterdir()) == []


def test_sample_is_not_offered_with_notes(home: Path) -> None:
    assert memctl("status", has_memory=False, status=status_of(MAIN)).err == ""


@pytest.mark.parametrize(
    "made",
    [
        ".openclaw/openclaw.json",
        ".clawdbot/agents/main/x",
        ".local/share/memd/state/workspace/MEMORY.md",
        "memd.toml",
        None,
    ],
)
def test_openclaw_own_notes_or_settings_count_as_memory(home: Path, made: str | None) -> None:
    os.environ["MEMD_CONFIG"] = str(home / "memd.toml")
    os.environ["XDG_DATA_HOME"] = str(home / ".local" / "share")
    if made:
        (home / made).parent.mkdir(parents=True, exist_ok=True)
        (home / made).write_text("")

    assert connect.has_memory() == (made is not None)


def test_sample_is_copied_indexed_and_explained(home: Path) -> None:
    ran = memctl("sample", index=IndexReply([indexed()]))

    assert ran.code == 0
    assert (notes_of(home) / "MEMORY.md").is_file()
    assert os.environ["OPENCLAW_STATE_DIR"] == str(notes_of(home).parent)
    assert "memctl --sample search" in ran.out
    for name in VARIABLES:
        assert f"export {name}={os.environ[name]}" in ran.out
    assert not (home / ".openclaw").exists()


def test_edited_sample_is_kept(home: Path) -> None:
    memctl("sample", index=IndexReply([indexed()]))
    (notes_of(home) / "MEMORY.md").write_text("mine")

    assert memctl("sample", index=IndexReply([indexed()])).code == 0

    assert (notes_of(home) / "MEMORY.md").read_text() == "mine"


def test_sample_option_selects_the_sample(home: Path) -> None:
    os.environ["OPENCLAW_CONFIG_PATH"] = str(home / "mine.json")

    ran = memctl("--sample", "search", "lease", search=found())

    assert (ran.code, ran.opened) == (0, 1)
    assert os.environ["OPENCLAW_CONFIG_PATH"] == str(notes_of(home).parent / "openclaw.json")
    assert Path(os.environ["MEMD_SOCKET"]).name == "sample.sock"


def test_unwritable_folder_is_an_error_with_a_hint(home: Path) -> None:
    os.environ["XDG_DATA_HOME"] = str(home / "file")
    (home / "file").write_text("")

    ran = memctl("sample")

    assert (ran.code, ran.opened) == (1, 0)
    assert "cannot write the sample memory" in ran.err
    assert "hint: " in ran.err
