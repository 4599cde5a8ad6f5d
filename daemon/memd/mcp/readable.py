"""What a tool answered, as text for a model or a person."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memd.mcp.definitions import APPEND_NOTE
from memd_client.errors import MemdError

_JOINERS = "\u200c\u200d"
"""They stay: emoji and some scripts are written with them."""


def show_unseen(text: str) -> str:
    r"""Return a text with characters that show nothing, or turn the direction of what is shown, written as `\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(each) for each in text.replace("\r\n", "\n"))


def _shown(character: str) -> str:
    is_unseen = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    if not is_unseen or character in "\t\n" or character in _JOINERS:
        return character
    return f"\\u{ord(character):04x}"


def say(name: str, answer: Mapping[str, Any]) -> str:
    """Return a tool's answer as text."""
    return show_unseen(_SAID[name](answer))


def say_wrong(answer: Mapping[str, Any]) -> str:
    """Return what was wrong with a call, and what would be right."""
    lines = [str(answer.get("error", "the call can't be carried out"))]
    if answer.get("expected"):
        lines.append(f"Expected: {answer['expected']}")
    if answer.get("example"):
        lines.append(f"Example: {json.dumps(answer['example'], ensure_ascii=False)}")
    return show_unseen("\n".join(lines))


def say_error(error: MemdError) -> str:
    """Return why memory can't answer, and the way out."""
    return show_unseen(f"{error.message or error.wire_code} ({error.wire_code})\n{error.hint}")


def _found(answer: Mapping[str, Any]) -> str:
    rows: Sequence[Mapping[str, Any]] = answer["results"]
    parts = [f"{_owner(row)}{_place(row)} (score {row['score']:.2f})\n{row['snippet']}" for row in rows]
    if not rows:
        parts.append(str(answer.get("reason") or answer.get("warning") or "No relevant results."))
    degraded = answer.get("degraded")
    if degraded:
        parts.append(f"Less than the whole: {degraded['reason']} {degraded['hint']}")
    parts.extend(line for each in answer.get("agents", ()) for line in _lacking(each))
    return "\n\n".join(parts)


def _owner(row: Mapping[str, Any]) -> str:
    """Return whose memory a result is in, where several agents' were searched."""
    return f"agent {row['agent']}: " if row.get("agent") else ""


def _lacking(agent: Mapping[str, Any]) -> Iterator[str]:
    """Return what one agent's part lacks, where several agents' memory was searched."""
    if error := agent.get("error"):
        yield f"Agent {agent['agent']} was not searched: {error['message']} {error['hint']}"
    if degraded := agent.get("degraded"):
        yield f"Agent {agent['agent']}, less than the whole: {degraded['reason']} {degraded['hint']}"


def _place(row: Mapping[str, Any]) -> str:
    """Return where an excerpt is, on one line whatever the file is called."""
    path = str(row["path"]).replace("\n", "\\n")
    return f"{path}#L{row['startLine']}-L{row['endLine']}"


def _read(answer: Mapping[str, Any]) -> str:
    if answer.get("status") == "not_found":
        return str(answer.get("reason") or f"There is no file {answer['path']}.")
    text = str(answer["text"] or answer.get("reason", ""))
    if answer.get("truncated"):
        last = answer["next_from"] - 1
        text += (
            f"\n\n[cut after line {last} of {answer['total_lines']}; go on with from={answer['next_from']}]"
        )
    return text


def _stored(answer: Mapping[str, Any]) -> str:
    if answer["stored"]:
        return f"Stored as {answer['category']}, id {answer['id']}."
    return f"Known already as {answer.get('duplicate_of')}: {answer.get('duplicate_text')}"


def _recalled(answer: Mapping[str, Any]) -> str:
    rows: Sequence[Mapping[str, Any]] = answer["facts"]
    if not rows:
        return str(answer.get("reason") or f"None of the {answer['total']} stored facts is near.")
    return "\n".join(map(_fact, rows))


def _forgotten(answer: Mapping[str, Any]) -> str:
    if answer["forgotten"] is not None:
        return f"Forgotten: {answer['forgotten']['text']}"
    rows: Sequence[Mapping[str, Any]] = answer["candidates"]
    if not rows:
        return "There is no such fact; nothing was removed."
    return "\n".join(["Nothing was removed. Name one of these by its id:", *map(_fact, rows)])


def _appended(answer: Mapping[str, Any]) -> str:
    place = f"{answer['path']}#L{answer['start_line']}-L{answer['end_line']}"
    return f"Appended: {place}" if answer["appended"] else f"It stands there already: {place}"


def _fact(row: Mapping[str, Any]) -> str:
    return f"- {row['text']} ({row['category']}, id {row['id']}, {row['path']}:{row['line']})"


_SAID = {
    "memory_search": _found,
    "memory_get": _read,
    "memory_store": _stored,
    "memory_recall": _recalled,
    "memory_forget": _forgotten,
    APPEND_NOTE: _appended,
}
