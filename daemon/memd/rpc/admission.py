"""Scheduling of requests: which one runs next, fairly between all connections.

Each connection's first request runs at once; the remaining slots go to connections in turn, one request each, and
first to those with few requests and no unread replies. So a connection that sends many requests delays only its own.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from operator import attrgetter

import trio

from memd.rpc.limits import Limits
from memd.sync.search_scheduler import TURNS
from memd_client.errors import DaemonBusyError

REQUEST_CLASSES = {
    "search": "reading",
    "get": "loading",
    "files": "loading",
    "conversations": "loading",
    "conversation_search": "reading",
    "conversation_read": "loading",
    "session_handoff": "loading",
    "how": "reading",
    "fix": "reading",
    "blame": "loading",
    "work_files": "reading",
    "hook": "reading",
    "facts": "reading",
    "call_tool": "reading",
    "embed": "embedding",
    "memory_store": "embedding",
    "memory_recall": "embedding",
    "memory_edit": "embedding",
    "memory_forget": "embedding",
    "facts_for_prompt": "embedding",
    "capture_facts": "embedding",
    "status": "reporting",
    "metrics": "reporting",
}
"""Requests that need a slot, by the class that shares slots. A request keeps its slot while it waits for a provider or
a disk probe; classes have separate slots, so a search never waits for such a request. Other requests need no slot: they
are cheap, or the agent serializes them anyway. Each agent's search of `search_agents` takes a slot as a `search`."""


class FairSemaphore:
    """Slots shared by connections: `at_once` of them, and up to `most` for connections without one.

    `load_of` returns a connection's load: of `TURNS` slots, all but one go to the lowest.
    """

    def __init__(self, at_once: int, most: int, load_of: Callable[[object], int] = lambda _: 0) -> None:
        self._load_of = load_of
        self._turn = 0
        self._at_once = at_once
        self._most = max(at_once, most)
        self._held: Counter[object] = Counter()
        self._running = 0
        self._queues: OrderedDict[object, deque[trio.Event]] = OrderedDict()

    def __repr__(self) -> str:
        return f"<FairSemaphore {self._running} running, {self.waiting} waiting>"

    @property
    def waiting(self) -> int:
        """How many requests wait for a slot."""
        return sum(len(queue) for queue in self._queues.values())

    async def acquire(self, client: object) -> None:
        """Wait for a slot and keep it until `release`.

        *Cancellation*: leaves the queue without a slot.
        """
        if client not in self._queues and self._is_free_for(client):
            self._hold(client)
            return
        granted = trio.Event()
        self._queues.setdefault(client, deque()).append(granted)
        try:
            await granted.wait()
        except BaseException:
            if granted.is_set():
                self.release(client)
            else:
                self._dequeue(client, granted)
            raise

    def release(self, client: object) -> None:
        """Release a slot, and grant free slots to waiting requests."""
        self._running -= 1
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]
        while (client := self._next()) is not None:
            granted = self._queues[client][0]
            self._dequeue(client, granted)
            if client in self._queues:
                self._queues.move_to_end(client)
            self._hold(client)
            granted.set()

    def _is_free_for(self, client: object) -> bool:
        """Return whether a client may have a slot now."""
        return self._running < (self._at_once if client in self._held else self._most)

    def _next(self) -> object | None:
        """Return the client of the next slot: one without a slot, of these the least recently served."""
        turn, load_of, held = self._turn % TURNS, self._load_of, self._held
        client = min(self._queues, key=lambda each: (each in held, turn and load_of(each)), default=None)
        return client if client is not None and self._is_free_for(client) else None

    def _hold(self, client: object) -> None:
        self._turn += 1
        self._running += 1
        self._held[client] += 1

    def _dequeue(self, client: object, granted: trio.Event) -> None:
        """Remove a request from its client's queue."""
        queue = self._queues[client]
        queue.remove(granted)
        if not queue:
            del self._queues[client]


class Admission:
    """The requests in flight of all connections, and their slots."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._in_flight: Counter[object] = Counter()
        self._unfinished: Counter[object] = Counter()
        self._unfinished_bytes = 0
        self.total = 0
        load_of = attrgetter("load")
        self._slots = {
            each: FairSemaphore(
                limits.running, limits.loading_most if each == "loading" else limits.running_most, load_of
            )
            for each in set(REQUEST_CLASSES.values())
        }

    def __repr__(self) -> str:
        return f"<Admission {self.total} in flight, {self._slots}>"

    @property
    def waiting(self) -> int:
        """How many requests of all connections wait for a slot."""
        return sum(each.waiting for each in self._slots.values())

    def enter(self, client: object, method: str) -> None:
        """Count a request that starts; `leave` ends it."""
        if self.total >= self._limits.requests and client in self._in_flight and method != "cancel":
            raise DaemonBusyError(f"{self.total} requests of all clients are in flight")
        self._in_flight[client] += 1
        self.total += 1

    def leave(self, client: object) -> None:
        """Count a request that ended."""
        self.total -= 1
        self._in_flight[client] -= 1
        if not self._in_flight[client]:
            del self._in_flight[client]

    def keep(self, client: object, unfinished_bytes: int) -> None:
        """Record how many bytes of an incomplete frame are buffered for a client."""
        more = unfinished_bytes - self._unfinished.pop(client, 0)
        self._unfinished_bytes += more
        if unfinished_bytes:
            self._unfinished[client] = unfinished_bytes
        if more > 0 and self._unfinished_bytes > self._limits.unfinished_bytes:
            raise DaemonBusyError(f"{self._unfinished_bytes} bytes of incomplete frames are buffered")

    def slots_of(self, method: str) -> FairSemaphore | None:
        """Return the slots of a request's class; None if it needs no slot."""
        each = REQUEST_CLASSES.get(method)
        return None if each is None else self._slots[each]
