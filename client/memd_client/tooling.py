"""Memory tools of an agent's model: their definitions, their calls and their section of the system prompt."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from memd_client.limits import AgentId, Key, Milliseconds, Name, Names, Projects, SessionKind, one_of
from memd_client.schema import Record

DEFAULT_SEARCH_CHARS = 4_200
"""Default of `maxChars` of `memory_search`: characters of all excerpts together, about 1,000 tokens."""

MAX_SEARCH_CHARS = 50_000
"""Maximum of `maxChars`."""


class ToolsParams(Record, frozen=True):
    """Return the definitions of the memory tools for a model.

    Attributes:
        agent: The agent's id; None: the default agent.
        shape: `plain` (`{name, description, parameters}`), `openai` (`{type: "function", function: {…}}`) or
            `anthropic` (`{name, description, input_schema}`).
        include: `memory_search`, `memory_get`, `memory_store`, `memory_recall`, `memory_forget`; None: the first two.

    Returns:
        `tools`, a list of maps with JSON Schema in them; empty if the agent's memory is turned off.

    Raises:
        AgentUnknownError: No agent has that id.
        BadParamsError: The shape or a tool is not known.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    shape: Annotated[str, one_of("plain", "openai", "anthropic")] = "plain"
    include: Names | None = None


class ToolsReply(Record, frozen=True):
    """Definitions for a model; empty if the agent's memory is turned off.

    Attributes:
        agent: The agent.
        shape: As requested.
        tools: Definitions; empty if the agent's memory is off.
    """

    agent: str
    shape: str
    tools: list[dict[str, Any]]


class CallToolParams(Record, frozen=True):
    """Execute a model's call of a memory tool; mistakes in it are returned.

    Attributes:
        name: The tool, as the model wrote it.
        arguments: The arguments as the model wrote them: a map, or JSON as text. Numbers may be text; a None counts as
            omitted. A text in them has at most 8,000 characters.
        agent: The agent's id; None: the default agent.
        session_kind: Decides about citations, as `kind` in `session_started`; None: derived from `session_key`.
        session_key: OpenClaw's name for the conversation, which is excluded from searches.
        deadline_ms: Limits a search, in milliseconds.
        active_projects: As in `search`.
        recall: True: `memory_search` also searches transcripts that are indexed for recall alone.
        include_conversations: Whether `memory_get` also reads conversations, as in `get`; set it only for a model that
            may read all of the agent.
        caller: As in `search`.

    Returns:
        `result` as data, and `text`: the same as JSON for the model. If `ok` is false, the result describes the
        mistake in the call (`error`, `expected`, `example`).

    Raises:
        AgentUnknownError: No agent has that id.
        BadParamsError: `session_kind` or `deadline_ms` is wrong.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    name: Name
    arguments: Annotated[Any, Meta(extra={"chars": 65_536, "values": 1_000})] = None
    agent: AgentId | None = None
    session_kind: SessionKind | None = None
    session_key: Key = ""
    deadline_ms: Milliseconds | None = None
    active_projects: Projects | None = None
    recall: bool = False
    include_conversations: bool = False
    caller: Name = ""


class CallToolReply(Record, frozen=True):
    """The tool's result: `result` as data, `text` the same as JSON for the model.

    If `ok` is false, the result describes the mistake in the call: `error`, `expected`, `example`.

    Attributes:
        agent: The agent.
        name: The tool.
        ok: False: the call was invalid.
        result: The result as data.
        text: `result` as JSON for the model; invisible and direction-changing characters are written as `\u202e`.
    """

    agent: str
    name: str
    ok: bool
    result: dict[str, Any]
    text: str


class PromptSectionParams(Record, frozen=True):
    """Return the section of a system prompt that describes a model's memory tools.

    Attributes:
        agent: The agent's id; None: the default agent.
        tools: Names of the model's tools; `sessions_search` and `sessions_history` get a sentence too, other tools are
            ignored. None: `memory_search` and `memory_get`.
        citations: `auto`, `on` or `off`; None: the agent's setting.
        session_kind: Decides what `auto` means, as in `call_tool`.
        session_key: OpenClaw's name for the conversation.

    Returns:
        `text` (empty if there is no memory tool) and `citations` (`on` or `off`).

    Raises:
        AgentUnknownError: No agent has that id.
        BadParamsError: A parameter is wrong.
        DaemonUnreachableError, DeadlineExceededError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    tools: Names | None = None
    citations: Annotated[str, one_of("auto", "on", "off")] | None = None
    session_kind: SessionKind | None = None
    session_key: Key = ""


class PromptSectionReply(Record, frozen=True):
    """A section for the system prompt, empty if there is no memory tool; `citations` is `on` or `off`.

    Attributes:
        agent: The agent.
        text: Fewer than 1,200 characters; empty if the model has no memory tool or the agent's memory is off.
        citations: `on` or `off`.
    """

    agent: str
    text: str
    citations: str
