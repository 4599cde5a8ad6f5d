"""The contract of every source of another program's transcripts. Subclass it for each program."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.programs.program import Places
from memd.settings.sources import SourceConfig
from memd.sources.added import open_source
from memd.sources.source import SessionSource
from memd.text.transcripts.injected import CLOSING, OPENING
from memd_client.errors import FileMissingError
from tests.support.transcript_programs.plain import CWD, START_MS, PlainWriter

ONE, TWO = "0199a213-81c4-7000-8000-000000000001", "0199a213-81c4-7000-8000-000000000002"
KEY = "sk-proj-" + "Zx9" * 16


class ProgramTranscriptsContract:
    """The contract of a program's transcripts, read through its source."""

    program: str
    file_name = "{session}"
    has_times = True
    has_cwd = True

    @contextlib.contextmanager
    def writing(self, home: Path) -> Iterator[PlainWriter]:
        """Yield a writer of the program's conversations."""
        writer = self.writer(home)
        try:
            yield writer
        finally:
            writer.close()

    def writer(self, home: Path) -> PlainWriter:
        """Return a writer."""
        raise NotImplementedError

    @pytest.fixture
    def source(self, tmp_path: Path) -> Iterator[SessionSource]:
        """Return the source of the program's conversations below the home folder."""
        config = SourceConfig(self.program, self.program, "transcripts", None)
        opened = open_source(config, Places(tmp_path, {}, "linux"), 1_000_000).store
        yield opened
        opened.close()

    def path(self, session: str) -> str:
        """Return the path of a session in the index."""
        return f"{self.program}/{self.file_name.format(session=session)}"

    def text(self, source: SessionSource, session: str) -> str:
        """Return the text of a session."""
        return source.load(source.find().found[self.path(session)]).text

    def test_a_home_without_the_program_has_no_transcripts(self, source: SessionSource) -> None:
        found = source.find()
        assert (found.found, found.skipped, found.problems, found.complete) == ({}, [], [], True)

    def test_every_session_has_its_messages_once_and_in_order(
        self, source: SessionSource, tmp_path: Path
    ) -> None:
        with self.writing(tmp_path) as writer:
            for session, turns in ((ONE, 3), (TWO, 5)):
                for turn in range(turns):
                    writer.append(session, "user", f"Question {turn}\nof {session}")
                    writer.append(session, "assistant", f"Answer {turn} of {session}")
            assert set(source.find().found) == {self.path(ONE), self.path(TWO)}
            for session, turns in ((ONE, 3), (TWO, 5)):
                expected = [
                    line
                    for turn in range(turns)
                    for line in (
                        f"User: Question {turn} of {session}",
                        f"Assistant: Answer {turn} of {session}",
                    )
                ]
                assert self.text(source, session).split("\n") == expected

    def test_facts_of_the_session_are_known(self, source: SessionSource, tmp_path: Path) -> None:
        with self.writing(tmp_path) as writer:
            writer.append(ONE, "user", "Which port?")
            writer.append(ONE, "assistant", "8443.")
            text = source.load(source.find().found[self.path(ONE)])
            assert (text.facts.program, text.facts.session, text.facts.kind) == (self.program, ONE, "main")
            assert len(text.line_map) == 2
            assert list(text.line_map) == sorted(text.line_map)
            assert not self.has_cwd or (text.facts.cwd, text.facts.project) == (CWD, CWD)
            if self.has_times:
                assert START_MS <= text.times[0] <= text.times[1] < START_MS + 600_000

    def test_an_added_message_is_seen_by_the_next_find(self, source: SessionSource, tmp_path: Path) -> None:
        with self.writing(tmp_path) as writer:
            writer.append(ONE, "user", "first")
            before = source.find().found[self.path(ONE)]
            source.load(before)
            writer.append(ONE, "assistant", "second")
            after = source.find().found[self.path(ONE)]
            assert before != after
            assert source.load(after).text == "User: first\nAssistant: second"
            assert source.load(after).hash == source.load(after).hash

    def test_a_deleted_session_is_missing(self, source: SessionSource, tmp_path: Path) -> None:
        with self.writing(tmp_path) as writer:
            for session in (ONE, TWO):
                writer.append(session, "user", "hello")
            found = source.find().found[self.path(ONE)]
            writer.delete(ONE)
            assert set(source.find().found) == {self.path(TWO)}
            with pytest.raises(FileMissingError):
                source.load(found)

    def test_secrets_and_memory_that_memd_injected_are_left_out(
        self, source: SessionSource, tmp_path: Path
    ) -> None:
        with self.writing(tmp_path) as writer:
            writer.append(ONE, "user", f"Use {KEY}\n{OPENING}the heron{CLOSING}")
            writer.append(ONE, "user", f"{OPENING}the cormorant{CLOSING}")
            writer.append(ONE, "assistant", "Done.")
            text = source.load(source.find().found[self.path(ONE)])
            assert text.text == "User: Use [redacted:openai-key]\nAssistant: Done."
            assert text.redactions == 1

    def test_unknown_records_are_skipped_and_counted(self, source: SessionSource, tmp_path: Path) -> None:
        with self.writing(tmp_path) as writer:
            writer.append(ONE, "user", "hello")
            writer.write_unknown(ONE)
            writer.append(ONE, "assistant", "hi")
            text = source.load(source.find().found[self.path(ONE)])
            assert text.text == "User: hello\nAssistant: hi"
            is_counted = type(writer).write_unknown is not PlainWriter.write_unknown
            assert text.facts.unknown == (1 if is_counted else 0)

    def test_nothing_is_written_next_to_the_transcripts(self, source: SessionSource, tmp_path: Path) -> None:
        with self.writing(tmp_path) as writer:
            writer.append(ONE, "user", "hello")
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        self.text(source, ONE)
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before

    def test_a_closed_source_opens_again(self, source: SessionSource, tmp_path: Path) -> None:
        with self.writing(tmp_path) as writer:
            writer.append(ONE, "user", "hello")
            self.text(source, ONE)
            source.close()
            source.close()
            assert self.text(source, ONE) == "User: hello"
