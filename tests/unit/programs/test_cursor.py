"""Conversations of Cursor's command line: words in `<user_query>`, and the text of answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.programs.conversation import Conversation
from memd.programs.cursor import READER, queries_in
from memd.programs.program import TranscriptFile
from memd.sources.conversations import ConversationFiles
from tests.support.transcript_programs.cursor import (
    MACHINE,
    START_MS,
    TURN_ENDED,
    every_trap,
    line,
    query,
    write_meta,
)
from tests.support.transcript_programs.mutations import mutated

MESSAGE = [
    ("user", "Which port does staging use?"),
    ("assistant", "Let me look."),
    ("assistant", "8443."),
    ("user", "And production?"),
]


def read(lines: Iterable[str | bytes], path: str = "home-eva/agent-transcripts/c1/c1.jsonl") -> Conversation:
    file = READER.transcript_at(path)
    assert file is not None
    reader = READER.open(file)
    for place, each in enumerate(lines, start=1):
        reader.read(each if isinstance(each, bytes) else each.encode("utf-8", "surrogatepass"), place)
    return reader.conversation()


def talk(conversation: Conversation) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in conversation.messages]


def test_only_words_of_people_and_text_of_answers_are_messages() -> None:
    conversation = read(every_trap())
    assert talk(conversation) == MESSAGE
    assert [each.place for each in conversation.messages] == [1, 2, 4, 8]
    assert not conversation.unknown
    assert conversation.broken == 0


def test_transcript_that_only_has_ended_turns_has_no_messages() -> None:
    conversation = read([TURN_ENDED] * 3)
    assert conversation.messages == []
    assert not conversation.unknown


def test_words_without_tags_are_those_of_print_mode() -> None:
    lines = [
        line("user", "Run the tests"),
        line("assistant", "All pass."),
        line("user", f"<rules>{MACHINE}</rules>"),
    ]
    assert talk(read(lines)) == [("user", "Run the tests"), ("assistant", "All pass.")]


def test_words_without_tags_are_left_out_of_a_transcript_with_tags() -> None:
    lines = [line("user", MACHINE), line("user", query("Tea?")), line("user", MACHINE)]
    assert talk(read(lines)) == [("user", "Tea?")]


def test_summary_of_an_earlier_conversation_is_left_out() -> None:
    assert talk(read([line("user", f"[Previous conversation summary]: {MACHINE}")])) == []


def test_transcript_is_read_on_after_a_conversation_was_returned() -> None:
    reader = READER.open(TranscriptFile("c1", rank=3))
    seen = []
    for place, each in enumerate(every_trap(), start=1):
        reader.read(each.encode(), place)
        seen.append(len(reader.conversation().messages))
    assert seen == [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4]
    assert talk(reader.conversation()) == MESSAGE


def test_broken_and_unknown_records_are_counted() -> None:
    records = [
        '{"role":"user","mess',
        '{"type":"hologram"}',
        "[]",
        '"text"',
        line("assistant", {"type": "hologram"}),
    ]
    conversation = read([*records, b"\xff\xfe", "", '{"a":' * 5_000])
    assert conversation.messages == []
    assert conversation.broken == 5
    assert dict(conversation.unknown) == {"hologram": 1, "block hologram": 1}


def test_lone_surrogates_are_replaced_and_invalid_lines_left_out() -> None:
    broken = '{"role":"assistant","message":{"content":[{"type":"text","text":"a\\ud83d b\\ud83d\\ude00 \\\\ud83d"}]}}'
    raw = line("assistant", "x").encode().replace(b'"x"', b'"c\xff"')
    conversation = read([broken, raw])
    assert [text for _, text in talk(conversation)] == ["a\ufffd b😀 \\ud83d"]
    assert conversation.broken == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", []),
        (query("one"), ["one"]),
        (query("one") + MACHINE + query("two\nlines"), ["one", "two\nlines"]),
        ("<user_query>open", ["open"]),
        ("</user_query><user_query></user_query>", [""]),
    ],
)
def test_queries_in_a_text(text: str, expected: list[str]) -> None:
    assert queries_in(text) == expected


# --- text of old releases ---------------------------------------------------------------------------

OLD = f"""user:
<attached_files>
{MACHINE}
</attached_files>
<user_query>
Which port does staging use?
assistant:
is a line of the question
</user_query>

assistant:
[Thinking] {MACHINE}
{MACHINE}

assistant:
Let me look.
[Tool call] Shell
  command: {MACHINE}
[Tool result] Shell
{MACHINE}

