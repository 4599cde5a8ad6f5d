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

    `include` defaults to `memory_search` and `memory_get`.
    """

    agent: str | None = None
    shape: str = "plain"
    include: list[str] | None = None


@record
class ToolsReply:
    """Definitions for a model; empty if the agent's memory is turned off."""

    agent: str
    shape: str
    tools: list[dict[str, Any]]


@record
class CallToolParams:
    """A model's call of a tool. `arguments` are as the model wrote them: a map, or JSON as text.

    `session_kind` or `session_key` determine whether citations are added. `deadline_ms` limits a search;
    `active_projects` are as in `SearchParams`. `recall` also searches transcripts that are indexed for OpenClaw's look
    into other conversations alone. With `include_conversations`, `memory_get` also reads conversations, as in
    `GetParams`: set it only for a model that may see all conversations of the agent.
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
    """

    agent: str
    name: str
    ok: bool
    result: dict[str, Any]
    text: str


@record
class PromptSectionParams:
    """Which tools the model has; by default, those of an agent with memory.

    `citations` defaults to the agent's setting. `session_kind` or `session_key` determine the meaning of `auto`.
    """

    agent: str | None = None
    tools: list[str] | None = None
    citations: str | None = None
    session_kind: str | None = None
    session_key: str = ""


@record
class PromptSectionReply:
    """A section for the system prompt, empty if there is no memory tool; `citations` is `on` or `off`."""

    agent: str
    text: str
    citations: str
