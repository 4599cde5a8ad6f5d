"""Hostile peers on the socket of a real daemon: no crash, leak or harmed client."""

from __future__ import annotations

import math
import os
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgpack
import pytest

from memd_client import Client
from memd_client.errors import all_errors
from memd_client.messages import REQUESTS
from tests.support.daemon import DaemonProcess
from tests.support.sockets import RawClient, wait_until
from tests.support.state_homes import KEYWORD_ONLY, StateHome

SEED = 20_260

MAX_GROWTH_BYTES = 150 * 1_048_576
"""Growth of resident memory allowed to caches and the allocator."""

FRAMES_PER_CONNECTION = 10
"""Mutated frames per connection: most mutations end the connection, so few."""

HELLO = [0, 1, "hello", {"protocol": 1}]

CALLS = sorted(set(REQUESTS) - {"model", "reset", "vacuum", "subscribe"})
"""Random requests, without those that download, delete or stream."""


class AttackedDaemon:
    """A daemon, a polite client of it, and the daemon's resources before an attack."""

    def __init__(self, daemon: DaemonProcess, polite: Client) -> None:
        self.daemon = daemon
        self.polite = polite
        for _ in range(20):
            assert polite.search("cormorant").hits
        self.files = self._open_files()
        self.rss = polite.status().rss_bytes
        self._stop = threading.Event()

    def _open_files(self) -> int:
        """Return the number of the daemon's open descriptors."""
        return len(os.listdir(f"/proc/{self.daemon.pid}/fd"))

    def _search_until_stopped(self) -> int:
        """Search repeatedly; return the number of searches."""
        searches = 0
        while not self._stop.is_set():
            assert self.polite.search("cormorant").hits
            searches += 1
            self._stop.wait(0.02)
        return searches

    def attack_during_searches(self, attack: Callable[[], None]) -> int:
        """Run an attack; return the polite client's number of searches meanwhile."""
        answered: list[int] = []
        failures: list[BaseException] = []

        def run() -> None:
            try:
                answered.append(self._search_until_stopped())
            except BaseException as error:  # noqa: BLE001 - raised in the test's own thread
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            attack()
        finally:
            self._stop.set()
            thread.join(120)
            self._stop.clear()
        assert not thread.is_alive(), "a polite client's search hangs"
        if failures:
            raise failures[0]
        return answered[0]

    def check_unharmed(self) -> None:
        """Check connections, descriptors, memory growth and crashes in the log."""
        wait_until(lambda: self.polite.status().connections == 1)
        wait_until(lambda: self._open_files() <= self.files + 8)
        assert self.polite.status().rss_bytes < self.rss + MAX_GROWTH_BYTES
        crashed = [each for each in self.daemon.events() if str(each.get("event", "")).endswith("crashed")]
        assert not crashed, crashed[0]


@contextmanager
def watched() -> Iterator[AttackedDaemon]:
    """Yield a daemon with a few notes and a polite client."""
    with StateHome(KEYWORD_ONLY) as home:
        for number in range(30):
            home.note(f"memory/{number}.md", f"# day {number}\nthe cormorant nests on pier {number}\n")
        with DaemonProcess(home) as daemon, daemon.client() as polite:
            polite.index()
            yield AttackedDaemon(daemon, polite)


@pytest.fixture(scope="module")
def shared() -> Iterator[AttackedDaemon]:
    """One daemon for all attacks of the usual run."""
    with watched() as it:
        yield it


def framed(body: bytes) -> bytes:
    """Return a body with its length as prefix."""
    return struct.pack(">I", len(body)) + body


