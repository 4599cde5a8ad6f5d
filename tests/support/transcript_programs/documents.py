"""What programs write that keep a JSON document per session, with text that is no person's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support.transcript_programs.plain import CWD, NOISE, START_MS, PlainWriter, Records

MACHINE: Final = "machine text"
"""Part of every text that must not become a message."""

ITEMS: Final = "@items@"
"""Stands for the messages in a document."""


class DocumentProgram(NamedTuple):
    """How a program writes.

    Attributes:
        place: The path of a document below the home.
        frame: Returns a document whose list of messages has the one item `ITEMS`.
        record: Returns the message of a turn.
        noise: Messages without words of a person or an answer.
        unknown: A message of a type that no release has.
        beside: Returns files next to the document by their path below the home, each a document.
    """

    place: str
    frame: Callable[[str], Any]
    record: Callable[[str, int, str, str], Any]
    noise: Sequence[Any]
    unknown: Any
    beside: Callable[[str], Mapping[str, Any]] = lambda _: {}


def document_of(frame: Any, items: Sequence[str]) -> bytes:
    """Return a document with messages, which are JSON, each on a line."""
    head, _, tail = json.dumps(frame).partition(json.dumps(ITEMS))
    return "".join((head, "\n", "\n,".join(items), "\n", tail)).encode()


class DocumentsWriter(PlainWriter):
    """A program with a document per session, which is rewritten with each message."""

    def __init__(self, home: Path, program: DocumentProgram) -> None:
        super().__init__(home)
        self._program = program
        self._items: dict[str, list[str]] = {}

    def path(self, session: str) -> Path:
        """Return the file of a session."""
        return self.home / self._program.place.format(session=session)

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Add a message; return its number."""
        return self._add(session, self._program.record(session, turn, role, text))

    def write_noise(self, session: str, number: int) -> None:
        """Add a message without words of a person or an answer."""
        self._add(session, self._program.noise[number % len(self._program.noise)])

    def write_unknown(self, session: str) -> None:
        """Add a message of an unknown type."""
        self._add(session, self._program.unknown)

    def delete(self, session: str) -> None:
        """Delete the session's files."""
        self.path(session).unlink()
        for path in self._program.beside(session):
            (self.home / path).unlink(missing_ok=True)
        self.turns.pop(session, None)
        self._items.pop(session, None)

    def _add(self, session: str, item: Any) -> int:
        items = self._items.setdefault(session, [])
        items.append(json.dumps(item))
        self.path(session).parent.mkdir(parents=True, exist_ok=True)
        for path, document in self._program.beside(session).items():
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            (self.home / path).write_text(json.dumps(document))
        self.path(session).write_bytes(document_of(self._program.frame(session), items))
        return len(items)


# --- Cline's command line ---------------------------------------------------------------------------


def text_block(text: str) -> dict[str, str]:
    """Return a block of text."""
    return {"type": "text", "text": text}


def cline_user(text: str, turn: int = 0, mode: str = "act", **more: Any) -> dict[str, Any]:
    """Return a prompt as Cline writes it."""
    content = [text_block(f'<user_input mode="{mode}">{text}</user_input>')]
    return {"id": f"u{turn}", "role": "user", "content": content, "ts": START_MS + turn * 1_000, **more}


def cline_answer(text: str, turn: int = 0, **more: Any) -> dict[str, Any]:
    """Return an answer."""
    content = [{"type": "thinking", "thinking": MACHINE}, text_block(text)]
    return {"id": f"a{turn}", "role": "assistant", "content": content, "ts": START_MS + turn * 1_000, **more}


def cline_frame(session: str, **more: Any) -> dict[str, Any]:
    """Return a document of Cline."""
    origin = {"source": "cli", "mode": "user", "sessionId": session, "version": "3.0.65"}
    head = {"version": 1, "updated_at": "2026-11-02T08:00:00.000Z", "agent": "lead", "sessionId": session}
    return {**head, "origin": origin, **more, "messages": [ITEMS], "system_prompt": f"You are Cline. {NOISE}"}


