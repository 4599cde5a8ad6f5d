"""Sessions of Claude Code whose tools return text of other people: pages, mail, MCP results, attachments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from tests.support.transcript_programs.agent_steps import numbered
from tests.support.transcript_programs.claude_code import ClaudeFile

STEP_S = 20


class ToolSession:
    """A session that is written record by record, each some seconds after the one before."""

    def __init__(self, name: str, folder: str, begun: datetime) -> None:
        self.id = str(uuid5(NAMESPACE_URL, name))
        self.folder = folder
        self._begun = begun
        self._count = 0
        self._file = ClaudeFile(self.id, cwd=folder)

    def user(self, text: str) -> None:
        """Add a prompt of the user."""
        self._file.prompt(text, timestamp=self._stamp())

    def answer(self, text: str) -> None:
        """Add an answer of the agent."""
        self._file.answer(text, timestamp=self._stamp())

    def call(
        self,
        tool: str,
        arguments: dict[str, object],
        content: object,
        result: object,
        *,
        is_error: bool = False,
    ) -> None:
        """Add a call of a tool and its result, as the model gets it and as the program stores it."""
        stamp = self._stamp()
        call = f"toolu_{self.id[:8]}{self._count:04}"
        self._file.blocks(
            [{"type": "tool_use", "id": call, "name": tool, "input": arguments}], timestamp=stamp
        )
        block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error}
        self._file.prompt([block], toolUseResult=result, timestamp=stamp)

    def fetch(self, url: str, text: str) -> None:
        """Add a fetched page."""
        result = {
            "bytes": len(text),
            "code": 200,
            "codeText": "OK",
            "result": text,
            "durationMs": 900,
            "url": url,
        }
        self.call("WebFetch", {"url": url, "prompt": "What does the page say?"}, text, result)

    def run(self, line: str, output: str) -> None:
        """Add a command that succeeded."""
        result = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        self.call("Bash", {"command": line, "description": "Run the command"}, output, result)

    def fail(self, line: str, error: str) -> None:
        """Add a command that failed."""
        said = f"Exit code 1\n{error}"
        self.call(
            "Bash", {"command": line, "description": "Run the command"}, said, f"Error: {said}", is_error=True
        )

    def edit(self, path: str, old: str, new: str) -> None:
        """Add a change of a file."""
        names = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        result = {"filePath": path, "oldString": old, "newString": new, "structuredPatch": []}
        self.call("Edit", names, f"The file {path} has been updated.", result)

    def ask_mcp(self, tool: str, arguments: dict[str, object], text: str) -> None:
        """Add a call of a tool of another MCP server."""
        parts = [{"type": "text", "text": text}]
        self.call(f"mcp__{tool}", arguments, parts, parts)

    def read(self, path: str, text: str) -> None:
        """Add a file that was read."""
        self.call("Read", {"file_path": path}, numbered(text), {"type": "text", "file": _file(path, text)})

    def attach(self, path: str, text: str) -> None:
        """Add a file that the user named with `@` in a prompt."""
        content = {"type": "text", "file": _file(path, text)}
        name = path.rpartition("/")[2]
        attachment = {"type": "file", "filename": path, "content": content, "displayPath": name}
        self._file.record("attachment", attachment=attachment, timestamp=self._stamp())

    def write(self, path: str, text: str) -> None:
        """Add a file that the agent wrote."""
        result = {"type": "create", "filePath": path, "content": text, "structuredPatch": []}
        self.call(
            "Write", {"file_path": path, "content": text}, f"File created successfully at: {path}", result
        )

    def save(self, home: Path) -> None:
        """Write the session's file below a home folder."""
        path = home / ".claude/projects" / self.folder.replace("/", "-") / f"{self.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line + b"\n" for line in self._file.lines))

    def _stamp(self) -> str:
        self._count += 1
        moment = self._begun + timedelta(seconds=STEP_S * self._count)
        return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _file(path: str, text: str) -> dict[str, object]:
    lines = text.count("\n") + 1
    return {"filePath": path, "content": text, "numLines": lines, "startLine": 1, "totalLines": lines}
