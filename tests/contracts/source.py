"""The contract of every source: of notes, and of conversations in files and databases. Subclass it for each of them.

The fixtures are real: files in folders, and databases that their programs have open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd.index.transcripts import NO_FACTS
from memd.programs.work import Command, FileChange
from memd.sources.conversation_text import MAX_MESSAGE_CHARS
from memd.sources.source import FileText, Listing, Source, SourceFile
from memd.text.transcripts.injected import CLOSING, OPENING
from memd_client.errors import FileMissingError, FileUnreadableError
from tests.support.transcript_programs.plain import CWD, NOISE, START_MS, PlainWriter
from tests.support.transcript_programs.work_plain import COMMAND, EDIT, OUTPUT
from tests.support.transcripts import MAX_TRANSCRIPT_BYTES

ONE, TWO = "0199a213-81c4-7000-8000-000000000001", "0199a213-81c4-7000-8000-000000000002"
KEY = "sk-proj-" + "Zx9" * 16
THREADS = 8

TURNS = st.tuples(
    st.sampled_from(["user", "assistant"]),
    st.sampled_from(["one", "two words", "密码是 abc12345", KEY, "HEARTBEAT_OK", "x" * 300]),
)
"""A turn that is added to a conversation."""

CALLS = st.tuples(st.integers(0, 3), st.booleans())
"""A call of a tool that is added, or its result."""

Tree: TypeAlias = dict[str, tuple[int, int, int, bytes]]
"""By path, the inode, size, time and contents of everything below a folder."""


class SourceContract:
    """What every `Source` promises.

    Attributes:
        name: Name of the source.
    """

    name: str

    def writing(self, home: Path) -> PlainWriter:
        """Return a writer of the source's files below a home folder."""
        raise NotImplementedError

    def open(self, home: Path) -> Source:
        """Return the source under test, as memd opens it."""
        raise NotImplementedError

    def path(self, session: str) -> str:
        """Return the path of a note or conversation in the index."""
        raise NotImplementedError

    @pytest.fixture
    def writer(self, tmp_path: Path) -> Iterator[PlainWriter]:
        """Return a writer."""
        with closing(self.writing(tmp_path)) as writer:
            yield writer

    @pytest.fixture
    def source(self, tmp_path: Path) -> Iterator[Source]:
        """Return the source."""
        with closing(self.open(tmp_path)) as source:
            yield source

    def find(self, source: Source, session: str) -> SourceFile:
        """Return a file as it is found now."""
        return source.find().files[self.path(session)]

    def load(self, source: Source, session: str) -> FileText:
        """Return a file as it is now."""
        return source.load(self.find(source, session))

    def test_an_empty_home_has_no_files(self, source: Source) -> None:
        found = source.find()
        assert (found.files, found.skipped, found.partial, found.problems) == ({}, [], [], [])
        assert (found.excluded, found.unseen, found.beyond_limits) == ({}, frozenset(), 0)

    def test_every_file_is_found_once(self, writer: PlainWriter, source: Source) -> None:
        names = [f"{ONE[:-1]}{number}" for number in range(7)]
        for name in names:
            writer.append(name, "user", f"hello from {name}")
        found = source.find()
        assert set(found.files) == set(map(self.path, names))
        for path, file in found.files.items():
            assert (file.path, file.source, file.is_conversation) == (path, self.name, source.is_conversation)
        for name in names:
            assert f"hello from {name}" in self.load(source, name).text

    def test_a_change_is_seen_by_the_next_find(self, writer: PlainWriter, source: Source) -> None:
        assert source.find().files == {}
        writer.append(ONE, "user", "first")
        before = self.find(source, ONE)
        assert "first" in source.load(before).text
        writer.append(ONE, "assistant", "second")
        after = self.find(source, ONE)
        assert after != before
        assert "second" in source.load(before).text, "an older stat gives the current text"
        assert source.load(after).hash == source.load(after).hash
        writer.append(TWO, "user", "third")
        assert set(source.find().files) == {self.path(ONE), self.path(TWO)}

    def test_the_same_listing_is_returned_while_nothing_changed(
        self, writer: PlainWriter, source: Source
    ) -> None:
        writer.append(ONE, "user", "hello")
        first = source.find()
        assert source.find() is first
        self.load(source, ONE)
        assert source.find() is first
        writer.append(ONE, "assistant", "hi")
        assert source.find() is not first

    def test_a_listing_is_not_changed_by_later_finds(self, writer: PlainWriter, source: Source) -> None:
        writer.append(ONE, "user", "hello")
        changes: list[Callable[[], None]] = [
            lambda: writer.append(ONE, "assistant", "hi"),
            lambda: writer.append(TWO, "user", "hello"),
            lambda: writer.delete(ONE),
            source.close,
        ]
        seen: list[tuple[Listing, Listing]] = []
        for change in changes:
            listing = source.find()
            seen.append((listing, deepcopy(listing)))
            change()
        source.find()
        assert all(listing == copied for listing, copied in seen)

    def test_a_deleted_file_is_missing(self, writer: PlainWriter, source: Source) -> None:
        for name in (ONE, TWO):
            writer.append(name, "user", "hello")
        found = self.find(source, ONE)
        writer.delete(ONE)
        with pytest.raises(FileMissingError):
            source.load(found)
        assert set(source.find().files) == {self.path(TWO)}
        with pytest.raises(FileMissingError):
            source.load(found)
        writer.append(ONE, "user", "back")
        assert "back" in self.load(source, ONE).text

    def test_a_closed_source_opens_again(self, writer: PlainWriter, source: Source) -> None:
        writer.append(ONE, "user", "hello")
        found = source.find().files
        source.close()
        source.close()
        assert source.find().files == found
        assert "hello" in self.load(source, ONE).text
        source.close()
        assert "hello" in source.load(found[self.path(ONE)]).text
        source.close()
        writer.append(ONE, "user", "again")
        assert "again" in self.load(source, ONE).text

    def test_many_threads_can_use_the_source(self, writer: PlainWriter, source: Source) -> None:
        names = [f"{ONE[:-1]}{number}" for number in range(6)]
        for name in names:
            for turn in range(20):
                writer.append(name, "user", f"Question {turn} of {name}")
        whole = {name: self.load(source, name) for name in names}

        def ask(number: int) -> bool:
            name = names[number % len(names)]
            return len(source.find().files) == len(names) and self.load(source, name) == whole[name]

        with ThreadPoolExecutor(THREADS) as threads:
            assert all(threads.map(ask, range(120)))

    def test_a_loaded_text_has_the_stat_of_the_found_file(self, writer: PlainWriter, source: Source) -> None:
        for turn in range(3):
            writer.append(ONE, "user", f"Question {turn}")
            found = self.find(source, ONE)
            assert stat_of(source.load(found)) == found.stat
            assert self.find(source, ONE) == found

    def test_nothing_is_written_to_the_source(
        self, writer: PlainWriter, source: Source, tmp_path: Path
    ) -> None:
        writer.append(ONE, "user", "hello")
        writer.close()
        before = tree_of(tmp_path)
        self.load(source, ONE)
        assert self.changes(before, tree_of(tmp_path)) == set()
        source.close()
        assert self.changes(before, tree_of(tmp_path)) == set()

    def test_nothing_is_written_while_the_program_has_the_source_open(
        self, writer: PlainWriter, source: Source, tmp_path: Path
    ) -> None:
        writer.append(ONE, "user", "hello")
        before = tree_of(tmp_path)
        self.load(source, ONE)
        during = tree_of(tmp_path)
        source.close()
        for after in (during, tree_of(tmp_path)):
            # Readers of a database mark in the shared memory of its log what they read.
            assert {path for path in self.changes(before, after) if not path.endswith("-shm")} == set()

    def changes(self, before: Tree, after: Tree) -> set[str]:
        """Return the paths that were changed, made or removed."""
        return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


