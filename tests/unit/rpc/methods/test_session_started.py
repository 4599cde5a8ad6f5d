"""session_started: one sync for each session key."""

from __future__ import annotations

import pytest

from memd.rpc.methods import session_started
from memd_client.errors import AgentUnknownError, BadParamsError
from memd_client.messages import SessionStartedParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_reply_names_the_agent_and_says_whether_it_syncs() -> None:
    reply = run(session_started.handle(call_of(), SessionStartedParams("agent:main:main")))
    assert (reply.agent, reply.syncing) == ("main", True)
    assert not run(session_started.handle(call_of(), SessionStartedParams("known"))).syncing


def test_an_empty_key_and_an_unknown_agent_are_named() -> None:
    with pytest.raises(BadParamsError, match="`session_key`"):
        run(session_started.handle(call_of(), SessionStartedParams("  ")))
    with pytest.raises(AgentUnknownError):
        run(session_started.handle(call_of(), SessionStartedParams("k", agent="nobody")))
