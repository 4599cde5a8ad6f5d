"""A model's arguments, read with patience; what can't be taken is told so that the next call is right.

Pure.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from memd.lifecycle.files.visible import on_one_line
from memd.lifecycle.tools.definitions import TOOLS, Tool
from memd.search.query import MAX_QUERY_CHARS

MOST_ECHO_CHARS = 60
"""What a model wrote is cut here where an answer repeats it."""

Run = Callable[[dict[str, Any]], Awaitable["dict[str, Any] | Wrong"]]
"""Carries out a call: arguments that fit the tool's definition -> its result, or why there is none."""

_KINDS = {"string": "text", "integer": "a whole number", "number": "a number"}


@dataclass(frozen=True, slots=True)
class Wrong:
    """Why a call can't be carried out.

    Attributes:
        error: What is wrong with it.
        expected: What would be right.
        example: Arguments that would be, or a whole call where the tool is unknown.
    """

    error: str
    expected: str
    example: dict[str, Any]

    def answer(self) -> dict[str, Any]:
        """Return it as the result of the call."""
        return {"error": self.error, "expected": self.expected, "example": dict(self.example)}


def read_arguments(tool: Tool, written: object) -> dict[str, Any] | Wrong:
    """Return a call's arguments by name, each of its type and in its range."""
    read = _as_map(written)
    if read is None:
        return wrong(tool, f"{tool.name}: the arguments are not a JSON object")
    taken: dict[str, Any] = {}
    for name, value in read.items():
        facts = tool.properties.get(name) if isinstance(name, str) else None
        if facts is None:
            return wrong(tool, f"{tool.name} has no argument {quoted(name)}")
        if value is None:
            continue
        fitting, problem = _fit(value, facts)
        if problem:
            return wrong(tool, f"{tool.name}: `{name}` {problem}")
        taken[name] = fitting
    for name in tool.required:
        if name not in taken:
            return wrong(tool, f"{tool.name}: `{name}` is missing")
    return taken


def wrong(tool: Tool, error: str, expected: str = "") -> Wrong:
    """Return why a call of a tool can't be carried out, with what would be right."""
    return Wrong(error, expected or _expected(tool), tool.example)


def unknown_tool(name: str, available: list[str]) -> Wrong:
    """Return the answer to a call of a tool that isn't there."""
    example = {"name": available[0], "arguments": TOOLS[available[0]].example} if available else {}
    expected = f"one of {', '.join(available)}" if available else "no memory tool is available here"
    return Wrong(f"there is no tool {quoted(name)}", expected, example)


def quoted(value: object) -> str:
    """Return something a model wrote, short and on one line."""
    return f'"{on_one_line(str(value), MOST_ECHO_CHARS)}"'


def _as_map(written: object) -> Mapping[Any, Any] | None:
    """Return arguments as a map, or None where they are something else."""
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


def _expected(tool: Tool) -> str:
    """Return a tool's arguments in a sentence."""
    return "an object of " + "; ".join(
        f"{name}: {_described(facts)}{'' if name in tool.required else ', optional'}"
        for name, facts in tool.properties.items()
    )


def _described(facts: Mapping[str, Any]) -> str:
    """Return what an argument may be, in a few words."""
    if "enum" in facts:
        return "one of " + ", ".join(facts["enum"])
    low, high = facts.get("minimum"), facts.get("maximum")
    kind = _KINDS[facts["type"]]
    if low is None:
        most = facts.get("maxLength")
        return f"{kind}, not empty" if most is None else f"{kind} of 1 to {most} characters"
    return f"{kind} of at least {low}" if high is None else f"{kind} from {low} to {high}"


def _fit(value: object, facts: Mapping[str, Any]) -> tuple[Any, str]:
    """Return a value as its argument's type, and why it can't be where it can't."""
    fitting: Any = value
    if facts["type"] == "string":
        if isinstance(value, str) and len(value) > MAX_QUERY_CHARS:
            return None, f"must have at most {facts.get('maxLength', MAX_QUERY_CHARS)} characters"
        fits = isinstance(value, str) and value.strip() and len(value) <= facts.get("maxLength", math.inf)
        if not fits or value not in facts.get("enum", [value]):
            return None, f"must be {_described(facts)}"
        return value, ""
    fitting = _as_number(value)
    if fitting is None or (facts["type"] == "integer" and fitting != int(fitting)):
        return None, f"must be {_described(facts)}"
    if not facts.get("minimum", -math.inf) <= fitting <= facts.get("maximum", math.inf):
        return None, f"must be {_described(facts)}"
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
