"""Writing among other people's files: whole or not at all, through no link, and nothing of anybody's lost."""

from __future__ import annotations

import multiprocessing
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memd.lifecycle.files import kernel_files
from memd.lifecycle.files.writing import AppendResult, append, change, create, read
from memd_client.errors import FileUnreadableError, MemdError, NoteUnwritableError, PathRefusedError

NOTE = "memory/2026-11-22.md"
LIMIT = 1_000_000

Writer = Callable[[Path, str], object]


def _append(root: Path, path: str) -> object:
    return append(root, path, lambda _: "more\n")


def _create(root: Path, path: str) -> object:
    return create(root, path, "whole\n")


def _change(root: Path, path: str) -> object:
    return change(root, path, lambda held: held + "changed\n")


WRITERS = pytest.mark.parametrize("write", [_append, _create, _change])


def leftovers(root: Path) -> list[str]:
    """Return what lies below a folder, files of all kinds."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


# --- what they do -----------------------------------------------------------------------------------


def test_append_makes_file_and_folder_for_the_owner_alone(tmp_path: Path) -> None:
    assert append(tmp_path, NOTE, lambda held: "one\n" if held == "" else "wrong") == AppendResult(NOTE, 1, 1)
    assert append(tmp_path, NOTE, lambda held: f"after {held}") == AppendResult(NOTE, 2, 2)
    file = tmp_path / NOTE
    assert file.read_text() == "one\nafter one\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_appending_nothing_changes_nothing(tmp_path: Path) -> None:
    append(tmp_path, NOTE, lambda _: "one\n")
    before = (tmp_path / NOTE).stat()
    assert append(tmp_path, NOTE, lambda _: "") == AppendResult(NOTE)
    assert (tmp_path / NOTE).stat() == before


def test_a_line_left_open_is_ended_first(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / NOTE).write_text("open")
    assert append(tmp_path, NOTE, lambda _: "a\nb\n") == AppendResult(NOTE, 2, 3)
    assert (tmp_path / NOTE).read_text() == "open\na\nb\n"


def test_blank_lines_before_what_is_appended_are_not_counted_in(tmp_path: Path) -> None:
    append(tmp_path, NOTE, lambda _: "one\n")
    assert append(tmp_path, NOTE, lambda _: "\na\nb\n") == AppendResult(NOTE, 3, 4)
    assert (tmp_path / NOTE).read_text() == "one\n\na\nb\n"


def test_create_never_overwrites(tmp_path: Path) -> None:
    assert create(tmp_path, NOTE, "first\n")
    assert not create(tmp_path, NOTE, "second\n")
    assert (tmp_path / NOTE).read_text() == "first\n"
    assert stat.S_IMODE((tmp_path / NOTE).stat().st_mode) == 0o600
    assert leftovers(tmp_path) == [NOTE]


def test_change_replaces_whole_and_keeps_the_mode(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    file = tmp_path / NOTE
    file.write_text("a\nb\n")
    file.chmod(0o664)
    assert change(tmp_path, NOTE, lambda held: held.replace("a", "x"))
    assert not change(tmp_path, NOTE, lambda held: held)
    assert file.read_text() == "x\nb\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o664
    assert leftovers(tmp_path) == [NOTE]


def test_change_is_repeated_if_another_program_wrote_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    file = tmp_path / NOTE
    file.write_text("fact one\nfact two\n")
    seen: list[str] = []

    def forget_one(held: str) -> str:
        seen.append(held)
        if len(seen) == 1:
            file.write_text("fact one\nfact two, edited by hand\n")
        return held.replace("fact one\n", "")

    assert change(tmp_path, NOTE, forget_one)
    assert len(seen) == 2
    assert file.read_text() == "fact two, edited by hand\n"
    assert leftovers(tmp_path) == [NOTE]


def test_change_gives_up_if_another_program_keeps_writing(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    file = tmp_path / NOTE

    def edit(held: str) -> str:
        file.write_text(held + "theirs\n")
        return held + "ours\n"

    with pytest.raises(NoteUnwritableError):
        change(tmp_path, NOTE, edit)
    assert "ours" not in file.read_text()
    assert leftovers(tmp_path) == [NOTE]


def test_read_of_a_missing_file_returns_none(tmp_path: Path) -> None:
    assert read(tmp_path, NOTE, LIMIT) is None
    assert read(tmp_path / "nowhere", NOTE, LIMIT) is None
    assert leftovers(tmp_path) == []
    append(tmp_path, NOTE, lambda _: "text\n")
    assert read(tmp_path, NOTE, LIMIT) == "text\n"


# --- what they refuse -------------------------------------------------------------------------------


@WRITERS
@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x.md", "memory/../../x.md", "", "memory//x.md", "a\0.md", "memory/", "."]
)
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, write: Writer, path: str) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    with pytest.raises(PathRefusedError):
        write(root, path)
    assert leftovers(tmp_path) == []


@WRITERS
def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, write: Writer) -> None:
    root, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "memory").symlink_to(elsewhere)
    with pytest.raises(PathRefusedError):
        write(root, NOTE)
    assert leftovers(elsewhere) == []


@pytest.mark.parametrize("write", [_append, _change])
def test_a_file_that_is_a_link_is_refused(tmp_path: Path, write: Writer) -> None:
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    (tmp_path / "memory").mkdir()
    (tmp_path / NOTE).symlink_to(victim)
    with pytest.raises(PathRefusedError):
        write(tmp_path, NOTE)
    with pytest.raises(PathRefusedError):
        read(tmp_path, NOTE, LIMIT)
    assert victim.read_text() == "theirs"


def test_a_dangling_link_takes_a_name_and_nothing_is_made_behind_it(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / NOTE).symlink_to(tmp_path / "not-there")
    assert not create(tmp_path, NOTE, "text\n")
    with pytest.raises(PathRefusedError):
        append(tmp_path, NOTE, lambda _: "text\n")
    assert not (tmp_path / "not-there").exists()


def test_a_folder_exchanged_for_a_link_while_writing_leads_nowhere(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    elsewhere.mkdir()
    append(root, NOTE, lambda _: "one\n")

    def swap(_: str) -> str:
        (root / "memory").rename(root / "moved")
        (root / "memory").symlink_to(elsewhere)
        return "two\n"

    append(root, NOTE, swap)
    assert leftovers(elsewhere) == []
    assert (root / "moved" / "2026-11-22.md").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("write", [_append, _change])
def test_what_is_no_text_is_left_alone(tmp_path: Path, write: Writer) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / NOTE).write_bytes(b"\xff\xfe")
    with pytest.raises(FileUnreadableError):
        write(tmp_path, NOTE)
    assert (tmp_path / NOTE).read_bytes() == b"\xff\xfe"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_special_files_block_no_caller_and_lose_no_descriptor(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "memory").mkdir()
    make(tmp_path / NOTE)
    before = len(os.listdir("/dev/fd"))
    for write in (_append, _change):
        for _ in range(5):
            with pytest.raises(MemdError):
                write(tmp_path, NOTE)
    assert not create(tmp_path, NOTE, "text\n")
    assert len(os.listdir("/dev/fd")) == before


def test_a_file_beyond_its_limit_is_not_read(tmp_path: Path) -> None:
    append(tmp_path, NOTE, lambda _: "x" * 100)
    assert read(tmp_path, NOTE, 100) == "x" * 100
    with pytest.raises(FileUnreadableError):
        read(tmp_path, NOTE, 99)


# --- what fails -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "step"),
    [
        (_append, "write"),
        (_append, "fsync"),
        (_create, "fsync"),
        (_create, "link"),
        (_change, "fsync"),
        (_change, "exchange"),
    ],
)
def test_a_step_that_fails_leaves_everything_as_it_was(
    tmp_path: Path, write: Writer, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(tmp_path, NOTE, lambda _: "before\n")
    path = NOTE if write is not _create else "memory/2026-11-22-new.md"

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(kernel_files if step == "exchange" else os, step, fail)
        with pytest.raises(NoteUnwritableError, match=f"{path}: No space left"):
            write(tmp_path, path)
    assert leftovers(tmp_path) == [NOTE]
    assert (tmp_path / NOTE).read_text() == "before\n"
    write(tmp_path, path)  # and nothing keeps the next one from it


def test_half_an_entry_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, NOTE, lambda _: "before\n")
    real = os.write
    written: list[int] = []

    def short(handle: int, data: Any) -> int:
        if written:
            raise OSError(28, "No space left on device")
        written.append(real(handle, bytes(data)[:3]))
        return 3

    monkeypatch.setattr(os, "write", short)
    with pytest.raises(NoteUnwritableError):
        append(tmp_path, NOTE, lambda _: "a long entry\n")
    assert written
    assert (tmp_path / NOTE).read_text() == "before\n"


def test_a_short_write_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data)[:3]))
    append(tmp_path, NOTE, lambda _: "an entry of some length\n")
    assert (tmp_path / NOTE).read_text() == "an entry of some length\n"


KILLED = """
import os, signal, sys
from pathlib import Path
from memd.lifecycle.files import kernel_files
from memd.lifecycle.files import kernel_files
from memd.lifecycle.files.writing import append, change, create
step = sys.argv[2]
def die(*args, **named):
    os.kill(os.getpid(), signal.SIGKILL)