assistant:
8443.
user:
{MACHINE}
"""


def test_old_text_is_read_without_thinking_and_tools() -> None:
    conversation = read(OLD.split("\n"), "p/agent-transcripts/c1.txt")
    assert talk(conversation) == [
        ("user", "Which port does staging use?\nassistant:\nis a line of the question"),
        ("assistant", "Let me look."),
        ("assistant", "8443."),
    ]
    assert [each.place for each in conversation.messages] == [1, 15, 22]


# --- places -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("p/agent-transcripts/c1/c1.jsonl", TranscriptFile("c1", "main", 3)),
        ("p/agent-transcripts/c1.jsonl", TranscriptFile("c1", "main", 2)),
        ("p/agent-transcripts/c1/c1.txt", TranscriptFile("c1", "main", 1)),
        ("p/agent-transcripts/c1.txt", TranscriptFile("c1", "main", 0)),
        ("p/agent-transcripts/c1/subagents/c2.jsonl", TranscriptFile("c2", "subagent", 3)),
        ("p/agent-transcripts/c1/c2.jsonl", None),
        ("p/agent-transcripts/c1.json", None),
        ("p/agent-transcripts/.jsonl", None),
        ("p/agent-tools/c1.txt", None),
        ("p/terminals/1.txt", None),
        ("p/agent-transcripts/c1/subagents/deep/c2.jsonl", None),
    ],
)
def test_transcript_by_its_path(path: str, expected: TranscriptFile | None) -> None:
    assert READER.transcript_at(path) == expected
    if expected is not None:
        parts = path.split("/")[:-1]
        assert all(READER.is_walked("/".join(parts[:count])) for count in range(1, len(parts) + 1))


@pytest.mark.parametrize(
    "path", ["p/agent-tools", "p/agent-transcripts/c1/files", "p/terminals", "p/a/b/c/d/e"]
)
def test_other_folders_are_not_walked(path: str) -> None:
    assert not READER.is_walked(path)


# --- facts next to the transcripts -------------------------------------------------------------------


def test_details_come_from_the_newest_meta_file(tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    assert READER.read_details(projects, "c1") is None
    write_meta(projects, "w1", "c1", title="Old", cwd="/old", createdAtMs=START_MS, updatedAtMs=START_MS + 1)
    write_meta(
        projects,
        "w2",
        "c1",
        title="Ports",
        cwd="/home/eva/shop",
        createdAtMs=START_MS,
        updatedAtMs=START_MS + 2,
    )
    write_meta(projects, "w2", "c2", title=7, cwd=None, createdAtMs="soon", isSubagent=True)
    session = READER.read_details(projects, "c1")
    assert session is not None
    assert (session.title, session.cwd, session.kind) == ("Ports", "/home/eva/shop", "main")
    assert (session.started_ms, session.updated_ms) == (START_MS, START_MS + 2)
    other = READER.read_details(projects, "c2")
    assert other is not None
    assert (other.title, other.cwd, other.started_ms, other.kind) == ("", "", None, "subagent")
    assert READER.read_details(projects, "c3") is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"a":' * 5_000])
def test_broken_meta_file_says_nothing(tmp_path: Path, content: str) -> None:
    write_meta(tmp_path / "projects", "w1", "c1")
    (tmp_path / "chats/w1/c1/meta.json").write_text(content)
    assert READER.read_details(tmp_path / "projects", "c1") is None


def test_indexed_transcript_has_the_details(tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    folder = projects / "home-eva-shop/agent-transcripts"
    for path, text in {
        "c1/c1.jsonl": line("user", query("Tea?")),
        "c1.jsonl": line("user", query("older")),
        "c1.txt": f"user:\n{query('oldest')}",
        "c1/subagents/c2.jsonl": line("user", query(MACHINE)),
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text + "\n")
    write_meta(
        projects,
        "w1",
        "c1",
        title="Ports",
        cwd="/nowhere/shop",
        createdAtMs=START_MS,
        updatedAtMs=START_MS + 9,
    )
    transcripts = ConversationFiles("cursor", READER, [projects])
    found = transcripts.find().files
    assert found.keys() == {"cursor/c1"}
    loaded = transcripts.load(found["cursor/c1"])
    transcripts.close()
    assert loaded.text == "User: Tea?"
    assert loaded.facts is not None
    assert (loaded.facts.title, loaded.facts.cwd, loaded.facts.session) == ("Ports", "/nowhere/shop", "c1")
    assert (loaded.facts.started_ms, loaded.facts.updated_ms) == (START_MS, START_MS + 9)


# --- hostile lines ----------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_lines_never_raise_or_become_words_of_a_person(data: st.DataObject) -> None:
    lines: list[str | bytes] = [line("user", query("An undamaged question")), *every_trap()]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(1, len(lines) - 1))
        stored = lines[at]
        if isinstance(stored, str) and is_json(stored):
            value = data.draw(mutated(stored))
            lines[at] = value if isinstance(value, (str, bytes)) else json.dumps(value)
    conversation = read(lines)
    for message in conversation.messages:
        assert message.text.strip()
        assert message.text.encode()
        assert MACHINE not in message.text
    places = [message.place for message in conversation.messages]
    assert places == sorted(places)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(OLD.split("\n")) | st.text(max_size=20), max_size=30), st.binary(max_size=20))
def test_old_text_in_any_order_never_raises(lines: list[str], junk: bytes) -> None:
    for message in read([*lines, junk], "p/agent-transcripts/c1.txt").messages:
        assert message.text.strip()
        assert message.text.encode()


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
