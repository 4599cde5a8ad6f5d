"""An agent's notes: which are read, their lines, and the search for lines by their words."""

from __future__ import annotations

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from memd.evaluation.notes import (
    MAX_NOTES,
    PAGE_FILES,
    Note,
    NoteIndex,
    NoteKind,
    kind_of,
    read_notes,
    split_lines,
    text_key,
)
from memd_client import Client
from memd_client.errors import FileMissingError
from memd_client.messages import FileEntry, FilesReply, GetReply

NOTE = """# Gateway

The staging gateway listens on **port 4711**. <!-- importance: 9 -->

## Certificates

- [ ] renew the certificate

```sh
# renew
```

Last line.
"""


def note(text: str, path: str = "memory/a.md", kind: NoteKind = NoteKind.OTHER) -> Note:
    """Return a note."""
    return Note(path, kind, text)


def entry(path: str, date: str | None = None, chunks: int = 1) -> FileEntry:
    """Return a file."""
    return FileEntry(path, "memory", 0, 10, chunks, "", date)


class FilesClient:
    """A client of a daemon with some files; those named `gone` can't be read."""

    def __init__(self, files: list[FileEntry]) -> None:
        self._files = files

    def files(self, *, agent: str, offset: int, limit: int) -> FilesReply:
        """Return a page of the files."""
        return FilesReply(agent, self._files[offset : offset + limit], len(self._files))

    def get(self, path: str, *, agent: str) -> GetReply:
        """Return a file's text."""
        if "gone" in path:
            raise FileMissingError(f"there is no {path}")
        return GetReply(agent, path, f"text of {path}", 1, 1, 1)


def paths_read(files: list[FileEntry]) -> list[str]:
    """Return the paths of the notes that are read from a daemon with some files."""
    client = cast(Client, FilesClient(files))
    return [each.path for each in read_notes(client, "main", lambda done, total: None)]


def test_files_have_kinds() -> None:
    assert kind_of(entry("memory/2026-05-08.md", date="2026-05-08")) is NoteKind.DAILY
    assert kind_of(entry("MEMORY.md")) is NoteKind.CURATED
    assert kind_of(entry("memory/people.md")) is NoteKind.OTHER
    assert kind_of(entry("../vault/2026-05-08.md", date="2026-05-08")) is NoteKind.EXTRA


def test_all_pages_are_read_without_conversations_and_files_that_are_not_indexed() -> None:
    files = [entry(f"memory/{at}.md", chunks=at % 2) for at in range(PAGE_FILES + 10)]

    read = paths_read([*files, entry("sessions/s1.jsonl"), entry("memory/gone.md")])

    assert len(read) == PAGE_FILES // 2 + 5
    assert set(read) <= {each.path for each in files}


def test_chosen_notes_depend_on_paths_alone() -> None:
    files = [entry(f"memory/{at}.md") for at in range(MAX_NOTES + 500)]

    assert len(paths_read(files)) == MAX_NOTES
    assert paths_read(files[::-1]) == paths_read(files)


def test_lines_have_the_numbers_of_the_file_and_no_signs_of_headings() -> None:
    assert [(line.number, line.is_heading, line.text) for line in split_lines(note(NOTE))] == [
        (1, True, "Gateway"),
        (3, False, "The staging gateway listens on **port 4711**."),
        (5, True, "Certificates"),
        (7, False, "- [ ] renew the certificate"),
        (10, False, "# renew"),
        (13, False, "Last line."),
    ]


def test_place_of_a_line_in_a_long_section_is_the_chunk_around_it() -> None:
    (*_, last) = split_lines(note("\n".join(f"line number {at} " + "x" * 80 for at in range(100))))

    assert last.number == 100
    assert 90 < last.chunk.start_line < last.chunk.end_line == 100


def test_line_is_found_by_its_words_in_order() -> None:
    index = NoteIndex(
        [note("the heron flew\nflew the heron\n测试网关的端口"), note("a heron flew off", "memory/b.md")]
    )

    assert [line.note.path for line in index.find("Heron flew")] == ["memory/a.md", "memory/b.md"]
    assert [line.text for line in index.find("网关")] == ["测试网关的端口"]
    assert index.find("cormorant") == []


@given(st.lists(st.text(max_size=40), max_size=8).map("\n".join))
def test_every_line_is_found_by_its_text_and_is_in_its_chunk(text: str) -> None:
    index = NoteIndex([note(text)])

    for line in index.lines:
        assert line.chunk.start_line <= line.number <= line.chunk.end_line <= text.count("\n") + 1
        found = index.find(line.text)
        assert line in found
        assert all(text_key(line.text) in text_key(each.text) for each in found)
