"""Events reach subscribers in order; a slow subscriber delays neither publishers nor other subscribers."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from memd.system.events import KINDS, MAX_WAITING_EVENTS, EventBus


async def test_subscription_receives_events_of_its_agents_and_kinds_in_order() -> None:
    events = EventBus()
    events.publish("sync", "main", files_changed=1)  # before the subscription
    with events.subscribe("main", {"sync", "flush"}) as mine, events.subscribe(None, KINDS) as everything:
        events.publish("sync", "main", files_changed=2)
        events.publish("sync", "work", files_changed=3)
        events.publish("note", "main", path="memory/a.md")
        events.publish("flush", "main", state="done")

        assert [(await mine.receive()).kind for _ in range(2)] == ["sync", "flush"]
        received = [await everything.receive() for _ in range(4)]
        assert [(each.agent, each.kind) for each in received] == [
            ("main", "sync"),
            ("work", "sync"),
            ("main", "note"),
            ("main", "flush"),
        ]
        assert received[0].data == {"files_changed": 2}


async def test_waiting_subscriber_receives_the_next_event() -> None:
    events = EventBus()
    with events.subscribe(None, KINDS) as subscription, trio.fail_after(120):
        async with trio.open_nursery() as nursery:

            async def receive() -> None:
                assert (await subscription.receive()).kind == "recovered"

            nursery.start_soon(receive)
            await trio.testing.wait_all_tasks_blocked()
            events.publish("recovered", "main", provider="openai")


async def test_slow_subscriber_loses_the_oldest_events_and_counts_them() -> None:
    events = EventBus()
    with events.subscribe(None, {"sync"}) as subscription:
        for number in range(MAX_WAITING_EVENTS + 10):
            events.publish("sync", "main", files_changed=number)

        assert subscription.dropped == 10
        assert (await subscription.receive()).data["files_changed"] == 10


def test_unknown_event_kind_is_refused() -> None:
    with pytest.raises(AssertionError):
        EventBus().publish("weather", "main")
