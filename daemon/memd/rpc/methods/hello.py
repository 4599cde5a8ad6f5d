"""hello: the first request of a connection; versions and capabilities are agreed."""

from __future__ import annotations

from memd.rpc.call import Call
from memd_client.errors import ProtocolMismatchError
from memd_client.messages import PROTOCOL_VERSION, REQUESTS, HelloParams, HelloReply


async def handle(call: Call, params: HelloParams) -> HelloReply:
    """Return the daemon's release, capabilities and limits."""
    if params.protocol != PROTOCOL_VERSION:
        raise ProtocolMismatchError(
            f"the client speaks protocol {params.protocol}, this daemon {PROTOCOL_VERSION}",
            data={"client": params.protocol, "daemon": PROTOCOL_VERSION},
        )
    return HelloReply(
        protocol=PROTOCOL_VERSION,
        version=call.daemon.version,
        pid=call.daemon.pid,
        capabilities=[*REQUESTS, "progress"],
        limits=call.daemon.limits.as_reply(),
    )
