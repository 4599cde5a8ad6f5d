"""Whose request runs next: over all connections, and fairly between them.

A connection that asks for much at once waits for its own requests, nobody else does: each connection's first
request runs at once, and what is left is handed out to the others one request a connection in turn.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import trio

from memd.rpc.limits import Limits
from memd_client.errors import DaemonBusyError, DeadlineExceededError

LANES = {
    "search": "reading",
    "get": "reading",
    "files": "reading",
    "curated_entries": "reading",
    "facts": "reading",
    "call_tool": "reading",
    "embed": "embedding",
    "memory_store": "embedding",
    "memory_recall": "embedding",
    "memory_edit": "embedding",
    "memory_forget": "embedding",
    "recall_for": "embedding",
    "capture_from": "embedding",
    "status": "reporting",
    "metrics": "reporting",
}
"""Requests that wait for a turn, and with which others they share them. One that waits for a provider or for
a disk probe holds its turn meanwhile, so a search never stands behind it. Requests that are not here take no
turn: they cost nothing, or the agent has one such task at a time anyway and the request waits for it. Of
`search_agents` each agent's search takes a turn as a `search`."""


class Turns:
    """Turns at work of one kind."""

    def __init__(self, at_once: int, most: int) -> None:
        self._at_once = at_once
        self._most = max(at_once, most)
        self._held: Counter[object] = Counter()
        self._running = 0
        self._lines: OrderedDict[object, deque[trio.Event]] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Turns {self._running} running, {self.waiting} waiting>"

    @property
    def waiting(self) -> int:
        """How many requests wait for a turn."""
        return sum(len(line) for line in self._lines.values())

    async def take(self, client: object) -> None:
        """Wait for a turn and hold it; `give_back` ends it.

        *Cancellation*: leaves the line; no turn is held.
        """
        if client not in self._lines and self._is_free_for(client):
            self._hold(client)
            return
        turn = trio.Event()
        self._lines.setdefault(client, deque()).append(turn)
        try:
            await turn.wait()
        except BaseException:
            if turn.is_set():
                self.give_back(client)
            else:
                self._leave_line(client, turn)
            raise

    def give_back(self, client: object) -> None:
        """End a turn; whoever is next begins."""
        self._running -= 1
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        while (client := self._next()) is not None:
            turn = self._lines[client][0]
            self._leave_line(client, turn)
            if client in self._lines:
                self._lines.move_to_end(client)
            self._hold(client)
            turn.set()

    def _is_free_for(self, client: object) -> bool:
        """Say whether a client may have a turn now."""
        return self._running < (self._at_once if client in self._held else self._most)

    def _next(self) -> object | None:
        """Return who gets the next turn: first whoever has nothing running, else whose turn is longest ago."""
        idle = next((client for client in self._lines if client not in self._held), None)
        client = idle if idle is not None else next(iter(self._lines), None)
        return client if client is not None and self._is_free_for(client) else None

    def _hold(self, client: object) -> None:
        """Count a turn that begins."""
        self._running += 1
        self._held[client] += 1

    def _leave_line(self, client: object, turn: trio.Event) -> None:
        """Take a request out of its client's line."""
        line = self._lines[client]
        line.remove(turn)
        if not line:
            del self._lines[client]


class Admission:
    """What all connections share: how many requests are in flight, and whose turn it is."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._in_flight: Counter[object] = Counter()
        self._unfinished: Counter[object] = Counter()
        self._unfinished_bytes = 0
        self.total = 0
        self._lanes = {lane: Turns(limits.running, limits.running_most) for lane in set(LANES.values())}

    def __repr__(self) -> str:
        return f"<Admission {self.total} in flight, {self._lanes}>"

    @property
    def waiting(self) -> int:
        """How many requests of all connections wait for their turn."""
        return sum(turns.waiting for turns in self._lanes.values())

    def enter(self, client: object, method: str) -> None:
        """Count a request in; `leave` counts it out."""
        if self.total >= self._limits.requests and client in self._in_flight and method != "cancel":
            raise DaemonBusyError(f"{self.total} requests of all clients are in flight already")
        self._in_flight[client] += 1
        self.total += 1

    def leave(self, client: object) -> None:
        """Count a request out."""
        self.total -= 1
        self._in_flight[client] -= 1
        if not self._in_flight[client]:
            del self._in_flight[client]

    def keep(self, client: object, unfinished_bytes: int) -> None:
        """Note how much of a frame that isn't whole yet is kept for a client."""
        more = unfinished_bytes - self._unfinished.pop(client, 0)
        self._unfinished_bytes += more
        if unfinished_bytes:
            self._unfinished[client] = unfinished_bytes
        if more > 0 and self._unfinished_bytes > self._limits.unfinished_bytes:
            raise DaemonBusyError(f"{self._unfinished_bytes} bytes of unfinished frames wait already")

    def turns(self, method: str) -> Turns | None:
        """Return the turns a request waits for; None where it waits for none."""
        lane = LANES.get(method)
        return self._lanes[lane] if lane is not None else None


class TimeLeft:
    """The time a request may still take once its turn has come."""

    def __init__(self, given: Any, deadline_ms: int | None) -> None:
        self._given = given
        self._deadline_ms = deadline_ms
        self._since = trio.current_time()

    def params(self) -> Any:
        """Return the parameters, with the time spent in line taken off the deadline."""
        if self._deadline_ms is None:
            return self._given
        spent_ms = int((trio.current_time() - self._since) * 1000)
        return {**self._given, "deadline_ms": max(1, self._deadline_ms - spent_ms)}


@contextmanager
def time_left(params: Any) -> Iterator[TimeLeft]:
    """Bound the wait for a turn by a request's own deadline."""
    wanted = params.get("deadline_ms") if isinstance(params, dict) else None
    deadline_ms = wanted if type(wanted) is int and wanted > 0 else None
    left = TimeLeft(params, deadline_ms)
    if deadline_ms is None:
        yield left
        return
    with trio.move_on_after(deadline_ms / 1000) as waiting:
        yield left
    if waiting.cancelled_caught:
        raise DeadlineExceededError(f"the request's turn did not come within its {deadline_ms} ms")