class ConversationContract(SourceContract):
    """What sources of conversations promise in addition.

    Attributes:
        program: Name of the program.
        keeps_facts: Whether what is known about a session is kept.
        has_times: Whether the time of each message is known.
        has_cwd: Whether the working directory is known.
        counts_bytes: Whether growth is counted in bytes.
        counts_messages: Whether growth is counted in messages.
        counts_unknown: Whether records have types, of which some are unknown.
        lines_per_message: By how many messages growth counts one.
    """

    program: str
    keeps_facts = True
    has_times = True
    has_cwd = True
    counts_bytes = True
    counts_unknown = True
    counts_messages = True
    lines_per_message = 1

    def id_of(self, session: str) -> str:
        """Return the id by which the source knows a session."""
        return session

    def cwd_of(self, session: str) -> str:
        """Return the working directory of a session."""
        return CWD

    def text(self, source: Source, session: str = ONE) -> str:
        """Return the text of a conversation."""
        return self.load(source, session).text

    def test_conversations_have_their_messages_once_and_in_order(
        self, writer: PlainWriter, source: Source
    ) -> None:
        for session, turns in ((ONE, 3), (TWO, 5)):
            for turn in range(turns):
                writer.append(session, "user", f"Question {turn}\nof {session}")
                writer.write_noise(session, turn)
                writer.append(session, "assistant", f"Answer {turn} of {session}")
        assert source.is_conversation
        for session, turns in ((ONE, 3), (TWO, 5)):
            lines = self.text(source, session).split("\n")
            assert lines[::2] == [f"User: Question {turn} of {session}" for turn in range(turns)]
            assert lines[1::2] == [f"Assistant: Answer {turn} of {session}" for turn in range(turns)]

    def test_each_line_has_the_place_of_its_message(self, writer: PlainWriter, source: Source) -> None:
        for turn in range(6):
            writer.append(ONE, "user", f"Question {turn}")
            writer.write_noise(ONE, turn)
            writer.append(ONE, "assistant", f"Answer {turn}")
            text = self.load(source, ONE)
            assert list(text.line_map) == writer.turns[ONE]
            assert len(text.line_map) == len(text.text.split("\n"))
            assert NOISE not in text.text

    def test_a_load_with_work_has_the_same_messages_and_changes_nothing(
        self, writer: PlainWriter, source: Source
    ) -> None:
        for turn in range(3):
            writer.append(ONE, "user", f"Question {turn}")
            writer.write_noise(ONE, turn)
            writer.append(ONE, "assistant", f"Answer {turn}")
        before, found = self.load(source, ONE), self.find(source, ONE)
        conversation = source.load_work(found)
        if conversation is not None:
            said = [f"{message.role.title()}: {message.text}" for message in conversation.messages]
            assert said == before.text.split("\n")
            assert [message.place for message in conversation.messages] == list(before.line_map)
        assert source.load(found) == before
        assert source.find() is source.find()

    def test_facts_of_the_session_are_known(self, writer: PlainWriter, source: Source) -> None:
        writer.append(ONE, "user", "Which port?")
        writer.append(ONE, "assistant", "8443.")
        text = self.load(source, ONE)
        if not self.keeps_facts:
            assert text.facts == NO_FACTS
            return
        assert (text.facts.program, text.facts.session, text.facts.kind) == (
            self.program,
            self.id_of(ONE),
            "main",
        )
        assert not text.facts.is_deleted
        assert not self.has_cwd or (text.facts.cwd, text.facts.project) == (
            self.cwd_of(ONE),
            self.cwd_of(ONE),
        )

    def test_time_of_each_message_is_known(self, writer: PlainWriter, source: Source) -> None:
        writer.append(ONE, "user", "Which port?")
        writer.append(ONE, "assistant", "8443.")
        times = self.load(source, ONE).times
        if self.has_times:
            assert START_MS <= times[0] <= times[1] < START_MS + 600_000
        else:
            assert times == ()

    def test_secrets_and_memory_that_memd_injected_are_left_out(
        self, writer: PlainWriter, source: Source
    ) -> None:
        writer.append(ONE, "user", f"Use {KEY}\n{OPENING}the heron{CLOSING}")
        writer.append(ONE, "user", f"{OPENING}the cormorant{CLOSING}")
        writer.append(ONE, "assistant", "Done.")
        text = self.load(source, ONE)
        assert text.text == "User: Use [redacted:openai-key]\nAssistant: Done."
        assert text.redactions == 1

    def test_a_long_message_is_cut(self, writer: PlainWriter, source: Source) -> None:
        writer.append(ONE, "user", "x" * (MAX_MESSAGE_CHARS + 9))
        assert self.text(source) == f"User: {'x' * MAX_MESSAGE_CHARS}"

    def test_unknown_records_are_skipped_and_counted(self, writer: PlainWriter, source: Source) -> None:
        writer.append(ONE, "user", "hello")
        writer.write_unknown(ONE)
        writer.append(ONE, "assistant", "hi")
        text = self.load(source, ONE)
        assert text.text == "User: hello\nAssistant: hi"
        assert text.facts.unknown == (1 if self.keeps_facts and self.counts_unknown else 0)

    def test_sessions_that_are_not_memory_are_counted_by_kind(
        self, writer: PlainWriter, source: Source
    ) -> None:
        others = writer.write_others()
        writer.append(ONE, "user", "hello")
        found = source.find()
        assert set(found.files) == {self.path(ONE)}
        assert found.excluded == others == Counter(found.kinds.values())
        assert (found.skipped, found.problems) == ([], [])

    def test_growth_is_what_was_added_since_the_conversation_was_read(
        self, writer: PlainWriter, source: Source
    ) -> None:
        writer.append(ONE, "user", "one")
        writer.append(ONE, "assistant", "two")
        first = self.find(source, ONE)
        new = source.growth(first, None)
        assert new is not None
        assert new[0] == (first.size if self.counts_bytes else 0)
        assert (new[1] >= 2) == self.counts_messages
        source.load(first)
        assert source.growth(first, first.stat) == (0, 0)
        for count in (1, 2):
            writer.append(ONE, "user", "three")
            found = self.find(source, ONE)
            added = found.size - first.size if self.counts_bytes else 0
            messages = count * self.lines_per_message if self.counts_messages else 0
            assert source.growth(found, first.stat) == (added, messages)
        source.load(found)
        assert source.growth(found, found.stat) == (0, 0)

    # The same test runs in several subclasses on purpose.
    @settings(deadline=None, suppress_health_check=[HealthCheck.differing_executors])
    @given(
        st.lists(
            st.lists(st.one_of(TURNS, CALLS, st.integers(0, 7)), min_size=1, max_size=5),
            min_size=1,
            max_size=6,
        )
    )
    def test_a_grown_conversation_loads_like_a_new_one(
        self, parts: Sequence[Sequence[tuple[str, str] | tuple[int, bool] | int]]
    ) -> None:
        with TemporaryDirectory(dir="/tmp") as folder:
            home = Path(folder)
            with closing(self.writing(home)) as writer, closing(self.open(home)) as source:
                writer.append(ONE, "user", "hello")
                self.load(source, ONE)
                for part in parts:
                    for added in part:
                        if isinstance(added, int):
                            writer.write_noise(ONE, added)
                        elif isinstance(added[0], int):
                            writer.write_work(ONE, added[0], has_ended=bool(added[1]))
                        else:
                            writer.append(ONE, added[0], str(added[1]))
                    with closing(self.open(home)) as fresh:
                        assert self.load(source, ONE) == self.load(fresh, ONE)
                whole = source.load_work(self.find(source, ONE))
                steps = [] if whole is None or whole.work is None else whole.work
                with closing(self.open(home)) as fresh:
                    assert fresh.load_work(self.find(fresh, ONE)) == whole
                assert all(step.status in ("ok", "failed", "unknown") for step in steps)

    def statuses(self, source: Source) -> list[str]:
        """Return the outcomes of the indexed work of a session."""
        return [row.status for row in self.load(source, ONE).work or ()]

    def test_work_has_the_outcome_that_was_recorded_later(self, writer: PlainWriter, source: Source) -> None:
        writer.append(ONE, "user", "Fix it")
        before = self.load(source, ONE).text
        for number in (0, 1):
            writer.write_work(ONE, number, has_ended=not writer.records_results)
        if writer.records_results and writer.records_work:
            assert self.statuses(source) == ["unknown", "unknown"]
            writer.write_work(ONE, 0, has_ended=True)
            assert self.statuses(source) == ["failed", "unknown"]
            writer.write_work(ONE, 1, has_ended=True)
        writer.append(ONE, "assistant", "Done.")

        assert self.text(source) == f"{before}\nAssistant: Done."
        outcomes = ["failed", "ok"] if writer.has_outcome else ["unknown", "unknown"]
        assert self.statuses(source) == (outcomes if writer.records_work else [])

    def test_work_is_the_command_with_its_error_and_the_edit_with_its_lines(
        self, writer: PlainWriter, source: Source
    ) -> None:
        writer.append(ONE, "user", "Fix it")
        if not writer.records_work:
            return
        for number in (0, 1):
            for has_ended in (False, True) if writer.records_results else (True,):
                writer.write_work(ONE, number, has_ended=has_ended)
        conversation = source.load_work(self.find(source, ONE))
        assert conversation is not None
        command, change = conversation.work or []

        assert isinstance(command, Command)
        assert isinstance(change, FileChange)
        assert command.line == COMMAND
        assert command.output.startswith(OUTPUT if writer.has_outcome else "")
        assert command.exit_code == (1 if writer.has_outcome else None)
        assert (change.path, change.old, change.new) == tuple(EDIT.values())
        assert change.action == "edited"


