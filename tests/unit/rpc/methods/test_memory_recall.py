"""memory_recall: numbers out of range are refused by name."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio

from memd.rpc.call import Call
from memd.rpc.methods import memory_recall
from memd_client.errors import BadParamsError
from memd_client.facts import MemoryRecallParams
from tests.unit.rpc.methods.living import AskedFacts


@pytest.mark.parametrize(("limit", "min_score"), [(1, 0.0), (10_000, 1.0)])
def test_a_question_goes_to_the_facts(limit: int, min_score: float) -> None:
    life = AskedFacts()
    params = MemoryRecallParams("tea", None, limit, min_score)

    reply: Any = trio.run(memory_recall.handle, cast(Call, life), params)

    assert (reply, life.asked) == ("reply", [params])


@pytest.mark.parametrize(
    ("name", "value"),
    [("limit", 0), ("limit", 10_001), ("min_score", -0.1), ("min_score", 1.1), ("min_score", float("nan"))],
)
def test_what_is_out_of_range_is_refused_by_name(name: str, value: Any) -> None:
    params: dict[str, Any] = {"query": "tea", name: value}

    with pytest.raises(BadParamsError) as caught:
        trio.run(memory_recall.handle, cast(Call, AskedFacts()), MemoryRecallParams(**params))

    assert caught.value.data["field"] == name
