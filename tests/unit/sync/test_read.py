"""A memory file's text: whole, unmoved, through no link."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sync.discover import Found
from memd.sync.read import lines_of, read_file
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError


def _found(path: Path) -> Found:
    return Found("memory/a.md", str(path), 0, 0, 0, 0)


def test_text_and_hash_are_the_files(tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    note.write_bytes("héllo\r\nwörld".encode())
    file = read_file(_found(note))
    assert file.text == "héllo\r\nwörld"
    assert file.hash == hashlib.sha256(note.read_bytes()).hexdigest()
    assert file.inode == os.stat(note).st_ino


def test_what_cant_be_read_has_its_code(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError):
        read_file(_found(tmp_path / "none.md"))
    (tmp_path / "link.md").symlink_to(tmp_path / "none.md")
    with pytest.raises(PathRefusedError):
        read_file(_found(tmp_path / "link.md"))
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(PathRefusedError):
        read_file(_found(tmp_path / "pipe.md"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileUnreadableError) as caught:
        read_file(_found(tmp_path / "file" / "below.md"))
    assert "memory/a.md" in caught.value.message
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(FileUnreadableError) as caught:
        read_file(_found(tmp_path / "latin.md"))
    assert caught.value.data["reason"] == "not_utf8"


@given(
    st.lists(st.text(alphabet=st.characters(blacklist_characters="\n", codec="utf-8"), max_size=5)),
    st.integers(-3, 12),
    st.none() | st.integers(0, 12),
)
def test_lines_are_those_of_the_text(lines: list[str], start: int, count: int | None) -> None:
    text = "\n".join(lines)
    cut, returned, total, truncated = lines_of(text, start, count, 10_000)
    every = text.split("\n")
    expected = every[max(1, start) - 1 :]
    if count is not None:
        expected = expected[:count]
    assert cut == "\n".join(expected)
    assert not truncated
    assert 0 <= returned <= total


def test_a_cut_is_said() -> None:
    assert lines_of("abc\ndef\n", 1, None, 5) == ("abc\nd", 2, 2, True)
