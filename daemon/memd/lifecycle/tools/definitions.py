"""The tools a model is given to work with memory: names, what they are for, and their arguments as JSON Schema.

Pure. The descriptions are read by models and paid for with every turn: they say when to call and what comes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from memd_client.facts import CATEGORIES as CATEGORIES

Shape = Literal["plain", "openai", "anthropic"]

SHAPES: tuple[Shape, ...] = ("plain", "openai", "anthropic")

MOST_RESULTS = 50
"""Hits a model may ask for: fifty snippets are about 9,000 tokens."""

MOST_FACT_CHARS = 4_000
"""A fact is a sentence or two; what is longer belongs into a note."""

"""Of what kinds facts are."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        name: What the model calls it by.
        description: When to call it, and what it answers.
        properties: Its arguments by name, each a JSON Schema of a scalar.
        required: Those that can't be left out.
        example: Arguments of a call that is right, for a model that got it wrong.
    """

    name: str
    description: str
    properties: dict[str, dict[str, Any]]
    required: tuple[str, ...] = ()
    example: dict[str, Any] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {name: dict(facts) for name, facts in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "description": description}


SEARCH = Tool(
    "memory_search",
    "Look something up in long-term memory (MEMORY.md, USER.md and the notes in memory/), by meaning and by words. "
    "Call it before answering about earlier work, decisions, dates, people, preferences or tasks. Answers with short "
    "excerpts, best first, each with its path and lines; an answer without any says why.",
    {
        "query": _text("What to look for, in any language; a question or a few telling words."),
        "maxResults": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_RESULTS,
            "description": "How many excerpts at most.",
        },
        "minScore": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "Leave out what scores lower. 0 gives the nearest notes even where none is relevant.",
        },
        "corpus": {
            "type": "string",
            "enum": ["memory", "sessions", "wiki", "all"],
            "description": "Where to look: memory (notes), sessions (past conversations), wiki (wikis of other "
            "plugins) or all. Notes and what is indexed of conversations if left out.",
        },
    },
    ("query",),
    {"query": "what did we decide about the release date", "maxResults": 5},
)

GET = Tool(
    "memory_get",
    "Read lines of one memory file, for more than the excerpt a search showed. Ask for the lines you need.",
    {
        "path": _text(
            "The file as memory_search names it, such as memory/2026-01-16.md; relative to the workspace."
        ),
        "from": {"type": "integer", "minimum": 1, "description": "First line, counted from 1."},
        "lines": {
            "type": "integer",
            "minimum": 1,
            "description": "How many lines; all that follow if left out. An answer has at most 50,000 characters.",
        },
        "corpus": {
            "type": "string",
            "enum": ["memory", "wiki", "all"],
            "description": "memory (notes) if left out; wiki for the path of a wiki result; all tries both.",
        },
    },
    ("path",),
    {"path": "memory/2026-01-16.md", "from": 12, "lines": 20},
)

STORE = Tool(
    "memory_store",
    "Keep one lasting fact about the user or the work: a preference, a decision, a name. One sentence that can be "
    "understood by itself; no secrets. What is known already is not stored twice.",
    {
        "text": {**_text("The fact, in one sentence."), "maxLength": MOST_FACT_CHARS},
        "importance": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "How much it matters; 0.7 if left out.",
        },
        "category": {
            "type": "string",
            "enum": list(CATEGORIES),
            "description": "What kind of fact; found out if left out.",
        },
    },
    ("text",),
    {"text": "The user prefers answers in German.", "importance": 0.8, "category": "preference"},
)

RECALL = Tool(
    "memory_recall",
    "Find stored facts that bear on something, best first, each with the id that memory_forget takes.",
    {
        "query": _text("What the facts should be about."),
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_RESULTS,
            "description": "How many; 5 if left out.",
        },
    },
    ("query",),
    {"query": "language the user likes", "limit": 3},
)

FORGET = Tool(
    "memory_forget",
    "Remove one stored fact. An id removes that fact. A query removes a fact only if it says nearly the same (score at "
    "least 0.9) and no other fact is about as near; else nothing is removed, and the nearest facts are listed with "
    "their ids.",
    {
        "id": _text("The fact's id, as memory_recall tells it."),
        "query": _text("What the fact says, if its id isn't known."),
    },
    (),
    {"query": "The user's phone number is 555 0100."},
)

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (SEARCH, GET, STORE, RECALL, FORGET)}
"""All of them by name."""

USUAL: tuple[str, ...] = (SEARCH.name, GET.name)
"""What an agent with memory is given unless facts are wanted as well."""


def define(names: Iterable[str], shape: Shape) -> list[dict[str, Any]]:
    """Return definitions ready to be handed to a model."""
    wanted = set(names)
    return [_shaped(tool, shape) for tool in TOOLS.values() if tool.name in wanted]


def _shaped(tool: Tool, shape: Shape) -> dict[str, Any]:
    """Return one definition in an interface's shape."""
    named = {"name": tool.name, "description": tool.description}
    if shape == "anthropic":
        return {**named, "input_schema": tool.schema()}
    if shape == "openai":
        return {"type": "function", "function": {**named, "parameters": tool.schema()}}
    return {**named, "parameters": tool.schema()}
