"""A file is replaced while others write to it, and nothing is lost."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.lifecycle.files import folder_files, kernel_files, replacing, writing
from memd.lifecycle.files.replacing import has_change, merge_changes
from memd.lifecycle.files.writing import AppendResult, append, change
from memd_client.errors import NoteUnwritableError, PathRefusedError

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "- e"]), max_size=8).map("\n".join)


@pytest.mark.parametrize(
    ("before", "after", "held", "result"),
    [
        ("a\nb\n", "a\nb\ntheirs\n", "a\n", "a\ntheirs\n"),
        ("a\nb\n", "a\nb edited\n", "b\n", "b edited\n"),
        ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nours\n", "a\nc\nours\n"),
        ("a\nb\n", "a\ntheirs\n", "a\nours\n", "a\ntheirs\nours\n"),
        ("a", "a\ntheirs", "a\nours", "a\ntheirs\nours"),
        ("a\r\nb\r\n", "a\r\nb\r\nc\r\n", "b\r\n", "b\r\nc\r\n"),
        ("", "theirs\n", "ours\n", "theirs\nours\n"),
        ("a\n", "a\nboth\n", "a\nboth\n", "a\nboth\n"),
    ],
)
def test_a_change_is_carried_over(before: str, after: str, held: str, result: str) -> None:
    assert merge_changes(before, after, held) == result


@given(LINES, LINES, LINES)
def test_no_line_that_is_new_on_either_side_is_lost(before: str, after: str, held: str) -> None:
    old, theirs, ours = (Counter(text.split("\n")) for text in (before, after, held))
    result = Counter(merge_changes(before, after, held).split("\n"))
    assert {line for line in theirs if not old[line]} <= set(result)
    assert {line for line in ours if not old[line]} <= set(result)


@given(LINES, LINES)
def test_of_one_changed_version_the_result_is_that_version(before: str, after: str) -> None:
    assert merge_changes(before, after, before) == after
    assert merge_changes(before, before, after) == after
    assert has_change(before, after, after)


def test_a_change_is_there_until_it_is_undone() -> None:
    before, after = "a\nb\n", "a\nb edited\n"
    assert has_change(before, after, "a\nb edited\nc\n")
    assert not has_change(before, after, before)
    assert not has_change(before, after, "a\nc\n")


NOTE = "memory/2026-11-24.md"

BEFORE = "fact one\nfact two\n"

Act = Callable[[Path], None]

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells of writers on Linux alone")


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """A note that another program writes to as well."""
    path = tmp_path / NOTE
    path.parent.mkdir()
    path.write_text(BEFORE)
    return path


@pytest.fixture(params=["exchange", "link", "replace"])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file system that exchanges names, one that has hard links alone, and one that has neither."""

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    if request.param != "exchange":
        monkeypatch.setattr(kernel_files, "exchange", lambda *_: False)
        monkeypatch.setattr(folder_files, "is_open_for_writing", lambda _: None)
    if request.param == "replace":
        monkeypatch.setattr(os, "link", refuse)
    return str(request.param)


def forget_one(held: str) -> str:
    return held.replace("fact one\n", "")


def before_first(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, act: Callable[[], object]) -> None:
    """Have something happen right before a function is called for the first time."""
    real, acts = getattr(module, name), iter([act])

    def wrapped(*arguments: Any, **named: Any) -> Any:
        next(acts, lambda: None)()
        return real(*arguments, **named)

    monkeypatch.setattr(module, name, wrapped)


def after_first(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, act: Callable[[], object]) -> None:
    """Have something happen right after a function was called for the first time."""
    real, acts = getattr(module, name), iter([act])

    def wrapped(*arguments: Any, **named: Any) -> Any:
        result = real(*arguments, **named)
        next(acts, lambda: None)()
        return result

    monkeypatch.setattr(module, name, wrapped)


def _append_line(note: Path) -> None:
    with note.open("a") as file:
        file.write("theirs\n")


def _replace_file(note: Path) -> None:
    other = note.with_name("other.tmp")
    other.write_text(note.read_text() + "theirs\n")
    other.rename(note)


def _rewrite(note: Path) -> None:
    note.write_text(note.read_text() + "theirs\n")


def _save_by_renaming(note: Path) -> None:
    """Rename the file, write a new one, and remove the old one."""
    old = note.with_name("old.tmp")
    note.rename(old)
    note.write_text(old.read_text() + "theirs\n")
    old.unlink()


ACTS = pytest.mark.parametrize("act", [_append_line, _replace_file, _rewrite, _save_by_renaming])


def leftovers(note: Path) -> list[str]:
    return [name for name in os.listdir(note.parent) if name != note.name]


# --- replacing --------------------------------------------------------------------------------------


