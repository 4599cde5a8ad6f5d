"""sources: list the sources of other programs, or delete kept copies of deleted conversations."""

from __future__ import annotations

from functools import partial

from memd.agents.conversations import forget_copies, list_sources
from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.messages import SourcesParams, SourcesReply


async def handle(call: Call, params: SourcesParams) -> SourcesReply:
    """List sources, those of agents and those found on this machine."""
    registry = call.registry
    agents = list(registry.agents.values()) if params.agent is None else [registry.agent(params.agent)]
    if params.action == "list":
        sources = [each for agent in agents for each in await agent.ask(list_sources)]
        names = {each.name for agent in registry.agents.values() for each in agent.config.sources}
        found = await registry.find_sources(names)
        return SourcesReply(sources, found)
    if params.action != "forget":
        raise wrong("sources", "action", "must be list or forget")
    owners = [agent for agent in agents if any(each.name == params.name for each in agent.config.sources)]
    if not owners:
        raise wrong("sources", "name", "must be the name of a source", "`memctl sources` lists them")
    forgotten = 0
    for agent in owners:
        forgotten += await agent.ask(partial(forget_copies, params.name, params.session or None))
    return SourcesReply(forgotten=forgotten)
