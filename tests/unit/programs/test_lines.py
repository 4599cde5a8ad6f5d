"""Programs with a file of lines per session: whose words their records are, their sessions and their paths."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from memd.programs.catalog import PROGRAMS
from memd.programs.conversation import Conversation, Message
from memd.programs.lines import TABLES, LinesFiles, Record
from memd.programs.program import FileReader, TranscriptFile
from memd.programs.readers import reader_of
from tests.support.transcript_programs import lines_traps
from tests.support.transcript_programs.lines_traps import ALSO, MACHINE, SESSION, TALK, TRAPS
from tests.support.transcript_programs.mutations import BROKEN_LINES
from tests.support.transcript_programs.plain import CWD

TIMED = f"2026-11-02T08-00-00-000Z_{SESSION}"


def reader_for(name: str) -> FileReader:
    """Return the reader of a program's files."""
    conversations = PROGRAMS[name].conversations
    assert conversations is not None
    reader = reader_of(conversations)
    assert isinstance(reader, FileReader)
    return reader


def read(name: str, lines: Iterable[bytes], path: str = "") -> Conversation:
    """Return the conversation in a file's lines."""
    program = reader_for(name)
    file = program.transcript_at(path or TRAPS[name][0])
    assert file is not None
    reader = program.open(file)
    for place, line in enumerate(lines, start=1):
        reader.read(line, place)
    return reader.conversation()


def talk(conversation: Conversation) -> list[tuple[str, str]]:
    """Return who said what."""
    return [(each.role, each.text) for each in conversation.messages]


def said(conversation: Conversation) -> list[str]:
    """Return what was said."""
    return [each.text for each in conversation.messages]


# --- whose words ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRAPS)
def test_session_with_every_record_has_the_words_of_its_user_and_the_answers(name: str) -> None:
    lines = TRAPS[name][1]()
    conversation = read(name, lines)

    assert talk(conversation) == TALK
    assert not conversation.unknown
    assert conversation.broken == 0
    assert sum(MACHINE in line.decode() for line in lines) >= 4
    assert MACHINE not in conversation.session.title


@pytest.mark.parametrize("name", TRAPS)
def test_unknown_and_broken_records_are_counted_and_skipped(name: str) -> None:
    lines = TRAPS[name][1]()
    strange = b'{"type": "telepathy", "kind": "telepathy", "source": "telepathy", "role": "telepathy"}'
    conversation = read(name, [*lines[:1], *BROKEN_LINES, strange, b" ", *lines[1:]])

    assert talk(conversation) == TALK
    assert conversation.broken == len(BROKEN_LINES)
    assert sum(conversation.unknown.values()) == 1


@pytest.mark.parametrize("name", TRAPS)
def test_reading_on_after_a_conversation_equals_reading_at_once(name: str) -> None:
    path, lines_of = TRAPS[name]
    lines = lines_of()
    program = reader_for(name)
    file = program.transcript_at(path)
    assert file is not None
    reader = program.open(file)
    for place, line in enumerate(lines, start=1):
        reader.read(line, place)
        if place % 7 == 0 or place == len(lines):
            assert reader.conversation() == read(name, lines[:place])


@pytest.mark.parametrize("name", TRAPS)
def test_prompts_of_a_subagents_session_are_words_of_an_agent(name: str) -> None:
    _, lines_of = TRAPS[name]
    program = reader_for(name)
    reader = program.open(TranscriptFile("p1/a1", "subagent"))
    for place, line in enumerate(lines_of(), start=1):
        reader.read(line, place)

    assert {message.role for message in reader.conversation().messages} == {"assistant"}
    assert reader.conversation().session.kind == "subagent"


def test_lone_surrogate_becomes_a_replacement_character() -> None:
    line = b'{"type":"user_input","user_input":{"user_response":"a\\ud83d b"}}'
    assert said(read("windsurf", [line])) == ["a\ufffd b"]


