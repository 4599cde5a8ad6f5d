"""Load generator: connections that send queries without pause.

    python -m benchmarks.load_clients SOCKET CONNECTIONS

Started by `benchmarks.load`. The first line of its input has the queries. It prints `ready` when all connections have
said hello; for each further line `{"seconds": n}` it sends queries for that long and prints the counts. It drives
memd_client's session over plain sockets and a selector, and only decodes and counts answers, to leave the cores to the
daemon.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from memd_client.session import ClientSession, Failure, Reply

RECEIVE_BYTES: Final = 262_144

DRAIN_S: Final = 30.0
"""How long pending answers may take after the time is over."""


@dataclass
class ClientCounts:
    """Answers per client, latencies and errors of one process."""

    answers: list[int]
    took_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    less: int = 0
    elapsed_s: float = 0.0
    processor_s: float = 0.0
    unanswered: int = 0


class LoadConnection:
    """One client of the daemon: a socket and a session."""

    def __init__(self, path: str, number: int, queries: list[str]) -> None:
        self.number = number
        self._questions = queries
        self._next = number * 17
        self._session = ClientSession("load")
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.connect(path)
        self.peer.sendall(self._session.hello()[1])
        while self._session.state == "greeting":
            self._session.receive(self.peer.recv(RECEIVE_BYTES))
        self.sent_at = 0.0

    def send_query(self) -> None:
        """Send the next query; a request is small enough to fit the socket buffer."""
        query = self._questions[self._next % len(self._questions)]
        self._next += 1
        self.sent_at = time.perf_counter()
        self.peer.sendall(self._session.request("search", {"query": query})[1])

    def receive(self) -> Reply | Failure | None:
        """Return the answer, or None if it is incomplete."""
        data = self.peer.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the daemon closed a connection")
        for arrival in self._session.receive(data):
            if isinstance(arrival, Reply | Failure):
                return arrival
        return None


def run(connections: list[LoadConnection], seconds: float) -> ClientCounts:
    """Send queries on every connection for some time; then wait for pending answers.

    A later answer counts in `took_ms` alone: dropping it would drop slow ones.
    """
    counts = ClientCounts([0] * len(connections))
    with selectors.DefaultSelector() as selector:
        began, used = time.perf_counter(), time.process_time()
        for place, connection in enumerate(connections):
            selector.register(connection.peer, selectors.EVENT_READ, place)
            connection.send_query()
        until, pending = began + seconds, len(connections)
        while pending and time.perf_counter() < until + DRAIN_S:
            for key, _ in selector.select(1.0):
                connection = connections[key.data]
                answer = connection.receive()
                if answer is None:
                    continue
                now = time.perf_counter()
                _count(counts, answer, now - connection.sent_at)
                if now < until:
                    counts.answers[key.data] += isinstance(answer, Reply)
                    connection.send_query()
                else:
                    selector.unregister(connection.peer)
                    pending -= 1
        counts.elapsed_s, counts.processor_s = time.perf_counter() - began, time.process_time() - used
    counts.unanswered = pending
    return counts


def _count(counts: ClientCounts, answer: Reply | Failure, took_s: float) -> None:
    """Count one answer."""
    if isinstance(answer, Failure):
        counts.errors[answer.error.code] += 1
        return
    counts.took_ms.append(took_s * 1000)
    counts.less += answer.result["mode"] != "hybrid" or answer.result["degraded"] is not None


def main(path: str, count: int) -> None:
    """Serve lines until the input ends."""
    queries: list[str] = json.loads(sys.stdin.readline())
    connections = [LoadConnection(path, number, queries) for number in range(count)]
    _write("ready")
    for line in sys.stdin:
        _write(vars(run(connections, json.loads(line)["seconds"])))


def _write(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
