"""Several conversations in one session, and the session that asks, through the whole daemon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memd_client import Client
from memd_client.messages import Hit
from tests.daemon.test_sessions import SETTINGS, served
from tests.support.homes import StateHome
from tests.support.transcripts import TranscriptHome, header, message, reset

KEY, OTHER = "agent:main:main", "agent:main:telegram:direct:7"
ERAS = pytest.mark.parametrize("era", ["jsonl", "sqlite"])


def said(*texts: str) -> list[str]:
    """Return a conversation's records, each with its number as its id."""
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
        """Add records to a session."""
        if self._era == "sqlite":
            with self._home.open_database() as database:
                database.append(session_id, records)
        else:
            self._home.append_file(session_id, records)


def texts(hits: Sequence[Hit]) -> list[str]:
    """Return what hits show."""
    return [hit.snippet for hit in hits]


@ERAS
def test_each_conversation_of_a_session_is_found_by_itself(era: str) -> None:
    with StateHome(SETTINGS) as home:
        sessions = Sessions(home, era)
        sessions.write("s1", KEY, [*HERON, reset(), *STORK, reset(), *CRANE])
        with served(home) as client:
            heron, stork = client.search("heron").hits, client.search("stork").hits

    # each hit shows lines of one conversation, at the places they have in the transcript
    assert texts(heron) == ["User: The heron gauge stands at ninety\nAssistant: Noted, heron gauge ninety"]
    assert texts(stork) == ["User: The stork gauge stands at forty\nAssistant: Noted, stork gauge forty"]
    first = 1 if era == "sqlite" else 2
    assert [(hit.start_line, hit.end_line) for hit in (*heron, *stork)] == [
        (first, first + 1),
        (first + 3, first + 4),
    ]


@ERAS
def test_the_conversation_that_asks_is_no_hit_and_earlier_ones_of_its_session_are(era: str) -> None:
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
            # right after the reset the conversation before it is found
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
def test_a_session_that_has_just_begun_does_not_find_its_own_question(era: str) -> None:
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
            without = client.call_tool("memory_search", asked).result

    paths = [[row["path"] for row in reply["results"]] for reply in (result, beside, without)]
    assert paths[0] == paths[1] == ["memory/a.md"]
    assert "sessions/s2.jsonl" in paths[2]


@ERAS
def test_messages_that_a_reset_kept_belong_to_the_conversation_after_it(era: str) -> None:
    with StateHome(SETTINGS) as home:
        sessions = Sessions(home, era)
        kept = said("The heron gauge stands at ninety", "Noted", "The stork gauge stands at forty")
        sessions.write("s1", KEY, [*kept, reset("m2"), *CRANE])
        with served(home) as client:
            hits = client.search("gauge stands", min_score=0, exclude_session=KEY).hits

    assert texts(hits) == ["User: The heron gauge stands at ninety\nAssistant: Noted"]


def test_an_index_from_before_is_read_once_more(client_of_old_index: Client) -> None:
    (hit,) = client_of_old_index.search("heron").hits

    assert "stork" not in hit.snippet


@pytest.fixture
def client_of_old_index() -> Any:
    """A daemon on an index whose transcripts were cut before conversations were told apart."""
    import apsw

    with StateHome(SETTINGS) as home:
        Sessions(home, "sqlite").write("s1", KEY, [*HERON, reset(), *STORK])
        with served(home):
            pass
        db = apsw.Connection(str(home.state / "memory" / "main.memd.sqlite"))
        db.execute("ALTER TABLE transcripts DROP COLUMN last_from; PRAGMA user_version = 4")
        db.execute("UPDATE chunks SET text = text || ' stork'")
        db.close()
        with served(home) as client:
            yield client
