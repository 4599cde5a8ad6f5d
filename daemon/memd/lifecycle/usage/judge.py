"""Reads the conversations in which memory was recalled, to judge whether the next answer used it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import trio

from memd.agents.agent import Agent
from memd.index.transcripts import find_session
from memd.lifecycle.recalls.recall import Recall
from memd.lifecycle.usage.likely_used import find_used
from memd_client.errors import MemdError
from memd_client.locations import split_location
from memd_client.messages import ConversationReadParams, GetParams, SessionMessage

BUDGET_S = 2.0
"""How long one request judges; the next one continues."""

PAGE_MESSAGES, MAX_MESSAGES = 200, 2_000
"""Messages of a conversation that are read at once, and of one session."""

CLOCK_SLACK_MS = 2_000
"""A program may record a prompt that much before it calls the hook."""


async def judge(recalls: Sequence[Recall], agents: Mapping[str, Agent]) -> dict[int, tuple[int, ...]]:
    """Return by id which hits of recalls were likely used, newest first, as far as the time allows.

    A recall is skipped if its conversation isn't indexed, or has no later answer yet.
    """
    verdicts: dict[int, tuple[int, ...]] = {}
    sessions: dict[str, list[SessionMessage]] = {}
    with trio.move_on_after(BUDGET_S):
        for recall in reversed(recalls):
            if recall.used is not None or not recall.shown or not recall.session:
                continue
            if recall.session not in sessions:
                sessions[recall.session] = await _read_session(recall, agents)
            earlier, answer = split_at(sessions[recall.session], recall)
            if answer:
                texts = [await _text_of(shown.place, agents.get(shown.agent)) for shown in recall.shown]
                verdicts[recall.id] = recall.used = find_used(texts, earlier, answer)
    return verdicts


def split_at(messages: Sequence[SessionMessage], recall: Recall) -> tuple[str, str]:
    """Return the conversation before the answer to a recall's prompt, and that answer, which ends at the next prompt.

    A hook recalls before its prompt is answered, and a tool call comes after its prompt.
    """
    is_hook = recall.way in ("prompt", "start")
    limit_ms = recall.time_ms - CLOCK_SLACK_MS if is_hook else recall.time_ms
    prompts = [message for message in messages if message.speaker == "user"]
    earlier = [message for message in prompts if (message.time_ms or 0) < limit_ms]
    prompt = next(iter(prompts[len(earlier) :] if is_hook else earlier[-1:]), None)
    if prompt is None:
        return "", ""
    following = (message.number for message in prompts if message.number > prompt.number)
    turn = messages[prompt.number : next(following, len(messages) + 1) - 1]
    answer = [message.text for message in turn if (message.time_ms or 0) >= limit_ms]
    before = messages[: prompt.number + len(turn) - len(answer)]
    return "\n".join(message.text for message in before), "\n".join(answer)


async def _read_session(recall: Recall, agents: Mapping[str, Agent]) -> list[SessionMessage]:
    """Return the messages of a session from the first memory that has it; none if it isn't indexed."""
    for agent in sorted(agents.values(), key=lambda agent: agent.agent_id not in recall.agents):
        messages = list[SessionMessage]()
        with suppress(MemdError):
            index = None if agent.opened is None else agent.opened.index_file
            if index is None or await index.read(partial(find_session, session=recall.session)) is None:
                continue
            while len(messages) < MAX_MESSAGES:
                params = ConversationReadParams(
                    recall.session, first=len(messages) + 1, messages=PAGE_MESSAGES
                )
                page = await agent.read_conversation(params)
                messages += page.messages
                if not page.messages or len(messages) >= page.total:
                    return messages
    return []


async def _text_of(place: str, agent: Agent | None) -> str:
    """Return the text of a hit as it is now; "" if it is gone."""
    with suppress(MemdError, ValueError):
        path, first, lines = split_location(place)
        params = GetParams(path, None, first or 1, lines, include_conversations=True)
        return "" if agent is None else (await agent.get(params)).text
    return ""
