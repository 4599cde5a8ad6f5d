"""sources: list the sources of other programs, or delete kept copies of deleted conversations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import trio

from memd.agents.agent import Agent
from memd.agents.source_status import describe_removed
from memd.lifecycle.recalls.recall import Recall
from memd.programs.catalog import HOOKS, PROGRAMS
from memd.programs.connections import ProgramConnection
from memd.rpc.call import Call
from memd.rpc.params import match_prefix, wrong
from memd.settings.sources import SHARED_AGENT
from memd.sources.retained import RetainedConversations, RetainedCopies
from memd_client.messages import ConnectedProgram, SourcesParams, SourcesReply


async def handle(call: Call, params: SourcesParams) -> SourcesReply:
    """List sources, those of agents and those found on this machine, or delete copies."""
    registry = call.registry
    enabled = [agent for agent in registry.agents.values() if agent.config.settings.enabled]
    agents = enabled if params.agent is None else [registry.agent(params.agent)]
    if params.action == "delete_copies":
        return SourcesReply(deleted=await _delete_copies(call, agents, params))
    sources = [each for agent in agents for each in await agent.list_sources()]
    names = {each.name for agent in registry.agents.values() for each in agent.config.sources}
    found, removed = await registry.find_sources(names), await registry.find_removed()
    return SourcesReply(
        sources,
        found,
        removed=[describe_removed(*key, copies) for key, copies in removed.items()],
        excluded=list(registry.settings.exclude),
        programs=[_describe(call, each) for each in await registry.find_connections()],
    )


def _describe(call: Call, program: ProgramConnection) -> ConnectedProgram:
    """Return a program with the agents whose memory it is given."""
    registry, name = call.registry, program.program
    agents, named = list(registry.agents), program.agent  # a server of no agent is given the memory of all
    if program.way == "hooks":
        named = named or registry.settings.hooks.agent or ""
        agents = [registry.agent(None).agent_id, SHARED_AGENT] if "prompt" in HOOKS[name].events else []
    if program.state in ("not installed", "unreadable"):
        agents = []
    agents = [
        agent for agent in dict.fromkeys([named] if named and agents else agents) if agent in registry.agents
    ]
    title, path = PROGRAMS[name].title, program.path
    return ConnectedProgram(name, title, program.way, program.state, path, agents, program.problem)


async def _delete_copies(call: Call, agents: Sequence[Agent], params: SourcesParams) -> int:
    """Delete a source's copies of deleted conversations, or of one, and all of a removed source; return how many."""
    owners = [agent for agent in agents if any(each.name == params.name for each in agent.config.sources)]
    stores: dict[str, tuple[RetainedConversations | RetainedCopies, list[str]]] = {
        agent: (copies, list(copies.all()))
        for (agent, name), copies in (await call.registry.find_removed()).items()
        if name == params.name and params.agent in (None, agent)
    }
    if not owners and not stores:
        raise wrong("sources", "name", "must be the name of a source", "`memctl sources` lists them")
    for owner in owners:
        kept = await owner.retained_copies(params.name)
        if kept is not None:
            stores[owner.agent_id] = (kept, kept.copies.deleted())
    session = ""
    if params.session:
        sessions = [name for _, names in stores.values() for name in names]
        session = match_prefix("sources", "session", params.session, sessions)
    deleted = 0
    for agent, (store, names) in stores.items():
        chosen = [name for name in names if session in ("", name)]
        deleted += await trio.to_thread.run_sync(store.forget, chosen)
        await call.daemon.recalls.forget(partial(_concerns, source=params.name, session=session))
        await call.registry.erase_deleted(agent)
    return deleted


def _concerns(recall: Recall, *, source: str, session: str) -> bool:
    """Return whether a recall showed a conversation of a source, or was asked for in it; `session` may be empty."""
    showed = any(shown.place.startswith(f"{source}/") and session in shown.place for shown in recall.shown)
    return showed or (bool(session) and recall.session != "" and recall.session in session)
