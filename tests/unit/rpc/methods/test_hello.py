"""hello: versions and capabilities are agreed."""

from __future__ import annotations

import os

import pytest

from memd.rpc.methods import hello
from memd_client.errors import ProtocolMismatchError
from memd_client.messages import PROTOCOL_VERSION, REQUESTS, HelloParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_reply_says_who_answers_and_what_it_can_do() -> None:
    reply = run(hello.handle(call_of(), HelloParams()))
    assert (reply.protocol, reply.version, reply.pid) == (PROTOCOL_VERSION, "9.9", os.getpid())
    assert set(reply.capabilities) == {*REQUESTS, "progress"}


@pytest.mark.parametrize("protocol", [0, PROTOCOL_VERSION + 1])
def test_another_version_is_refused(protocol: int) -> None:
    with pytest.raises(ProtocolMismatchError, match=f"protocol {protocol}, this daemon {PROTOCOL_VERSION}"):
        run(hello.handle(call_of(), HelloParams(protocol=protocol)))
