"""What an agent's model is given of memory: tools, their calls, and the part of its prompt that tells of them."""

from __future__ import annotations

from memd_client.record import Any, record


@record
class ToolsParams:
    """Which definitions of tools are wanted, and for whose interface: `plain`, `openai` or `anthropic`.

    `include` left out means `memory_search` and `memory_get`.
    """

    agent: str | None = None
    shape: str = "plain"
    include: list[str] | None = None


@record
class ToolsReply:
    """Definitions ready to be handed to a model; none where the agent's memory is turned off."""

    agent: str
    shape: str
    tools: list[dict[str, Any]]


@record
class CallToolParams:
    """A model's call of a tool. `arguments` is what it wrote: a map, or JSON as text.

    `session_kind` or `session_key` tell where the answer will be read, which decides about citations.
    `deadline_ms` bounds a search; `active_projects` are as in `SearchParams`.
    """

    name: str
    arguments: Any = None
    agent: str | None = None
    session_kind: str | None = None
    session_key: str = ""
    deadline_ms: int | None = None
    active_projects: list[str] | None = None


@record
class CallToolReply:
    """What the tool answers: `result` as data, `text` the same as JSON for the model.

    With `ok` false the result says what was wrong with the call: `error`, `expected`, `example`.
    """

    agent: str
    name: str
    ok: bool
    result: dict[str, Any]
    text: str


@record
class PromptSectionParams:
    """Which tools the model has; left out, those an agent with memory is given.

    `citations` left out takes the agent's setting. `session_kind` or `session_key` decide what `auto` means.
    """

    agent: str | None = None
    tools: list[str] | None = None
    citations: str | None = None
    session_kind: str | None = None
    session_key: str = ""


@record
class PromptSectionReply:
    """A section for the system prompt, empty where there is no tool to tell of; `citations` is `on` or `off`."""

    agent: str
    text: str
    citations: str
