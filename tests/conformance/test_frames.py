"""Recorded frames: the Python client and the daemon still agree with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memd_client.messages import REQUESTS
from memd_client.schema import from_wire
from memd_client.session import ClientSession, EventArrival, Failure, ProgressArrival, Reply
from tests.support.frames import PARAMS, differences, load, record_exchanges, recorded_daemon, value_of

RECORDED = load()
EXCHANGES: list[dict[str, Any]] = RECORDED["exchanges"]


@pytest.fixture(scope="module")
def fresh() -> Iterator[list[dict[str, Any]]]:
    """The same exchanges with the current daemon."""
    with recorded_daemon() as daemon:
        yield record_exchanges(daemon)


def test_every_request_is_recorded() -> None:
    names = {exchange["sent"]["value"][2] for exchange in EXCHANGES if exchange["sent"]["value"][0] == 0}

    assert REQUESTS.keys() - names == set(), "give it parameters in tests/support/frames.py and record again"
    assert PARAMS.keys() <= names


def test_the_python_client_sends_the_recorded_bytes_and_decodes_the_replies() -> None:
    session = ClientSession(RECORDED["client"])
    seen: set[type] = set()
    for exchange in EXCHANGES:
        if exchange["sent"]["value"][0] == 0:
            _, number, method, params = exchange["sent"]["value"]
            assert _sent(session, method, params, exchange["sent"]["hex"]) == number, exchange["name"]
        for told in exchange["told"]:
            for arrival in session.receive(bytes.fromhex(told["hex"])):
                seen.add(type(arrival))
                if isinstance(arrival, Reply):
                    from_wire(REQUESTS[exchange["sent"]["value"][2]][1], arrival.result)
                if isinstance(arrival, Failure):
                    assert arrival.error.code == told["value"][2]["code"]

    assert seen == {Reply, Failure, ProgressArrival, EventArrival}


def _sent(session: ClientSession, method: str, params: Any, expected: str) -> int:
    """Send a request as recorded and return its id."""
    if method == "hello":
        number, data = session.hello()
    else:
        raw = bytes.fromhex(expected)
        number, data = session.request(method, value_of(raw)[3])
    assert data.hex() == expected, method
    return number


def test_the_daemon_answers_as_recorded(fresh: list[dict[str, Any]]) -> None:
    assert [exchange["name"] for exchange in fresh] == [exchange["name"] for exchange in EXCHANGES]
    for now, then in zip(fresh, EXCHANGES, strict=True):
        assert differences(then, now) == [], then["name"]
