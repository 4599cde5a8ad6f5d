"""Clients that load a daemon: many connections of one process, each asking its next question as it has its answer.

    python -m benchmarks.load_clients SOCKET CONNECTIONS

Run by `benchmarks.load`. The first line it reads holds the questions; it says `ready` when all connections have
greeted, and for each further line `{"seconds": n}` it asks for that long and writes what came of it. It drives
memd_client's session over plain sockets and a selector: an answer is decoded and counted, nothing more, so that the
cores are the daemon's.
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
"""How long answers may take that are under way when the time is over."""


@dataclass
class Told:
    """What one process found: answers of each client within the time, how long each took, and errors by code."""

    answers: list[int]
    took_ms: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    less: int = 0
    elapsed_s: float = 0.0
    processor_s: float = 0.0
    unanswered: int = 0


class Connection:
    """One client of the daemon: a socket and a session."""

    def __init__(self, path: str, number: int, questions: list[str]) -> None:
        self.number = number
        self._questions = questions
        self._next = number * 17
        self._session = ClientSession("load")
        self.peer = socket.socket(socket.AF_UNIX)
        self.peer.connect(path)
        self.peer.sendall(self._session.hello()[1])
        while self._session.state == "greeting":
            self._session.receive(self.peer.recv(RECEIVE_BYTES))
        self.asked_at = 0.0

    def ask(self) -> None:
        """Ask the next question; a request is small, so that its bytes always fit the socket."""
        question = self._questions[self._next % len(self._questions)]
        self._next += 1
        self.asked_at = time.perf_counter()
        self.peer.sendall(self._session.request("search", {"query": question})[1])

    def hear(self) -> Reply | Failure | None:
        """Return the answer, or None where it isn't whole yet."""
        data = self.peer.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the daemon closed a connection")
        for arrival in self._session.receive(data):
            if isinstance(arrival, Reply | Failure):
                return arrival
        return None


def run(connections: list[Connection], seconds: float) -> Told:
    """Have every connection ask for some time; wait then for the answers under way.

    An answer that comes after the time counts in `took_ms` alone: leaving it out would leave out slow ones.
    """
    told = Told([0] * len(connections))
    with selectors.DefaultSelector() as selector:
        began, used = time.perf_counter(), time.process_time()
        for place, connection in enumerate(connections):
            selector.register(connection.peer, selectors.EVENT_READ, place)
            connection.ask()
        until, open_ones = began + seconds, len(connections)
        while open_ones and time.perf_counter() < until + DRAIN_S:
            for key, _ in selector.select(1.0):
                connection = connections[key.data]
                answer = connection.hear()
                if answer is None:
                    continue
                now = time.perf_counter()
                _count(told, answer, now - connection.asked_at)
                if now < until:
                    told.answers[key.data] += isinstance(answer, Reply)
                    connection.ask()
                else:
                    selector.unregister(connection.peer)
                    open_ones -= 1
        told.elapsed_s, told.processor_s = time.perf_counter() - began, time.process_time() - used
    told.unanswered = open_ones
    return told


def _count(told: Told, answer: Reply | Failure, took_s: float) -> None:
    """Note one answer."""
    if isinstance(answer, Failure):
        told.errors[answer.error.code] += 1
        return
    told.took_ms.append(took_s * 1000)
    told.less += answer.result["mode"] != "hybrid" or answer.result["degraded"] is not None


def main(path: str, count: int) -> None:
    """Serve lines until the input ends."""
    questions: list[str] = json.loads(sys.stdin.readline())
    connections = [Connection(path, number, questions) for number in range(count)]
    _write("ready")
    for line in sys.stdin:
        _write(vars(run(connections, json.loads(line)["seconds"])))


def _write(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
