"""Limits of the server. Every limit has its own error."""

from __future__ import annotations

from msgspec import Struct

from memd_client.framing import MAX_FRAME_BYTES, MAX_VALUES


class Limits(Struct, frozen=True):
    """The limits of the server; `hello` sends those that a client must observe.

    connections: open at once. An agent has one, and a user has tens of agents; each takes two tasks and one of the
        usual 1,024 descriptors. At the limit, a new connection replaces the oldest one without a greeting.
    requests_per_connection: in flight at once. More would only queue for the two cores of a laptop.
    requests: in flight over all connections. It doesn't apply to the only request of a connection, so that busy
        clients can't block others.
    running: requests of one class (`admission.REQUEST_CLASSES`) that run at once. There are fewer cores and reader
        threads; more would delay the first request of another connection.
    running_most: the same, for connections without a running request, which start at once.
    loading_most: the same for requests that load files: each takes the RAM of a file of the maximum size.
    frame_bytes: the longest frame, in both directions.
    unfinished_bytes: incomplete frames of all connections. Without it, connections with nearly complete frames of the
        maximum size could take gigabytes.
    frame_values: values in a received frame, including those inside lists and maps.
    idle_s: time without a message and without a request in flight after which a connection is closed. A client in use
        reconnects without the user noticing.
    frame_s: from a frame's first byte to its last. Even the longest takes less than a second over a local socket; a
        client that sends single bytes must not keep its buffer for ever.
    hello_s: from connecting to `hello`.
    outgoing_bytes: encoded replies that wait for a peer to read. Further replies wait as values. Two frames, so that
        one large reply doesn't block all others.
    backlog_bytes: waiting replies of all peers, including those that wait to be queued. A peer that reads never reaches
        it alone: it has `outgoing_bytes`, and one frame of each running request. Beyond it the peer with the most
        waiting bytes is dropped, of those that read nothing for `unread_s` if there are any.
    progress_bytes: with more waiting bytes, progress is dropped, since it would be outdated.
    stall_s: a peer that reads nothing for so long while replies wait is dropped.
    drain_s: time for requests in flight when the daemon stops.
    """

    connections: int = 256
    requests_per_connection: int = 64
    requests: int = 1024
    running: int = 3
    running_most: int = 64
    loading_most: int = 8
    frame_bytes: int = MAX_FRAME_BYTES
    unfinished_bytes: int = 8 * MAX_FRAME_BYTES
    frame_values: int = MAX_VALUES
    idle_s: float = 600
    frame_s: float = 30
    hello_s: float = 10
    outgoing_bytes: int = 2 * MAX_FRAME_BYTES
    backlog_bytes: int = 6 * MAX_FRAME_BYTES
    unread_s: float = 1
    progress_bytes: int = 64 * 1024
    stall_s: float = 30
    drain_s: float = 5

    def as_reply(self) -> dict[str, int]:
        """Return the limits that a client must observe, for `hello`."""
        return {
            "frame_bytes": self.frame_bytes,
            "requests_per_connection": self.requests_per_connection,
            "idle_s": int(self.idle_s),
        }
