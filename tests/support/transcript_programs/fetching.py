"""Sessions in which an agent reads pages, mail, commands' outputs and files, as each program records them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from memd.programs.catalog import PROGRAMS
from memd.programs.cursor_editor import READER as CURSOR_EDITOR
from memd.programs.opencode import READER as OPENCODE
from memd.programs.program import FileReader
from memd.programs.readers import reader_of
from memd.sources.conversations import ConversationFiles
from memd.sources.databases import ConversationDatabases
from memd.sources.source import Source
from tests.support.transcript_programs import codex, cursor, gemini
from tests.support.transcript_programs.claude_code import PROJECT, SESSION, ClaudeFile
from tests.support.transcript_programs.copilot import CopilotFile
from tests.support.transcript_programs.cursor import CursorWriter
from tests.support.transcript_programs.opencode import V1, OpencodeWriter
from tests.support.transcripts import TranscriptHome, database_of, files_of, header, message

FOLDER: Final = "/home/eva/shop"


class ReadingCall(NamedTuple):
    """A call of a tool and what it returned."""

    tool: str
    arguments: dict[str, Any]
    output: str


class Recorder(NamedTuple):
    """How a program records calls: the source of a session, and the names of its tools.

    Attributes:
        write: Writes a session with some calls below a folder, and returns the source that reads it.
        page: The tool that fetches pages, with its argument.
        mcp: An MCP server's tool, and `{}` for the server's name and the tool's.
        run: The tool that runs commands, with its argument.
        read: The tool that reads files, with its argument; without a name a command.
    """

    write: Callable[[Path, Sequence[ReadingCall]], Source]
    page: tuple[str, str]
    mcp: str
    run: tuple[str, str]
    read: tuple[str, str]

    def fetched(self, url: str, text: str) -> ReadingCall:
        """Return a fetched page."""
        tool, name = self.page
        return ReadingCall(tool, {name: f"Summarise {url}" if name == "prompt" else url}, text)

    def called(self, server: str, tool: str, text: str) -> ReadingCall:
        """Return a call of an MCP server's tool."""
        return ReadingCall(self.mcp.format(server, tool), {"query": "invoices"}, text)

    def ran(self, line: str, text: str) -> ReadingCall:
        """Return a command."""
        return ReadingCall(self.run[0], {self.run[1]: line}, text)

    def opened(self, path: str, text: str) -> ReadingCall:
        """Return a file that was read."""
        tool, name = self.read
        return ReadingCall(tool, {name: path}, text) if tool else self.ran(f"cat {path}", text)


def _files(program: str, folder: Path) -> Source:
    conversations = PROGRAMS[program].conversations
    assert conversations is not None
    reader = reader_of(conversations)
    assert isinstance(reader, FileReader)
    return ConversationFiles(program, reader, [folder])


