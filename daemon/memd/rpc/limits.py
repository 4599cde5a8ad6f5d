"""How much one user's clients may ask for at once. Every limit has its own error."""

from __future__ import annotations

from dataclasses import dataclass

from memd_client.framing import MAX_FRAME_BYTES, MAX_VALUES


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the server; `hello` tells a client those it has to keep.

    connections: open at once. An agent holds one, and a user has tens of agents; each costs us two tasks
        and one descriptor of the usual 1,024. One that hasn't greeted gives way to a newcomer.
    requests_per_connection: in flight at once. More would only queue for the two cores a laptop gives us.
    requests: in flight over all connections. A connection's only request doesn't meet this limit, so that
        clients that ask for much at once never keep out one that asks for little.
    running: requests of one kind (`admission.LANES`) that run at once. Cores and threads that read an index
        are fewer; every one more would stand in the way of another connection's first.
    running_most: the same, for connections that have none running: those begin at once.
    frame_bytes: the longest frame, either way.
    unfinished_bytes: frames of all connections that are not whole yet: as many as there are connections, each
        nearly of the longest, would be gigabytes.
    frame_values: values in a frame to us, those inside of lists and maps counted.
    idle_s: time without a message, and with no request in flight, after which a connection is closed. A client
        left behind doesn't hold its place for ever; one in use reconnects without being noticed.
    frame_s: from a frame's first byte to its last. Over a socket of the same machine even the longest takes
        less than a second; whoever sends one byte now and then would have us hold the rest for ever.
    hello_s: from connecting to `hello`. Greeting is the first thing any client does.
    outgoing_bytes: encoded replies that wait for a peer to read. Further replies wait as values. Four
        frames, so that one large reply never stands alone in the way.
    backlog_bytes: replies that wait for all peers together, those that wait for room included. A peer that reads never
        has so much alone: `outgoing_bytes`, and a longest frame of each request that runs for it. Beyond it the peer
        that most waits for is dropped.
    progress_bytes: above this much waiting, progress is left out: stale news helps no one.
    stall_s: a peer that reads nothing for so long while we have something to say is dropped.
    drain_s: what requests in flight get when the daemon stops.
    """

    connections: int = 256
    requests_per_connection: int = 64
    requests: int = 1024
    running: int = 3
    running_most: int = 64
    frame_bytes: int = MAX_FRAME_BYTES
    unfinished_bytes: int = 8 * MAX_FRAME_BYTES
    frame_values: int = MAX_VALUES
    idle_s: float = 600
    frame_s: float = 30
    hello_s: float = 10
    outgoing_bytes: int = 4 * MAX_FRAME_BYTES
    backlog_bytes: int = 16 * MAX_FRAME_BYTES
    progress_bytes: int = 64 * 1024
    stall_s: float = 30
    drain_s: float = 5

    def as_reply(self) -> dict[str, int]:
        """Return the limits a client has to keep, as told in `hello`."""
        return {
            "frame_bytes": self.frame_bytes,
            "requests_per_connection": self.requests_per_connection,
            "idle_s": int(self.idle_s),
        }
