"""What a hook does: read the program's JSON, send a `hook` request, print the reply in the program's form.

It prints nothing and ends with status 0 whatever goes wrong: a hook must not disturb the program that runs it. To
start within milliseconds, it imports no module that it can do without.
"""

from __future__ import annotations

import os
import select
import time

from .hook_exchange import ask_daemon
from .socket_location import socket_location
from .state_folder import STATE_VARIABLE, find_state_dir, names_state_dir
from .tool_events import ACTION_EVENTS, ACTION_NAMES, action_params, text_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

SOCKET_TIMEOUT_S = 0.1
"""For connecting and the reply together: a person waits for it at every prompt."""

START_TIMEOUT_S = 0.5
"""The same at the start of a session, once in it, for which the daemon reads notes."""

INPUT_TIMEOUT_S = 2.0
"""For the program's JSON, which it writes at once; some programs leave the pipe open behind it."""

MAX_INPUT_BYTES = 4 * 1024 * 1024

MAX_OUTPUT_CHARS = 10_000
"""Above it Claude Code moves the text to a file, and Cursor drops it."""

MAX_PROMPT_CHARS = 100_000
"""Of the prompt in the request: a longer one is a pasted document, which its start shows as well."""

MAX_PATH_CHARS = 4_096

CLAUDE_EVENTS = {"session_start": "SessionStart", "prompt": "UserPromptSubmit", **ACTION_NAMES}

OUTPUT_EVENTS: dict[str, dict[str, str]] = {
    "claude-code": CLAUDE_EVENTS,
    "codex": CLAUDE_EVENTS,
    "qwen": CLAUDE_EVENTS,
    "gemini": {"session_start": "SessionStart", "prompt": "BeforeAgent", "after_tool": "AfterTool"},
    "cursor": {"session_start": "sessionStart", "prompt": "beforeSubmitPrompt", **ACTION_NAMES},
    "copilot": ACTION_NAMES,
}
"""The program's name of each event after which it takes text; at all others a hook prints nothing."""

EVENTS = ("session_start", "prompt", "compaction", "session_end", *ACTION_EVENTS)

REASON_KEYS = ("source", "trigger", "reason")


def main(arguments: Sequence[str]) -> None:
    """Run the hook of a program and an event.

    Args:
        arguments: The program, the event, and the options `--agent NAME`, `--socket PATH` and `--state-dir PATH`, whose
            folder counts if the environment names none.
    """
    program, event, options = read_arguments(arguments)
    given = read_input()
    if given is None:
        return
    params = request_params(program, event, given)
    if params is None:
        return
    params["agent"] = options.get("--agent")
    timeout_s = START_TIMEOUT_S if event == "session_start" else SOCKET_TIMEOUT_S
    reply = ask_daemon(*find_daemon(options, os.environ), params, timeout_s)
    printed = output(program, event, reply.get("text"))
    while printed:
        printed = printed[os.write(1, printed) :]