def cline_manifest(session: str, **more: Any) -> dict[str, Any]:
    """Return the manifest of a session."""
    head = {"version": 1, "session_id": session, "source": "cli", "started_at": "2026-11-02T08:00:00.000Z"}
    return {**head, "interactive": True, "cwd": CWD, "workspace_root": CWD, **more}


CLINE_NOISE: Final = (
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": NOISE}]},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t1", "name": "run_commands", "input": {"c": NOISE}}],
    },
    {"role": "user", "content": f"<environment_details>{NOISE}</environment_details>"},
    cline_user(NOISE, metadata={"kind": "recovery_notice", "displayRole": "system"}),
    cline_user(NOISE, metadata={"kind": "compaction_summary", "summary": NOISE}),
    {
        "role": "assistant",
        "content": [text_block(NOISE)],
        "metadata": {"displayOnly": True, "displayRole": "error"},
    },
    cline_user("[TASK RESUMPTION] This task was interrupted."),
    {"role": "user", "content": [text_block(f'<user_command slash="init">{NOISE}</user_command>')]},
    {"role": "system", "content": NOISE},
)

CLINE: Final = DocumentProgram(
    ".cline/data/sessions/{session}/{session}.messages.json",
    cline_frame,
    lambda session, turn, role, text: cline_user(text, turn) if role == "user" else cline_answer(text, turn),
    CLINE_NOISE,
    {"role": "telepathy", "content": NOISE},
    lambda session: {f".cline/data/sessions/{session}/{session}.json": cline_manifest(session)},
)


# --- Cline, Roo Code and Kilo Code in an editor -----------------------------------------------------


def say(kind: str, text: str, turn: int = 0, **more: Any) -> dict[str, Any]:
    """Return a message that is shown."""
    return {"ts": START_MS + turn * 1_000, "type": "say", "say": kind, "text": text, **more}


def ask(kind: str, text: object, turn: int = 0, **more: Any) -> dict[str, Any]:
    """Return a question; an object is written as JSON."""
    shown = text if isinstance(text, str) else json.dumps(text)
    return {"ts": START_MS + turn * 1_000, "type": "ask", "ask": kind, "text": shown, **more}


TASK_NOISE: Final = (
    say("api_req_started", json.dumps({"request": NOISE})),
    say("reasoning", NOISE),
    say("text", NOISE, partial=True),
    ask("tool", {"tool": "readFile", "path": NOISE, "content": NOISE}),
    ask("command", NOISE),
    say("command_output", NOISE),
    say("user_feedback_diff", json.dumps({"tool": "editedExistingFile", "diff": NOISE})),
    say("condense_context", NOISE, contextCondense={"summary": NOISE}),
    say("subtask_result", NOISE),
    say("checkpoint_saved", NOISE),
    say("error", NOISE),
    ask("completion_result", ""),
    ask("resume_task", NOISE),
)


def _task_record(_: str, turn: int, role: str, text: str) -> Any:
    return say("text" if role == "assistant" or turn == 0 else "user_feedback", text, turn)


def tasks(extension: str, with_workspace: bool = True) -> DocumentProgram:
    """Return how an extension writes its tasks."""
    folder = f".config/Code/User/globalStorage/{extension}"

    def beside(session: str) -> Mapping[str, Any]:
        item = {"id": session, "ts": START_MS, "task": "Which port?", "workspace": CWD}
        return {f"{folder}/tasks/{session}/history_item.json": item} if with_workspace else {}

    return DocumentProgram(
        f"{folder}/tasks/{{session}}/ui_messages.json",
        lambda _: [ITEMS],
        _task_record,
        TASK_NOISE,
        say("telepathy", NOISE),
        beside,
    )


ROO_CODE: Final = tasks("rooveterinaryinc.roo-cline")
CLINE_VSCODE: Final = tasks("saoudrizwan.claude-dev")
KILO_VSCODE: Final = tasks("kilocode.kilo-code", with_workspace=False)


