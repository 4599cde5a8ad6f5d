"""Tools that are requests of their own, not tools of the daemon: their arguments, checked, as requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from memd.mcp.definitions import APPEND_NOTE, CONVERSATION_READ, CONVERSATION_SEARCH, SESSION_HANDOFF, Tool
from memd_client import requests
from memd_client.errors import BadParamsError
from memd_client.prepared_request import PreparedRequest

_TYPES = {
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


def check_arguments(tool: Tool, given: Mapping[str, Any]) -> None:
    """Raise if an argument is unknown, missing, or of another type; the daemon checks ranges."""
    for name in given:
        if name not in tool.properties:
            raise BadParamsError(f"{tool.name} has no argument {name[:60]!r}")
    for name, facts in tool.properties.items():
        value = given.get(name)
        if value is None:
            if name in tool.required:
                raise BadParamsError(f"{tool.name}: `{name}` is missing")
            continue
        kind, words = _TYPES[facts["type"]]
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            words = "a date (YYYY-MM-DD)" if "pattern" in facts else words
            raise BadParamsError(f"{tool.name}: `{name}` must be {words}")


def _append_note(given: Mapping[str, Any], agent: str | None, caller: str) -> PreparedRequest[Any]:
    return requests.append_note(given["text"], agent=agent, date=given.get("date"))


def _conversation_search(given: Mapping[str, Any], agent: str | None, caller: str) -> PreparedRequest[Any]:
    source = given.get("source")
    return requests.conversation_search(
        given["query"],
        agent=agent,
        max_results=given.get("maxResults"),
        sources=None if source is None else [source],
        project=given.get("project"),
        since=given.get("since"),
        exclude_session=given.get("ownSession"),
        caller=caller,
    )


def _conversation_read(given: Mapping[str, Any], agent: str | None, caller: str) -> PreparedRequest[Any]:
    return requests.conversation_read(
        given["session"],
        agent=agent,
        line=given.get("line"),
        first=given.get("first"),
        messages=given.get("messages", 20),
    )


def _session_handoff(given: Mapping[str, Any], agent: str | None, caller: str) -> PreparedRequest[Any]:
    session = given.get("session") or ""
    return requests.session_handoff(
        session=session,
        project="" if session else given.get("project") or _folder(),
        agent=agent,
        exclude_session=given.get("ownSession") or "",
    )


def _work(
    request: Callable[..., PreparedRequest[Any]],
) -> Callable[[Mapping[str, Any], str | None, str], PreparedRequest[Any]]:
    """Return the function that prepares a request about the project in which the server runs."""

    def prepare(given: Mapping[str, Any], agent: str | None, caller: str) -> PreparedRequest[Any]:
        names = {"includeFailed": "include_failed"}
        values = {names.get(name, name): value for name, value in given.items() if value is not None}
        return request(**{"project": _folder(), **values}, agent=agent)

    return prepare


def _blame(given: Mapping[str, Any], agent: str | None, caller: str) -> PreparedRequest[Any]:
    file = os.path.abspath(given["file"])
    file = file if os.path.exists(file) else given["file"]
    return requests.blame(file, line=given.get("line"), agent=agent, limit=given.get("limit", 10))


def _folder() -> str:
    """Return the folder of the project; a server that no project started runs in the root: any project."""
    return os.path.abspath(".").rstrip("/")


OWN_REQUESTS: dict[str, Callable[[Mapping[str, Any], str | None, str], PreparedRequest[Any]]] = {
    APPEND_NOTE: _append_note,
    CONVERSATION_SEARCH: _conversation_search,
    CONVERSATION_READ: _conversation_read,
    SESSION_HANDOFF: _session_handoff,
    "memory_how": _work(requests.how),
    "memory_fix": _work(requests.fix),
    "memory_blame": _blame,
    "memory_files": _work(requests.work_files),
}
"""By tool: the request for checked arguments, an agent and the name of the caller."""
