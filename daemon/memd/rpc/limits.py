"""How much one user's clients may ask for at once. Every limit has its own error."""

from __future__ import annotations

from dataclasses import dataclass

from memd_client.framing import MAX_FRAME_BYTES


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the server; `hello` tells a client those it has to keep.

    connections: open at once. An agent holds one, and a user has tens of agents; each costs us two tasks
        and one descriptor of the usual 1,024.
    requests_per_connection: in flight at once. More would only queue for the two cores a laptop gives us.
    frame_bytes: the longest frame, either way.
    idle_s: silence, with no request in flight, after which a connection is closed. A client left behind
        doesn't hold its place for ever; one in use reconnects without being noticed.
    hello_s: from connecting to `hello`. Greeting is the first thing any client does.
    outgoing_bytes: encoded replies that wait for a peer to read. Further replies wait as values. Four
        frames, so that one large reply never stands alone in the way.
    progress_bytes: above this much waiting, progress is left out: stale news helps no one.
    stall_s: a peer that reads nothing for so long while we have something to say is dropped.
    drain_s: what requests in flight get when the daemon stops.
    """

    connections: int = 256
    requests_per_connection: int = 64
    frame_bytes: int = MAX_FRAME_BYTES
    idle_s: float = 600
    hello_s: float = 10
    outgoing_bytes: int = 4 * MAX_FRAME_BYTES
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