# --- Continue, Kiro, Amp ----------------------------------------------------------------------------


def continue_item(role: str, content: object, **more: Any) -> dict[str, Any]:
    """Return a message of Continue."""
    return {"message": {"role": role, "content": content}, "contextItems": [], **more}


def continue_frame(session: str, **more: Any) -> dict[str, Any]:
    """Return a session of Continue."""
    head = {"sessionId": session, "title": "Untitled Session", "workspaceDirectory": CWD}
    return {**head, "history": [ITEMS], "usage": {"totalCost": 0}, **more}


CONTINUE_NOISE: Final = (
    continue_item("tool", NOISE),
    continue_item("thinking", NOISE),
    continue_item("system", NOISE),
    continue_item("assistant", NOISE, conversationSummary=NOISE),
    continue_item("assistant", "", toolCallStates=[{"output": [{"content": NOISE}]}]),
    continue_item("user", [{"type": "imageUrl", "imageUrl": {"url": NOISE}}]),
)

CONTINUE: Final = DocumentProgram(
    ".continue/sessions/{session}.json",
    continue_frame,
    lambda session, turn, role, text: continue_item(role, text, editorState={"content": NOISE}),
    CONTINUE_NOISE,
    continue_item("telepathy", NOISE),
)

KIRO: Final = CONTINUE._replace(
    place=".config/Kiro/User/globalStorage/kiro.kiroagent/workspace-sessions/L2hvbWUvZXZhL3Nob3A/{session}.json",
    record=lambda session, turn, role, text: continue_item(role, [text_block(text)], executionId=f"e{turn}"),
)


def amp_item(role: str, text: str, turn: int = 0) -> dict[str, Any]:
    """Return a message of Amp."""
    time: dict[str, Any] = {"meta": {"sentAt": START_MS + turn * 1_000}}
    if role == "assistant":
        time = {"usage": {"timestamp": f"2026-11-02T08:00:{turn:02}.000Z"}}
    return {"role": role, "messageId": turn, "content": [text_block(text)], **time}


AMP: Final = DocumentProgram(
    ".local/share/amp/threads/T-{session}.json",
    lambda session: {
        "v": 9,
        "id": session,
        "created": START_MS,
        "env": {"initial": {"trees": [{"displayName": "shop", "uri": f"file://{CWD}"}]}},
        "messages": [ITEMS],
    },
    lambda session, turn, role, text: amp_item(role, text, turn),
    (
        {"role": "user", "content": [{"type": "tool_result", "toolUseID": "t1", "run": {"result": NOISE}}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"cmd": NOISE}}],
        },
        {"role": "assistant", "content": [{"type": "thinking", "thinking": NOISE}]},
    ),
    {"role": "telepathy", "content": NOISE},
)


# --- VS Code's chat ---------------------------------------------------------------------------------


def chat_request(prompt: str, response: Sequence[Any] = (), number: int = 0, **more: Any) -> dict[str, Any]:
    """Return a request with its response."""
    message = {"text": prompt, "parts": [{"kind": "text", "text": prompt}]}
    known = {
        "requestId": f"request_{number}",
        "timestamp": START_MS + number * 1_000,
        "agent": {"id": "copilot"},
    }
    return {**known, "message": message, "variableData": {"variables": []}, "response": [*response], **more}


def markdown(text: str) -> dict[str, Any]:
    """Return a part of an answer."""
    return {"value": text, "supportThemeIcons": False, "baseUri": {"path": NOISE}}


def chat_frame(session: str, **more: Any) -> dict[str, Any]:
    """Return a chat."""
    head = {
        "version": 3,
        "sessionId": session,
        "creationDate": START_MS,
        "responderUsername": "GitHub Copilot",
    }
    return {**head, "requests": [ITEMS], **more}


