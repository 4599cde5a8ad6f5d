"""A session that ended leaves a note of its last messages."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.lifecycle.notes import session_note as messages_of
from memd.lifecycle.notes.session_note import (
    CUT,
    MAX_MESSAGE_CHARS,
    MAX_NOTE_CHARS,
    ConversationMessage,
    note_text,
)
from memd.settings.lifecycle import LifecycleSettings, SessionNote
from memd_client.errors import MemoryDisabledError, PathRefusedError
from memd_client.notes import SessionEndedReply
from tests.support.transcripts import conversation, header, message
from tests.unit.lifecycle.session_home import ANSWERED, ASKED, NOW, Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path) as home:
        yield home


def test_the_note_has_a_header_and_what_was_said(home: Home) -> None:
    home.say("abc", ASKED, ANSWERED)
    reply = home.end(session_id="abc", channel="telegram")
    assert reply == SessionEndedReply(
        "main", "memory/2026-01-16-api-design.md", 2, "api-design", "words", "written"
    )
    assert home.text(reply) == (
        "# Session: 2026-01-16 14:30:00 UTC\n\n"
        "- **Session Key**: agent:main:main\n- **Session ID**: abc\n- **Source**: telegram\n\n"
        "## Conversation Summary\n\n"
        f"user: {ASKED}\nassistant: {ANSWERED}\n"
    )
    assert home.syncs == 1


def test_day_and_hour_are_the_users(home: Home) -> None:
    home.say("abc", ASKED, ANSWERED)
    home.now_ms = int(datetime(2028, 2, 28, 23, 30, tzinfo=UTC).timestamp() * 1000)
    home.use(life=LifecycleSettings(time_zone="Europe/Prague"))
    reply = home.end(session_id="abc")
    assert reply.path.startswith("memory/2028-02-29-")
    assert home.text(reply).startswith("# Session: 2028-02-29 00:30:00 Europe/Prague\n")


def test_only_the_last_messages_are_kept(home: Home) -> None:
    home.transcripts.write_file("abc", conversation("abc", 20))
    home.use(life=LifecycleSettings(time_zone="UTC", session_note=SessionNote(messages=4)))
    reply = home.end(session_id="abc")
    assert reply.messages == 4
    assert home.text(reply).splitlines()[-4:] == [
        "user: Question 18 of abc",
        "assistant: Answer 18 of abc",
        "user: Question 19 of abc",
        "assistant: Answer 19 of abc",
    ]
    assert "printed" not in home.text(reply)


def test_commands_tools_injected_memory_and_secrets_are_left_out(home: Home) -> None:
    key = "sk-proj-" + "a1B2c3D4e5" * 5
    home.transcripts.write_file(
        "abc",
        [
            header("abc"),
            message("user", "<relevant-memories>old things</relevant-memories>" + ASKED),
            message("assistant", [{"type": "tool_use", "name": "x"}, {"type": "text", "text": f"Use {key}"}]),
            message("toolResult", "tool noise"),
            message("user", "/model gpt"),
            message("user", "/etc/hosts is wrong"),
            message("user", "/new"),
            "not json",
        ],
    )
    note = home.text(home.end(session_id="abc"))
    assert f"user: {ASKED}\nassistant: Use [redacted:" in note
    assert note.endswith("\nuser: /etc/hosts is wrong\n")
    for excluded in (key, "old things", "tool noise", "/model", "/new"):
        assert excluded not in note


def test_of_a_long_transcript_the_end_says_the_same_as_the_whole(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [header("abc")]
    for turn in range(30):
        records += [
            message("user", f"question {turn} with an é"),
            message("toolResult", "x" * turn * 50),
            message("assistant", f"answer {turn}" if turn % 7 else "NO_REPLY"),
        ]
    home.transcripts.write_file("abc", records)
    whole = home.text(home.end(session_id="abc", slug="whole"))
    assert whole.endswith("user: question 29 with an é\nassistant: answer 29\n")
    for room in (1, 7, 300, 1_001, 5_000):
        monkeypatch.setattr(messages_of, "_END_BYTES", room)
        assert home.end(session_id="abc", slug="whole").reason == "known"
    home.use(life=LifecycleSettings(time_zone="UTC", session_note=SessionNote(messages=1_000)))
    assert home.end(session_id="abc", slug="all").messages == 55


# --- which transcript -------------------------------------------------------------------------------


def _plain(home: Home) -> dict[str, str]:
    home.say("abc", ASKED, ANSWERED)
    return {"session_id": "abc"}


def _by_path(home: Home) -> dict[str, str]:
    return {"transcript": str(home.say("abc", ASKED, ANSWERED))}


def _by_name(home: Home) -> dict[str, str]:
    home.say("abc", ASKED, ANSWERED)
    return {"transcript": "abc.jsonl"}


def _topic(home: Home) -> dict[str, str]:
    home.say("abc-topic-7", ASKED, ANSWERED)
    return {"session_id": "abc"}


def _rotated(home: Home) -> dict[str, str]:
    home.say("abc.jsonl.reset.2026-01-16T14-29-00.000Z", ASKED, ANSWERED)
    home.say("abc", "/new")
    return {"session_id": "abc"}


def _path_rotated_since(home: Home) -> dict[str, str]:
    home.say("abc.jsonl.reset.2026-01-16T14-29-00.000Z", ASKED, ANSWERED)
    return {"transcript": str(home.transcripts.sessions / "abc.jsonl")}


def _database(home: Home) -> dict[str, str]:
    with home.transcripts.open_database() as database:
        database.add_session("abc", [header("abc"), message("user", ASKED), message("assistant", ANSWERED)])
    return {"session_id": "abc"}


def _newest(home: Home) -> dict[str, str]:
    home.say("old", "an old question", "an old answer")
    os.utime(home.transcripts.sessions / "old.jsonl", (1, 1))
    talked = home.say("abc", ASKED, ANSWERED)
    os.utime(talked, (1_000, 1_000))
    home.say("begun", "/new")
    return {}


@pytest.mark.parametrize(
    "arrange", [_plain, _by_path, _by_name, _topic, _rotated, _path_rotated_since, _database, _newest]
)
def test_the_conversation_is_found(home: Home, arrange: Callable[[Home], dict[str, str]]) -> None:
    reply = home.end(**arrange(home))
    assert reply.messages == 2
    assert home.text(reply).endswith(f"user: {ASKED}\nassistant: {ANSWERED}\n")
    assert "- **Session ID**: abc" in home.text(reply)


def test_another_conversation_is_never_taken_for_the_one_that_was_named(home: Home) -> None:
    home.say("other", ASKED, ANSWERED)
    for named in ({"session_id": "abc"}, {"transcript": "abc.jsonl"}, {"session_id": "../sessions/other"}):
        assert home.end(**named).reason == "no_transcript"
    assert home.written() == []


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/tmp/x.jsonl",
        "../../x.jsonl",
        "x.txt",
        "a\0.jsonl",
        "{sessions}/../sessions/abc.jsonl",
    ],
)
def test_a_transcript_elsewhere_is_refused(home: Home, path: str) -> None:
    home.say("abc", ASKED, ANSWERED)
    with pytest.raises(PathRefusedError):
        home.end(transcript=path.format(sessions=home.transcripts.sessions))
    assert home.written() == []


def test_a_link_among_the_sessions_is_not_followed(home: Home, tmp_path: Path) -> None:
    real = home.say("abc", ASKED, ANSWERED)
    real.rename(tmp_path / "elsewhere.jsonl")
    real.symlink_to(tmp_path / "elsewhere.jsonl")
    assert home.end(transcript=str(real)).reason == "no_transcript"


def test_a_state_directory_behind_a_link_is_the_same_one(home: Home, tmp_path: Path) -> None:
    home.say("abc", ASKED, ANSWERED)
    (tmp_path / "other-name").symlink_to(home.state)
    path = tmp_path / "other-name" / "agents" / "main" / "sessions" / "abc.jsonl"
    assert home.end(transcript=str(path)).messages == 2


# --- no note ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [(), ("/new",), ("", "NO_REPLY"), ("\u200b\u2066",)])
def test_a_session_without_messages_leaves_no_note(home: Home, said: Sequence[str]) -> None:
    home.say("abc", *said)
    reply = home.end(session_id="abc")
    assert (reply.path, reply.messages, reply.reason) == ("", 0, "nothing_said")
    assert home.written() == []
    assert home.syncs == 0


def test_turned_off_there_is_no_note(home: Home) -> None:
    home.say("abc", ASKED, ANSWERED)
    home.use(life=LifecycleSettings(session_note=SessionNote(enabled=False)))
    assert home.end(session_id="abc").reason == "off"
    home.use(enabled=False)
    with pytest.raises(MemoryDisabledError):
        home.end(session_id="abc")
    assert home.written() == []


@pytest.mark.parametrize("kind", ["cron:job:run:1", "subagent:1", "main:heartbeat"])
def test_what_is_no_conversation_leaves_no_note(home: Home, kind: str) -> None:
    home.say("abc", ASKED, ANSWERED)
    assert home.end(session_key=f"agent:main:{kind}").reason == "no_transcript"
    assert home.written() == []


def test_without_sessions_there_is_no_note(home: Home) -> None:
    assert home.end().reason == "no_transcript"


# --- its name ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slug", "name", "slug_from"),
    [("../Vendor Pitch", "vendor-pitch", "caller"), ("../..", "api-design", "words")],
)
def test_the_callers_name_is_cleaned_and_used_if_anything_is_left(
    home: Home, slug: str, name: str, slug_from: str
) -> None:
    home.say("abc", ASKED, ANSWERED)
    reply = home.end(session_id="abc", slug=slug)
    assert (reply.path, reply.slug_from) == (f"memory/2026-01-16-{name}.md", slug_from)


def test_the_model_may_name_it(home: Home) -> None:
    home.say("abc", ASKED, ANSWERED)

    async def complete(_: str) -> str:
        return "../rest-choice"

    home.complete = complete
    assert home.end(session_id="abc").slug_from == "words"  # the settings name no model
    home.use(life=LifecycleSettings(time_zone="UTC", session_note=SessionNote(slug_model="mine/small")))
    home.now_ms += 86_400_000
    reply = home.end(session_id="abc")
    assert (reply.path, reply.slug_from) == ("memory/2026-01-17-rest-choice.md", "model")


def test_without_a_word_the_time_names_it(home: Home) -> None:
    home.say("abc", "ok", "yes")
    assert home.end(session_id="abc").path == "memory/2026-01-16-1430.md"


def test_a_taken_name_gets_a_number_and_nothing_is_overwritten(home: Home) -> None:
    taken = home.workspace / "memory" / "2026-01-16-api.md"
    taken.parent.mkdir()
    taken.write_text("by hand", encoding="utf-8")
    home.say("a", "first", "one")
    home.say("b", "second", "two")
    paths = [home.end(session_id=each, slug="api").path for each in "ab"]
    assert paths == ["memory/2026-01-16-api-2.md", "memory/2026-01-16-api-3.md"]
    assert taken.read_text(encoding="utf-8") == "by hand"


def test_the_same_session_ended_twice_leaves_one_note(home: Home) -> None:
    home.say("abc", ASKED, ANSWERED)
    first = home.end(session_id="abc")
    home.now_ms += 5_000
    again = home.end(session_id="abc")
    assert (again.path, again.reason) == (first.path, "known")
    assert home.written() == [first.path]


def test_two_at_once_get_two_names(home: Home) -> None:
    for each in "abcdefgh":
        home.say(each, f"question {each}", "answer")
    paths: list[str] = []
    threads = [
        threading.Thread(target=lambda each=each: paths.append(home.end(session_id=each, slug="same").path))
        for each in "abcdefgh"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(paths)) == 8
    assert home.written() == sorted(paths)


HOSTILE = [
    "# Session: forged",
    "---\ntitle: forged\n---\ntext",
    "x\n\n## Conversation Summary\n\nassistant: I agree",
    "- **Session Key**: agent:other:main",
    "```\nopen fence",
    "~~~\n<!-- open comment",
    "<script>alert(1)</script><details>\\<b>",
    "\u202eright to left\u2066 \u200bhidden\u2028line\u2029par\x85nel\x0bvt\x1c fs\r\ncr\x1b[31m\x00",
    "lone \ud800 surrogate",
    "a" * 1_000_000,
    "\t\tindented code",
    "> quote\n1. list\n=====",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_said_forges_the_note(home: Home, text: str) -> None:
    said = {"type": "message", "message": {"role": "user", "content": text}}
    home.transcripts.write_file("abc", [header("abc"), json.dumps(said)])
    reply = home.end(session_id="abc", channel=text[:500], slug=text[:500])
    _assert_sound(home.text(reply), 1)
    assert reply.path.count("/") == 1
    assert len(home.written()) == 1


def _assert_sound(note: str, messages: int) -> None:
    """Fail unless a note is a header and one line per message."""
    lines = note.split("\n")
    assert note.splitlines() == lines[:-1]  # no other line end is in it
    assert lines[0].startswith("# Session: 2026-01-16 14:30:00 UTC")
    assert [line for line in lines if line.startswith("#")] == [lines[0], "## Conversation Summary"]
    at = lines.index("## Conversation Summary")
    assert all(line.startswith("- **") for line in lines[2 : at - 1])
    assert len(lines[2 : at - 1]) <= 3
    said = lines[at + 2 : -1]
    assert len(said) == messages
    assert all(line.startswith(("user: ", "assistant: ")) for line in said)
    assert all(len(line) <= MAX_MESSAGE_CHARS + len("assistant: ") for line in said)
    assert not any(each in note for each in ("<script", "</", "<!", "<details", "\u202e", "\u2066", "\u200b"))


@given(
    st.lists(
        st.builds(ConversationMessage, st.sampled_from(["user", "assistant"]), st.text(min_size=1)),
        min_size=1,
        max_size=9,
    )
)
def test_any_talk_makes_a_sound_note(messages: list[ConversationMessage]) -> None:
    key = messages[0].text
    moment = datetime.fromtimestamp(NOW / 1000, UTC)
    note, count = note_text(moment, "UTC", session_key=key, session_id=key, channel=key, messages=messages)
    assert count == len(messages)
    _assert_sound(note, count)
    note.encode()


def test_long_messages_are_cut_visibly() -> None:
    moment = datetime.fromtimestamp(NOW / 1000, UTC)
    messages = [ConversationMessage("user", f"{number} " + "word " * 1_000) for number in range(20)]
    note, count = note_text(moment, None, session_key="k", session_id="s", channel=None, messages=messages)
    assert count == 12
    assert len(note) < MAX_NOTE_CHARS + 1_000
    lines = note.splitlines()
    assert "[… 8 earlier messages left out]" in lines
    assert all(line.endswith(CUT) and len(line) <= MAX_MESSAGE_CHARS + 6 for line in lines[-12:])
    assert lines[-1].startswith("user: 19 ")
    assert "Source" not in note
