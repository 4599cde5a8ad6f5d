"""Types of parameters with their limits, which the daemon checks.

`msgspec.Meta` says most of them. Its `extra` holds what it has no word for:

- `words`: the texts that are allowed,
- `filled`: the text must say something,
- `path`: the text is a path, so it may have no NUL,
- `chars`, `values`: the most characters and values of everything in a list or map together,
- `time`: the text is a day or a duration,
- `expected`, `hint`: how an error describes the right value.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import Meta

MAX_KEY_CHARS = 512
"""Of a session's key or id. OpenClaw's own are shorter."""

MAX_PATH_CHARS = 4_096
"""PATH_MAX: no system opens a longer path."""

MAX_INDEX_PATH_CHARS = 32_768
"""Of a path in the index, which is opened directory by directory and may exceed PATH_MAX."""

MAX_QUERY_CHARS = 8_000
"""Of a query: longer ones are pasted documents, which have nothing more to find."""

MAX_PROMPT_CHARS = 1_000_000
"""Of a prompt, of which only the start is compared."""

MAX_FACT_CHARS = 4_000
"""A fact is a sentence or two; longer text belongs in a note."""

MAX_NOTE_BYTES = 64 * 1024
"""Of an entry for a daily note: longer text is a document, which belongs in a file of its own."""

MAX_TEXTS_CHARS = 4_000_000
"""Of all texts of one request together."""

MAX_COUNT = 2**53
"""The largest integer that numbers of all clients represent exactly, including JavaScript's."""

MAX_RESULTS = 1_000
"""Of hits: with full snippets, more would approach the frame limit."""

MAX_CHARS = 100_000
"""Of the characters of all snippets: about 25,000 tokens."""

MAX_DATE_MS = 253_402_300_799_999
"""The end of the year 9999."""

MAX_ID_CHARS = 64

ID_PATTERN = rf"[A-Za-z0-9_-]{{1,{MAX_ID_CHARS}}}"
"""Of a fact's id that comes from elsewhere."""

MAX_ENTRY_KEY_CHARS = 128

KEY_PATTERN = rf"[A-Za-z0-9._:-]{{1,{MAX_ENTRY_KEY_CHARS}}}"
"""Of an entry's key."""

CATEGORIES = ("preference", "fact", "decision", "entity", "other")
"""The categories of facts."""

SESSION_KINDS = ("main", "direct", "group", "channel", "subagent", "cron", "heartbeat")


def one_of(*words: str) -> Meta:
    """Return the limits of a text that is one of a few words."""
    return Meta(max_length=64, extra={"words": words})


def matching(pattern: str, max_chars: int, expected: str) -> Meta:
    """Return the limits of a text that matches a pattern as a whole."""
    return Meta(max_length=max_chars, pattern=rf"^(?:{pattern})\Z", extra={"expected": expected})


AgentId = Annotated[str, Meta(max_length=256)]
Name = Annotated[str, Meta(max_length=256)]
Word = Annotated[str, Meta(max_length=64)]
Key = Annotated[str, Meta(max_length=MAX_KEY_CHARS)]
FilledKey = Annotated[str, Meta(max_length=MAX_KEY_CHARS, extra={"filled": True})]
Path = Annotated[str, Meta(max_length=MAX_PATH_CHARS, extra={"path": True})]
IndexPath = Annotated[str, Meta(max_length=MAX_INDEX_PATH_CHARS, extra={"path": True})]
Query = Annotated[str, Meta(max_length=MAX_QUERY_CHARS)]
Prompt = Annotated[str, Meta(max_length=MAX_PROMPT_CHARS)]
Fact = Annotated[str, Meta(max_length=MAX_FACT_CHARS, extra={"filled": True})]
FactId = Annotated[str, Meta(max_length=128)]
Category = Annotated[str, one_of(*CATEGORIES)]
SessionKind = Annotated[str, one_of(*SESSION_KINDS)]
Since = Annotated[
    str,
    Meta(
        max_length=64,
        extra={
            "time": True,
            "expected": "a day or a duration",
            "hint": "pass a day such as 2026-11-02, or a duration such as 12h, 7d or 4w",
        },
    ),
]
KINDS = ("notes", "conversations", "work")
Kinds = Annotated[
    list[Annotated[str, Meta(pattern=rf"^(?:{'|'.join(KINDS)})\Z")]],
    Meta(min_length=1, max_length=len(KINDS), extra={"expected": f"one or more of {', '.join(KINDS)}"}),
]
ORIGINS = ("user", "agent", "program", "outside")
Origins = Annotated[
    list[Annotated[str, Meta(pattern=rf"^(?:{'|'.join(ORIGINS)})\Z")]],
    Meta(min_length=1, max_length=len(ORIGINS), extra={"expected": f"one or more of {', '.join(ORIGINS)}"}),
]
Names = Annotated[list[Word], Meta(max_length=64)]
SourceNames = Annotated[
    list[Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}\Z")]],
    Meta(
        min_length=1,
        max_length=64,
        extra={"expected": "one or more of memory, sessions, or names of other sources"},
    ),
]
Projects = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=MAX_PATH_CHARS, extra={"path": True})]],
    Meta(max_length=64, extra={"expected": f"at most 64 keys of 1 to {MAX_PATH_CHARS} characters"}),
]
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Position = Annotated[int, Meta(ge=1)]
Milliseconds = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
MaxResults = Annotated[int, Meta(ge=1, le=MAX_RESULTS)]
MaxChars = Annotated[
    int,
    Meta(
        ge=1,
        le=MAX_CHARS,
        extra={"hint": "pass the characters that all hits together may have, such as 4200"},
    ),
]
PageSize = Annotated[int, Meta(ge=1, le=1_000)]
AgentIds = Annotated[
    list[AgentId],
    Meta(min_length=1, max_length=256, extra={"expected": "1 to 256 ids of agents, or left out"}),
]
Paths = Annotated[list[IndexPath], Meta(max_length=1_000, extra={"chars": 64 * MAX_PATH_CHARS})]
Texts = Annotated[list[str], Meta(min_length=1, max_length=10_000, extra={"chars": MAX_TEXTS_CHARS})]
Messages = Annotated[
    list[dict[str, Any]], Meta(max_length=1_000, extra={"chars": MAX_TEXTS_CHARS, "values": 100_000})
]
Moment = Annotated[
    int,
    Meta(ge=0, le=MAX_DATE_MS, extra={"expected": "a moment from 1970 to 9999 in milliseconds"}),
]
Vector = Annotated[
    bytes, Meta(min_length=4, max_length=64 * 1024, extra={"expected": "float32 numbers, at most 64 KiB"})
]


def limits_of(params: type[Any]) -> dict[str, tuple[Meta, ...]]:
    """Return the limits of each parameter of a request: its own, then those of the values inside.

    Args:
        params: The record of the parameters.
    """
    hints = get_type_hints(params, include_extras=True)
    return {name: tuple(_limits_in(hints[name])) for name in params.__struct_fields__}


def _limits_in(hint: Any) -> list[Meta]:
    """Return the limits in a type, outer ones first."""
    own = (
        [each for each in hint.__metadata__ if isinstance(each, Meta)]
        if get_origin(hint) is Annotated
        else []
    )
    inner = (hint.__origin__,) if own else get_args(hint)
    return own + [limit for each in inner for limit in _limits_in(each)]
