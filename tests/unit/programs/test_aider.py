"""Conversations of aider: chats in Markdown, one after the other in one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memd.programs.aider import READER, find_places
from memd.programs.catalog import PROGRAMS, Places
from memd.programs.conversation import Break, Conversation
from memd.programs.program import TranscriptFile
from memd.programs.readers import find_places as find_all_places
from memd.settings.sources import SourceConfig
from memd.sources.open import open_source
from tests.support.growth import check_linear
from tests.support.transcript_programs.aider import (
    COMMAND,
    NAME,
    NOISE_TEXTS,
    answered,
    every_trap,
    prompted,
    started,
)
from tests.support.transcript_programs.plain import START_MS


def read(text: str | bytes) -> Conversation:
    """Return the conversation in a file; empty lines are not given to readers."""
    data = text.encode() if isinstance(text, str) else text
    reader = READER.open(TranscriptFile("/home/eva/shop"))
    for place, line in enumerate(data.split(b"\n"), start=1):
        if line:
            reader.read(line, place)
    return reader.conversation()


def said(conversation: Conversation) -> list[tuple[str, str]]:
    """Return who said what."""
    return [message[:2] for message in conversation.messages]


QUESTION, ANSWER = prompted("Which port?"), answered("8443.")
TALK = [("user", "Which port?"), ("assistant", "8443.")]


def test_prompts_and_answers_have_the_time_of_their_chat_and_their_line() -> None:
    conversation = read(started() + QUESTION + ANSWER)
    assert [(message.place, message.time_ms) for message in conversation.messages] == [
        (7, START_MS),
        (9, START_MS),
    ]
    assert said(conversation) == TALK
    session = conversation.session
    assert (session.id, session.release, session.started_ms) == ("/home/eva/shop", "0.86.2", START_MS)


def test_lines_of_aider_and_commands_are_no_messages() -> None:
    assert said(read(started() + "".join(NOISE_TEXTS) + QUESTION + "".join(NOISE_TEXTS) + ANSWER)) == TALK


def test_words_of_a_command_come_once() -> None:
    chat = prompted("/ask Which port?") + QUESTION + ANSWER
    assert said(read(started() + chat)) == TALK


@pytest.mark.parametrize(
    "answer",
    [
        "8443.\n\nIt is in `ports.txt`.",
        "#### Ports\n\n- 8443\n- 443",
        "# Ports\n> a quote\n> of two lines",
        "```\n#### not a prompt  \n> not aider  \n# aider chat started at 2026-01-01 00:00:00\n```",
        "src/a.py\n<<<<<<< SEARCH\n=======\n#### b\n>>>>>>> REPLACE",
    ],
)
def test_answers_may_look_like_other_lines(answer: str) -> None:
    conversation = read(started() + QUESTION + answered(answer) + prompted("Why?"))
    joined = answer.replace("\n\n", "\n")
    assert said(conversation) == [("user", "Which port?"), ("assistant", joined), ("user", "Why?")]


def test_prompt_of_several_lines_is_one_message_and_the_next_prompt_another() -> None:
    chat = prompted("Which port?\n\n    Of staging.") + prompted("Well?")
    assert said(read(started() + chat)) == [("user", "Which port?\n\n    Of staging."), ("user", "Well?")]


def test_each_chat_but_the_first_begins_after_a_break() -> None:
    empty = started(60)
    conversation = read(started() + QUESTION + ANSWER + empty + started(120) + QUESTION + ANSWER)
    assert conversation.breaks == [Break(2, 2, START_MS + 120_000)]
    assert [message.time_ms for message in conversation.messages] == [START_MS, START_MS] + [
        START_MS + 120_000
    ] * 2


@pytest.mark.parametrize(
    ("command", "is_headless"),
    [
        (f"{COMMAND} --message Which port?", True),
        (f"{COMMAND} --message=x", True),
        (f"{COMMAND} -m x", True),
        (f"{COMMAND} --msg x --yes-always", True),
        (f"{COMMAND} --message-file prompt.txt", True),
        (f"{COMMAND} -f prompt.txt", True),
        (f"{COMMAND} --message Which port\n\n of staging?", True),
        (f"{COMMAND} --map-tokens 0", False),
        ("aider --model -m.gguf", False),
        ("aider --file a-m b-f", False),
    ],
)
def test_chat_without_a_person_is_left_out(command: str, is_headless: bool) -> None:
    conversation = read(started(command=command) + QUESTION + ANSWER)
    assert said(conversation) == ([] if is_headless else TALK)


def test_every_trap_is_no_message() -> None:
    conversation = read(b"\n".join(every_trap()))
    assert said(conversation) == [
        ("user", "Which port?\n\nOf staging."),
        ("assistant", "8443.\n> as noted\n#### Ports"),
        ("user", "Tea?"),
        ("assistant", "Green."),
    ]


def test_conversation_grows_line_by_line() -> None:
    reader = READER.open(TranscriptFile("/home/eva/shop"))
    lines = (started() + QUESTION + ANSWER + started(60) + QUESTION).encode().split(b"\n")
    for place, line in enumerate(lines, start=1):
        if line:
            reader.read(line, place)
        known = [line for line in lines[:place] if line]
        assert reader.conversation() == read(b"\n".join(lines[:place])), known


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe\n\n#### \xff  ", b"#### x", b"# aider chat started at 9999-99-99 00:00:00"]
)
def test_damaged_files_are_read_as_far_as_possible(data: bytes) -> None:
    conversation = read(b"\n" + data)
    assert [message.role for message in conversation.messages] == (
        ["user"] if b"####" in data and b"  " in data else []
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda size: b"#### " + b" " * size + b"x",
        lambda size: b"> " + b"aider" * size,
        lambda size: b"> aider " + b" -" * size,
        lambda size: b"#### " + b"(Y" * size + b"  ",
        lambda size: b"# aider chat started at " + b" " * size,
    ],
)
def test_hostile_lines_are_read_in_linear_time(make: Callable[[int], bytes]) -> None:
    check_linear(lambda size: b"\n" + make(size) + b"\n\n" + make(size), read, 20_000)


# --- files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "session", "cwd"),
    [
        (NAME, "/code", "/code"),
        (f"shop/{NAME}", "/code/shop", "/code/shop"),
        ("aider-history.md", "/code/aider-history.md", ""),
        (".aider.input.history", None, None),
        ("README.md", None, None),
    ],
)
def test_session_is_the_file_of_a_project(path: str, session: str | None, cwd: str | None) -> None:
    file = READER.transcript_in("/code", path)
    assert (file.session_id if file is not None else None) == session
    details = READER.read_details(Path("/code"), session or "/code")
    assert details is not None
    assert session is None or details.cwd == cwd


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("shop", True),
        ("clients/shop", True),
        (".git", False),
        ("shop/.git", False),
        ("node_modules", False),
        ("a/b/c", False),
    ],
)
def test_folder_that_a_user_adds_is_walked_two_levels_deep(path: str, expected: bool) -> None:
    assert READER.is_walked(path) == expected


def test_places_are_the_home_folder_a_file_of_a_variable_and_the_projects_of_other_programs(
    tmp_path: Path,
) -> None:
    for name in ("shop", "web", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / ".claude.json").write_text(
        f'{{"projects": {{"{tmp_path}/shop": {{}}, "{tmp_path}/gone": {{}}}}}}'
    )
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text(f'[projects."{tmp_path}/web"]\ntrust_level = "trusted"\n')
    places = Places(tmp_path, {"AIDER_CHAT_HISTORY_FILE": f"{tmp_path}/notes/aider-history.md"}, "linux")
    conversations = PROGRAMS["aider"].conversations
    assert conversations is not None
    assert set(find_all_places(conversations, places)) == {
        tmp_path,
        tmp_path / "notes",
        tmp_path / "shop",
        tmp_path / "web",
    }
    assert find_places(Places(tmp_path / "shop", {"AIDER_CHAT_HISTORY_FILE": "relative.md"}, "linux")) == []


def test_projects_are_not_searched_but_a_folder_that_a_user_adds_is(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "shop", tmp_path / "shop/web"):
        folder.mkdir(exist_ok=True)
        (folder / NAME).write_text(started() + QUESTION + ANSWER)
    places = Places(tmp_path, {}, "linux")
    own = open_source(SourceConfig("aider", "aider", "transcripts", None), places, 1_000).source
    added = open_source(SourceConfig("aider", "aider", "transcripts", tmp_path), places, 1_000).source
    assert len(own.find().files) == 1
    assert len(added.find().files) == 3
