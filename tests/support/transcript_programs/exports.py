"""Writers of chat exports, in the forms that ChatGPT, Claude and Google Takeout give them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tests.support.transcript_programs.plain import NOISE, START_MS, PlainWriter, stamp

START_S = START_MS / 1000

ACTIVITY = "Takeout/My Activity/Gemini Apps/MyActivity"
"""Path of the activities in an archive of Takeout, without the ending."""


def write_archive(path: Path, files: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write an archive as a download does: it appears whole."""
    draft = path.with_suffix(".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(draft, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return draft.replace(path)


# --- ChatGPT ----------------------------------------------------------------------------------------


def chatgpt_message(
    role: str, content: Mapping[str, Any] | str, at_s: float | None = START_S, **fields: Any
) -> dict[str, Any]:
    """Return a message; a string is its text."""
    if isinstance(content, str):
        content = {"content_type": "text", "parts": [content]}
    return {
        "id": f"m-{at_s}",
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at_s,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
        **fields,
    }


def chatgpt_tree(*messages: dict[str, Any] | None) -> tuple[dict[str, Any], str]:
    """Return the nodes of messages that follow each other, and the last one's name. The first node has none."""
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for number, message in enumerate(messages):
        name = f"n{number}"
        nodes[parent]["children"].append(name)
        nodes[name] = {"id": name, "message": message, "parent": parent, "children": []}
        parent = name
    return nodes, parent


def chatgpt_conversation(session: str, *messages: dict[str, Any] | None, **fields: Any) -> dict[str, Any]:
    """Return a conversation."""
    mapping, current = chatgpt_tree(*messages)
    return {
        "title": "Ports",
        "create_time": START_S,
        "update_time": START_S + 60,
        "mapping": mapping,
        "moderation_results": [],
        "current_node": current,
        "conversation_id": session,
        "id": session,
        "gizmo_id": None,
        **fields,
    }


# --- Claude -----------------------------------------------------------------------------------------


def claude_message(
    sender: str, text: str, turn: int = 0, content: Sequence[Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return a message; without other content its text is its only block."""
    block = {"start_timestamp": stamp(turn), "stop_timestamp": stamp(turn), "type": "text", "text": text}
    return {
        "uuid": f"m-{turn}",
        "text": text,
        "content": [block] if content is None else content,
        "sender": sender,
        "created_at": stamp(turn),
        "updated_at": stamp(turn),
        "attachments": [],
        "files": [],
    }


def claude_conversation(session: str, *messages: Any, **fields: Any) -> dict[str, Any]:
    """Return a conversation."""
    return {
        "uuid": session,
        "name": "Ports",
        "summary": "",
        "created_at": stamp(0),
        "updated_at": stamp(60),
        "account": {"uuid": "a"},
        "chat_messages": [*messages],
        **fields,
    }


# --- Gemini -----------------------------------------------------------------------------------------


def gemini_activity(
    title: str, answer: str = "", time: str = "2026-11-20T10:11:12.123Z", **fields: Any
) -> dict[str, Any]:
    """Return an activity in JSON."""
    items = {"safeHtmlItem": [{"html": answer}]} if answer else {}
    return {
        "header": "Gemini Apps",
        "title": title,
        "time": time,
        "products": ["Gemini Apps"],
        "activityControls": ["Gemini Apps Activity"],
        **items,
        **fields,
    }


def gemini_cell(title: str, time: str, answer: str = "", header: str = "Gemini Apps") -> str:
    """Return an activity as a cell of a page."""
    column = "content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1"
    return (
        '<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">'
        f'<div class="header-cell mdl-cell mdl-cell--12-col"><p class="mdl-typography--title">{header}<br></p></div>'
        f'<div class="{column}">{escape(title).replace(" ", "&nbsp;", 1)}<br>{time}<br>{answer}</div>'
        f'<div class="{column} mdl-typography--text-right"></div>'
        '<div class="content-cell mdl-cell mdl-cell--12-col mdl-typography--caption"><b>Products:</b><br>'
        f"&emsp;{header}<br><b>Why is this here?</b><br>&emsp;This activity was saved.</div></div></div>"
    )


def gemini_page(*cells: str) -> str:
    """Return a page of activities."""
    head = "<html><head><title>My Activity History</title><style>.mdl-cell{color:red}</style></head><body>"
    return f'{head}<div class="mdl-grid">{"".join(cells)}</div></body></html>'


# --- writers ----------------------------------------------------------------------------------------


class ExportWriter(PlainWriter):
    """The archive of an export, which is replaced with each change."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.path = home / "export.zip"
        self._messages: dict[str, list[Any]] = {}

    def conversation(self, session: str, messages: Sequence[Any]) -> dict[str, Any]:
        """Return a conversation."""
        raise NotImplementedError

    def add(self, session: str, *messages: Any) -> int:
        """Add messages to a session; return the place of the last one."""
        self._messages.setdefault(session, []).extend(messages)
        self._replace()
        return len(self._messages[session])

    def delete(self, session: str) -> None:
        """Replace the archive by one without a session."""
        del self._messages[session]
        self.turns.pop(session, None)
        self._replace()

    def _replace(self) -> None:
        conversations = [self.conversation(name, messages) for name, messages in self._messages.items()]
        write_archive(self.path, {"conversations.json": json.dumps(conversations), "user.json": "{}"})


class ChatGptWriter(ExportWriter):
    """An export of ChatGPT."""

    def conversation(self, session: str, messages: Sequence[Any]) -> dict[str, Any]:
        """Return a conversation."""
        return chatgpt_conversation(session, *messages)

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Add a message; return its place."""
        return self.add(session, chatgpt_message(role, text, START_S + turn))

    def write_noise(self, session: str, number: int) -> None:
        """Add a message of a tool, a hidden one, a thought, or a call of a tool."""
        noises = (
            chatgpt_message("tool", NOISE),
            chatgpt_message("user", NOISE, metadata={"is_visually_hidden_from_conversation": True}),
            chatgpt_message("assistant", {"content_type": "thoughts", "thoughts": [{"content": NOISE}]}),
            chatgpt_message("assistant", NOISE, recipient="browser"),
            chatgpt_message("system", NOISE),
        )
        self.add(session, noises[number % len(noises)])

    def write_unknown(self, session: str) -> None:
        """Add a content of a type that no release has."""
        self.add(session, chatgpt_message("assistant", {"content_type": "hologram", "parts": [NOISE]}))


class ClaudeWriter(ExportWriter):
    """An export of Claude."""

    def conversation(self, session: str, messages: Sequence[Any]) -> dict[str, Any]:
        """Return a conversation."""
        return claude_conversation(session, *messages)

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Add a message; return its place."""
        return self.add(session, claude_message("human" if role == "user" else role, text, turn))

    def write_noise(self, session: str, number: int) -> None:
        """Add a message of blocks that aren't visible text."""
        blocks = (
            {"type": "thinking", "thinking": NOISE},
            {"type": "tool_use", "name": "search", "input": {"query": NOISE}},
            {"type": "tool_result", "content": [{"type": "text", "text": NOISE}]},
            {"type": "token_budget", "text": NOISE},
        )
        self.add(session, claude_message("assistant", NOISE, content=[blocks[number % len(blocks)]]))

    def write_unknown(self, session: str) -> None:
        """Add a block of a type that no release has."""
        self.add(session, claude_message("assistant", NOISE, content=[{"type": "hologram"}]))
