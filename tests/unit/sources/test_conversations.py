"""Transcripts that are files: only what was appended is read again, and odd files harm nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import zstandard

from memd.programs.conversation import Conversation, Message, Session, SessionKind
from memd.programs.program import FileReader, TranscriptFile
from memd.sources import conversations as files
from memd.sources.conversations import ConversationFiles
from memd.sources.tree import LINK
from memd_client.errors import FileUnreadableError


class LineReader:
    """Reads lines that are JSON texts: each is a message of a person."""

    def __init__(self, lines_read: list[int]) -> None:
        self._lines_read = lines_read
        self._conversation = Conversation(Session("one"))

    def read(self, line: bytes, place: int) -> None:
        """Read a line."""
        self._lines_read.append(place)
        try:
            text = json.loads(line)
        except ValueError:
            self._conversation.broken += 1
            return
        self._conversation.messages.append(Message("user", str(text), place))

    def conversation(self) -> Conversation:
        """Return what was read."""
        return self._conversation


class LineProgram(FileReader):
    """A program whose transcripts are lines of JSON texts."""

    def __init__(self) -> None:
        self.lines_read: list[int] = []

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript of a file: a plain one ranks before a compressed one."""
        name = path.rpartition("/")[2]
        for ending, rank in ((".jsonl", 1), (".jsonl.zst", 0)):
            if name.endswith(ending):
                kind: SessionKind = "subagent" if path.startswith("agents/") else "main"
                return TranscriptFile(name.removesuffix(ending), kind, rank)
        return None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may have transcripts."""
        return not path.startswith("skipped")

    def open(self, file: TranscriptFile) -> LineReader:
        """Return a reader that records the lines it is fed."""
        return LineReader(self.lines_read)


class LinesFolder:
    """A folder of transcripts and its source."""

    def __init__(self, root: Path, *, with_subagents: bool = False) -> None:
        self.root = root
        self.program = LineProgram()
        self.source = ConversationFiles("lines", self.program, [root], with_subagents=with_subagents)

    def write(self, name: str, *texts: str, end: str = "\n") -> Path:
        """Append lines to a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(b"".join(json.dumps(text).encode() + end.encode() for text in texts))
        return path

    def text(self, session: str = "one") -> str:
        """Return the text of a session."""
        return self.source.load(self.source.find().files[f"lines/{session}"]).text


@pytest.fixture
def store(tmp_path: Path) -> LinesFolder:
    """An empty folder."""
    return LinesFolder(tmp_path)


def test_only_appended_lines_are_read_again(store: LinesFolder) -> None:
    store.write("one.jsonl", "a", "b")
    assert store.text() == "User: a\nUser: b"
    store.write("one.jsonl", "c")
    assert store.text() == "User: a\nUser: b\nUser: c"
    assert store.program.lines_read == [1, 2, 3]


@pytest.mark.parametrize("change", ["rewritten", "truncated", "replaced"])
def test_a_file_that_was_not_appended_to_is_read_again(store: LinesFolder, change: str) -> None:
    path = store.write("one.jsonl", "first", "second")
    assert store.text() == "User: first\nUser: second"
    if change == "rewritten":
        path.write_text('"other"\n"second"\n"third"\n')
    elif change == "truncated":
        path.write_text('"first"\n')
    else:
        (path.parent / "new").write_text('"first"\n"second"\n"third"\n')
        os.replace(path.parent / "new", path)
    expected = {
        "rewritten": "User: other\nUser: second\nUser: third",
        "truncated": "User: first",
        "replaced": "User: first\nUser: second\nUser: third",
    }
    assert store.text() == expected[change]


def test_an_edit_in_the_middle_of_a_long_file_that_grew_is_noticed(store: LinesFolder) -> None:
    texts = [f"line {number:05}" for number in range(20_000)]
    path = store.write("one.jsonl", *texts)
    assert store.text().split("\n")[10_000] == "User: line 10000"
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(data.index(b"line 10000"))
        file.write(b"edited it!")
    store.write("one.jsonl", "the end")
    lines = store.text().split("\n")
    assert (lines[10_000], lines[-1], len(lines)) == ("User: edited it!", "User: the end", 20_001)


def test_an_unfinished_last_line_does_not_change_the_hash(store: LinesFolder) -> None:
    path = store.write("one.jsonl", "a")
    before = store.source.load(store.source.find().files["lines/one"])
    path.write_bytes(path.read_bytes() + b'"unfin')
    after = store.source.load(store.source.find().files["lines/one"])
    assert (after.text, after.hash) == (before.text, before.hash)
    assert after.size == before.size + 6


