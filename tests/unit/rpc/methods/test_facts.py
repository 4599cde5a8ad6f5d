"""facts: numbers are checked, then the facts are asked."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio

from memd.rpc.call import Call
from memd.rpc.methods import facts
from memd_client.errors import BadParamsError
from memd_client.facts import FactsParams
from tests.unit.rpc.methods.living import AskedFacts


def test_a_page_in_range_goes_to_the_facts_of_the_agent_meant() -> None:
    life = AskedFacts()
    params = FactsParams(agent="work", offset=20, limit=1_000)

    reply: Any = trio.run(facts.handle, cast(Call, life), params)

    assert (reply, life.asked, life.agents) == ("reply", [params], ["work"])


@pytest.mark.parametrize("params", [FactsParams(offset=-1), FactsParams(limit=0), FactsParams(limit=1_001)])
def test_what_is_out_of_range_is_refused(params: FactsParams) -> None:
    life = AskedFacts()

    with pytest.raises(BadParamsError):
        trio.run(facts.handle, cast(Call, life), params)

    assert not life.asked
