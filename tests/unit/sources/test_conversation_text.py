"""Conversations as text, and what the index keeps about their sessions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from memd.programs.conversation import Conversation, Message, Session
from memd.sources import conversation_text
from memd.sources.conversation_text import ConversationLines, clean_title
from memd.sources.projects import facts_of, find_project
from memd.text.transcripts.injected import CLOSING, OPENING, without_injected

KEY = "sk-proj-" + "Zx9" * 16


def lines_of(*messages: Message) -> ConversationLines:
    """Return the lines of messages."""
    lines = ConversationLines()
    lines.update(messages)
    return lines


def test_each_message_is_one_line_with_its_place_and_time() -> None:
    talk = lines_of(
        Message("user", "Which\n\nport? ", 3, time_ms=5), Message("assistant", "8443.", 7, time_ms=9)
    ).text()
    assert talk.text == "User: Which port?\nAssistant: 8443."
    assert (talk.numbers, talk.times) == ((3, 7), (5, 9))


def test_a_message_with_nothing_left_has_no_line() -> None:
    talk = lines_of(Message("user", f"{OPENING}x{CLOSING}", 1), Message("user", " \n", 2)).text()
    assert (talk.text, talk.numbers, talk.times) == ("", (), ())


def test_times_are_left_out_if_none_is_known() -> None:
    assert lines_of(Message("user", "a", 1)).text().times == ()
    assert lines_of(Message("user", "a", 1), Message("user", "b", 2, time_ms=4)).text().times == (0, 4)


def test_only_changed_messages_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = [Message("user", "a", 1), Message("assistant", "b", 2)]
    lines = lines_of(*first)
    read: list[str] = []

    def redact(text: str) -> tuple[str, int]:
        read.append(text)
        return text, 0

    monkeypatch.setattr(conversation_text, "redact", redact)
    lines.update([*first, Message("user", "c", 3)])
    lines.update([first[0], Message("assistant", "changed", 2)])
    assert read == ["c", "changed"]
    assert lines.text().text == "User: a\nAssistant: changed"


def test_the_newest_lines_of_a_huge_conversation_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_text, "MAX_TEXT_CHARS", 20)
    assert lines_of(*(Message("user", f"line {at}", at) for at in range(9))).text().text == "User: line 8"


def test_a_title_is_one_line_without_secrets() -> None:
    assert clean_title(f"Use\n{KEY} now") == "Use [redacted:openai-key] now"
    assert len(clean_title("word " * 500)) == 200


def test_injected_memory_is_left_out_also_if_it_was_cut_off() -> None:
    assert without_injected(f"a {OPENING}x{CLOSING} b {OPENING}y{CLOSING}") == "a  b"
    assert without_injected(f"a\n{OPENING}cut off") == "a"
    assert without_injected("plain") == "plain"


def test_facts_have_what_the_conversation_lacks_from_the_file() -> None:
    conversation = Conversation(Session(title="T", cwd="/nowhere/x"), broken=2)
    conversation.unknown["odd"] = 3
    facts = facts_of("codex", conversation, session_id="s", updated_ms=7, skipped=1)
    assert (facts.program, facts.session, facts.updated_ms, facts.unknown) == ("codex", "s", 7, 6)
    assert (facts.cwd, facts.project, facts.title) == ("/nowhere/x", "/nowhere/x", "T")


def test_a_project_is_the_root_of_its_repository_and_worktrees_are_one(tmp_path: Path) -> None:
    shop, tree = tmp_path / "shop", tmp_path / "shop-fix"
    (shop / "src").mkdir(parents=True)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", "-C", str(shop)]
    for command in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", str(tree)],
    ):
        subprocess.run([*git, *command], check=True, capture_output=True)
    assert find_project(str(shop / "src")) == str(shop)
    assert find_project(str(tree)) == str(shop)
    assert find_project(str(tmp_path)) == str(tmp_path)


@pytest.mark.parametrize("cwd", ["", "relative/x", "/x\0y", "C:\\work"])
def test_what_is_no_directory_is_its_own_project(cwd: str) -> None:
    assert find_project(cwd) == cwd
