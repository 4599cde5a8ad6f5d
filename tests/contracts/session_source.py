"""The contract of every source of transcripts. Subclass it for each store.

The fixtures are real: files in a folder, and a database in WAL mode with OpenClaw's own connection to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memd.sources.discover import SourceFile
from memd.sources.read import FileText
from memd.sources.source import SessionSource
from memd_client.errors import FileMissingError, FileUnreadableError
from tests.support.transcripts import MAX_TRANSCRIPT_BYTES, TranscriptHome, conversation, header, message

TALK = st.sampled_from(
    ["one", "two words", "密码是 abc12345", "sk-proj-" + "a1" * 16, "HEARTBEAT_OK", "x" * 300]
)
RECORDS = st.one_of(
    st.builds(message, st.sampled_from(["user", "assistant"]), TALK),
    st.builds(message, st.just("toolResult"), TALK),
    st.sampled_from(['{"type": "custom"}', "{damaged", "null", header("s")]),
)


class SessionSourceContract:
    """The contract of `SessionSource`."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> TranscriptHome:
        """Return an empty home."""
        return TranscriptHome(tmp_path)

    def writing(self, home: TranscriptHome) -> SessionWriter:
        """Return a writer of sessions to this store."""
        raise NotImplementedError

    def make(self, home: TranscriptHome) -> SessionSource:
        """Return the source under test, with `MAX_TRANSCRIPT_BYTES` bytes per transcript."""
        raise NotImplementedError

    def test_empty_home_has_no_transcripts(self, tmp_path: Path) -> None:
        source = self.make(TranscriptHome(tmp_path / "none"))
        found = source.find()
        assert (found.found, found.skipped, found.problems, found.left_out) == ({}, [], [], {})
        source.close()

    def test_every_session_is_found_once_with_all_its_messages(self, home: TranscriptHome) -> None:
        turns = {f"s{number}": number + 1 for number in range(7)}
        with self.writing(home) as writer:
            for session_id, count in turns.items():
                writer.write(session_id, conversation(session_id, count))
            source = self.make(home)
            transcripts = source.find()
            assert set(transcripts.found) == {f"sessions/{session_id}.jsonl" for session_id in turns}
            assert sum(transcripts.eras.values()) == len(turns)
            for session_id, count in turns.items():
                text = source.load(transcripts.found[f"sessions/{session_id}.jsonl"])
                assert len(text.line_map) == len(text.text.split("\n")) == 2 * count
                assert text.text.startswith(f"User: Question 0 of {session_id}\nAssistant: Answer 0")
                assert "printed" not in text.text
            source.close()

    def test_loaded_text_has_the_identity_of_the_found_transcript(self, home: TranscriptHome) -> None:
        with self.writing(home) as writer:
            writer.write("s", conversation("s", 3))
            source = self.make(home)
            for turn in range(3):
                found = source.find().found["sessions/s.jsonl"]
                assert (found.path, found.source) == ("sessions/s.jsonl", "sessions")
                assert _identity(source.load(found)) == _identity(found)
                assert source.find().found["sessions/s.jsonl"] == found
                writer.append("s", [message("user", f"and {turn}")])
            source.close()

    def test_change_is_seen_by_the_next_find(self, home: TranscriptHome) -> None:
        with self.writing(home) as writer:
            source = self.make(home)
            assert not source.find().found
            writer.write("s", conversation("s", 1))
            first = source.find().found["sessions/s.jsonl"]
            writer.append("s", [message("user", "one word more")])
            second = source.find().found["sessions/s.jsonl"]
            assert first != second
            assert source.load(first).text.endswith("User: one word more")
            writer.delete("s")
            assert not source.find().found
            with pytest.raises(FileMissingError):
                source.load(second)
            source.close()

    def test_scaffolding_and_secrets_are_removed(self, home: TranscriptHome) -> None:
        records = [
            message("user", "[Telegram Ann id:7 2026-01-05 10:00 UTC] my key is ghp_" + "a1B2" * 9),
            message(
                "user", "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK."
            ),
            message("assistant", "HEARTBEAT_OK"),
            message("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "noted"}]),
            message("system", "be kind"),
        ]
        with self.writing(home) as writer:
            writer.write("s", records)
            source = self.make(home)
            text = source.load(source.find().found["sessions/s.jsonl"])
            assert text.text == "User: my key is [redacted:github-token]\nAssistant: noted"
            assert text.redactions == 1
            source.close()

    def test_each_line_has_the_number_of_its_record(self, home: TranscriptHome) -> None:
        with self.writing(home) as writer:
            numbers = writer.write("s", [header("s"), message("user", "a"), "{", message("assistant", "b")])
            source = self.make(home)
            assert source.load(source.find().found["sessions/s.jsonl"]).line_map == (numbers[1], numbers[3])
            source.close()

    def test_sessions_that_are_not_memory_are_counted_by_kind(self, home: TranscriptHome) -> None:
        keys = {
            "c1": "agent:main:cron:job:run:c1",
            "c2": "agent:main:cron:job",
            "h": "agent:main:main:heartbeat",
            "b": "agent:main:subagent:b",
            "d": "agent:main:dreaming-narrative-light",
            "talk": "agent:main:direct:ann",
        }
        with self.writing(home) as writer:
            for session_id, key in keys.items():
                writer.write(session_id, conversation(session_id, 1), key=key)
            source = self.make(home)
            transcripts = source.find()
            assert set(transcripts.found) == {"sessions/talk.jsonl"}
            assert transcripts.left_out == {"cron": 2, "heartbeat": 1, "subagent": 1, "dreaming": 1}
            assert transcripts.kinds["h"] == "heartbeat"
            source.close()

    def test_too_large_transcript_is_skipped_and_others_are_found(self, home: TranscriptHome) -> None:
        with self.writing(home) as writer:
            writer.write("big", [message("user", "x" * 2 * MAX_TRANSCRIPT_BYTES)])
            writer.write("s", conversation("s", 1))
            source = self.make(home)
            transcripts = source.find()
            assert set(transcripts.found) == {"sessions/s.jsonl"}
            assert [(skipped.path, skipped.reason) for skipped in transcripts.skipped] == [
                ("sessions/big.jsonl", "too big: 2.10 MB, the limit is 1.05 MB")
            ]
            source.close()

    def test_transcript_that_grew_too_large_is_refused(self, home: TranscriptHome) -> None:
        with self.writing(home) as writer:
            writer.write("s", conversation("s", 1))
            source = self.make(home)
            found = source.find().found["sessions/s.jsonl"]
            writer.append("s", [message("user", "x" * 2 * MAX_TRANSCRIPT_BYTES)])
            with pytest.raises(FileUnreadableError) as caught:
                source.load(found)
            assert caught.value.data["reason"] == "too_big"
            source.close()

    def test_found_transcripts_belong_to_the_caller(self, home: TranscriptHome) -> None:
        with self.writing(home) as writer:
            writer.write("s", conversation("s", 1))
            source = self.make(home)
            first = source.find()
            first.found.clear()
            first.left_out["cron"] = 9
            first.skipped.append(first.skipped)  # type: ignore[arg-type]
            again = source.find()
            assert (len(again.found), again.left_out, again.skipped) == (1, {}, [])
            source.close()

    def test_a_closed_source_opens_again(self, home: TranscriptHome) -> None:
        with self.writing(home) as writer:
            writer.write("s", conversation("s", 1))
            source = self.make(home)
            found = source.find().found
            source.close()
            source.close()
            assert source.find().found == found
            assert source.load(found["sessions/s.jsonl"]).text
            source.close()

    def test_many_threads_can_use_the_source(self, home: TranscriptHome) -> None:
        with self.writing(home) as writer:
            for number in range(6):
                writer.write(f"s{number}", conversation(f"s{number}", 40))
            source = self.make(home)
            whole = {path: source.load(found).text for path, found in source.find().found.items()}

            def ask(number: int) -> bool:
                found = source.find().found
                path = f"sessions/s{number % 6}.jsonl"
                return len(found) == 6 and source.load(found[path]).text == whole[path]

            with ThreadPoolExecutor(8) as threads:
                assert all(threads.map(ask, range(120)))
            source.close()

    # The same test runs in several subclasses on purpose.
    @settings(deadline=None, suppress_health_check=[HealthCheck.differing_executors])
    @given(st.lists(st.lists(RECORDS, max_size=5), min_size=1, max_size=6))
    def test_grown_transcript_loads_like_a_new_one(self, parts: Sequence[Sequence[str]]) -> None:
        with TemporaryDirectory(dir="/tmp") as folder:
            home = TranscriptHome(Path(folder))
            with self.writing(home) as writer:
                writer.write("s", [header("s")])
                source = self.make(home)
                for part in parts:
                    writer.append("s", part)
                    fresh = self.make(home)
                    found = source.find().found["sessions/s.jsonl"]
                    assert source.load(found) == fresh.load(fresh.find().found["sessions/s.jsonl"])
                    fresh.close()
                source.close()


class SessionWriter:
    """Writes sessions to one store, as OpenClaw does."""

    def __enter__(self) -> SessionWriter:
        return self

    def __exit__(self, *_: object) -> None:
        """Close open files and connections."""

    def write(self, session_id: str, records: Sequence[str], *, key: str = "") -> list[int]:
        """Write a session; return the number of each record."""
        raise NotImplementedError

    def append(self, session_id: str, records: Sequence[str]) -> None:
        """Add to a session."""
        raise NotImplementedError

    def delete(self, session_id: str) -> None:
        """Delete a session."""
        raise NotImplementedError


class FileWriter(SessionWriter):
    """Writes `.jsonl` files and their list."""

    def __init__(self, home: TranscriptHome) -> None:
        self._home = home
        self._keys: dict[str, dict[str, str]] = {}

    def write(self, session_id: str, records: Sequence[str], *, key: str = "") -> list[int]:
        self._home.write_file(session_id, records)
        if key:
            self._keys[key] = {"sessionId": session_id}
            self._home.write_list(self._keys)
        return list(range(1, len(records) + 1))

    def append(self, session_id: str, records: Sequence[str]) -> None:
        self._home.append_file(session_id, records)

    def delete(self, session_id: str) -> None:
        (self._home.sessions / f"{session_id}.jsonl").unlink()


class DatabaseWriter(SessionWriter):
    """Writes events into the database, every second one compressed."""

    def __init__(self, home: TranscriptHome) -> None:
        self._database = home.open_database()

    def __exit__(self, *_: object) -> None:
        self._database.db.close(True)

    def write(self, session_id: str, records: Sequence[str], *, key: str = "") -> list[int]:
        self._database.add_session(session_id, records, key=key, packed=True)
        return list(range(len(records)))

    def append(self, session_id: str, records: Sequence[str]) -> None:
        self._database.append(session_id, records, packed=True)

    def delete(self, session_id: str) -> None:
        self._database.db.execute("DELETE FROM transcript_events WHERE session_id = ?", (session_id,))


def _identity(file: SourceFile | FileText) -> tuple[int, int, int, int]:
    """Return the fields that identify a state of a transcript."""
    return file.mtime_ns, file.size, file.inode, file.ctime_ns
