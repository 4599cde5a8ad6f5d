"""The messages of a conversation with Codex: their words, and turns that may be undone."""

from __future__ import annotations

import re
from typing import Final

from memd.programs.conversation import Message, Role

_REQUEST = re.compile(r"^## My request for Codex:[ \t]*$", re.MULTILINE)
"""Heading of a person's words in a prompt of an editor, behind the editor's context."""

_KNOWN_TAGS: Final = (
    "environment_context|user_instructions|apps_instructions|plugins_instructions|skills_instructions|skill"
    "|permissions instructions|permissions|collaboration_mode|model_switch|personality_spec|user_shell_command"
    "|user_action|turn_aborted|subagent_notification|hook_context|hook_prompt|goal_context|ide_context"
    "|codex_internal_context|recommended_plugins|realtime_conversation"
)
_OPENING = re.compile(rf"\s*(?:<(?:{_KNOWN_TAGS})[\s>]|<INSTRUCTIONS>|# AGENTS\.md instructions\b)")
"""How text that Codex adds begins."""

_EDITOR_CONTEXT: Final = "# Context from my IDE setup:"

_SENT_OPENING = re.compile(
    r"\s*(?:</?[a-z][a-z0-9_ -]{0,60}(?:[\s>/=]|$)|Another language model started to solve this problem\b"
    r"|Warning: (?:apply_patch was requested via|The maximum number of unified exec processes)\b)"
)
"""How text begins that isn't a person's if it is only found in a message sent to the model."""


def person_text(text: str) -> str:
    """Return the words of a person in a prompt; "" if there are none."""
    if _OPENING.match(text) is not None:
        return ""
    headings = [*_REQUEST.finditer(text)] if "## My request for Codex:" in text else []
    if headings:
        text = text[headings[-1].end() :]
    text = text.strip()
    return "" if text.startswith(_EDITOR_CONTEXT) or _OPENING.match(text) is not None else text


def answer_text(text: str) -> str:
    """Return the visible text of an answer."""
    return text.strip()


def is_injected(text: str) -> bool:
    """Return whether a text in a message sent to the model as a user's is none of a person."""
    return _SENT_OPENING.match(text) is not None or _OPENING.match(text) is not None


class CodexConversation:
    """Messages in order, in turns. A turn begins when Codex says so, else with a message of the user."""

    def __init__(self) -> None:
        self._messages: list[tuple[Message, str]] = []
        self._turns: list[int] = []
        """For each turn with a message of the user, the number of messages before it."""
        self._keys: set[str] = set()
        self._is_in_turn = False
        self._has_user = False

    def messages(self) -> list[Message]:
        """Return the messages."""
        return [message for message, _ in self._messages]

    def begin_turn(self) -> None:
        """Begin a turn; further messages of the user belong to it."""
        self._is_in_turn, self._has_user = True, False

    def end_turn(self) -> None:
        """End a turn."""
        self._is_in_turn = False

    def add(
        self, role: Role, text: str, place: int, time_ms: int | None, *, form: str = "", key: str = ""
    ) -> None:
        """Add a message, unless it has no text, its key is known, or it repeats the last one in another form."""
        if key in self._keys or self._is_repeated(role, text, form):
            return
        if role == "user" and not (self._is_in_turn and self._has_user):
            self._turns.append(len(self._messages))
            self._has_user = True
        if not text:
            return
        if key:
            self._keys.add(key)
        self._messages.append((Message(role, text, place, key, time_ms), form))

    def roll_back(self, count: object) -> None:
        """Remove the last turns."""
        if isinstance(count, bool) or not isinstance(count, int) or count <= 0 or not self._turns:
            return
        first = max(0, len(self._turns) - count)
        del self._messages[self._turns[first] :]
        del self._turns[first:]
        self._is_in_turn = False

    def _is_repeated(self, role: Role, text: str, form: str) -> bool:
        """Return whether a message repeats the last one in another form: a file may have both."""
        if not self._messages:
            return False
        last, last_form = self._messages[-1]
        return last_form != form and (last.role, last.text) == (role, text)