def _write(path: Path, lines: Sequence[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def claude_code(folder: Path, calls: Sequence[ReadingCall]) -> Source:
    """Claude Code."""
    file = ClaudeFile()
    file.prompt("Look it up")
    for number, call in enumerate(calls):
        use: dict[str, object] = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": call.tool,
            "input": call.arguments,
        }
        file.blocks([use])
        content = [{"type": "text", "text": call.output}]
        file.prompt([{"type": "tool_result", "tool_use_id": f"t{number}", "content": content}])
    file.answer("Done.")
    _write(folder / PROJECT / f"{SESSION}.jsonl", file.lines)
    return _files("claude-code", folder)


def codex_legacy(folder: Path, calls: Sequence[ReadingCall]) -> Source:
    """Codex, whose results of commands have a frame, and those of MCP tools none."""
    context = {"turn_id": "t1", "cwd": FOLDER}
    lines = [codex.meta(cwd=FOLDER), codex.line("turn_context", context), codex.asked("Look it up")]
    for number, call in enumerate(calls):
        space, _, tool = call.tool.rpartition("__")
        called = {"name": tool, "arguments": json.dumps(call.arguments), "call_id": f"c{number}"}
        namespace = {"namespace": f"{space}__"} if space else {}
        frame = "" if space else "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n"
        result = {"type": "function_call_output", "call_id": f"c{number}", "output": frame + call.output}
        lines.append(codex.line("response_item", {"type": "function_call", **called, **namespace}))
        lines.append(codex.line("response_item", result))
    lines.append(codex.answered("Done."))
    _write(folder / "sessions/2026/11/02" / codex.rollout(), lines)
    return _files("codex", folder)


def gemini_cli(folder: Path, calls: Sequence[ReadingCall]) -> Source:
    """Gemini CLI, which writes each call again when it has ended."""
    lines = [gemini.line(gemini.session()), gemini.line(gemini.said("m1", "Look it up"))]
    for number, call in enumerate(calls):
        called: dict[str, Any] = {
            "id": f"g{number}",
            "name": call.tool,
            "args": call.arguments,
            "status": "executing",
        }
        lines.append(gemini.line(gemini.answered(f"m{number + 2}", "", toolCalls=[called])))
        said = f"<untrusted_context>\nOutput: {call.output}\n</untrusted_context>"
        response = [
            {"functionResponse": {"id": f"g{number}", "name": call.tool, "response": {"output": said}}}
        ]
        called |= {"status": "success", "result": response}
        lines += [gemini.line(gemini.answered(f"m{number + 2}", "", toolCalls=[called]))] * 2
    lines.append(gemini.line(gemini.answered("last", "Done.")))
    _write(folder / "shop/chats/session-2026-11-02T08-00-0199a213.jsonl", lines)
    return _files("gemini", folder)


def copilot(folder: Path, calls: Sequence[ReadingCall]) -> Source:
    """Copilot CLI."""
    file = CopilotFile()
    file.prompt("Look it up")
    for number, call in enumerate(calls):
        begun = {"toolCallId": f"t{number}", "toolName": call.tool, "arguments": call.arguments}
        file.event("tool.execution_start", begun)
        ended = {"toolCallId": f"t{number}", "success": True, "result": {"content": call.output}}
        file.event("tool.execution_complete", ended)
    file.answer("Done.")
    _write(folder / "s1/events.jsonl", file.lines)
    return _files("copilot", folder)


def opencode(folder: Path, calls: Sequence[ReadingCall]) -> Source:
    """Write opencode's database, which has a call with its result."""
    with OpencodeWriter(folder / "opencode.db", V1) as writer:
        writer.session("s1")
        writer.v1("s1", "user", "Look it up")
        for number, call in enumerate(calls):
            state = {"status": "completed", "input": call.arguments, "output": call.output}
            part = {"type": "tool", "callID": f"c{number}", "tool": call.tool, "state": state}
            writer.v1("s1", "assistant", part)
        writer.v1("s1", "assistant", "Done.")
    return ConversationDatabases("opencode", OPENCODE, [folder / "opencode.db"])


def cursor_editor(folder: Path, calls: Sequence[ReadingCall]) -> Source:
    """Cursor's editor, whose results of other tools than commands have fields of their own."""
    with CursorWriter(folder / "state.vscdb") as writer:
        bubbles = [("u", cursor.user("Look it up"))]
        for number, call in enumerate(calls):
            name = "output" if "command" in call.arguments else "contents"
            row = {"name": call.tool, "toolCallId": f"t{number}", "params": json.dumps(call.arguments)}
            row |= {"status": "completed", "result": json.dumps({name: call.output})}
            bubbles.append((f"b{number}", cursor.answer("", toolFormerData=row)))
        writer.composer("c1", *bubbles, ("last", cursor.answer("Done.")))
    return ConversationDatabases("cursor", CURSOR_EDITOR, [folder / "state.vscdb"])


def openclaw_records(calls: Sequence[ReadingCall]) -> list[str]:
    """Return the records of a session of OpenClaw."""
    records = [header("s1"), message("user", "Look it up")]
    for number, call in enumerate(calls):
        block = {"type": "toolCall", "id": f"c{number}", "name": call.tool, "arguments": call.arguments}
        records.append(message("assistant", [block]))
        content = [{"type": "text", "text": call.output}]
        records.append(message("toolResult", content, toolCallId=f"c{number}", toolName=call.tool))
    return [*records, message("assistant", "Done.")]


def openclaw_files(folder: Path, calls: Sequence[ReadingCall]) -> Source:
    """OpenClaw's files of older releases."""
    home = TranscriptHome(folder)
    home.write_file("s1", openclaw_records(calls))
    return files_of(home)


def openclaw_database(folder: Path, calls: Sequence[ReadingCall]) -> Source:
    """OpenClaw's database, with compressed events."""
    home = TranscriptHome(folder)
    with home.open_database() as database:
        database.add_session("s1", openclaw_records(calls), packed=True)
    return database_of(home)


RECORDERS: Final[dict[str, Recorder]] = {
    "claude-code": Recorder(
        claude_code, ("WebFetch", "url"), "mcp__{}__{}", ("Bash", "command"), ("Read", "file_path")
    ),
    "codex": Recorder(codex_legacy, ("web_fetch", "url"), "mcp__{}__{}", ("exec_command", "cmd"), ("", "")),
    "gemini": Recorder(
        gemini_cli,
        ("web_fetch", "prompt"),
        "mcp_{}_{}",
        ("run_shell_command", "command"),
        ("read_file", "file_path"),
    ),
    "copilot": Recorder(copilot, ("web_fetch", "url"), "{}-{}", ("bash", "command"), ("view", "path")),
    "opencode": Recorder(opencode, ("webfetch", "url"), "{}_{}", ("bash", "command"), ("read", "filePath")),
    "cursor": Recorder(
        cursor_editor,
        ("web_fetch", "url"),
        "mcp-{}-{}",
        ("run_terminal_command_v2", "command"),
        ("read_file_v2", "targetFile"),
    ),
    "openclaw-files": Recorder(
        openclaw_files, ("web_fetch", "url"), "{}__{}", ("exec", "command"), ("read", "path")
    ),
    "openclaw": Recorder(
        openclaw_database, ("web_fetch", "url"), "{}__{}", ("exec", "command"), ("read", "path")
    ),
}
"""By program."""
