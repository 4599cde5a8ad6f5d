"""Recorded frames: the Python client and the daemon still agree with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memd_client.messages import REQUESTS
from memd_client.session import ClientSession, EventArrival, Failure, ProgressArrival, Reply
from memd_client.wire import from_wire
from tests.support.frames import PARAMS, load, record_exchanges, recorded_daemon, value_of

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
        assert now["sent"]["hex"] == then["sent"]["hex"], f"{then['name']}: the client's bytes changed"
        ends_now, ends_then = _ends(now), _ends(then)
        assert [value[:2] for value in ends_now] == [value[:2] for value in ends_then], then["name"]
        for answered, recorded in zip(ends_now, ends_then, strict=True):
            assert _missing(recorded[2:], answered[2:]) == [], then["name"]
            if recorded[2] is not None:
                assert answered[2]["code"] == recorded[2]["code"]


def _ends(exchange: dict[str, Any]) -> list[Any]:
    """Return the responses of an exchange by id; the number of progress messages may differ."""
    return sorted(
        (told["value"] for told in exchange["told"] if told["value"][0] == 1), key=lambda each: each[1]
    )


def _missing(then: Any, now: Any, where: str = "") -> list[str]:
    """Return differences of a recorded and a current response in fields and types; nil matches any type."""
    if then is None or now is None:
        return []
    if isinstance(then, bool) or isinstance(now, bool) or not isinstance(then, int | float):
        if type(then) is not type(now):
            return [f"{where} is {type(now).__name__}"]
    elif not isinstance(now, int | float):
        return [f"{where} is {type(now).__name__}"]
    if isinstance(then, dict):
        gone = [f"{where}.{key} is gone" for key in then.keys() - now.keys()]
        both = sorted(then.keys() & now.keys())
        return gone + [each for key in both for each in _missing(then[key], now[key], f"{where}.{key}")]
    if isinstance(then, list) and len(then) == len(now):
        return [each for old, new in zip(then, now, strict=True) for each in _missing(old, new, f"{where}[]")]
    return []