CHAT_NOISE: Final = (
    chat_request("", [{"kind": "thinking", "value": NOISE}]),
    chat_request("", [{"kind": "toolInvocationSerialized", "pastTenseMessage": {"value": NOISE}}]),
    chat_request("", [{"kind": "textEditGroup", "edits": [[{"text": NOISE}]]}]),
    chat_request("", [{"kind": "progressMessage", "content": {"value": NOISE}}]),
    chat_request(NOISE, [markdown(NOISE)], shouldBeRemovedOnSend={"requestId": "r"}),
    chat_request(NOISE, [markdown(NOISE)], isHidden=True),
    chat_request(NOISE, confirmation="Continue"),
)
_STORAGE: Final = ".config/Code/User/workspaceStorage/a1b2"


def _chat_record(_: str, turn: int, role: str, text: str) -> Any:
    return chat_request(text, number=turn) if role == "user" else chat_request("", [markdown(text)], turn)


CHAT: Final = DocumentProgram(
    f"{_STORAGE}/chatSessions/{{session}}.json",
    chat_frame,
    _chat_record,
    CHAT_NOISE,
    chat_request("", [{"kind": "telepathy", "value": NOISE}]),
    lambda _: {f"{_STORAGE}/workspace.json": {"folder": f"file://{CWD}"}},
)


class ChatLogWriter(DocumentsWriter):
    """VS Code's log of a chat: a snapshot, to which each request is pushed."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, CHAT._replace(place=CHAT.place + "l"))

    def _add(self, session: str, item: Any) -> int:
        items = self._items.setdefault(session, [])
        items.append("")
        path = self.path(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        changes: list[Any] = (
            [] if path.exists() else [{"kind": 0, "v": chat_frame(session) | {"requests": []}}]
        )
        changes.append({"kind": 2, "k": ["requests"], "v": [item]})
        with path.open("a") as file:
            file.writelines(f"{json.dumps(change)}\n" for change in changes)
        for name, document in CHAT.beside(session).items():
            (self.home / name).write_text(json.dumps(document))
        return len(items)


# --- every trap -------------------------------------------------------------------------------------


def _machine(item: Any) -> Any:
    """Return a message with the mark of machine text instead of noise."""
    return json.loads(json.dumps(item).replace(NOISE, MACHINE))


TRAPPED: Final[Mapping[str, tuple[str, DocumentProgram]]] = {
    "cline": ("s1/s1.messages.json", CLINE),
    "roo-code": ("s1/ui_messages.json", ROO_CODE),
    "continue": ("s1.json", CONTINUE),
    "amp": ("T-s1.json", AMP),
    "copilot-vscode": ("a1b2/chatSessions/s1.json", CHAT),
}
"""By program: the path of a document below a folder of the program, and how it writes."""


def every_trap(name: str) -> list[bytes]:
    """Return the messages of a document with all kinds of machine text, one per line."""
    program = TRAPPED[name][1]
    turns: Records = [
        program.record("s1", 0, "user", "Which port?"),
        program.record("s1", 1, "assistant", "8443."),
        *map(_machine, program.noise),
        program.record("s1", 2, "user", "And production?"),
        program.record("s1", 3, "assistant", "443."),
    ]
    return [json.dumps(turn).encode() for turn in turns]


def chat_log_traps() -> list[bytes]:
    """Return the lines of a log of VS Code with all kinds of machine text, and requests that are undone."""
    first = chat_request("Which port?", [markdown("844")], 1)
    changes: list[Any] = [
        {"kind": 0, "v": chat_frame("s1") | {"requests": [first]}},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [markdown("8443.")], "i": 0},
        *({"kind": 2, "k": ["requests"], "v": [_machine(item)]} for item in CHAT_NOISE),
        {"kind": 1, "k": ["inputState"], "v": {"inputText": MACHINE}},
        {"kind": 1, "k": ["customTitle"], "v": "Ports"},
        {"kind": 3, "k": ["inputState"]},
        {"kind": 2, "k": ["requests"], "v": [chat_request("And production?", [markdown("443.")], 2)]},
    ]
    return [json.dumps(change).encode() for change in changes]
