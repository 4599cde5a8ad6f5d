"""The asynchronous form of `note_methods`.

Made by `scripts/generate` from `note_methods`: don't edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import lifecycle_requests
from .messages import (
    AppendNoteReply,
    CaptureFactsReply,
    FactsForPromptReply,
    FactsReply,
    MemoryEditReply,
    MemoryForgetReply,
    MemoryRecallReply,
    MemoryStoreReply,
)
from .record import Any

TYPE_CHECKING = False  # importing typing takes a client several milliseconds; type checkers know the name
if TYPE_CHECKING:
    from typing import TypeVar

    from .prepared_request import PreparedRequest

    T = TypeVar("T")


class AsyncNoteMethods:
    """A method for every request about notes and facts; `request` sends it."""

    async def request(self, request: PreparedRequest[T]) -> T:
        """Send a request of `requests` and return its reply."""
        raise NotImplementedError

    async def append_note(
        self, text: str, *, agent: str | None = None, date: str | None = None, key: str | None = None
    ) -> AppendNoteReply:
        """Append an entry to a daily note, and wait until it is on disk.

        Args:
            text: The entry, Markdown of at most 64 KiB.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            date: The day as YYYY-MM-DD; None: the user's today.
            key: Makes the request repeatable: an entry with a key that the note has is not appended again.

        Returns:
            `path` (`memory/YYYY-MM-DD.md`), `start_line` and `end_line` of the entry, and `appended`: false if the note
            had it already.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The note can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The note is a symbolic link or not a text file.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. Without a
                `key` the request is not sent a second time after the connection broke.
        """
        return await self.request(lifecycle_requests.append_note(text, agent=agent, date=date, key=key))

    async def memory_store(
        self,
        text: str,
        *,
        agent: str | None = None,
        importance: float | None = None,
        category: str | None = None,
        id: str | None = None,  # noqa: A002 - the request's own name
        created_ms: int | None = None,
        vector: bytes | None = None,
        vector_model: str = "",
    ) -> MemoryStoreReply:
        """Store a fact in `memory/facts.md`, unless it duplicates an existing fact.

        Args:
            text: One fact, 1 to 4,000 characters; it becomes one line.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            importance: 0 to 1; None: 0.7.
            category: `preference`, `fact`, `decision`, `entity` or `other`; None: inferred from the text.
            id: The fact's id in another program; an existing one is not stored again. None: a new one.
            created_ms: When it was created, in epoch milliseconds; None: now.
            vector: A vector of the text, as packed little-endian float32.
            vector_model: The model of `vector`, which is used if the agent's provider has the same one.

        Returns:
            `stored`, and `id`, `category`, `path` and `line` of the fact; if `stored` is false, of its duplicate, with
            `duplicate_of` and `duplicate_text`. `compared` is `vectors`, `words` or `id`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The file can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link or not a text file.
            BadParamsError: A parameter is out of its range, or the text has no word.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. Without an
                `id` the request is not sent a second time after the connection broke.
        """
        request = lifecycle_requests.memory_store(
            text,
            agent=agent,
            importance=importance,
            category=category,
            id=id,
            created_ms=created_ms,
            vector=vector,
            vector_model=vector_model,
        )
        return await self.request(request)

    async def memory_recall(
        self, query: str, *, agent: str | None = None, limit: int = 5, min_score: float = 0.3
    ) -> MemoryRecallReply:
        """Return the facts nearest to a query, best first.

        Args:
            query: Any text; a blank one lists all facts, newest first.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            limit: The most facts, 1 to 10,000.
            min_score: Leave out facts below it, 0 to 1.

        Returns:
            `facts` (each with `id`, `text`, `importance`, `category`, `score` from 0 to 1, `path`, `line`), `total`
            (the number of all facts) and `compared`: `vectors`, `words` or `none`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: A parameter is out of its range.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(
            lifecycle_requests.memory_recall(query, agent=agent, limit=limit, min_score=min_score)
        )

    async def memory_edit(
        self,
        id: str,  # noqa: A002 - the request's own name
        text: str,
        *,
        agent: str | None = None,
        expected_text: str | None = None,
        importance: float | None = None,
        category: str | None = None,
    ) -> MemoryEditReply:
        """Change the text of a fact, on its line; all other lines stay unchanged.

        Args:
            id: The fact's id.
            text: Its new text, 1 to 4,000 characters.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            expected_text: The text the caller expects; if the fact's text differs, nothing is changed.
            importance: 0 to 1; None: unchanged.
            category: As in `memory_store`; None: unchanged.

        Returns:
            `stored`, and `id`, `category`, `path` and `line` of the fact. If `stored` is false, another fact has the
            same content (`duplicate_of`, `duplicate_text`) and nothing was changed.

        Raises:
            FactMissingError: No fact has that id.
            FactChangedError: The fact's text is not `was`.
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The file can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: A parameter is out of its range, or the text has no word.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
                not sent a second time after the connection broke.
        """
        request = lifecycle_requests.memory_edit(
            id, text, agent=agent, expected_text=expected_text, importance=importance, category=category
        )
        return await self.request(request)

    async def memory_forget(
        self,
        id: str | None = None,  # noqa: A002 - the request's own name
        *,
        query: str | None = None,
        agent: str | None = None,
    ) -> MemoryForgetReply:
        """Remove a fact: the one with an id, or the only clear match of a query.

        Args:
            id: The fact's id.
            query: Any text; give either this or `id`.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.

        Returns:
            `forgotten`: the fact, or None. If None, `candidates` are the facts the query matches, at most five.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The file can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: Neither or both of `id` and `query` were given.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request. The request is
                not sent a second time after the connection broke.
        """
        return await self.request(lifecycle_requests.memory_forget(id, query=query, agent=agent))

    async def facts(self, *, agent: str | None = None, offset: int = 0, limit: int = 200) -> FactsReply:
        """List the facts of an agent, newest first.

        Args:
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            offset: How many of the newest to skip.
            limit: How many to list, 1 to 1,000.

        Returns:
            `facts` as in `memory_recall`, with a `score` of 0, and `total`: the number of all facts.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: A parameter is out of its range.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(lifecycle_requests.facts(agent=agent, offset=offset, limit=limit))

    async def facts_for_prompt(
        self, prompt: str, *, agent: str | None = None, force: bool = False
    ) -> FactsForPromptReply:
        """Return the facts nearest to a prompt, as a block of text to put before it.

        Args:
            prompt: The user's message.
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            force: Recall facts even if the setting `autoRecall` is off.

        Returns:
            `text`, marked as data and escaped, and its `facts`. If it is empty, `reason` is `off`, `blank`, `no_facts`
            or `nothing_near`.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(lifecycle_requests.facts_for_prompt(prompt, agent=agent, force=force))

    async def capture_facts(
        self, messages: Sequence[Mapping[str, Any]], *, agent: str | None = None, force: bool = False
    ) -> CaptureFactsReply:
        """Store lasting statements of the user as facts, at most three per request.

        Args:
            messages: At most 1,000 maps with `role` and `content` (a text, or a list of parts).
            agent: The agent's id; None: the client's own agent, else the daemon's default agent.
            force: Capture facts even if the setting `autoCapture` is off.

        Returns:
            `stored` (each with the `index` of its message, from 0, and the fact), `skipped` (each with `index` and
            `reason`), and `reason`: `off` if no message was examined.

        Raises:
            AgentUnknownError: No agent has that id.
            MemoryDisabledError: The agent's settings turn memory off.
            NoteUnwritableError: The file can't be written; nothing was written.
            PathRefusedError, FileUnreadableError: The file of facts is a symbolic link, or can't be read.
            BadParamsError: A parameter is wrong.
            DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
        """
        return await self.request(lifecycle_requests.capture_facts(messages, agent=agent, force=force))
