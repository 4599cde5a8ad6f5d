"""Memory tools of an agent's model: their definitions, their calls and their section of the system prompt."""

from __future__ import annotations

from memd_client.record import Any, record

DEFAULT_SEARCH_CHARS = 4_200
"""Default of `maxChars` of `memory_search`: characters of all excerpts together, about 1,000 tokens."""

MAX_SEARCH_CHARS = 50_000
"""Maximum of `maxChars`."""


@record
class ToolsParams:
    """Which tools to define, and for which model interface: `plain`, `openai` or `anthropic`.

    Attributes:
        agent: The agent's id; None: the default agent.
        shape: `plain` (`{name, description, parameters}`), `openai` (`{type: "function", function: {…}}`) or
            `anthropic` (`{name, description, input_schema}`).
        include: `memory_search`, `memory_get`, `memory_store`, `memory_recall`, `memory_forget`; None: the first two.
    """

    agent: str | None = None
    shape: str = "plain"
    include: list[str] | None = None


@record
class ToolsReply:
    """Definitions for a model; empty if the agent's memory is turned off.

    Attributes:
        agent: The agent.
        shape: As requested.
        tools: Definitions; empty if the agent's memory is off.
    """

    agent: str
    shape: str
    tools: list[dict[str, Any]]


@record
class CallToolParams:
    """A model's call of a tool. `arguments` are as the model wrote them: a map, or JSON as text.

    With `include_conversations`, `memory_get` also reads conversations, as in `GetParams`: set it only for a model that
    may see all conversations of the agent.

    Attributes:
        name: As the model wrote it.
        arguments: As the model wrote them: a map, or JSON as text. Numbers may be text; a None counts as omitted. A
            text in them has at most 8,000 characters.
        agent: The agent's id; None: the default agent.
        session_kind: Decides about citations, as `kind` in `session_started`; None: derived from `session_key`.
        session_key: OpenClaw's name for the conversation.
        deadline_ms: Limit for a search, in ms.
        active_projects: Keys of the active projects; see comments in notes.
        recall: True: `memory_search` also searches transcripts that are indexed for recall alone.
        include_conversations: Whether `memory_get` also reads conversations, as in `get`; set it only for a model that
            may read all of the agent.
    """

    name: str
    arguments: Any = None
    agent: str | None = None
    session_kind: str | None = None
    session_key: str = ""
    deadline_ms: int | None = None
    active_projects: list[str] | None = None
    recall: bool = False
    include_conversations: bool = False


@record
class CallToolReply:
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


@record
class PromptSectionParams:
    """Which tools the model has; by default, those of an agent with memory.

    Attributes:
        agent: The agent's id; None: the default agent.
        tools: Names of the model's tools; `sessions_search` and `sessions_history` get a sentence too, other tools are
            ignored. None: `memory_search` and `memory_get`.
        citations: `auto`, `on` or `off`; None: the agent's setting.
        session_kind: Decides what `auto` means, as in `call_tool`.
        session_key: OpenClaw's name for the conversation.
    """

    agent: str | None = None
    tools: list[str] | None = None
    citations: str | None = None
    session_kind: str | None = None
    session_key: str = ""


@record
class PromptSectionReply:
    """A section for the system prompt, empty if there is no memory tool; `citations` is `on` or `off`.

    Attributes:
        agent: The agent.
        text: Fewer than 1,200 characters; empty if the model has no memory tool or the agent's memory is off.
        citations: `on` or `off`.
    """

    agent: str
    text: str
    citations: str
