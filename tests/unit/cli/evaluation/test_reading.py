"""Which files queries are made from, and how their texts are read."""

from __future__ import annotations

from typing import cast

from memd.cli.evaluation.notes import NoteKind
from memd.cli.evaluation.reading import PAGE_FILES, choose_files, kind_of, list_files, read_notes
from memd_client import Client
from memd_client.errors import FileMissingError
from memd_client.messages import FileEntry, FilesReply, GetReply, Hit, SearchReply
from tests.unit.cli.memctl_runner import LEASE, found


def entry(path: str, source: str = "memory", date: str | None = None, chunks: int = 1) -> FileEntry:
    """Return a file."""
    return FileEntry(path, source, 0, 10, chunks, "", date)


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

    def search(self, query: str, *, path: str, lexical_only: bool, **limits: object) -> SearchReply:
        """Return a hit in the transcript and one in another whose path begins alike."""
        assert lexical_only

        def hit(where: str) -> Hit:
            return Hit(where, 2, 4, 1.0, None, 1.0, "User: hello", "sessions", where)

        return found(hit(path), hit(f"{path}.reset"), LEASE)


def client_of(*files: FileEntry) -> Client:
    """Return a client of a daemon with some files."""
    return cast(Client, FilesClient(list(files)))


def ignore(done: int, total: int) -> None:
    """Show nothing."""


def test_files_have_kinds() -> None:
    assert kind_of(entry("memory/2026-05-08.md", date="2026-05-08")) is NoteKind.DAILY
    assert kind_of(entry("MEMORY.md")) is NoteKind.CURATED
    assert kind_of(entry("memory/people.md")) is NoteKind.OTHER
    assert kind_of(entry("../vault/2026-05-08.md", date="2026-05-08")) is NoteKind.EXTRA
    assert kind_of(entry("sessions/s1.jsonl", "sessions")) is NoteKind.TRANSCRIPT


def test_all_pages_are_listed_without_files_that_are_not_indexed() -> None:
    files = [entry(f"memory/{at}.md", chunks=at % 2) for at in range(2 * PAGE_FILES + 10)]

    assert len(list_files(client_of(*files), "main")) == PAGE_FILES + 5


def test_chosen_files_depend_on_paths_and_seed_alone() -> None:
    files = [entry(f"memory/{at}.md") for at in range(3_000)] + [
        entry(f"sessions/{at}.jsonl", "sessions") for at in range(300)
    ]
    chosen = choose_files(files, 0)

    assert len(chosen) == 2_200
    assert choose_files(files[::-1], 0) == chosen
    assert choose_files(files, 1) != chosen


def test_texts_are_read_by_get_and_transcripts_by_keyword_search() -> None:
    files = [entry("MEMORY.md"), entry("memory/gone.md"), entry("sessions/s1.jsonl", "sessions")]

    curated, transcript = read_notes(client_of(*files), "main", files, ignore)

    assert (curated.text, curated.lines) == ("text of MEMORY.md", None)
    assert (transcript.path, transcript.text, transcript.lines) == (
        "sessions/s1.jsonl",
        "User: hello",
        (2, 4),
    )
