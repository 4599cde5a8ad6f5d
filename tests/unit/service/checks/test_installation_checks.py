"""Checks of programs, settings, the machine, folders and leftovers."""

from __future__ import annotations

import os
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from memd.service.checks import installation as checks
from memd.service.checks.finding import OK, WARNING, WRONG, Finding
from memd.service.checks.installation import (
    check_clock,
    check_descriptors,
    check_folders,
    check_leftovers,
    check_programs,
    check_settings,
    check_watches,
)
from memd_client.errors import ConfigInvalidError
from tests.unit.service.checks.installations import installation


def faults(findings: list[Finding]) -> list[tuple[str, str]]:
    """Return the names and states of the findings that are not ok."""
    return [(each.name, each.state) for each in findings if each.state != OK]


def test_programs_of_the_tests_work(tmp_path: Path) -> None:
    findings = check_programs(installation(tmp_path))

    assert [each.name for each in findings] == ["Python", "memd", "SQLite", "sqlite-vec", "llama.cpp"]
    assert faults(findings) == []


def test_missing_programs_are_reported_with_the_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.python_version", lambda: "3.10.2")
    monkeypatch.setattr(checks, "has_module", lambda *_: False)
    monkeypatch.setattr(checks, "find_engine", lambda: None)
    broken = {"store": {"vector": {"extensionPath": "/no/such/file"}}}

    findings = check_programs(installation(tmp_path, broken))

    assert faults(findings) == [("Python", WRONG), ("SQLite", WRONG), ("sqlite-vec", WARNING)]
    assert findings[0].fix == "install Python 3.11 or later"
    assert all(each.fix for each in findings[2:])


def test_vector_extension_that_is_turned_off_is_ok(tmp_path: Path) -> None:
    assert faults(check_programs(installation(tmp_path, {"store": {"vector": {"enabled": False}}}))) == []


def test_invalid_setting_is_wrong_and_unknown_key_is_a_warning(tmp_path: Path) -> None:
    made = installation(tmp_path)
    slip = ConfigInvalidError("/c/openclaw.json is not JSON5: line 3, column 7", hint="correct it")
    home = msgspec.structs.replace(
        made.home, problems=(slip,), unknown_keys=("agents.defaults.memorySearch.quarry",)
    )

    findings = check_settings(replace(made, home=home))

    assert [(each.name, each.state) for each in findings] == [
        ("openclaw.json", WRONG),
        ("memd.toml", OK),
        ("unknown keys", WARNING),
    ]
    assert "line 3, column 7" in findings[0].found
    assert "quarry" in findings[2].found


def test_problem_in_memd_toml_is_reported_there(tmp_path: Path) -> None:
    made = installation(tmp_path)
    slip = ConfigInvalidError("bad", hint="correct it", data={"file": str(made.toml)})

    findings = check_settings(replace(made, home=msgspec.structs.replace(made.home, problems=(slip,))))

    assert [(each.name, each.state) for each in findings] == [("openclaw.json", OK), ("memd.toml", WRONG)]


def test_keys_that_openclaw_refuses_are_one_warning_with_their_new_place(tmp_path: Path) -> None:
    made = installation(tmp_path)
    keys = ("memory.search.sync", "agents.defaults.memorySearch", "agents.entries.b.compaction", "d", "e")

    findings = check_settings(replace(made, home=msgspec.structs.replace(made.home, refused_keys=keys)))

    assert faults(findings) == [("refused keys", WARNING)]
    assert "5 keys of openclaw.json: memory.search.sync" in findings[-1].found
    assert findings[-1].fix.startswith(f"move them to {made.toml}, to [search] for all agents")


def test_too_many_watched_folders_are_a_warning_with_the_setting(tmp_path: Path) -> None:
    limit = tmp_path / "sys/fs/inotify/max_user_watches"
    limit.parent.mkdir(parents=True)
    limit.write_text("100\n")
    notes = tmp_path / "workspace/memory"
    notes.mkdir(parents=True)
    few = check_watches(installation(tmp_path), tmp_path)
    for number in range(45):
        (notes / f"{number}").mkdir()
        (notes / f"{number}/a.md").write_text("x")

    (many,) = check_watches(installation(tmp_path), tmp_path)

    assert faults(few) == []
    assert (many.state, many.fix) == (WARNING, "sudo sysctl fs.inotify.max_user_watches=524288")
    assert check_watches(installation(tmp_path), tmp_path / "mac") == []


