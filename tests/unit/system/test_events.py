"""Events reach those who listen, in order, and a slow listener holds nobody up."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from memd.system.events import KINDS, WAITING, Events


async def test_a_listener_hears_its_agents_and_kinds_in_order() -> None:
    events = Events()
    events.publish("sync", "main", files_changed=1)  # nobody listens yet
    with events.listen("main", {"sync", "flush"}) as mine, events.listen(None, KINDS) as everything:
        events.publish("sync", "main", files_changed=2)
        events.publish("sync", "work", files_changed=3)
        events.publish("note", "main", path="memory/a.md")
        events.publish("flush", "main", state="done")

        assert [(await mine.receive()).kind for _ in range(2)] == ["sync", "flush"]
        heard = [await everything.receive() for _ in range(4)]
        assert [(each.agent, each.kind) for each in heard] == [
            ("main", "sync"),
            ("work", "sync"),
            ("main", "note"),
            ("main", "flush"),
        ]
        assert heard[0].data == {"files_changed": 2}


async def test_a_waiting_listener_gets_the_next_event() -> None:
    events = Events()
    with events.listen(None, KINDS) as listening, trio.fail_after(10):
        async with trio.open_nursery() as nursery:

            async def hear() -> None:
                assert (await listening.receive()).kind == "recovered"

            nursery.start_soon(hear)
            await trio.testing.wait_all_tasks_blocked()
            events.publish("recovered", "main", provider="openai")


async def test_a_slow_listener_loses_the_oldest_events_and_counts_them() -> None:
    events = Events()
    with events.listen(None, {"sync"}) as listening:
        for number in range(WAITING + 10):
            events.publish("sync", "main", files_changed=number)

        assert listening.dropped == 10
        assert (await listening.receive()).data["files_changed"] == 10


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(AssertionError):
        Events().publish("weather", "main")