root, how = Path(sys.argv[1]), sys.argv[3]
setattr(kernel_files if step == "exchange" else os, step, die)
{"append": lambda: append(root, "memory/n.md", lambda _: "more\\n"),
 "create": lambda: create(root, "memory/new.md", "whole\\n"),
 "change": lambda: change(root, "memory/n.md", lambda held: "changed\\n")}[how]()
"""


@pytest.mark.parametrize(
    ("how", "step"), [("append", "write"), ("create", "link"), ("change", "exchange"), ("create", "fsync")]
)
def test_a_writer_that_is_killed_leaves_nothing_half_written_that_is_memory(
    tmp_path: Path, how: str, step: str
) -> None:
    append(tmp_path, "memory/n.md", lambda _: "before\n")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), step, how], check=False, timeout=120)
    assert done.returncode == -9
    left = [path for path in leftovers(tmp_path) if path != "memory/n.md"]
    assert all(Path(path).name.startswith(".") and not path.endswith(".md") for path in left)
    assert (tmp_path / "memory/n.md").read_text() == "before\n"
    append(tmp_path, "memory/n.md", lambda _: "after\n")  # no lock outlives its holder
    assert (tmp_path / "memory/n.md").read_text() == "before\nafter\n"


# --- many at once -----------------------------------------------------------------------------------


def _write_some(root: Path, writer: int) -> None:
    for number in range(10):
        name = f"{writer}.{number}"
        append(root, NOTE, lambda held, name=name: _numbered(held, name))  # type: ignore[misc]
        change(root, "memory/facts.md", lambda held, name=name: f"{held}- {name}\n")  # type: ignore[misc]


def _numbered(held: str, name: str) -> str:
    """Return a line that says how many were there before it."""
    lines = held.count("\n")
    return f"{lines}: {name}\n"


def test_fifty_threads_lose_nothing(tmp_path: Path) -> None:
    places: list[AppendResult | None] = []

    def write(number: int) -> None:
        places.append(append(tmp_path, NOTE, lambda held: _numbered(held, str(number))))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / NOTE).read_text().splitlines()
    assert [line.split(":")[0] for line in lines] == [str(at) for at in range(50)]  # each saw all before it
    assert sorted(int(line.split(": ")[1]) for line in lines) == list(range(50))
    assert sorted(place.start_line for place in places if place is not None) == list(range(1, 51))


def test_five_processes_lose_nothing(tmp_path: Path) -> None:
    fresh = multiprocessing.get_context("fork")
    writers = [fresh.Process(target=_write_some, args=(tmp_path, writer)) for writer in range(5)]
    for each in writers:
        each.start()
    for each in writers:
        each.join(120)
    assert [each.exitcode for each in writers] == [0] * 5
    lines = (tmp_path / NOTE).read_text().splitlines()
    assert [line.split(":")[0] for line in lines] == [str(at) for at in range(50)]
    facts = (tmp_path / "memory/facts.md").read_text().splitlines()
    assert sorted(facts) == sorted(f"- {writer}.{number}" for writer in range(5) for number in range(10))


def test_of_many_that_create_one_name_one_does(tmp_path: Path) -> None:
    made: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda number=number: made.append(create(tmp_path, NOTE, f"{number}\n" * 1_000))
        )
        for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.count(True) == 1
    assert len(set((tmp_path / NOTE).read_text().splitlines())) == 1
    assert leftovers(tmp_path) == [NOTE]
