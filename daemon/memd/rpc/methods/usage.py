"""usage: what was recalled, by whom, what never was, and what was not found; or clear the log of it."""

from __future__ import annotations

from contextlib import suppress

from memd.lifecycle.usage.judge import judge
from memd.lifecycle.usage.report import count_days, count_files, group_unanswered
from memd.rpc.call import Call
from memd.system.clock import wall_clock_ms
from memd.text.query.since import parse_since
from memd_client.errors import MemdError
from memd_client.messages import FilesParams, NeverRecalled, UsageParams, UsageReply

MAX_FILES = 20_000
"""Files of an agent that are compared with the recalled ones, newest first."""


async def handle(call: Call, params: UsageParams) -> UsageReply:
    """Return the report, after judging recalls whose answers have come since the last one."""
    recalls, agents = call.daemon.recalls, call.registry.agents
    if params.agent is not None:
        agents = {params.agent: call.registry.agent(params.agent)}
    if params.action == "clear":
        cleared = await recalls.forget(lambda recall: not agents.keys().isdisjoint(recall.agents))
        return UsageReply(recalls.is_on(), cleared=cleared)
    start_ms = parse_since(params.since, wall_clock_ms()) if params.since else None
    logged = [
        recall
        for recall in await recalls.read()
        if recall.way != "hook"
        and recall.time_ms >= (start_ms or 0)
        and not agents.keys().isdisjoint(recall.agents)
    ]
    if verdicts := await judge(logged, call.registry.agents):
        await recalls.flush(verdicts)
    shown, never = count_files(logged), list[NeverRecalled]()
    for key, agent in agents.items():
        with suppress(MemdError):  # an agent whose memory is off, or failed
            listed = await agent.files(FilesParams(limit=MAX_FILES))
            never += [NeverRecalled(key, file) for file in listed.files if (key, file.path) not in shown]
    never.sort(key=lambda row: -row.file.size_bytes)
    return UsageReply(
        recalls.is_on(),
        len(logged),
        max(logged[0].time_ms, start_ms or 0) if logged else 0,
        count_days(logged),
        [row for row in shown.values() if row.agent in agents][: params.limit],
        never[: params.limit],
        len(never),
        group_unanswered(logged)[: params.limit],
    )
