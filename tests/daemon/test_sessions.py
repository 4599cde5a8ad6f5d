"""Transcripts as memory, through the whole daemon: every era, each session once, notes never crowded out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from memd_client import Client
from memd_client.errors import PathRefusedError
from memd_client.messages import AgentStatus, SessionsStatus
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome
from tests.support.transcripts import STAMP, TranscriptHome, conversation, header, message

SEARCH: dict[str, Any] = {
    "provider": "none",
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
    "sync": {"watch": False},
}
SETTINGS = {"agents": {"defaults": {"memorySearch": SEARCH}}}
SECRET = "sk-proj-" + "Zx9" * 16


@contextlib.contextmanager
def served(home: StateHome) -> Iterator[Client]:
    """Run a daemon on a home, and hand out a client once everything is indexed."""
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        yield client


def main_of(client: Client) -> AgentStatus:
    """Return the one agent's status."""
    (agent,) = client.status().agents
    return agent


def sessions_of(client: Client) -> SessionsStatus:
    """Return what status says of the transcripts."""
    sessions = main_of(client).sessions
    assert sessions is not None
    return sessions


def test_a_hit_in_a_file_names_the_transcripts_own_lines() -> None:
    with StateHome(SETTINGS) as home:
        # given: a header, a question, what a tool printed, an answer
        TranscriptHome(home.state).write_file("s1", conversation("s1", 1, "about the cormorant"))
        with served(home) as client:
            (hit,) = client.search("cormorant").hits
        assert (hit.path, hit.source, hit.start_line, hit.end_line) == ("sessions/s1.jsonl", "sessions", 2, 4)
        assert hit.citation == "sessions/s1.jsonl#L2-L4"
        assert hit.snippet == "User: Question 0 of s1 about the cormorant\nAssistant: Answer 0 of s1"


def test_each_era_and_a_half_migrated_home_hold_every_session_once() -> None:
    with StateHome(SETTINGS) as home:
        # given: three sessions in files, one of them rotated; two in the database, one of which is in a file too
        transcripts = TranscriptHome(home.state)
        transcripts.write_file("s1", conversation("s1", 2))
        transcripts.write_file(f"s2.jsonl.reset.{STAMP}", conversation("s2", 3))
        transcripts.write_file("s3", conversation("s3", 1))
        transcripts.write_file("s3.jsonl.bak", conversation("s3", 9))
        with transcripts.open_database() as database:
            database.add_session("s3", conversation("s3", 1))
            database.add_session("s4", conversation("s4", 5), packed=True)
            with served(home) as client:
                # then: all messages of both, no session twice, no tool output
                found = sessions_of(client)
                assert (found.transcripts, found.messages) == (4, 2 * (2 + 3 + 1 + 5))
                assert found.eras == {"jsonl": 2, "sqlite": 2}
                assert client.search("printed").hits == []
                # and: growth is in the next search
                database.append("s4", [message("user", "the heron flew off")])
                transcripts.append_file("s1", [message("user", "the cormorant stayed")])
                assert [hit.path for hit in client.search("heron").hits] == ["sessions/s4.jsonl"]
                assert [hit.path for hit in client.search("cormorant").hits] == ["sessions/s1.jsonl"]


def test_an_unknown_version_is_loud_while_notes_and_files_are_searched() -> None:
    with StateHome(SETTINGS) as home:
        home.note("memory/a.md", "the cormorant nests on the pier\n")
        transcripts = TranscriptHome(home.state)
        transcripts.write_file("s1", conversation("s1", 1, "about the cormorant"))
        with transcripts.open_database() as database:
            database.add_session("s9", conversation("s9", 1))
            database.db.execute("PRAGMA user_version = 99; UPDATE schema_meta SET schema_version = 99")
        with served(home) as client:
            assert {hit.source for hit in client.search("cormorant").hits} == {"memory", "sessions"}
            (problem,) = main_of(client).problems
            assert problem.code == "openclaw_database"
            assert "99" in problem.message


def test_what_is_no_memory_is_counted_and_secrets_are_left_out() -> None:
    with StateHome(SETTINGS) as home:
        transcripts = TranscriptHome(home.state)
        said = f"the staging key is {SECRET} keep it"
        transcripts.write_file("s1", [header("s1"), message("user", said)])
        with transcripts.open_database() as database:
            database.add_session("s2", conversation("s2", 1), key="agent:main:cron:daily", created_via="cron")
        with served(home) as client:
            found = sessions_of(client)
            assert (found.transcripts, found.redactions) == (1, 1)
            assert sum(found.left_out.values()) == 1
            (hit,) = client.search("staging key").hits
            assert SECRET not in hit.snippet
            assert "[redacted:" in hit.snippet
        index = (home.state / "memory" / "main.memd.sqlite").read_bytes()
        assert SECRET.encode() not in index


def test_835_copies_of_one_entry_are_one_hit_with_a_count() -> None:
    with StateHome(SETTINGS) as home:
        entry = message("user", "remember that the deploy key rotates on fridays")
        transcripts = TranscriptHome(home.state)
        for number in range(835):
            transcripts.write_file(f"s{number}", [entry])
        transcripts.write_file("other", [message("user", "the deploy of the gateway went well")])
        with served(home) as client:
            first, second = client.search("deploy key").hits
            assert (first.copies, second.copies) == (835, 1)
            assert second.path == "sessions/other.jsonl"


def test_an_exact_note_is_in_the_first_three_whatever_the_transcripts_number() -> None:
    with StateHome(SETTINGS) as home:
        # given: the reporter's shape: 54 notes, 550 sessions that talk about the same things
        for number in range(54):
            home.note(
                f"memory/n{number:02d}.md",
                f"Note {number}: the gateway of team {number} listens on port {8000 + number}.\n",
            )
        transcripts = TranscriptHome(home.state)
        for number in range(550):
            talk = [
                message("user", f"which port, which port, which gateway? {number} gateway port port"),
                message("assistant", f"the gateway port of {number} is a port"),
            ]
            transcripts.write_file(f"s{number}", talk)
        with served(home) as client:
            hits = client.search("gateway of team 17 listens on port").hits
            assert "memory/n17.md" in [hit.path for hit in hits[:3]]
            vague = client.search("gateway port").hits
            assert [hit.source for hit in vague].count("memory") == 3
            only_notes = client.search("gateway port", sources=["memory"]).hits
            assert {hit.source for hit in only_notes} == {"memory"}
            only_talk = client.search("gateway port", sources=["sessions"]).hits
            assert {hit.source for hit in only_talk} == {"sessions"}


def test_a_transcript_that_is_deleted_is_never_a_hit() -> None:
    with StateHome(SETTINGS) as home:
        location = TranscriptHome(home.state).write_file("s1", conversation("s1", 1, "about the cormorant"))
        with served(home) as client:
            assert client.search("cormorant").hits
            location.unlink()
            assert client.search("cormorant").hits == []


def test_transcripts_can_not_be_read_line_by_line() -> None:
    with StateHome(SETTINGS) as home:
        TranscriptHome(home.state).write_file("s1", conversation("s1", 1))
        with served(home) as client, pytest.raises(PathRefusedError):
            client.get("sessions/s1.jsonl")


def test_without_the_opt_in_no_transcript_is_looked_at() -> None:
    with StateHome({"agents": {"defaults": {"memorySearch": {**SEARCH, "experimental": {}}}}}) as home:
        TranscriptHome(home.state).write_file("s1", conversation("s1", 1, "about the cormorant"))
        with served(home) as client:
            assert client.search("cormorant").hits == []
            assert main_of(client).sessions is None
