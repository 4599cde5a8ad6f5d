"""subscribe: send events to a client until it cancels."""

from __future__ import annotations

from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd.system.events import EVENTS, KINDS
from memd_client.messages import SubscribeParams, SubscribeReply


async def handle(call: Call, params: SubscribeParams) -> SubscribeReply:
    """Send an `event` notification per event; if the queue is full, the event is dropped and counted in the next.

    Cancellation: the one way it ends.
    """
    kinds = set(KINDS if params.kinds is None else params.kinds)
    if not kinds or not kinds <= KINDS.keys():
        raise wrong("subscribe", "kinds", f"must be one or more of {', '.join(KINDS)}")
    agent = None if params.agent is None else call.registry.agent(params.agent).agent_id
    unsent = 0
    with EVENTS.subscribe(agent, kinds) as listening:
        while True:
            event = await listening.receive()
            sent = call.notify(
                "event",
                {
                    "kind": event.kind,
                    "agent": event.agent,
                    "at_ms": event.at_ms,
                    "data": dict(event.data),
                    "dropped": listening.dropped + unsent,
                },
            )
            unsent += not sent