@ACTS
def test_what_is_written_right_before_a_replacement_stays(
    note: Path, tmp_path: Path, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, kernel_files, "exchange", lambda: act(note))
    assert change(tmp_path, NOTE, forget_one)
    assert note.read_text() == "fact two\ntheirs\n"
    assert leftovers(note) == []


@ACTS
def test_what_is_written_right_after_a_replacement_stays(
    note: Path, tmp_path: Path, act: Act, file_system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_first(monkeypatch, replacing, "_exchange", lambda: act(note))
    assert change(tmp_path, NOTE, forget_one)
    assert note.read_text() == "fact two\ntheirs\n"
    assert leftovers(note) == []


def test_a_change_is_made_again_when_an_older_text_was_written_over_it(
    note: Path, tmp_path: Path, file_system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_first(monkeypatch, replacing, "_exchange", lambda: note.write_text(BEFORE + "theirs\n"))
    assert change(tmp_path, NOTE, forget_one)
    assert note.read_text() == "fact two\ntheirs\n"


@pytest.fixture
def late_append(note: Path) -> Act:
    """Appends by a descriptor that was opened before."""
    files: list[Any] = []

    def act(path: Path) -> None:
        if not files:
            files.append(path.open("a"))
        else:
            files[0].write("theirs\n")
            files.pop().close()

    return act


@pytest.mark.parametrize("also", [None, _append_line, _replace_file], ids=["alone", "append", "replace"])
def test_what_is_written_to_the_replaced_file_stays(
    note: Path, tmp_path: Path, late_append: Act, also: Act | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_late() -> None:
        if also is not None:
            note.write_text(note.read_text() + "another\n") if also is _append_line else also(note)
        late_append(note)

    before_first(monkeypatch, kernel_files, "exchange", lambda: late_append(note))
    after_first(monkeypatch, kernel_files, "exchange", write_late)
    assert change(tmp_path, NOTE, forget_one)
    lines = note.read_text().splitlines()
    assert sorted(set(lines) - {"another"}) == ["fact two", "theirs"]
    assert ("another" in lines) == (also is _append_line)
    assert leftovers(note) == []


@pytest.mark.parametrize("kept", ["exchange", "link"])
def test_without_news_of_writers_a_late_write_stays(
    note: Path, tmp_path: Path, late_append: Act, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files, "is_open_for_writing", lambda _: None)
    if kept == "link":
        monkeypatch.setattr(kernel_files, "exchange", lambda *_: False)
    before_first(monkeypatch, replacing, "_exchange", lambda: late_append(note))
    after_first(monkeypatch, replacing, "_exchange", lambda: late_append(note))
    assert change(tmp_path, NOTE, forget_one)
    assert note.read_text() == "fact two\ntheirs\n"
    assert leftovers(note) == []


@LINUX
def test_a_file_that_stays_open_for_writing_is_not_replaced(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacing, "WRITER_TIMEOUT_S", 0.05)
    with note.open("a") as file:
        inode = note.stat().st_ino
        with pytest.raises(NoteUnwritableError, match="open for writing in another program"):
            change(tmp_path, NOTE, forget_one)
        assert (note.read_text(), note.stat().st_ino) == (BEFORE, inode)
        file.write("theirs\n")
    assert change(tmp_path, NOTE, forget_one)
    assert note.read_text() == "fact two\ntheirs\n"
    assert leftovers(note) == []


@LINUX
def test_a_file_opened_right_before_its_replacement_gets_its_name_back(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_files, "WRITER_TIMEOUT_S", 0.05)
    opened: list[Any] = []
    inode = note.stat().st_ino
    before_first(monkeypatch, kernel_files, "exchange", lambda: opened.append(note.open("a")))
    with pytest.raises(NoteUnwritableError, match="open for writing in another program"):
        change(tmp_path, NOTE, forget_one)
    opened[0].write("theirs\n")
    opened[0].close()
    assert (note.read_text(), note.stat().st_ino) == (BEFORE + "theirs\n", inode)
    assert leftovers(note) == []


def test_a_link_that_takes_the_place_of_the_file_is_not_followed_and_stays(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.write_text(BEFORE)

    def link() -> None:
        note.unlink()
        note.symlink_to(victim)

    before_first(monkeypatch, kernel_files, "exchange", link)
    with pytest.raises(PathRefusedError):
        change(tmp_path, NOTE, forget_one)
    assert note.is_symlink()
    assert victim.read_text() == BEFORE
    assert leftovers(note) == []


def test_a_file_removed_meanwhile_stays_removed(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, kernel_files, "exchange", note.unlink)
    assert not change(tmp_path, NOTE, forget_one)
    assert os.listdir(note.parent) == []


def test_another_programs_version_that_can_not_be_carried_over_is_kept(
    note: Path, tmp_path: Path, late_append: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    def write_late() -> None:
        _replace_file(note)
        late_append(note)

    monkeypatch.setattr(replacing, "merge_changes", fail)
    before_first(monkeypatch, kernel_files, "exchange", lambda: late_append(note))
    after_first(monkeypatch, kernel_files, "exchange", write_late)
    with pytest.raises(NoteUnwritableError, match="its version is kept as 2026-11-24-kept-"):
        change(tmp_path, NOTE, forget_one)
    (kept,) = leftovers(note)
    assert note.with_name(kept).read_text() == BEFORE + "theirs\n"


def test_names_are_exchanged_or_nothing_is_done(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        (tmp_path / "a").write_text("a")
        with pytest.raises(FileNotFoundError):
            kernel_files.exchange(folder, "a", "b")
        (tmp_path / "b").write_text("b")
        if kernel_files.exchange(folder, "a", "b"):
            assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("b", "a")
    finally:
        os.close(folder)


# --- appending --------------------------------------------------------------------------------------


def mine(held: str) -> str:
    return "mine\n"


@ACTS
def test_an_entry_is_kept_next_to_a_concurrent_write(
    note: Path, tmp_path: Path, act: Act, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, os, "write", lambda: act(note))
    written = append(tmp_path, NOTE, mine)
    assert sorted(note.read_text().splitlines()) == ["fact one", "fact two", "mine", "theirs"]
    assert written is not None
    assert note.read_text().splitlines()[written.start_line - 1] == "mine"


def test_an_entry_that_was_written_over_is_written_again(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_first(monkeypatch, os, "write", lambda: note.write_text(BEFORE + "theirs\n"))
    assert append(tmp_path, NOTE, mine) == AppendResult(NOTE, 4, 4)
    assert note.read_text() == BEFORE + "theirs\nmine\n"


def test_an_entry_that_another_program_took_over_is_not_written_twice(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rewrite() -> None:
        other = note.with_name("other.tmp")
        other.write_text("theirs\n" + note.read_text())
        other.rename(note)

    after_first(monkeypatch, os, "write", rewrite)
    assert append(tmp_path, NOTE, mine) == AppendResult(NOTE, 4, 4, 1)
    assert note.read_text() == f"theirs\n{BEFORE}mine\n"


def test_a_line_that_another_program_left_open_just_before_is_ended(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, os, "write", lambda: note.write_text(BEFORE + "theirs"))
    assert append(tmp_path, NOTE, mine) == AppendResult(NOTE, 4, 4, 1)
    assert note.read_text() == BEFORE + "theirs\nmine\n"


def test_a_failed_entry_takes_nothing_of_another_program_with_it(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write
    calls: list[int] = []

    def fail_later(handle: int, data: Any) -> int:
        if calls:
            with note.open("a") as file:
                file.write("theirs\n")
            raise OSError(28, "No space left on device")
        calls.append(real(handle, bytes(data)[:2]))
        return 2

    monkeypatch.setattr(os, "write", fail_later)
    with pytest.raises(NoteUnwritableError):
        append(tmp_path, NOTE, mine)
    assert note.read_text().endswith("theirs\n")
    assert note.read_text().startswith(BEFORE)


@LINUX
def test_an_entry_waits_for_a_program_that_is_rewriting_the_note(note: Path, tmp_path: Path) -> None:
    emptied, seen = threading.Event(), []

    def rewrite() -> None:
        with note.open("r+") as file:
            text = file.read()
            file.seek(0)
            file.truncate()
            file.flush()
            emptied.set()
            time.sleep(0.05)  # noqa: TID251 - the other program takes its time
            file.write(text + "theirs\n")

    program = threading.Thread(target=rewrite)
    program.start()
    emptied.wait()
    append(tmp_path, NOTE, lambda held: seen.append(held) or "mine\n")  # type: ignore[func-returns-value]
    program.join()
    assert seen == [BEFORE + "theirs\n"]
    assert note.read_text() == BEFORE + "theirs\nmine\n"


def test_a_program_that_keeps_the_note_open_delays_no_entry_for_long(
    note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "APPEND_TIMEOUT_S", 0.01)
    with note.open("a") as file:
        append(tmp_path, NOTE, mine)
        file.write("theirs\n")
    assert note.read_text() == BEFORE + "mine\ntheirs\n"


@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"open"])
def test_line_ends_and_what_a_file_begins_with_are_kept(
    note: Path, tmp_path: Path, begin: bytes, end: bytes, last: bytes
) -> None:
    held = begin + b"fact one" + end + b"fact two" + end + last
    note.write_bytes(held)
    append(tmp_path, NOTE, lambda _: "a\nb\n")
    added = (end if last else b"") + b"a" + end + b"b" + end
    assert note.read_bytes() == held + added
    assert change(tmp_path, NOTE, lambda text: text.replace("fact one" + end.decode(), ""))
    assert note.read_bytes() == (held + added).replace(b"fact one" + end, b"")