class LimitedConversationContract(ConversationContract):
    """What sources promise whose conversations may have at most `MAX_TRANSCRIPT_BYTES` bytes."""

    def test_a_too_large_conversation_is_skipped_and_others_are_found(
        self, writer: PlainWriter, source: Source
    ) -> None:
        writer.append(TWO, "user", "hello")
        writer.append(TWO, "user", "x" * 2 * MAX_TRANSCRIPT_BYTES)
        writer.append(ONE, "user", "hello")
        found = source.find()
        assert set(found.files) == {self.path(ONE)}
        assert [(skipped.path, skipped.reason) for skipped in found.skipped] == [
            (self.path(TWO), "too big: 2.10 MB, the limit is 1.05 MB")
        ]

    @pytest.mark.parametrize("turns", [1, 2])
    def test_a_conversation_that_grew_too_large_is_refused(
        self, writer: PlainWriter, source: Source, turns: int
    ) -> None:
        for turn in range(turns):
            writer.append(ONE, "user", f"Question {turn}")
        found = self.find(source, ONE)
        source.load(found)
        writer.append(ONE, "user", "x" * 2 * MAX_TRANSCRIPT_BYTES)
        with pytest.raises(FileUnreadableError) as caught:
            source.load(found)
        assert caught.value.data["reason"] == "too_big"


def stat_of(text: FileText) -> tuple[int, int, int, int]:
    """Return the fields that identify a state of a file."""
    return text.mtime_ns, text.size, text.inode, text.ctime_ns


def tree_of(home: Path) -> Tree:
    """Return everything below a folder."""
    tree = {}
    for path in home.rglob("*"):
        facts = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        tree[str(path)] = facts.st_ino, facts.st_size, facts.st_mtime_ns, data
    return tree
