"""hello: the first request of a connection; versions, capabilities and the state folder are agreed."""

from __future__ import annotations

import trio

from memd.rpc.call import Call
from memd_client.errors import ProtocolMismatchError, StateDirMismatchError
from memd_client.messages import PROTOCOL_VERSION, REQUESTS, HelloParams, HelloReply
from memd_client.state_folder import is_same_folder


async def handle(call: Call, params: HelloParams) -> HelloReply:
    """Return the daemon's release, capabilities, limits and state folder."""
    if params.protocol != PROTOCOL_VERSION:
        raise ProtocolMismatchError(
            f"the client speaks protocol {params.protocol}, this daemon {PROTOCOL_VERSION}",
            data={"client": params.protocol, "daemon": PROTOCOL_VERSION},
        )
    served, required = str(call.registry.state_dir), params.state_dir
    if required not in ("", served) and not await trio.to_thread.run_sync(
        is_same_folder, required, served, abandon_on_cancel=True
    ):
        raise StateDirMismatchError(
            f"the daemon on {call.daemon.socket} serves the state folder {served}, not {required}",
            data={"client": required, "daemon": served},
        )
    return HelloReply(
        protocol=PROTOCOL_VERSION,
        version=call.daemon.version,
        pid=call.daemon.pid,
        capabilities=[*REQUESTS, "progress"],
        limits=call.daemon.limits.as_reply(),
        state_dir=served,
    )
