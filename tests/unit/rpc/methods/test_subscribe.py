"""subscribe: events from now on, of the kinds and the agent asked for, until it is cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from memd.rpc.methods import subscribe
from memd.system.events import EVENTS
from memd_client.events import SubscribeParams
from tests.unit.rpc.methods.calling import call_of


def heard(params: SubscribeParams, *, room: bool = True) -> list[Mapping[str, Any]]:
    """Return the notifications of a client during three events."""
    told: list[Mapping[str, Any]] = []

    def notify(method: str, event: Mapping[str, Any]) -> bool:
        assert method == "event"
        told.append(event)
        return room

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(subscribe.handle, replace(call_of(), notify=notify), params)
            await wait_all_tasks_blocked()
            EVENTS.publish("sync", "main", files_changed=1)
            EVENTS.publish("flush", "main", state="done")
            EVENTS.publish("sync", "work", files_changed=2)
            await wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()

    trio.run(main)
    EVENTS.publish("sync", "main", files_changed=9)  # after the subscription ended
    return told


def test_a_client_receives_events() -> None:
    told = heard(SubscribeParams())

    assert [(each["kind"], each["agent"], each["data"]) for each in told] == [
        ("sync", "main", {"files_changed": 1}),
        ("flush", "main", {"state": "done"}),
        ("sync", "work", {"files_changed": 2}),
    ]


def test_kinds_and_agent_are_kept_to() -> None:
    assert [each["agent"] for each in heard(SubscribeParams(agent="main", kinds=["sync"]))] == ["main"]


def test_events_dropped_by_a_full_queue_are_counted_in_the_next() -> None:
    assert [each["dropped"] for each in heard(SubscribeParams(), room=False)] == [0, 1, 2]
