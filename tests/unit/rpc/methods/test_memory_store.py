"""memory_store: what can't be a fact is refused by name, the rest goes to the agent's facts as it came."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio

from memd.rpc.call import Call
from memd.rpc.methods import memory_store
from memd_client.errors import BadParamsError
from memd_client.facts import MemoryStoreParams
from tests.unit.rpc.methods.living import AskedFacts


def test_a_fact_goes_to_the_agent_meant() -> None:
    life = AskedFacts()
    params = MemoryStoreParams("I like tea", "other", 1.0, "preference", "x-1", 0)

    reply: Any = trio.run(memory_store.handle, cast(Call, life), params)

    assert (reply, life.asked, life.agents) == ("reply", [params], ["other"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", " \n"),
        ("importance", -0.1),
        ("importance", 1.1),
        ("importance", float("nan")),
        ("category", "mood"),
        ("id", ""),
        ("id", "a b"),
        ("id", "-->"),
        ("id", "x" * 65),
        ("created_ms", -1),
        ("created_ms", 253_402_300_800_000),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(name: str, value: Any) -> None:
    life = AskedFacts()
    params: dict[str, Any] = {"text": "I like tea", name: value}

    with pytest.raises(BadParamsError) as caught:
        trio.run(memory_store.handle, cast(Call, life), MemoryStoreParams(**params))

    assert caught.value.data["field"] == name
    assert not life.asked
