"""The first run: the memory it shows, and its hint if there is no local model."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memd.sample import sample_dir, use_sample
from memd_client.messages import SourcesReply, SourceStatus
from tests.support.scripts import load_script
from tests.support.tree import ROOT

first_run = load_script("first_run")
bootstrap = first_run.bootstrap


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty home directory; changes of the environment are undone."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "XDG_DATA_HOME"):
        os.environ.pop(name, None)
    os.environ.update(HOME=str(tmp_path), MEMD_CONFIG=str(tmp_path / "memd.toml"))
    return tmp_path


@pytest.mark.parametrize(
    ("made", "is_sample"),
    [
        (None, True),
        (".openclaw/memory/main.memd.sqlite", True),
        (".openclaw/openclaw.json", False),
        (".openclaw/workspace/MEMORY.md", False),
        (".local/share/memd/state/workspace/MEMORY.md", False),
    ],
)
def test_sample_is_used_if_there_is_no_memory(home: Path, made: str | None, is_sample: bool) -> None:
    os.environ["XDG_DATA_HOME"] = str(home / ".local" / "share")
    if made:
        (home / made).parent.mkdir(parents=True)
        (home / made).write_text("{}")

    assert first_run.has_no_memory() == is_sample


def test_notes_of_memd_toml_are_a_memory(home: Path) -> None:
    (home / "memd.toml").write_text('logLevel = "info"\n')
    assert first_run.has_no_memory()
    (home / "memd.toml").write_text('[search]\nextraPaths = ["~/notes"]\n')
    assert not first_run.has_no_memory()


def test_sample_of_an_earlier_command_is_not_a_memory(home: Path) -> None:
    use_sample()
    for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"):
        os.environ.pop(name, None)

    assert first_run.has_no_memory()
    assert sample_dir().is_dir()


@pytest.mark.parametrize(
    ("arguments", "has_compiler", "said"),
    [
        (["--build"], False, "No C++ compiler"),
        (["--no-local"], True, "  scripts/run\n"),
    ],
    ids=["no compiler", "--no-local"],
)
def test_run_without_a_local_model_prints_a_hint_and_builds_nothing(
    arguments: list[str],
    has_compiler: bool,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(sys, "argv", ["first_run.py", *arguments])
    monkeypatch.setattr(bootstrap, "STAMP", tmp_path / "stamp.json")
    monkeypatch.setattr(
        bootstrap, "run_pip", lambda *arguments, **options: pytest.fail("nothing may be built")
    )
    found = "/usr/bin/c++" if has_compiler else None
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: found)

    assert not first_run.install_model()

    shown = capsys.readouterr().out
    assert said in shown
    assert "memd uses keyword search" in shown
    assert shown.rstrip().endswith(("scripts/run", "scripts/run --build"))


@pytest.mark.parametrize(("option", "status"), [("--help", 0), ("-h", 0), ("--nolocal", 1)])
def test_run_explains_its_option_and_installs_nothing(option: str, status: int) -> None:
    ended = subprocess.run(
        [ROOT / "scripts" / "run", option],
        env={"PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, "--no-local" in ended.stdout) == (status, True)


def test_the_last_line_names_the_programs_that_setup_would_find(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        ("codex", "Codex", "transcripts", 12),
        ("codex-notes", "Codex", "notes", 3),
        ("goose", "Goose", "transcripts", 0),
    ]
    found = [SourceStatus(name, title, kind, files=files) for name, title, kind, files in rows]
    monkeypatch.setattr(first_run, "Client", lambda: contextlib.nullcontext(FoundSources(found)))

    assert first_run.programs_here() == "    finds Codex (12 files)"
    found.clear()
    assert first_run.programs_here() == ""


class FoundSources:
    """A client whose daemon finds sources."""

    def __init__(self, found: list[SourceStatus]) -> None:
        self._found = found

    def sources(self) -> SourcesReply:
        """Return them."""
        return SourcesReply(found=self._found)
