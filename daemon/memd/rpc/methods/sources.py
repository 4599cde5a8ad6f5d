"""sources: list the sources of other programs, or delete kept copies of deleted conversations."""

from __future__ import annotations

from functools import partial

import trio

from memd.agents.conversations import follow_files, kept_copies, list_sources
from memd.rpc.call import Call
from memd.rpc.params import match_prefix, wrong
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
    kept = {agent: await agent.ask(partial(kept_copies, params.name)) for agent in owners}
    session = None
    if params.session:
        sessions = [name for store in kept.values() if store is not None for name in store.copies.deleted()]
        session = match_prefix("sources", "session", params.session, sessions)
    forgotten = 0
    for agent, store in kept.items():
        if store is not None:
            forgotten += await trio.to_thread.run_sync(store.forget, session)
            await agent.ask(follow_files)
    return SourcesReply(forgotten=forgotten)
