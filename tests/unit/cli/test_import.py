"""`memctl import`: plan, confirmation, result and errors."""

from __future__ import annotations

import io
import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memd.importing.provenance import read_copy
from memd_client.errors import DaemonUnreachableError
from memd_client.messages import IndexReply, Problem
from tests.unit.cli.memctl_runner import MAIN, MemctlResult, indexed, memctl, status_of


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with memories of Claude Code, without a terminal."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    write(tmp_path / ".claude/CLAUDE.md", "# Mine\nTea at four.\n")
    write(tmp_path / ".claude/projects/-home-ann-shop/memory/MEMORY.md", "- the shop opens at nine\n")
    return tmp_path


def write(path: Path, text: str) -> Path:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def ran(home: Path, *arguments: str, **replies: Any) -> MemctlResult:
    """Run `memctl import` with an agent whose workspace is in this home."""
    state = home / ".openclaw"
    main = replace(MAIN, workspace=str(state / "workspace"))
    status = status_of(main, state_dir=str(state), config_path=str(state / "openclaw.json"))
    given: dict[str, Any] = {"status": status, "index": IndexReply([indexed()])} | replies
    return memctl("import", *arguments, **given)


COPY = ".openclaw/workspace/memory/imported/claude-code/CLAUDE.md"


def test_dry_run_shows_the_plan_and_writes_nothing(home: Path) -> None:
    run = ran(home, "claude-code", "--dry-run")

    assert run.code == 0
    assert "  new        memory/imported/claude-code/CLAUDE.md  20 B  from " in run.out
    assert "memory/imported/claude-code/projects/-home-ann-shop/memory/MEMORY.md" in run.out
    assert run.out.endswith("2 files to write (45 B)\n")
    assert not (home / ".openclaw").exists()
    assert [name for name, _ in run.client.calls] == ["status"]


def test_without_a_terminal_nothing_is_written_and_exit_code_is_2(home: Path) -> None:
    run = ran(home, "claude-code")

    assert run.code == 2
    assert "pass --yes" in run.err
    assert not (home / ".openclaw").exists()


def test_yes_writes_indexes_and_prints_how_to_search(home: Path) -> None:
    run = ran(home, "claude-code", "--yes")

    assert run.code == 0, run.err
    copy = read_copy((home / COPY).read_text())
    assert copy is not None
    assert copy.body == "# Mine\nTea at four.\n"
    assert copy.provenance.imported == "2027-01-15T08:00:00Z"
    assert ("index", {"agent": "main", "force": False}) in run.client.calls
    assert "2 files written (45 B)" in run.out
    assert "memctl search --agent main" in run.out


def test_import_asks_for_confirmation(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert ran(home, "claude-code").code == 130
    assert not (home / COPY).exists()

    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert ran(home, "claude-code").code == 0
    assert (home / COPY).exists()


def test_second_import_writes_nothing_and_does_not_ask(home: Path) -> None:
    ran(home, "claude-code", "--yes")

    again = ran(home, "claude-code")

    assert again.code == 0
    assert "0 files to write, 2 unchanged" in again.out


def test_json_has_the_whole_result(home: Path) -> None:
    write(home / ".claude/rules/empty.md", "")

    document = json.loads(ran(home, "claude-code", "--yes", "--json").out)

    assert document["kind"] == "claude-code"
    assert document["applied"] is True
    assert document["counts"] == {"new": 2, "left_out": 1}
    assert document["files"][0]["target"] == "memory/imported/claude-code/CLAUDE.md"
    assert document["files"][-1]["reason"] == "it is empty"
    assert document["indexed"]["agents"][0]["agent"] == "main"


def test_without_a_daemon_files_are_written(home: Path) -> None:
    (home / ".openclaw" / "workspace").mkdir(parents=True)

    run = memctl("import", "claude-code", "--yes", refused=DaemonUnreachableError("nobody listens"))

    assert run.code == 0, run.err
    assert (home / COPY).exists()
    assert "the files are indexed once it runs" in run.err


def test_unwritable_file_is_reported_and_exits_with_1(home: Path) -> None:
    workspace = home / ".openclaw/workspace"
    (home / "elsewhere").mkdir()
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory/imported").symlink_to(home / "elsewhere")

    run = ran(home, "claude-code", "--yes")

    assert run.code == 1
    assert "symbolic link" in run.out
    assert os.listdir(home / "elsewhere") == []


def test_index_error_exits_with_1(home: Path) -> None:
    broken = indexed(error=Problem("index_io", "No space left.", "Free some space."))

    assert ran(home, "claude-code", "--yes", index=IndexReply([broken])).code == 1
    assert (home / COPY).exists()


def test_several_agents_require_the_agent_option(home: Path) -> None:
    status = status_of(
        replace(MAIN, workspace=str(home / "a")), replace(MAIN, agent="work", workspace=str(home / "b"))
    )

    run = ran(home, "claude-code", "--yes", status=status)
    assert run.code == 2
    assert "main, work" in run.err

    assert ran(home, "claude-code", "--yes", "--agent", "work", status=status).code == 0
    assert (home / "b/memory/imported/claude-code/CLAUDE.md").exists()


def test_unknown_agent_or_disabled_memory_is_an_error(home: Path) -> None:
    assert "agent_unknown" in ran(home, "claude-code", "--agent", "nobody").err

    off = status_of(MAIN, replace(MAIN, agent="work", enabled=False))
    assert "memory_disabled" in ran(home, "claude-code", "--agent", "work", status=off).err


def test_missing_folder_is_an_error_with_a_hint(home: Path) -> None:
    run = ran(home, "codex")

    assert run.code == 1
    assert "file_missing" in run.err
    assert "memctl import codex PATH" in run.err


def test_vault_is_added_to_the_settings_with_a_backup(home: Path) -> None:
    write(home / "Notes/.obsidian/app.json", "{}")
    write(home / "Notes/tea.md", "green\n")
    settings = write(
        home / ".openclaw/openclaw.json", '{\n  // mine\n  memory: { search: { provider: "none" } },\n}\n'
    )
    settings.chmod(0o600)
    before = settings.read_text()

    shown = ran(home, "obsidian", str(home / "Notes"))
    assert shown.code == 2
    assert settings.read_text() == before

    run = memctl(
        "import", "obsidian", str(home / "Notes"), "--yes", "--json", refused=DaemonUnreachableError("nobody")
    )

    document = json.loads(run.out)
    assert (document["state"], document["applied"], document["files"]) == ("new", True, 1)
    entry = f'{{"path": "{home}/Notes", "pattern": "**/*.md"}}'
    assert settings.read_text() == before.replace('"none"', f'"none", extraPaths: [{entry}]')
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert Path(document["backup"]).read_text() == before
    assert stat.S_IMODE(os.stat(document["backup"]).st_mode) == 0o600

    again = json.loads(
        memctl("import", "obsidian", "~/Notes", "--json", refused=DaemonUnreachableError("no")).out
    )
    assert (again["state"], again["applied"]) == ("same", False)


def test_vault_requires_a_path(home: Path) -> None:
    run = ran(home, "obsidian")

    assert run.code == 2
    assert ".obsidian" in run.err


def test_many_files_are_listed_in_part_and_counted(home: Path) -> None:
    for number in range(50):
        write(home / f".claude/rules/{number:02}.md", f"rule {number}\n")

    run = ran(home, "claude-code", "--dry-run")

    assert "and 12 more; --json lists all" in run.out
    assert "52 files to write" in run.out
