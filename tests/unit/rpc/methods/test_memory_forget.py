"""memory_forget: an id or a query, one of them."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio

from memd.rpc.call import Call
from memd.rpc.methods import memory_forget
from memd_client.errors import BadParamsError
from memd_client.facts import MemoryForgetParams
from tests.unit.rpc.methods.living import AskedFacts


@pytest.mark.parametrize("params", [MemoryForgetParams(id="x"), MemoryForgetParams(query="tea")])
def test_one_of_the_two_goes_to_the_facts(params: MemoryForgetParams) -> None:
    life = AskedFacts()

    reply: Any = trio.run(memory_forget.handle, cast(Call, life), params)

    assert (reply, life.asked) == ("reply", [params])


@pytest.mark.parametrize(
    "params",
    [
        MemoryForgetParams(),
        MemoryForgetParams(id="x", query="tea"),
        MemoryForgetParams(id=" "),
        MemoryForgetParams(query="\n"),
    ],
)
def test_none_and_both_are_refused(params: MemoryForgetParams) -> None:
    life = AskedFacts()

    with pytest.raises(BadParamsError):
        trio.run(memory_forget.handle, cast(Call, life), params)

    assert not life.asked
