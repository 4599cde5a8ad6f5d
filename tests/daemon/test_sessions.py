"""Transcripts through the whole daemon: every format, each session indexed once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from memd_client import Client
from memd_client.errors import PathRefusedError
from memd_client.messages import AgentStatus, Hit, SessionsStatus
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome
from tests.support.transcripts import STAMP, TranscriptHome, conversation, header, message, reset

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
    """Run a daemon on a home; yield a client once everything is indexed."""
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        yield client


def main_of(client: Client) -> AgentStatus:
    """Return the status of the one agent."""
    (agent,) = client.status().agents
    return agent


def sessions_of(client: Client) -> SessionsStatus:
    """Return the transcript part of the status."""
    sessions = main_of(client).sessions
    assert sessions is not None
    return sessions


def test_hit_in_a_transcript_file_has_the_lines_of_the_transcript() -> None:
    with StateHome(SETTINGS) as home:
        # given: a header, a user message, a tool result, an answer
        TranscriptHome(home.state).write_file("s1", conversation("s1", 1, "about the cormorant"))
        with served(home) as client:
            (hit,) = client.search("cormorant").hits
        assert (hit.path, hit.source, hit.start_line, hit.end_line) == ("sessions/s1.jsonl", "sessions", 2, 4)
        assert hit.citation == "sessions/s1.jsonl#L2-L4"
        assert hit.snippet == "User: Question 0 of s1 about the cormorant\nAssistant: Answer 0 of s1"


IN_THE_SLOT: dict[str, Any] = {"plugins": {"slots": {"memory": "memd"}}}


@pytest.mark.parametrize(
    ("search", "searched"), [({}, {"memory"}), ({"sources": ["memory", "sessions"]}, {"memory", "sessions"})]
)
def test_in_openclaws_memory_slot_a_personal_agent_keeps_its_conversations(
    search: dict[str, Any], searched: set[str]
) -> None:
    with StateHome({**IN_THE_SLOT, "memory": {"search": {"provider": "none", **search}}}) as home:
        home.note("memory/a.md", "the cormorant nests on the pier\n")
        TranscriptHome(home.state).write_file("s1", conversation("s1", 1, "about the cormorant"))
        with served(home) as client:

            def called(corpus: dict[str, str], *, recall: bool) -> set[str]:
                arguments = {"query": "cormorant", "minScore": 0, **corpus}
                reply = client.call_tool("memory_search", arguments, recall=recall)
                return {row["source"] for row in reply.result["results"]}

            assert main_of(client).sources == ["memory", "sessions"]
            assert {hit.source for hit in client.search("cormorant", min_score=0).hits} == searched
            assert called({}, recall=False) == searched
            assert called({"corpus": "sessions"}, recall=False) == searched & {"sessions"}
            assert called({}, recall=True) == {"memory", "sessions"}
            assert called({"corpus": "sessions"}, recall=True) == {"sessions"}


def test_each_format_and_a_half_migrated_home_index_every_session_once() -> None:
    with StateHome(SETTINGS) as home:
        # given: three sessions in files, including a rotated one; two in the database, one also in a file
        transcripts = TranscriptHome(home.state)
        transcripts.write_file("s1", conversation("s1", 2))
        transcripts.write_file(f"s2.jsonl.reset.{STAMP}", conversation("s2", 3))
        transcripts.write_file("s3", conversation("s3", 1))
        transcripts.write_file("s3.jsonl.bak", conversation("s3", 9))
        with transcripts.open_database() as database:
            database.add_session("s3", conversation("s3", 1))
            database.add_session("s4", conversation("s4", 5), packed=True)
            with served(home) as client:
                # then: all messages of both, each session once, no tool output
                found = sessions_of(client)
                assert (found.transcripts, found.messages) == (4, 2 * (2 + 3 + 1 + 5))
                assert found.stores == {"jsonl": 2, "sqlite": 2}
                assert client.search("printed").hits == []
                # and: appended messages are found by the next search
                database.append("s4", [message("user", "the heron flew off")])
                transcripts.append_file("s1", [message("user", "the cormorant stayed")])
                assert [hit.path for hit in client.search("heron").hits] == ["sessions/s4.jsonl"]
                assert [hit.path for hit in client.search("cormorant").hits] == ["sessions/s1.jsonl"]


def test_unknown_version_is_reported_while_notes_and_files_are_searched() -> None:
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


def test_cron_sessions_are_counted_as_left_out_and_secrets_are_redacted() -> None:
    with StateHome(SETTINGS) as home:
        transcripts = TranscriptHome(home.state)
        said = f"the staging key is {SECRET} keep it"
        transcripts.write_file("s1", [header("s1"), message("user", said)])
        with transcripts.open_database() as database:
            database.add_session("s2", conversation("s2", 1), key="agent:main:cron:daily", created_via="cron")
        with served(home) as client:
            found = sessions_of(client)
            assert (found.transcripts, found.redactions) == (1, 1)
            assert sum(found.excluded.values()) == 1
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


def test_exact_note_is_in_the_first_three_hits_among_many_transcripts() -> None:
    with StateHome(SETTINGS) as home:
        # given: 54 notes, and 550 sessions about the same topics
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


def test_deleted_transcript_has_no_hits() -> None:
    with StateHome(SETTINGS) as home:
        location = TranscriptHome(home.state).write_file("s1", conversation("s1", 1, "about the cormorant"))
        with served(home) as client:
            assert client.search("cormorant").hits
            location.unlink()
            assert client.search("cormorant").hits == []


def test_get_of_a_transcript_is_refused() -> None:
    with StateHome(SETTINGS) as home:
        TranscriptHome(home.state).write_file("s1", conversation("s1", 1))
        with served(home) as client, pytest.raises(PathRefusedError):
            client.get("sessions/s1.jsonl")


def test_transcripts_are_not_read_without_the_opt_in() -> None:
    with StateHome({"agents": {"defaults": {"memorySearch": {**SEARCH, "experimental": {}}}}}) as home:
        TranscriptHome(home.state).write_file("s1", conversation("s1", 1, "about the cormorant"))
        with served(home) as client:
            assert client.search("cormorant").hits == []
            assert main_of(client).sessions is None


KEY, OTHER = "agent:main:main", "agent:main:telegram:direct:7"
ERAS = pytest.mark.parametrize("era", ["jsonl", "sqlite"])


def said(*texts: str) -> list[str]:
    """Return the records of a conversation, with consecutive ids."""
    roles = ("user", "assistant")
    return [
        message(roles[at % 2], text).replace("{", f'{{"id": "m{at}", ', 1) for at, text in enumerate(texts)
    ]


HERON = said("The heron gauge stands at ninety", "Noted, heron gauge ninety")
STORK = said("The stork gauge stands at forty", "Noted, stork gauge forty")
CRANE = said("Which gauge stands at sixty", "I look for the gauge")


class Sessions:
    """The sessions of a home, in files or in OpenClaw's database."""

    def __init__(self, home: StateHome, era: str) -> None:
        self._home = TranscriptHome(home.state)
        self._era = era
        self._listed: dict[str, Any] = {}

    def write(self, session_id: str, key: str, records: Sequence[str]) -> None:
        """Write a session."""
        if self._era == "sqlite":
            with self._home.open_database() as database:
                database.add_session(session_id, [header(session_id), *records], key=key)
            return
        self._listed[key] = {"sessionId": session_id}
        self._home.write_file(session_id, [header(session_id), *records])
        self._home.write_list(self._listed)

    def append(self, session_id: str, records: Sequence[str]) -> None:
        """Append records to a session."""
        if self._era == "sqlite":
            with self._home.open_database() as database:
                database.append(session_id, records)
        else:
            self._home.append_file(session_id, records)


