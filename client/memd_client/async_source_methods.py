"""The asynchronous form of `source_methods`.

Made by `scripts/generate` from `source_methods`: don't edit.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import requests
from .async_note_methods import AsyncNoteMethods
from .sources import ConversationReadReply, ConversationSearchReply, SourcesReply


class AsyncSourceMethods(AsyncNoteMethods):
    """A method for every request about sources and conversations; `request` sends it."""

    async def sources(
        self, action: str = "list", name: str = "", *, session: str = "", agent: str | None = None
    ) -> SourcesReply:
        """List the sources of other programs, or delete copies of deleted conversations.

        Args:
            action: `list`, or `forget` to delete copies for good.
            name: The source whose copies are deleted.
            session: One session whose copy is deleted; empty: all of the source.
            agent: The agent's id; None: all agents.

        Returns:
            `sources`, those of agents; `found`, those on this machine that no agent has; `forgotten`, a number.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: No agent has a source of that name.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(requests.sources(action, name, session=session, agent=agent))

    async def conversation_search(
        self,
        query: str,
        *,
        agent: str | None = None,
        max_results: int | None = None,
        sources: Sequence[str] | None = None,
        project: str | None = None,
        since: str | None = None,
        exclude_session: str | None = None,
        deadline_ms: int | None = None,
    ) -> ConversationSearchReply:
        """Search conversations of all programs and return sessions with their best lines.

        Args:
            query: What to search for.
            agent: The agent's id; None: the client's own agent, or the default agent.
            max_results: Most sessions; default: 5.
            sources: Search only these sources of transcripts.
            project: Keep conversations held in this project, by its name or path.
            since: Keep what was said since a day (`2026-11-02`) or within a duration (`12h`, `7d`, `4w`).
            exclude_session: Id or key of the calling session, which is left out.
            deadline_ms: Limit of the whole request in milliseconds.

        Returns:
            `conversations`, best first, each with `session`, `path`, `score`, `relevance` and `excerpts`.

        Raises:
            QueryEmptyError: The query has no text.
            AgentUnknownError: No agent has that id.
            DeadlineExceededError: The deadline passed.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.conversation_search(
                query,
                agent=agent,
                max_results=max_results,
                sources=sources,
                project=project,
                since=since,
                exclude_session=exclude_session,
                deadline_ms=deadline_ms,
            )
        )

    async def conversation_read(
        self,
        session: str,
        *,
        agent: str | None = None,
        line: int | None = None,
        first: int | None = None,
        messages: int = 20,
    ) -> ConversationReadReply:
        """Return messages of a session, as they are on disk now, without secrets.

        Args:
            session: The id of the session, or its path in the index.
            agent: The agent's id; None: the client's own agent, or the default agent.
            line: A place, as in a hit or excerpt: the messages around it are returned.
            first: The number of the first message to return, from 1.
            messages: Most messages, at most 200.

        Returns:
            `messages`, each with `number`, `line`, `speaker`, `text` and `time_ms`; `total`; and the `session`.

        Raises:
            FileMissingError: No session of the agent has that id.
            AgentUnknownError: No agent has that id.
            DaemonUnreachableError, ConnectionLostError: As with every request.
        """
        return await self.request(
            requests.conversation_read(session, agent=agent, line=line, first=first, messages=messages)
        )
