"""Names that a shell completes: agents, models and facts, if a running daemon tells them at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.facts import FactRow


T = TypeVar("T")

DEADLINE_S = 0.2
"""How long the daemon may take to name agents or models: somebody holds the tab key."""


def agent_ids(incomplete: str) -> list[str]:
    """Return the agents whose ids begin so; none where no daemon answers at once."""
    return _starting(incomplete, _ask(lambda client: [each.agent for each in client.status().agents]))


def model_refs(incomplete: str) -> list[str]:
    """Return the models on disk whose names begin so; none where no daemon answers at once."""
    return _starting(
        incomplete, _ask(lambda client: [each.ref for each in client.model(action="list").models])
    )


def fact_rows(incomplete: str, agent: str | None) -> list[FactRow]:
    """Return the newest facts whose ids begin so; none if no daemon answers at once."""
    rows = _ask(lambda client: client.facts(agent=agent).facts)
    return [each for each in rows if each.id.startswith(incomplete)]


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin so, in order."""
    return sorted({name for name in names if name.startswith(incomplete)})


def _ask(what: Callable[[Client], list[T]]) -> list[T]:
    """Return what a daemon that runs says within the deadline; nothing at all where anything is in the way."""
    named: list[list[T]] = []

    def ask() -> None:
        from memd.service.install.lock_holder import find_holder
        from memd_client import Client
        from memd_client.discovery import socket_path
        from memd_client.errors import MemdError

        try:
            socket = socket_path()
            if not find_holder(socket):  # a connection alone would have systemd start one
                return
            with Client(socket, timeout_s=DEADLINE_S, connect_timeout_s=DEADLINE_S) as client:
                named.append(what(client))
        except (MemdError, OSError):
            return

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    return named[0] if named else []
