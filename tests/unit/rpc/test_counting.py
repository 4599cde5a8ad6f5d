"""The counts of requests by outcome, and of refused clients."""

from __future__ import annotations

from typing import Any, cast

import trio
from trio.testing import MockClock, memory_stream_pair

from memd.agents.registry import AgentRegistry
from memd.rpc.call import DaemonContext
from memd.rpc.connection import Connection
from memd.rpc.limits import Limits
from memd.system.metrics import Meter
from memd_client.framing import FrameDecoder, encode_frame
from tests.support.registry import FakeRegistry
from tests.support.sockets import RawClient, ServerThread, short_directory

HELLO = [0, 9999, "hello", {"protocol": 1}]


def counted(*messages: list[Any]) -> Meter:
    """Return what a connection counts while it answers messages one by one."""
    meter = Meter()

    async def main() -> None:
        ours, theirs = memory_stream_pair()
        daemon = DaemonContext("1", 0.0, "/s", limits=Limits(), meter=meter)
        decoder = FrameDecoder()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Connection(theirs, cast(AgentRegistry, FakeRegistry()), daemon).run)
            for message in messages:
                await ours.send_all(encode_frame(message))
                answers: list[Any] = []
                while not answers:
                    answers += decoder.feed(bytes(await ours.receive_some()))
            await ours.aclose()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    return meter


def outcomes(meter: Meter) -> dict[tuple[str, ...], float]:
    """Return how many requests ended how."""
    return dict(meter.counters("memd_requests_total"))


def test_every_answer_is_counted_by_method_and_outcome() -> None:
    meter = counted(
        HELLO,
        [0, 1, "search", {"query": "x"}],
        [0, 2, "search", {"query": "crash"}],
        [0, 3, "search", {"query": 5}],
        [0, 4, "get", {"path": "elsewhere"}],
    )

    assert outcomes(meter) == {
        ("hello", "ok"): 1,
        ("search", "ok"): 1,
        ("search", "internal"): 1,
        ("search", "bad_params"): 1,
        ("get", "path_refused"): 1,
    }
    assert meter.value("memd_searches_total", "main", "keyword") == 1


def test_names_a_client_invents_are_one_label() -> None:
    meter = counted(HELLO, [0, 1, "drop_tables", {}], [0, 2, "x" * 500, {}])

    assert outcomes(meter) == {("hello", "ok"): 1, ("unknown", "method_unknown"): 2}


def test_a_request_that_never_ran_is_counted_and_not_timed() -> None:
    meter = counted([0, 1, "search", {"query": "x"}])

    assert outcomes(meter) == {("search", "hello_required"): 1}
    assert list(meter.histograms("memd_request_seconds")) == []


def test_clients_let_in_and_turned_away_are_counted() -> None:
    meter = Meter()
    with short_directory() as directory:
        server = ServerThread(directory / "s", limits=Limits(connections=1, drain_s=0.2))
        server.daemon.meter = meter
        with server, RawClient(server.path) as inside:
            inside.send(HELLO)
            inside.read()
            with RawClient(server.path) as outside:
                outside.read()

    assert meter.value("memd_connections_total") == 1
    assert dict(meter.counters("memd_connections_refused_total")) == {("too_many_connections",): 1}
