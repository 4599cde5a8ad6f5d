"""remote: replicate agents' Markdown to other machines."""

from __future__ import annotations

from memd.replication.service import ReplicationService
from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.errors import RemoteUnknownError
from memd_client.messages import RemoteParams, RemoteReply


async def handle(call: Call, params: RemoteParams) -> RemoteReply:
    """Carry out one action on remotes."""
    needed = {"add": "url", "clone": "url", "purge": "path"}.get(params.action)
    if needed is not None and not getattr(params, needed).strip():
        raise wrong("remote", needed, "must not be empty")
    if params.agent is not None and params.action != "clone":  # which creates agents
        call.registry.agent(params.agent)
    service = call.daemon.replication
    if service is None:
        raise RemoteUnknownError("this daemon has no remotes")
    await service.wait_opened()
    return await _carry_out(service, params)


async def _carry_out(service: ReplicationService, params: RemoteParams) -> RemoteReply:
    """Carry out a checked action."""
    agent = params.agent
    match params.action:
        case "add":
            return RemoteReply([await service.add(agent, params.url)])
        case "clone":
            return RemoteReply(await service.clone(params.url, agent, confirmed=params.confirmed))
        case "sync":
            return RemoteReply(await service.sync(agent, accept_rewrite=params.accept_rewrite))
        case "pause":
            return RemoteReply(await service.pause(agent, is_paused=True))
        case "resume":
            return RemoteReply(await service.pause(agent, is_paused=False, missing=params.missing))
        case "remove":
            return RemoteReply(await service.remove(agent))
        case "resolve":
            return RemoteReply(resolved=await service.resolve(agent, params.paths))
        case "purge":
            commits, purged = await service.purge(agent, params.path)
            return RemoteReply(service.status(agent), commits=commits, purged=purged)
    return RemoteReply(service.status(agent))
