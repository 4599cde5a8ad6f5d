"""remote: replicate agents' Markdown to other machines."""

from __future__ import annotations

from memd.replication.service import ReplicationService
from memd.rpc.call import Call
from memd.rpc.params import check_filled, wrong
from memd_client.errors import RemoteUnknownError
from memd_client.messages import RemoteParams, RemoteReply


async def handle(call: Call, params: RemoteParams) -> RemoteReply:
    """Carry out one action on remotes."""
    service = call.daemon.replication
    if service is None:
        raise RemoteUnknownError("this daemon has no remotes")
    return await _act(service, params)


async def _act(service: ReplicationService, params: RemoteParams) -> RemoteReply:
    agent = params.agent
    match params.action:
        case "status":
            return RemoteReply(service.status(agent))
        case "add":
            check_filled("remote", "url", params.url)
            return RemoteReply([await service.add(agent, params.url)])
        case "clone":
            check_filled("remote", "url", params.url)
            return RemoteReply(await service.clone(params.url, agent))
        case "sync":
            return RemoteReply(await service.sync(agent, take_over=params.take_over))
        case "pause" | "resume":
            return RemoteReply(await service.pause(agent, is_paused=params.action == "pause"))
        case "remove":
            return RemoteReply(await service.remove(agent))
        case "settle":
            return RemoteReply(settled=await service.settle(agent, params.paths))
        case "purge":
            check_filled("remote", "path", params.path)
            return RemoteReply(service.status(agent), commits=await service.purge(agent, params.path))
    known = "status, add, clone, sync, pause, resume, remove, settle, purge"
    raise wrong("remote", "action", f"must be one of {known}")