# --- sessions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "title", "cwd"),
    [
        ("qwen", "Ports", CWD),
        ("pi", "Ports", CWD),
        ("deepseek", "Ports", CWD),
        ("workbuddy", TALK[0][1], CWD),
        ("grok", TALK[0][1], ""),
    ],
)
def test_session_has_its_title_folder_and_times(name: str, title: str, cwd: str) -> None:
    session = read(name, TRAPS[name][1]()).session

    assert (session.title, session.cwd) == (title, cwd)
    assert session.started_ms is not None
    assert session.updated_ms is not None
    assert session.started_ms < session.updated_ms


def test_qwen_session_has_its_branch_and_release() -> None:
    session = read("qwen", lines_traps.qwen()).session

    assert (session.branch, session.release) == ("main", "0.24.4")


@pytest.mark.parametrize(
    ("name", "file", "content", "expected"),
    [
        (
            "kimi-code",
            f"wd_shop_0123/{SESSION}/state.json",
            {"title": "Ports", "cwd": CWD, "forkedFrom": "other", "createdAt": 5, "updatedAt": "1970-01-01"},
            ("Ports", CWD, "other", 5, "main"),
        ),
        (
            "kimi-code",
            f"wd_shop_0123/{SESSION}/state.json",
            {"title": 7, "workDir": CWD, "createdAt": "2026-11-02T08:00:00Z"},
            ("", CWD, "", 1_793_606_400_000, "main"),
        ),
        (
            "grok",
            f"%2Fx/{SESSION}/summary.json",
            {
                "info": {"cwd": CWD},
                "generated_title": "",
                "session_summary": "Ports",
                "session_kind": "headless",
            },
            ("Ports", CWD, "", None, "machine"),
        ),
        (
            "grok",
            f"%2Fx/{SESSION}/summary.json",
            {"info": [], "session_kind": ["x"], "parent_session_id": "other"},
            ("", "", "other", None, "main"),
        ),
        ("kiro-cli", f"{SESSION}.json", {"title": "Ports", "cwd": CWD}, ("Ports", CWD, "", None, "main")),
        (
            "claude-cowork",
            "org/space/local_1.json",
            {"cliSessionId": SESSION, "title": "Ports", "createdAt": 5},
            ("Ports", "", "", 5, "main"),
        ),
    ],
)
def test_file_next_to_a_transcript_describes_its_session(
    tmp_path: Path,
    name: str,
    file: str,
    content: object,
    expected: tuple[str, str, str, int | None, str],
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(json.dumps(content))
    (tmp_path / "empty").mkdir()
    found = reader_for(name).read_details(tmp_path, SESSION)

    assert found is not None
    assert (found.title, found.cwd, found.parent, found.started_ms, found.kind) == expected


@pytest.mark.parametrize("content", ["", "[]", "{", '{"work_dirs": 7}', '{"work_dirs": [7, {"path": 7}]}'])
@pytest.mark.parametrize("name", ["kimi-code", "kimi-cli", "grok", "kiro-cli", "claude-cowork", "qwen"])
def test_damaged_or_missing_details_are_none(tmp_path: Path, name: str, content: str) -> None:
    folder = tmp_path / "sessions"
    for file in (
        f"a/{SESSION}/state.json",
        f"a/{SESSION}/summary.json",
        f"{SESSION}.json",
        "a/b/local_1.json",
    ):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(content)
    (tmp_path / "kimi.json").write_text(content)

    for session_id in (SESSION, "../x", "p1/a1", "other"):
        for place in (folder, folder / "missing"):
            found = reader_for(name).read_details(place, session_id)
            assert found is None or (found.title, found.cwd) == ("", "")


def test_kimi_cli_session_is_in_the_folder_whose_hash_it_is_below(tmp_path: Path) -> None:
    hashed = hashlib.md5(CWD.encode(), usedforsecurity=False).hexdigest()
    (tmp_path / "sessions" / hashed / SESSION).mkdir(parents=True)
    (tmp_path / "kimi.json").write_text(json.dumps({"work_dirs": [{"path": "/x"}, {"path": CWD}]}))
    (tmp_path / "sessions" / hashed / SESSION / "state.json").write_text('{"custom_title": "Ports"}')
    found = reader_for("kimi-cli").read_details(tmp_path / "sessions", SESSION)
    assert found is not None
    assert (found.title, found.cwd) == ("Ports", CWD)


# --- undone and copied ------------------------------------------------------------------------------


def test_qwen_rewind_abandons_the_turns_after_its_place() -> None:
    file = lines_traps.QwenRecords()
    file.user("a")
    kept = file.model("a, answered")
    file.user("b")
    file.model("b, answered")
    file.system("rewind", {"truncatedCount": 2}, after=kept)
    assert said(read("qwen", lines_traps.lines_of(file.records))) == ["a", "a, answered"]
    file.user("c")
    assert said(read("qwen", lines_traps.lines_of(file.records))) == ["a", "a, answered", "c"]


def test_qwen_rewind_to_the_beginning_abandons_everything() -> None:
    file = lines_traps.QwenRecords()
    file.user("a")
    file.model("a, answered")
    file.system("rewind", after=None)
    file.user("b")
    assert said(read("qwen", lines_traps.lines_of(file.records))) == ["b"]


def test_qwen_branch_has_only_what_was_said_after_it() -> None:
    file = lines_traps.QwenRecords()
    file.user("a", forkedFrom={"sessionId": "other", "messageUuid": "m1"})
    file.model("a, answered", forkedFrom={"sessionId": "other", "messageUuid": "m2"})
    file.user("b")
    conversation = read("qwen", lines_traps.lines_of(file.records))
    assert said(conversation) == ["b"]
    assert conversation.session.parent == "other"


def test_qwen_message_has_its_place_id_and_time() -> None:
    file = lines_traps.QwenRecords()
    file.system("session_source", {})
    uuid = file.user(ALSO)
    assert read("qwen", lines_traps.lines_of(file.records)).messages == [
        Message("user", ALSO, 2, uuid, 1_793_606_401_000)
    ]


def kimi(*records: Record) -> list[str]:
    """Return what is said in a session of Kimi Code."""
    return said(read("kimi-code", lines_traps.lines_of(records)))


def asked(text: str, **origin: object) -> Record:
    """Return a prompt in Kimi Code."""
    message = {"role": "user", "content": text, "origin": {"kind": "user", **origin}}
    return {"type": "context.append_message", "message": message}


def answered(text: str) -> Record:
    """Return an answer of Kimi Code."""
    part = {"type": "text", "text": text}
    return {"type": "context.append_loop_event", "event": {"type": "content.part", "part": part}}


def test_kimi_undo_removes_the_last_turns() -> None:
    turns = [asked("a"), answered("A"), asked("b"), asked("steer", inTurn=True), asked("c"), answered("C")]
    assert kimi(*turns, {"type": "context.undo", "count": 1}) == ["a", "A", "b", "steer"]
    assert kimi(*turns, {"type": "context.undo", "count": 2}) == ["a", "A"]
    assert kimi(*turns, {"type": "context.undo", "count": 2}, asked("d")) == ["a", "A", "d"]


@pytest.mark.parametrize("count", [0, -1, 9, "1", None, True, 2**70, []])
def test_kimi_undo_of_turns_that_can_not_be_undone_removes_none_of_them(count: object) -> None:
    undo = {"type": "context.undo", "count": count}
    assert kimi(asked("a"), {"type": "context.clear"}, undo) == ["a"]


def test_kimi_undo_of_a_chosen_skill_keeps_what_was_said_before_it() -> None:
    skill = {"kind": "skill_activation", "trigger": "user-slash"}
    assert kimi(asked("a"), asked("x", **skill), answered("X"), {"type": "context.undo", "count": 1}) == ["a"]


def test_kimi_fork_has_only_what_was_said_after_it() -> None:
    assert kimi(asked("a"), answered("A"), {"type": "forked"}, asked("b")) == ["b"]


def test_pi_abandoned_branch_is_left_out() -> None:
    file = lines_traps.PiEntries()
    first = file.said("user", "a")
    file.said("assistant", "A")
    file.add("branch_summary", after=None, fromId=first, summary=MACHINE)
    file.said("user", "b")
    file.said("assistant", "B")
    assert said(read("pi", lines_traps.lines_of(file.records))) == ["a", "A", "b", "B"]
    again = lines_traps.PiEntries()
    root = again.add("model_change")
    again.said("user", "a")
    again.said("assistant", "A")
    again.said("user", "b", after=root)
    assert said(read("pi", lines_traps.lines_of(again.records))) == ["b"]


def test_pi_fork_has_only_what_was_said_after_it() -> None:
    file = lines_traps.PiEntries(
        parentSession="/home/eva/.pi/agent/sessions/--x--/2026-11-02T07-00-00-000Z_other.jsonl",
        timestamp="2026-11-02T08:00:02.500Z",
    )
    file.said("user", "a")
    file.said("assistant", "A")
    file.said("user", "b")
    conversation = read("pi", lines_traps.lines_of(file.records))
    assert said(conversation) == ["b"]
    assert conversation.session.parent == "other"


def test_deepseek_pieces_count_if_their_answer_never_came() -> None:
    file = lines_traps.DeepseekEvents()
    file.user("a")
    file.piece("to be ")
    file.pieces("con", "tin")
    assert said(read("deepseek", lines_traps.lines_of(file.records))) == ["a"]
    file.add("turn/end", {"turn": 0, "reason": {"kind": "interrupted"}})
    assert said(read("deepseek", lines_traps.lines_of(file.records))) == ["a", "to be contin"]


def test_deepseek_session_that_continues_another_has_only_its_own_events() -> None:
    file = lines_traps.DeepseekEvents(parentSession="other", seedLength=2)
    file.user("a")
    file.model({"type": "text", "text": "A"})
    file.user("b")
    conversation = read("deepseek", lines_traps.lines_of(file.records))
    assert said(conversation) == ["b"]
    assert conversation.session.parent == "other"


@pytest.mark.parametrize("header", [{"delegationDepth": 1}, {"origin": "subagent"}, {"delegationDepth": "x"}])
def test_deepseek_session_of_a_subagent_is_marked(header: dict[str, object]) -> None:
    file = lines_traps.DeepseekEvents(**header)
    assert read("deepseek", lines_traps.lines_of(file.records)).session.kind == "subagent"


def test_grok_fork_has_only_what_was_said_after_it() -> None:
    file = lines_traps.GrokUpdates()
    file.said("user", "a", session="other")
    file.said("agent", "A", session="other")
    file.said("user", "b", 1)
    assert said(read("grok", lines_traps.lines_of(file.records))) == ["b"]


def test_grok_pieces_of_a_message_are_joined_until_another_update() -> None:
    file = lines_traps.GrokUpdates()
    file.said("user", "a")
    file.said("user", "and b")
    file.said("agent", "one, ")
    file.said("agent", "two")
    file.add("tool_call")
    file.said("agent", "three")
    file.said("agent", "four", 1)
    conversation = read("grok", lines_traps.lines_of(file.records))
    assert said(conversation) == ["a\nand b", "one, two", "three", "four"]
    assert [message.place for message in conversation.messages] == [1, 3, 6, 7]


def test_grok_rewind_removes_a_prompt_and_what_follows_it() -> None:
    file = lines_traps.GrokUpdates()
    for number, text in enumerate("abc"):
        file.said("user", text, number)
        file.said("agent", text.upper(), number)
    targets: list[object] = ["1", None, 9, [], {}]
    for target in targets:
        file.add("rewind_marker", target_prompt_index=target)
    assert said(read("grok", lines_traps.lines_of(file.records))) == ["a", "A", "b", "B", "c", "C"]
    file.add("rewind_marker", target_prompt_index=1)
    file.said("user", "d", 1)
    assert said(read("grok", lines_traps.lines_of(file.records))) == ["a", "A", "d"]
    file.add("rewind_marker", target_prompt_index=0)
    assert said(read("grok", lines_traps.lines_of(file.records))) == []


def test_kimi_cli_context_of_an_older_session_is_read() -> None:
    conversation = read("kimi-cli", lines_traps.kimi_context(), f"0123abcd/{SESSION}/context.jsonl")
    assert talk(conversation) == TALK
    assert not conversation.unknown


@pytest.mark.parametrize("name", TABLES)
def test_each_table_opens_a_reader(name: str) -> None:
    reader = LinesFiles(TABLES[name]).open(TranscriptFile("x"))
    assert reader.conversation().messages == []


# --- paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("qwen", f"p/chats/{SESSION}.jsonl", TranscriptFile(SESSION)),
        ("qwen", f"p/subagents/{SESSION}/agent-a.jsonl", TranscriptFile(f"{SESSION}/agent-a", "subagent")),
        ("qwen", f"p/subagents/{SESSION}/agent-a.meta.json", None),
        ("qwen", f"p/chats/{SESSION}.runtime.json", None),
        ("kimi-code", f"w/{SESSION}/agents/main/wire.jsonl", TranscriptFile(SESSION)),
        (
            "kimi-code",
            f"w/{SESSION}/agents/agent-0/wire.jsonl",
            TranscriptFile(f"{SESSION}/agent-0", "subagent"),
        ),
        ("kimi-code", f"w/{SESSION}/state.json", None),
        ("kimi-cli", f"0a/{SESSION}/wire.jsonl", TranscriptFile(SESSION, rank=2)),
        ("kimi-cli", f"0a/{SESSION}/context.jsonl", TranscriptFile(SESSION, rank=1)),
        ("kimi-cli", f"0a/{SESSION}/context_1.jsonl", None),
        ("kimi-cli", f"0a/{SESSION}.jsonl", TranscriptFile(SESSION)),
        ("kimi-cli", f"0a/{SESSION}/subagents/a1/wire.jsonl", TranscriptFile(f"{SESSION}/a1", "subagent")),
        ("pi", f"--x--/{TIMED}.jsonl", TranscriptFile(SESSION)),
        ("pi", f"{TIMED}.jsonl", TranscriptFile(SESSION)),
        ("omp", f"-x/{TIMED}/Scout.jsonl", TranscriptFile(f"{SESSION}/Scout", "subagent")),
        ("pi", f"--x--/{SESSION}.jsonl", None),
        ("deepseek", f"p/{SESSION}/session.jsonl.zstd", TranscriptFile(SESSION, rank=1)),
        ("deepseek", f"p/{SESSION}/session.jsonl", TranscriptFile(SESSION)),
        ("grok", f"p/{SESSION}/updates.jsonl", TranscriptFile(SESSION)),
        ("grok", f"p/{SESSION}/chat_history.jsonl", None),
        ("grok", "p/prompt_history.jsonl", None),
        ("kiro-cli", f"{SESSION}.jsonl", TranscriptFile(SESSION)),
        ("kiro-cli", f"{SESSION}.json", None),
        ("antigravity", f"{SESSION}/.system_generated/logs/transcript.jsonl", TranscriptFile(SESSION)),
        ("antigravity", f"{SESSION}/plan.md", None),
        ("windsurf", f"{SESSION}.jsonl", TranscriptFile(SESSION)),
        ("workbuddy", f"p/{SESSION}/subagents/a1.jsonl", TranscriptFile(f"{SESSION}/a1", "subagent")),
        ("iflow", f"p/session-{SESSION}.jsonl", TranscriptFile(SESSION)),
        ("iflow", f"p/{SESSION}.jsonl", None),
        ("claude-cowork", f"o/w/local_1/.claude/projects/p/{SESSION}.jsonl", TranscriptFile(SESSION)),
        ("claude-cowork", f"o/w/other/.claude/projects/p/{SESSION}.jsonl", None),
        ("claude-cowork", f"p/{SESSION}.jsonl", None),
    ],
)
def test_paths_name_sessions_and_their_folders_are_walked(
    name: str, path: str, expected: TranscriptFile | None
) -> None:
    program = reader_for(name)
    assert program.transcript_at(path) == expected
    assert program.transcript_at(f"{path}/x") is None
    parts = path.split("/")[:-1]
    if expected is not None:
        assert all(program.is_walked("/".join(parts[:count])) for count in range(1, len(parts) + 1))
    assert not program.is_walked("/".join(["x"] * 9))


def test_ids_with_unsafe_names_are_no_transcripts() -> None:
    for session in ("..", ".x", "a b", "x" * 200):
        assert reader_for("kiro-cli").transcript_at(f"{session}.jsonl") is None
