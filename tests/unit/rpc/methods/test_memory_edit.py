"""memory_edit: what can be no fact is refused before the file is looked at."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio

from memd.rpc.call import Call
from memd.rpc.methods import memory_edit
from memd_client.errors import BadParamsError
from memd_client.facts import MemoryEditParams
from tests.unit.rpc.methods.living import AskedFacts


def test_an_edit_goes_to_the_facts_of_the_agent_meant() -> None:
    life = AskedFacts()
    params = MemoryEditParams("01A", "I prefer tea", agent="work", importance=0.5, category="preference")

    reply: Any = trio.run(memory_edit.handle, cast(Call, life), params)

    assert (reply, life.asked, life.agents) == ("reply", [params], ["work"])


@pytest.mark.parametrize(
    ("field", "params"),
    [
        ("id", MemoryEditParams(" ", "tea")),
        ("text", MemoryEditParams("01A", "\n")),
        ("importance", MemoryEditParams("01A", "tea", importance=1.5)),
        ("category", MemoryEditParams("01A", "tea", category="drink")),
    ],
)
def test_what_can_be_no_fact_is_refused(field: str, params: MemoryEditParams) -> None:
    life = AskedFacts()

    with pytest.raises(BadParamsError, match=f"`{field}` must"):
        trio.run(memory_edit.handle, cast(Call, life), params)

    assert not life.asked