def texts(hits: Sequence[Hit]) -> list[str]:
    """Return the snippets of hits."""
    return [hit.snippet for hit in hits]


@ERAS
def test_each_conversation_of_a_session_is_a_separate_hit(era: str) -> None:
    with StateHome(SETTINGS) as home:
        sessions = Sessions(home, era)
        sessions.write("s1", KEY, [*HERON, reset(), *STORK, reset(), *CRANE])
        with served(home) as client:
            heron, stork = client.search("heron").hits, client.search("stork").hits

    # each hit shows lines of one conversation, with the line numbers of the transcript
    assert texts(heron) == ["User: The heron gauge stands at ninety\nAssistant: Noted, heron gauge ninety"]
    assert texts(stork) == ["User: The stork gauge stands at forty\nAssistant: Noted, stork gauge forty"]
    first = 1 if era == "sqlite" else 2
    assert [(hit.start_line, hit.end_line) for hit in (*heron, *stork)] == [
        (first, first + 1),
        (first + 3, first + 4),
    ]


@ERAS
def test_excluded_session_hides_its_current_conversation_and_shows_earlier_ones(era: str) -> None:
    with StateHome(SETTINGS) as home:
        sessions = Sessions(home, era)
        sessions.write("s1", KEY, [*HERON, reset(), *STORK])
        sessions.write("s2", OTHER, said("The gauge of the crane stands at sixty"))
        with served(home) as client:
            everything = client.search("gauge stands", min_score=0).hits
            asked = client.search("gauge stands", min_score=0, exclude_session=KEY).hits
            few = client.search("gauge stands", min_score=0, exclude_session=KEY, max_results=1).hits
            other = client.search("gauge stands", min_score=0, exclude_session=OTHER).hits
            unknown = client.search("gauge stands", min_score=0, exclude_session="agent:main:none").hits
            # right after a reset the previous conversation is found
            sessions.append("s1", [reset(), *CRANE])
            again = client.search("gauge stands", min_score=0, exclude_session=KEY).hits

    def birds(hits: Sequence[Hit]) -> set[str]:
        return {bird for bird in ("heron", "stork", "crane", "sixty") if any(bird in t for t in texts(hits))}

    assert birds(everything) == birds(unknown) == {"heron", "stork", "crane", "sixty"}
    assert birds(asked) == {"heron", "crane", "sixty"}
    assert few == asked[:1]
    assert birds(other) == {"heron", "stork"}
    assert birds(again) == {"heron", "stork", "crane", "sixty"}
    assert not any("Which gauge" in text for text in texts(again))


