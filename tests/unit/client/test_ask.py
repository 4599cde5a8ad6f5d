"""A request before it is sent: what is filled in, how long it may take, and when it may be sent again."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from memd_client import life_requests, requests
from memd_client.ask import LONG_SILENCE_S, REPLY_S, Ask
from memd_client.async_methods import AsyncMethods
from memd_client.errors import (
    ConnectionLostError,
    DeadlineExceededError,
    FrameInvalidError,
    IdleTimeoutError,
    MemdError,
)
from memd_client.messages import REQUESTS, EmbedParams, EmbedReply
from memd_client.methods import Methods

BUILDERS = {
    name: found
    for module in (requests, life_requests)
    for name, found in vars(module).items()
    if inspect.isfunction(found) and name in REQUESTS
}


def test_every_request_can_be_built_and_is_a_method_of_every_client() -> None:
    names = set(REQUESTS) - {"cancel", "subscribe"}  # both are said by what a client does with a request

    assert names - BUILDERS.keys() == set()
    assert names - set(dir(Methods)) == set()
    assert names - set(dir(AsyncMethods)) == set()


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_a_request_bears_its_own_name_and_the_types_of_the_protocol(name: str) -> None:
    build = BUILDERS[name]
    needed = {
        parameter.name: "x" if parameter.annotation == "str" else ()
        for parameter in inspect.signature(build).parameters.values()
        if parameter.default is inspect.Parameter.empty
    }
    ask = build(**needed)

    assert ask.method == name
    assert (type(ask.params), ask.reply) == REQUESTS[name]
    assert repr(ask) == f"<Ask {name}>"


def test_the_clients_agent_is_filled_in_where_none_is_named() -> None:
    assert requests.search("x").wire("mine")["agent"] == "mine"
    assert requests.search("x", agent="other").wire("mine")["agent"] == "other"
    assert requests.search("x", agent="").wire("mine")["agent"] == "mine"
    assert requests.search("x").wire(None)["agent"] is None
    assert requests.status().wire("mine")["agent"] is None
    assert requests.subscribe().wire("mine")["agent"] is None
    assert requests.metrics().wire("mine") == {}


def test_patience_fits_the_request() -> None:
    assert requests.get("a").wait_s(30) == 30
    assert requests.search("x", deadline_ms=60_000).wait_s(30) == 60 + REPLY_S
    assert requests.search("x", deadline_ms=10).wait_s(30) == 30
    assert requests.index().wait_s(30) == LONG_SILENCE_S
    assert requests.index().wait_s(1000) == 1000
    assert requests.subscribe().wait_s(30) is None
    assert all(build.wait_s(None) is None for build in (requests.hello(), requests.index()))


@pytest.mark.parametrize(
    ("error", "repeatable", "once"),
    [
        (ConnectionLostError("x"), True, False),
        (ConnectionLostError("x", data={"sent": False}), True, True),
        (IdleTimeoutError("x"), True, True),
        (DeadlineExceededError("x"), False, False),
        (MemdError("x"), False, False),
    ],
)
def test_only_a_lost_connection_is_a_reason_to_send_again(
    error: MemdError, repeatable: bool, once: bool
) -> None:
    params = EmbedParams(texts=[])
    assert Ask("embed", params, EmbedReply).may_repeat(error) is repeatable
    assert Ask("embed", params, EmbedReply, repeatable=False).may_repeat(error) is once


@pytest.mark.parametrize("result", [{}, {"hits": [3]}, {"hits": 3}, {"hits": None}, {"pending": "x"}])
def test_a_reply_that_lacks_something_is_named(result: Any) -> None:
    with pytest.raises(FrameInvalidError, match="reply to search"):
        requests.search("x").typed(result)