def test_open_files_of_the_daemon_are_counted(tmp_path: Path) -> None:
    files = tmp_path / "42/fd"
    files.mkdir(parents=True)
    (tmp_path / "42/limits").write_text(
        "Limit  Soft Limit  Hard Limit  Units\nMax open files            600   9000  files\n"
    )
    made = installation(tmp_path, pid=42)
    fine = check_descriptors(made, tmp_path)
    for number in range(500):
        (files / str(number)).touch()

    (full,) = check_descriptors(made, tmp_path)

    assert faults(fine) == []
    assert (full.state, full.found) == (WARNING, "the daemon has 500 of 600 files open")


def test_clock_is_checked_also_against_the_files(tmp_path: Path) -> None:
    (tmp_path / "workspace/memory").mkdir(parents=True)
    late = tmp_path / "workspace/memory/2031-01-01.md"
    late.write_text("x")

    assert faults(check_clock(installation(tmp_path))) == []
    assert faults(check_clock(installation(tmp_path, now_ms=86_400_000))) == [("clock", WRONG)]
    os.utime(late, (4e9, 4e9))
    (finding,) = check_clock(installation(tmp_path))
    assert (finding.state, "main: memory/2031-01-01.md" in finding.found) == (WARNING, True)


Disk = namedtuple("Disk", "f_bavail f_frsize")


@pytest.mark.parametrize(
    ("free", "expected"),
    [(50_000_000_000, []), (200_000_000, [("free space", WARNING)]), (1_000_000, [("free space", WRONG)])],
)
def test_each_disk_is_reported_once_with_its_free_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, expected: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr("os.statvfs", lambda _: Disk(free, 1))

    findings = check_folders(installation(tmp_path))

    assert [each.name for each in findings] == ["state", "free space", "models", "indexes"]
    assert faults(findings) == expected
    assert findings[1].fix == (f"free disk space; see `df -h {tmp_path}`" if expected else "")


def test_free_space_below_the_size_of_the_indexes_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.statvfs", lambda _: Disk(10_000_000_000, 1))
    monkeypatch.setattr(checks, "_bytes_at", lambda _: 60_000_000_000)

    assert faults(check_folders(installation(tmp_path))) == [("free space", WARNING)]


def test_file_instead_of_a_folder_and_unwritable_folder_are_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").write_text("")
    file = next(each for each in check_folders(installation(tmp_path)) if each.name == "models")
    monkeypatch.setattr("os.access", lambda *_: False)
    folder = check_folders(installation(tmp_path))[0]

    assert (file.state, file.fix) == (WRONG, f"ls -ld {tmp_path}/models")
    assert (folder.state, folder.fix) == (WRONG, f"chmod u+rwx {tmp_path}")


def test_leftovers_are_recognized_by_name(tmp_path: Path) -> None:
    tmp_path = tmp_path / "my folder"
    memory, models = tmp_path / "memory", tmp_path / "models"
    memory.mkdir(parents=True)
    (models / "minilm-source").mkdir(parents=True)
    for path in (
        memory / "main.sqlite.corrupt-20260101T000000Z",
        memory / ".memd-0123456789abcdef.tmp",
        memory / "main.sqlite",
        models / "a.gguf",
        models / "a.gguf.ref",
        models / "b.gguf.part",
        models / "b.gguf.part.tag",
        models / ".c.gguf.77.tmp",
        models / "minilm-source/vocab.txt",
    ):
        path.write_bytes(b"1234")

    found = {each.found.rpartition("/")[2]: each for each in check_leftovers(installation(tmp_path))}

    assert {name: each.found.partition(": ")[0] for name, each in found.items()} == {
        "main.sqlite.corrupt-20260101T000000Z": "damaged index, 4 B",
        ".memd-0123456789abcdef.tmp": "unfinished adoption, 4 B",
        "b.gguf.part": "unfinished download, 4 B",
        ".c.gguf.77.tmp": "unfinished model, 4 B",
        "minilm-source": "unfinished model, 4 B",
    }
    assert {each.state for each in found.values()} == {WARNING}
    damaged = found["main.sqlite.corrupt-20260101T000000Z"]
    assert f"run `rm '{memory}/main.sqlite.corrupt-20260101T000000Z'`" in damaged.fix


def test_no_leftovers_are_ok(tmp_path: Path) -> None:
    assert [(each.state, each.found) for each in check_leftovers(installation(tmp_path))] == [(OK, "none")]
