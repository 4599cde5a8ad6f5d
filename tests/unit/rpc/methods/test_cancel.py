"""cancel: stops a request of this connection, and says whether there was one."""

from __future__ import annotations

from memd.rpc.methods import cancel
from memd_client.messages import CancelParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_reply_says_whether_it_was_running() -> None:
    assert run(cancel.handle(call_of(), CancelParams(id=5))).cancelled
    assert not run(cancel.handle(call_of(), CancelParams(id=6))).cancelled
