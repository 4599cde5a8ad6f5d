"""capture_from: a conversation goes to the facts, a transcript doesn't."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio

from memd.rpc.call import Call
from memd.rpc.methods import capture_from
from memd_client.errors import BadParamsError
from memd_client.facts import CaptureFromParams
from tests.unit.rpc.methods.living import AskedFacts

MESSAGE = {"role": "user", "content": "I like tea"}


@pytest.mark.parametrize("count", [0, 1, 1_000])
def test_a_conversation_goes_to_the_facts(count: int) -> None:
    life = AskedFacts()
    params = CaptureFromParams([MESSAGE] * count)

    reply: Any = trio.run(capture_from.handle, cast(Call, life), params)

    assert (reply, life.asked) == ("reply", [params])


def test_too_many_messages_are_refused() -> None:
    with pytest.raises(BadParamsError):
        trio.run(capture_from.handle, cast(Call, AskedFacts()), CaptureFromParams([MESSAGE] * 1_001))
