"""What a hook reads of a call of a tool: the command or the file, and the output if the command failed.

It imports nothing: the hook runs at every command and edit of an agent.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ACTION_NAMES = {
    "before_tool": "PreToolUse",
    "after_tool": "PostToolUse",
    "after_failure": "PostToolUseFailure",
}
ACTION_EVENTS = (*ACTION_NAMES,)
"""Events around a call of a tool, with their names in Claude Code. `after_tool` reports a command that failed, in
programs without an event for that."""

MAX_COMMAND_CHARS = 4_000
"""Of a command or a patch, whose first lines name the files."""

MAX_TOOL_CHARS, MAX_FILE_CHARS = 64, 4_096

MAX_ERROR_CHARS = 64_000
"""Of an output: half of them from each end."""

READ_BYTES = 128 * 1024
"""Of the end of Codex's transcript, which has the outcome of a command in its last records."""

COMMAND_KEYS = ("command", "cmd", "input", "patch")
FILE_KEYS = ("file_path", "path", "notebook_path", "filePath", "target_file")


def text_in(given: Mapping[str, Any], *names: str) -> str:
    """Return the first text that is given under one of the names, or an empty one."""
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def action_params(program: str, event: str, given: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the parameters of an event around a call; None if there is nothing to ask."""
    arguments = given.get("tool_input", given.get("toolArgs"))
    if not isinstance(arguments, dict):
        return None
    command, file = text_in(arguments, *COMMAND_KEYS), text_in(arguments, *FILE_KEYS)
    error = "" if event == "before_tool" else failed_output(program, event, given)
    is_edit = event == "before_tool" and 0 < len(file) <= MAX_FILE_CHARS
    if not (is_edit or command.strip()) or (event != "before_tool" and not (command and error)):
        return None
    return {
        "tool": text_in(given, "tool_name", "toolName")[:MAX_TOOL_CHARS],
        "command": command[:MAX_COMMAND_CHARS],
        "file": file if is_edit else "",
        "error": error,
    }


def failed_output(program: str, event: str, given: Mapping[str, Any]) -> str:
    """Return the output of a command that failed, without what the program adds to it; empty if it did not fail."""
    if event == "after_failure":
        error = text_in(given, "error", "error_message")
        first, _, rest = error.partition("\n")
        text = rest if first.startswith("Exit code ") else error
        is_failure = given.get("is_interrupt") is not True
    else:
        response = given.get("tool_response", given.get("toolResult", ""))
        if isinstance(response, dict):
            response = text_in(response, "llmContent", "textResultForLlm")
        text = response if isinstance(response, str) else ""
        code = _codex_exit(given) if program == "codex" else _exit_in(text)
        is_failure = code not in ("", "0")
    text = _without_frame(text).strip() if is_failure else ""
    half = MAX_ERROR_CHARS // 2
    return text if len(text) <= MAX_ERROR_CHARS else f"{text[: half - 1]}\n{text[-half:]}"


def _exit_in(text: str) -> str:
    """Return the exit status in the last lines of a result; empty without one."""
    for line in reversed(text[-1_000:].splitlines()):
        for label in ("Exit Code: ", "completed with exit code "):
            _, found, code = line.rpartition(label)
            if found:
                return code.strip(" >")
    return ""


def _without_frame(text: str) -> str:
    """Return a result without the lines that Gemini CLI, Qwen Code and Copilot CLI add to an output."""
    if text.startswith("<untrusted_context>\n"):
        text = text[20:]
    if text.startswith("Command: "):
        text = text.partition("\nOutput: ")[2]
        is_framed = True
    else:
        is_framed = text.startswith("Output: ")
        text = text[8:] if is_framed else text
    for label in ("\nError: (none)", "\nExit Code: ") if is_framed else ("\n<shellId: ",):
        text = text.rpartition(label)[0] if label in text else text
    return "" if text == "(empty)" else text


def _codex_exit(given: Mapping[str, Any]) -> str:
    """Return the exit status of a call in Codex's transcript, which has it before the hook runs; empty without one."""
    path, call = text_in(given, "transcript_path"), text_in(given, "tool_use_id")
    if not path or not call:
        return ""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - READ_BYTES))
            lines = file.read(READ_BYTES).split(b"\n")
    except OSError:
        return ""
    for line in reversed(lines):
        if b'"CommandExecution"' in line and b'"%s"' % call.encode("utf-8", "replace") in line:
            for key in (b'"exit_code":', b'"exitCode":'):
                _, found, rest = line.rpartition(key)
                if found:
                    return rest.partition(b",")[0].strip(b" }").decode("ascii", "replace")
    return ""
