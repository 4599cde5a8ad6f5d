"""Results of tools as text for a model or a user."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from memd.mcp.definitions import APPEND_NOTE, CONVERSATION_READ, CONVERSATION_SEARCH, SESSION_HANDOFF
from memd.system.untrusted import on_one_line, show_unseen
from memd_client.errors import MemdError
from memd_client.hit_text import DOT, NO_STRONG_MATCH, HitText, describe_session, hit_for_prompt, text_of_row
from memd_client.messages import BlameReply, FixReply, HowReply, SessionInfo, WorkFilesReply
from memd_client.schema import from_wire
from memd_client.work_text import WorkReply, work_lines


def answer_text(name: str, answer: Mapping[str, Any]) -> str:
    """Return a tool's result as text."""
    text = _FORMATTERS[name](answer)
    return show_unseen(f"{answer['notice']}\n\n{text}" if answer.get("notice") else text)


def wrong_call_text(answer: Mapping[str, Any]) -> str:
    """Return the error of an invalid call, with the expected arguments and an example."""
    lines = [str(answer.get("error", "the call failed"))]
    if answer.get("expected"):
        lines.append(f"Expected: {answer['expected']}")
    if answer.get("example"):
        lines.append(f"Example: {json.dumps(answer['example'], ensure_ascii=False)}")
    return show_unseen("\n".join(lines))


def error_text(error: MemdError) -> str:
    """Return an error with its code and hint."""
    return f"{on_one_line(error.message or error.wire_code)} ({error.wire_code})\n{on_one_line(error.hint)}"


def _search_text(answer: Mapping[str, Any]) -> str:
    rows: Sequence[Mapping[str, Any]] = answer["results"]
    parts = [str(answer["note"])] if answer.get("note") else []
    parts.extend(hit_for_prompt(text_of_row(row)) for row in rows)
    if not rows:
        parts.append(str(answer.get("reason") or answer.get("warning") or "No relevant results."))
    degraded = answer.get("degraded")
    if degraded:
        parts.append(f"Degraded: {on_one_line(degraded['reason'])} {degraded['hint']}")
    parts.extend(line for each in answer.get("agents", ()) for line in _degraded_lines(each))
    return "\n\n".join(parts)


def _degraded_lines(agent: Mapping[str, Any]) -> Iterator[str]:
    """Yield the error or degradation of one agent, if several agents were searched."""
    name = on_one_line(agent["agent"])
    if error := agent.get("error"):
        yield f"Agent {name} was not searched: {on_one_line(error['message'])} {error['hint']}"
    if degraded := agent.get("degraded"):
        yield f"Agent {name}, degraded: {on_one_line(degraded['reason'])} {degraded['hint']}"


def _read(answer: Mapping[str, Any]) -> str:
    if answer.get("status") == "not_found":
        return str(answer.get("reason") or f"No file {on_one_line(answer['path'])}.")
    text = str(answer["text"] or answer.get("reason", ""))
    if answer.get("truncated"):
        last = answer["next_from"] - 1
        following, total = answer["next_from"], answer["total_lines"]
        text += f"\n\n[truncated after line {last} of {total}; continue with from={following}]"
    return text


def _store_text(answer: Mapping[str, Any]) -> str:
    if answer["stored"]:
        stored = f"Stored as {answer['category']}, id {answer['id']}."
        earlier = answer.get("supersedes")
        return stored if earlier is None else f"{stored} Supersedes {earlier['id']}: {earlier['text']}"
    return f"Stored already as {answer.get('duplicate_of')}: {answer.get('duplicate_text')}"


def _recall_text(answer: Mapping[str, Any]) -> str:
    rows: Sequence[Mapping[str, Any]] = answer["facts"]
    if not rows:
        return str(answer.get("reason") or f"None of the {answer['total']} stored facts is relevant.")
    return "\n".join(map(_fact, rows))


def _forget_text(answer: Mapping[str, Any]) -> str:
    if answer["forgotten"] is not None:
        return f"Forgotten: {answer['forgotten']['text']}"
    rows: Sequence[Mapping[str, Any]] = answer["candidates"]
    if not rows:
        return "No such fact; nothing was removed."
    return "\n".join(["Nothing was removed. Pass the id of one of these:", *map(_fact, rows)])


def _append_text(answer: Mapping[str, Any]) -> str:
    place = f"{on_one_line(answer['path'])}#L{answer['start_line']}-L{answer['end_line']}"
    return f"Appended: {place}" if answer["appended"] else f"Present already: {place}"


def _conversations_text(answer: Mapping[str, Any]) -> str:
    rows: Sequence[Mapping[str, Any]] = answer["conversations"]
    if not rows:
        return "No relevant conversation."
    is_weak = all(row["relevance"] == "weak" for row in rows)
    return "\n\n".join([*([NO_STRONG_MATCH] if is_weak else []), *map(_conversation, rows)])


def _conversation(row: Mapping[str, Any]) -> str:
    """Return a session with its best lines."""
    session, relevance = row["session"], f"{row['relevance']} {row['score']:.2f}"
    lines = [hit_for_prompt(HitText(row["path"], session["date"], relevance, _session(session), "", "", ""))]
    for each in row["excerpts"]:
        lines += [f"line {each['line']}{', ' + each['date'] if each['date'] else ''}:", each["text"]]
    return "\n".join(lines)


def _session(session: Mapping[str, Any]) -> str:
    """Return the title, project and program of a session."""
    facts = {name: session.get(name, "") for name in ("program", "id", "title", "project", "branch")}
    return describe_session(SessionInfo(**facts, deleted=session.get("deleted", False)))


def _messages_text(answer: Mapping[str, Any]) -> str:
    rows: Sequence[Mapping[str, Any]] = answer["messages"]
    session = answer["session"]
    about = DOT.join(map(on_one_line, filter(None, (_session(session), session["date"]))))
    head = f"{about}: {len(rows)} of {answer['total']} messages"
    said = [
        f"{row['number']} (line {row['line']}) {on_one_line(row['speaker'])}: {row['text']}" for row in rows
    ]
    return "\n".join([head, *said])


def _handoff_text(answer: Mapping[str, Any]) -> str:
    return str(answer["text"])


def _work_text(kind: type[WorkReply], answer: Mapping[str, Any]) -> str:
    """Return an answer about work; names are escaped, and what agents ran and wrote is indented or marked."""
    lines = work_lines(from_wire(kind, answer))
    texts = [on_one_line(part.text) if part.kind in ("head", "place") else part.text for part in lines]
    return "\n".join(f"{' ' * part.indent}{text}" for part, text in zip(lines, texts, strict=True)).rstrip()


def _fact(row: Mapping[str, Any]) -> str:
    return f"- {row['text']} ({row['category']}, id {row['id']}, {on_one_line(row['path'])}:{row['line']})"


_FORMATTERS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "memory_search": _search_text,
    "memory_get": _read,
    "memory_store": _store_text,
    "memory_recall": _recall_text,
    "memory_forget": _forget_text,
    APPEND_NOTE: _append_text,
    CONVERSATION_SEARCH: _conversations_text,
    CONVERSATION_READ: _messages_text,
    SESSION_HANDOFF: _handoff_text,
    "memory_how": partial(_work_text, HowReply),
    "memory_fix": partial(_work_text, FixReply),
    "memory_blame": partial(_work_text, BlameReply),
    "memory_files": partial(_work_text, WorkFilesReply),
}