def seeds() -> list[bytes]:
    """Return valid frames, the seeds of the mutations."""
    messages: list[Any] = [
        HELLO,
        [0, 2, "search", {"query": "cormorant pier", "max_results": 3, "explain": True}],
        [0, 3, "get", {"path": "memory/1.md", "from_line": 1, "lines": 2}],
        [0, 4, "status", {}],
        [0, 5, "cancel", {"id": 2}],
        [0, 6, "embed", {"texts": ["a", "b"], "kind": "query"}],
        [2, "progress", {"id": 1}],
        [0, 2**32 - 1, "session_started", {"session_key": "s"}],
    ]
    return [framed(msgpack.packb(message)) for message in messages]


def mutate(frame: bytes, dice: random.Random) -> bytes:
    """Return a frame with a few mutations."""
    data = bytearray(frame)
    for _ in range(dice.choice((1, 1, 2, 4))):
        place = dice.randrange(len(data)) if data else 0
        match dice.randrange(8):
            case 0 if data:
                data[place] ^= 1 << dice.randrange(8)
            case 1 if data:
                data[place] = dice.choice((0, 0x80, 0x90, 0xC1, 0xC7, 0xDB, 0xDD, 0xDF, 0xFF))
            case 2:
                data[place:place] = dice.randbytes(dice.randrange(1, 9))
            case 3:
                del data[place : place + dice.randrange(1, 9)]
            case 4:
                del data[place:]
            case 5:
                data[place:place] = data[: dice.randrange(1, 40)]
            case 6 if len(data) > 4:  # the length stays right: the mutation is inside the body
                body = bytearray(data[4:])
                body[dice.randrange(len(body))] = dice.randrange(256)
                data = bytearray(framed(bytes(body)))
            case _:
                data[:4] = struct.pack(">I", dice.choice((0, 1, len(data), 2**24, 2**24 + 1, 2**32 - 1)))
    return bytes(data)


def send_mutated(path: Path, frames: int, seed: int) -> int:
    """Send mutated frames over many connections; return how many were sent."""
    dice = random.Random(seed)
    right, sent = seeds(), 0
    while sent < frames:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(20)
            peer.connect(str(path))
            batch = [
                mutate(dice.choice(right), dice) for _ in range(min(FRAMES_PER_CONNECTION, frames - sent))
            ]
            greeting = [right[0]] if dice.random() < 0.9 else []
            try:
                for data in greeting + batch:
                    peer.sendall(data)
                    sent += data is not right[0]
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(65536):  # the daemon closes the connection: the client does not wait
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass  # the daemon closed this connection
    return sent


def random_value(dice: random.Random, depth: int = 0) -> Any:
    """Return any value that msgpack can carry."""
    kinds: list[Callable[[], Any]] = [
        lambda: None,
        lambda: dice.random() < 0.5,
        lambda: dice.choice((0, 1, -1, 2**31, 2**63, -(2**63), 2**64 - 1, dice.randrange(1000))),
        lambda: dice.choice((0.0, -0.0, 0.5, 1e308, math.nan, math.inf, -math.inf)),
        lambda: dice.choice(
            ("", "cormorant", "main", "memory/1.md", "../../etc/passwd", "\x00", "é" * 300, "a*(")
        ),
        lambda: dice.randbytes(dice.randrange(20)),
    ]
    if depth < 3:
        kinds.append(lambda: [random_value(dice, depth + 1) for _ in range(dice.randrange(4))])
        kinds.append(
            lambda: {
                str(random_value(dice, 3)): random_value(dice, depth + 1) for _ in range(dice.randrange(4))
            }
        )
    return dice.choice(kinds)()


def random_params(method: str, dice: random.Random) -> Any:
    """Return random parameters of a request, mostly invalid."""
    if dice.random() < 0.05:
        return random_value(dice)
    right = {
        "query": "cormorant",
        "path": "memory/1.md",
        "texts": ["x"],
        "kind": "query",
        "session_key": "s",
        "id": 1,
        "protocol": 1,
        "deadline_ms": 500,
        "max_results": 3,
        "agent": "main",
        "sources": ["memory"],
        "from_line": 1,
        "lines": 1,
    }
    names = list(REQUESTS[method][0].__struct_fields__)
    chosen = [name for name in names if dice.random() < 0.7]
    wrong = 0.3 if dice.random() < 0.6 else 0.0
    return {name: random_value(dice) if dice.random() < wrong else right.get(name) for name in chosen} | (
        {"of_a_newer_client": random_value(dice)} if dice.random() < 0.1 else {}
    )