def test_an_unfinished_last_line_is_read_once_it_is_whole(store: LinesFolder) -> None:
    path = store.write("one.jsonl", "a")
    path.write_bytes(path.read_bytes() + b'"unfin')
    assert store.text() == "User: a"
    path.write_bytes(path.read_bytes() + b'ished"')
    assert store.text() == "User: a\nUser: unfinished"
    path.write_bytes(path.read_bytes() + b'\n"b"\n')
    assert store.text() == "User: a\nUser: unfinished\nUser: b"


def test_a_line_over_the_limit_is_skipped_and_counted(
    store: LinesFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 1_000)
    monkeypatch.setattr(files, "BLOCK_BYTES", 300)
    store.write("one.jsonl", "a", "x" * 5_000, "b" * 700, "c")
    text = store.source.load(store.source.find().files["lines/one"])
    assert text.text == f"User: a\nUser: {'b' * 700}\nUser: c"
    assert text.line_map == (1, 3, 4)
    assert text.facts.unknown == 1


def test_a_line_of_twenty_megabytes_is_read(store: LinesFolder) -> None:
    store.write("one.jsonl", "a", "x" * 20_000_000, "b")
    assert [len(line) for line in store.text().split("\n")] == [7, 50_006, 7]


def test_a_compressed_file_is_read_unless_the_plain_one_is_there(store: LinesFolder) -> None:
    packed = zstandard.ZstdCompressor().compress(b'"packed"\n')
    (store.root / "one.jsonl.zst").write_bytes(packed)
    assert store.text() == "User: packed"
    store.write("one.jsonl", "plain")
    assert store.text() == "User: plain"


def test_frames_of_a_compressed_file_are_read_up_to_a_torn_one(store: LinesFolder) -> None:
    frames = [zstandard.ZstdCompressor().compress(f'"{text}"\n'.encode()) for text in ("one", "two", "three")]
    file = store.root / "one.jsonl.zst"
    file.write_bytes(b"".join(frames))
    assert store.text() == "User: one\nUser: two\nUser: three"
    for end in range(1, len(frames[2])):
        file.write_bytes(b"".join(frames[:2]) + frames[2][:end])
        assert store.text().startswith("User: one\nUser: two")
    file.write_bytes(b"".join(frames[:2]) + b"damaged")
    assert store.text() == "User: one\nUser: two"


def test_a_damaged_compressed_file_is_refused(store: LinesFolder) -> None:
    (store.root / "one.jsonl.zst").write_bytes(b"nothing compressed")
    with pytest.raises(FileUnreadableError):
        store.text()


def test_links_are_not_followed_and_folders_are_walked_as_the_program_says(store: LinesFolder) -> None:
    outside = store.root / "outside.txt"
    outside.write_text('"secret"\n')
    (store.root / "link.jsonl").symlink_to(outside)
    os.mkfifo(store.root / "pipe.jsonl")
    store.write("deep/er/two.jsonl", "a")
    store.write("skipped/three.jsonl", "b")
    found = store.source.find()
    assert set(found.files) == {"lines/two"}
    assert {(skipped.path, skipped.reason) for skipped in found.skipped} == {
        ("lines/link.jsonl", LINK),
        ("lines/pipe.jsonl", "not a regular file"),
    }


def test_subagents_are_counted_and_read_only_if_wanted(store: LinesFolder) -> None:
    store.write("agents/two.jsonl", "a")
    found = store.source.find()
    assert (found.files, found.excluded) == ({}, {"subagent": 1})
    assert set(LinesFolder(store.root, with_subagents=True).source.find().files) == {"lines/two"}


def test_the_same_scan_is_returned_while_nothing_changed(store: LinesFolder) -> None:
    store.write("one.jsonl", "a")
    first = store.source.find()
    assert store.source.find() is first
    store.write("one.jsonl", "b")
    assert store.source.find() is not first


def test_lines_that_are_no_text_are_counted(store: LinesFolder) -> None:
    path = store.write("one.jsonl", "a")
    path.write_bytes(path.read_bytes() + b"{broken\n\xff\xfe\n\n")
    text = store.source.load(store.source.find().files["lines/one"])
    assert (text.text, text.facts.unknown) == ("User: a", 2)