@ERAS
def test_new_session_does_not_find_its_own_query(era: str) -> None:
    with StateHome(SETTINGS) as home:
        home.note("memory/a.md", "The heron gauge stands at ninety.\n")
        sessions = Sessions(home, era)
        sessions.write("s1", OTHER, said("hello"))
        with served(home) as client:
            sessions.write("s2", KEY, said("Where does the heron gauge stand?"))
            asked: dict[str, Any] = {"query": "Where does the heron gauge stand?"}
            result = client.call_tool("memory_search", asked, session_key=KEY).result
            beside = client.call_tool(
                "memory_search", asked, session_key=f"{KEY}:active-memory:0123456789ab"
            ).result
            without = client.call_tool("memory_search", asked | {"minScore": 0}).result

    paths = [[row["path"] for row in reply["results"]] for reply in (result, beside, without)]
    assert paths[0] == paths[1] == ["memory/a.md"]
    assert "sessions/s2.jsonl" in paths[2]


@ERAS
def test_messages_kept_by_a_reset_belong_to_the_next_conversation(era: str) -> None:
    with StateHome(SETTINGS) as home:
        sessions = Sessions(home, era)
        kept = said("The heron gauge stands at ninety", "Noted", "The stork gauge stands at forty")
        sessions.write("s1", KEY, [*kept, reset("m2"), *CRANE])
        with served(home) as client:
            hits = client.search("gauge stands", min_score=0, exclude_session=KEY).hits

    assert texts(hits) == ["User: The heron gauge stands at ninety\nAssistant: Noted"]


def test_index_of_an_earlier_version_rereads_the_transcripts(client_of_old_index: Client) -> None:
    (hit,) = client_of_old_index.search("heron").hits

    assert "stork" not in hit.snippet


@pytest.fixture
def client_of_old_index() -> Any:
    """A client of a daemon whose old index mixes the conversations of a transcript."""
    import apsw

    with StateHome(SETTINGS) as home:
        Sessions(home, "sqlite").write("s1", KEY, [*HERON, reset(), *STORK])
        with served(home):
            pass
        db = apsw.Connection(str(home.state / "memory" / "main.memd.sqlite"))
        later = [str(row[1]) for row in db.execute("PRAGMA table_info(transcripts)")][4:]
        db.execute(
            "DROP INDEX transcripts_by_session; DROP TABLE chunk_times; DROP VIEW steps; DROP TABLE work;"
            "DROP TABLE work_sessions; DROP TABLE work_fts; DROP TABLE origins; DROP TABLE fetched;"
            "ALTER TABLE chunks DROP COLUMN origins"
        )
        db.execute("PRAGMA user_version = 4")
        for column in later:
            db.execute(f"ALTER TABLE transcripts DROP COLUMN {column}")
        db.execute("UPDATE chunks SET text = text || ' stork'")
        db.close()
        with served(home) as client:
            yield client
