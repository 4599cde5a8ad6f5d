"""Lenient parsing of the arguments of a model's call; an error describes a valid call. Pure."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from memd.lifecycle.tools.definitions import TOOLS, ToolDefinition
from memd.system.untrusted import on_one_line
from memd_client.limits import MAX_QUERY_CHARS

MAX_ECHO_CHARS = 60
"""Longest part of a model's text that an error repeats."""

RunTool = Callable[[dict[str, Any]], Awaitable["dict[str, Any] | InvalidCall"]]
"""Executes a call with valid arguments."""

_KINDS = {"string": "text", "integer": "a whole number", "number": "a number"}


class InvalidCall(Struct, frozen=True):
    """Why a call is invalid, the expected form, and an example (arguments, or a call if the tool is unknown)."""

    error: str
    expected: str
    example: dict[str, Any]

    def answer(self) -> dict[str, Any]:
        """Return it as the result of the call."""
        return {"error": self.error, "expected": self.expected, "example": dict(self.example)}


def read_arguments(tool: ToolDefinition, written: object) -> dict[str, Any] | InvalidCall:
    """Return a call's arguments by name, each of its type and in its range."""
    read = _as_map(written)
    if read is None:
        return invalid_call(tool, f"{tool.name}: the arguments are not a JSON object")
    taken: dict[str, Any] = {}
    for name, value in read.items():
        facts = tool.properties.get(name) if isinstance(name, str) else None
        if facts is None:
            return invalid_call(tool, f"{tool.name} has no argument {quoted(name)}")
        is_blank = isinstance(value, str) and not value.strip()
        if value is None or (is_blank and name not in tool.required):
            continue
        fitting, problem = _fit(value, facts)
        if problem:
            return invalid_call(tool, f"{tool.name}: `{name}` {problem}")
        taken[name] = fitting
    for name in tool.required:
        if name not in taken:
            return invalid_call(tool, f"{tool.name}: `{name}` is missing")
    return taken


def invalid_call(tool: ToolDefinition, error: str, expected: str = "") -> InvalidCall:
    """Return the error of an invalid call of a tool."""
    return InvalidCall(error, expected or _expected(tool), tool.example)


def unknown_tool(name: str, available: list[str]) -> InvalidCall:
    """Return the error of a call of an unknown tool."""
    example = {"name": available[0], "arguments": TOOLS[available[0]].example} if available else {}
    expected = f"one of {', '.join(available)}" if available else "no memory tool is available here"
    return InvalidCall(f"there is no tool {quoted(name)}", expected, example)


def quoted(value: object) -> str:
    """Return a model's text in quotes, truncated and on one line."""
    return f'"{on_one_line(str(value), MAX_ECHO_CHARS)}"'


def _as_map(written: object) -> Mapping[Any, Any] | None:
    if isinstance(written, str | bytes):
        if not written.strip():
            return {}
        try:
            written = msgspec.json.decode(written)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
    if written is None:
        return {}
    return written if isinstance(written, Mapping) else None


def _expected(tool: ToolDefinition) -> str:
    return "an object of " + "; ".join(
        f"{name}: {_described(facts)}{'' if name in tool.required else ', optional'}"
        for name, facts in tool.properties.items()
    )


def _described(facts: Mapping[str, Any]) -> str:
    if "enum" in facts:
        return "one of " + ", ".join(facts["enum"])
    low, high = facts.get("minimum"), facts.get("maximum")
    kind = _KINDS[facts["type"]]
    if low is None:
        most = facts.get("maxLength")
        return f"{kind}, not empty" if most is None else f"{kind} of 1 to {most} characters"
    return f"{kind} of at least {low}" if high is None else f"{kind} from {low} to {high}"


def _fit(value: object, facts: Mapping[str, Any]) -> tuple[Any, str]:
    """Return a value as its argument's type, or why it is invalid."""
    fitting: Any = value
    if facts["type"] == "string":
        if isinstance(value, str) and "maxLength" not in facts:
            value = value.strip()[:MAX_QUERY_CHARS]  # models paste whole messages as a query
        fits = isinstance(value, str) and value.strip() and len(value) <= facts.get("maxLength", math.inf)
        if not fits or value not in facts.get("enum", [value]):
            return None, f"must be {_described(facts)}"
        return value, ""
    fitting = _as_number(value)
    if fitting is None or (facts["type"] == "integer" and fitting != int(fitting)):
        return None, f"must be {_described(facts)}"
    low, high = facts.get("minimum", -math.inf), facts.get("maximum", math.inf)
    if facts["type"] == "integer" and fitting < low:
        return None, f"must be {_described(facts)}"
    fitting = min(max(fitting, low), high)  # beyond a limit, a model gets the limit
    return (int(fitting) if facts["type"] == "integer" else float(fitting)), ""


def _as_number(value: object) -> int | float | None:
    """Return a finite number, which may have been written as text; None for anything else."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value.strip(), type=int | float)
        except (msgspec.MsgspecError, ValueError):
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None
