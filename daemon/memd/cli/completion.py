"""Shell completion of agents, models and facts; empty unless a running daemon replies within a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import click

    from memd_client import Client
    from memd_client.facts import FactRow


T = TypeVar("T")

DEADLINE_S = 0.2
"""Deadline of one completion: the user waits at the prompt."""


def agent_ids(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the ids of agents with a prefix."""
    ids = _request(ctx, lambda client: [each.agent for each in client.status().agents])
    return _with_prefix(incomplete, ids)


def model_refs(ctx: click.Context, incomplete: str) -> list[str]:
    """Return the names of models on disk with a prefix."""
    refs = _request(ctx, lambda client: [each.ref for each in client.model(action="list").models])
    return _with_prefix(incomplete, refs)


def fact_rows(ctx: click.Context, incomplete: str, agent: str | None) -> list[FactRow]:
    """Return the newest facts whose ids have a prefix."""
    rows = _request(ctx, lambda client: client.facts(agent=agent).facts)
    return [each for each in rows if each.id.startswith(incomplete)]


def _with_prefix(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names with a prefix, sorted."""
    return sorted({name for name in names if name.startswith(incomplete)})


def _request(ctx: click.Context, what: Callable[[Client], list[T]]) -> list[T]:
    """Return the reply of a running daemon; empty if none runs, on an error and after the deadline."""
    if ctx.find_root().params.get("host"):  # ssh takes longer than the deadline
        return []
    replies: list[list[T]] = []

    def request() -> None:
        from memd.service.install.lock_holder import find_holder
        from memd_client import Client
        from memd_client.discovery import socket_path
        from memd_client.errors import MemdError

        try:
            socket = socket_path()
            if not find_holder(socket):  # connecting to systemd's socket would start a daemon
                return
            with Client(timeout_s=DEADLINE_S, connect_timeout_s=DEADLINE_S) as client:
                replies.append(what(client))
        except (MemdError, OSError):
            return

    thread = threading.Thread(target=request, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    return replies[0] if replies else []