def find_daemon(options: Mapping[str, str], environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the daemon's socket and the state folder that it must serve; empty: any."""
    env = dict(environ)
    if "--state-dir" in options and not names_state_dir(env):
        env[STATE_VARIABLE] = options["--state-dir"]

    def home() -> str:
        return os.path.expanduser("~")

    is_any = "--socket" in options and not names_state_dir(env)
    state_dir = "" if is_any else os.path.realpath(find_state_dir(env, home))
    return options.get("--socket") or socket_location(env, home), state_dir


def read_arguments(arguments: Sequence[str]) -> tuple[str, str, dict[str, str]]:
    """Return the program, the event and the options.

    Raises:
        ValueError: They are wrong.
    """
    program, event, *rest = arguments
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    if program not in OUTPUT_EVENTS or event not in EVENTS:
        raise ValueError("unknown program or event")
    return program, event, options


def read_input() -> dict[str, Any] | None:
    """Return the program's JSON object from standard input; None if there is none, or too much.

    A terminal is not read. A pipe is read until it ends, or until it has one whole JSON object.
    """
    if os.isatty(0):
        return None
    poll = select.poll()
    poll.register(0, select.POLLIN)
    deadline = time.monotonic() + INPUT_TIMEOUT_S
    data = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            return None
        read = os.read(0, MAX_INPUT_BYTES)
        data += read
        if len(data) > MAX_INPUT_BYTES:
            return None
        if not read or read.rstrip().endswith(b"}"):
            given = _json_object(data)
            if given is not None or not read:
                return given


def _json_object(data: bytes | bytearray) -> dict[str, Any] | None:
    """Return a JSON object; None if the text is none, or not yet."""
    try:
        given = parse_json(data)
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


def parse_json(data: bytes | bytearray) -> Any:
    """Return a JSON value.

    Raises:
        ValueError: It is not JSON, or nested too deeply.
    """
    text = data.decode("utf-8", "replace").strip("\ufeff \t\r\n")
    try:
        value, end = _scanner()(text, 0)
    except (StopIteration, RecursionError, SystemError) as error:
        # SystemError: the scanner's own error class is in the module `json`, which is not loaded.
        raise ValueError("no JSON value") from error
    if end != len(text):
        raise ValueError("more than one JSON value")
    return value


def _scanner() -> Any:
    """Return the scanner of the module `json`, without the import of that module, which takes 10 ms."""
    try:
        from _json import make_scanner

        settings: Any = _ScannerSettings
        return make_scanner(settings)
    except (ImportError, AttributeError, TypeError):  # another Python
        import json

        return json.JSONDecoder(strict=False).raw_decode


class _ScannerSettings:
    """The attributes that the scanner reads."""

    strict = False
    object_hook = object_pairs_hook = array_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def request_params(program: str, event: str, given: Mapping[str, Any]) -> dict[str, str | None] | None:
    """Return the parameters of the request; None if there is nothing to ask.

    Cursor runs Claude Code's hooks as well as its own; only its own one asks, so that each event counts once.
    """
    if program != "cursor" and "cursor_version" in given:
        return None
    session = text_in(given, "session_id", "sessionId", "conversation_id")
    prompt = text_in(given, "prompt") if event == "prompt" else ""
    if not session.strip() or (event == "prompt" and not prompt.strip()):
        return None
    roots = given.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    action = action_params(program, event, given) if event in ACTION_EVENTS else {}
    if action is None:
        return None
    return {
        "program": program,
        "event": event,
        "session_id": session,
        "cwd": _path(text_in(given, "cwd") or root),
        "prompt": prompt[:MAX_PROMPT_CHARS],
        "reason": text_in(given, *REASON_KEYS)[:64],
        "transcript_path": _path(text_in(given, "transcript_path", "transcriptPath")),
        **action,
    }


def _path(text: str) -> str:
    """Return a path that the daemon can take, or an empty text."""
    return text if len(text) <= MAX_PATH_CHARS else ""


def output(program: str, event: str, text: Any) -> bytes:
    """Return what to print: the text in the program's form; nothing if it takes none, or it is too long."""
    name = OUTPUT_EVENTS[program].get(event)
    if name is None or not isinstance(text, str) or not text.strip():
        return b""
    if program == "copilot":
        printed = f'{{"additionalContext": {_quoted(text)}}}'
    elif program == "cursor":
        printed = f'{{"additional_context": {_quoted(text)}}}'
    else:
        inner = f'{{"hookEventName": "{name}", "additionalContext": {_quoted(text)}}}'
        printed = f'{{"hookSpecificOutput": {inner}}}'
    return printed.encode("utf-8", "replace") if len(printed) <= MAX_OUTPUT_CHARS else b""


def _quoted(text: str) -> str:
    """Return a text as a JSON string."""
    try:
        from _json import encode_basestring

        return str(encode_basestring(text))
    except ImportError:
        import json

        return json.dumps(text, ensure_ascii=False)