def call_randomly(path: Path, calls: int, seed: int) -> dict[str, int]:
    """Make concurrent random calls; return the number of replies by code.

    Each call must get exactly one reply: a result, or an error of the closed set of codes.
    """
    dice = random.Random(seed)
    codes: dict[str, int] = {}
    known = set(all_errors())
    with RawClient(path).greet() as peer:
        for start in range(1, calls + 1, 16):
            open_ids = set(range(start, min(start + 16, calls + 1)))
            for request_id in open_ids:
                method = dice.choice(CALLS) if dice.random() < 0.97 else "no_such_request"
                params = random_params(method, dice) if method in REQUESTS else random_value(dice)
                peer.send([0, request_id, method, params])
            while open_ids:
                reply = peer.read()
                assert reply is not None, "the daemon closed a connection that spoke the protocol"
                if reply[0] == 2:
                    continue
                open_ids.remove(reply[1])
                error = reply[2]
                assert (error is None) != (reply[3] is None)
                code = "ok" if error is None else error["code"]
                assert code == "ok" or code in known
                assert code != "internal", error
                codes[code] = codes.get(code, 0) + 1
    return codes


def test_mutated_frames_break_only_their_own_connection(shared: AttackedDaemon) -> None:
    assert shared.attack_during_searches(lambda: _check_sent(shared, 20_000)) > 0
    shared.check_unharmed()


def test_random_calls_get_one_reply_with_a_known_code(shared: AttackedDaemon) -> None:
    codes = call_randomly(shared.daemon.home.socket, 2_000, SEED)
    assert codes["ok"] > 100
    assert codes["bad_params"] > 100
    shared.check_unharmed()


def test_frames_that_would_unpack_to_gigabytes_are_refused(shared: AttackedDaemon) -> None:
    empty_maps = b"\xdd" + struct.pack(">I", 15_000_000) + b"\x80" * 15_000_000
    nested = (b"\xdd" + struct.pack(">I", 200_000)) * 900 + b"\xc0" * 1_000_000
    spread = b"\xdc" + struct.pack(">H", 200) + (b"\xdc\xff\xff" + b"\x80" * 65_535) * 200
    most = 0
    for body in (empty_maps, nested, spread):
        with RawClient(shared.daemon.home.socket).greet() as peer:
            peer.send_bytes(framed(body))
            reply = peer.read()
            assert (reply[1], reply[2]["code"]) == (0, "frame_invalid")
        most = max(most, shared.polite.status().rss_bytes)
    assert most < shared.rss + MAX_GROWTH_BYTES
    shared.check_unharmed()


def _check_sent(it: AttackedDaemon, frames: int) -> None:
    """Send mutated frames and check that all were sent."""
    assert send_mutated(it.daemon.home.socket, frames, SEED) >= frames


@pytest.mark.long
def test_a_million_mutated_frames_cause_no_harm() -> None:
    with watched() as it:
        assert it.attack_during_searches(lambda: _check_sent(it, 1_000_000)) > 100
        it.check_unharmed()


@pytest.mark.long
def test_a_hundred_thousand_random_calls_cause_no_harm() -> None:
    with watched() as it:
        path = it.daemon.home.socket
        assert it.attack_during_searches(lambda: _check_answered(call_randomly(path, 100_000, SEED))) > 100
        it.check_unharmed()


def _check_answered(codes: dict[str, int]) -> None:
    """Check that some calls succeeded and some failed."""
    assert codes["ok"] > 5_000
    assert codes["bad_params"] > 5_000
