"""Conversations of Kiro CLI: prompts and answers, and a file next to each that describes the session."""

from __future__ import annotations

from typing import Final

from memd.programs.blocks import visible_text
from memd.programs.conversation import Role
from memd.programs.lines import ID, Details, Form, LinesFiles, LinesReader, Record, field
from memd.programs.records import text_of, time_ms_of

_ROLES: Final[dict[object, Role]] = {
    "Prompt": "user",
    "AssistantMessage": "assistant",
    "user": "user",
    "assistant": "assistant",
}
_KNOWN_KINDS: Final = frozenset("ToolResults Compaction Clear tool system".split())


class KiroReader(LinesReader):
    """Reads a session. Lines have a `kind` and `data`; in some releases a `role` and `content`."""

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        data = record.get("data") if "kind" in record else record
        kind = record.get("kind", record.get("role"))
        time_ms = time_ms_of(record.get("timestamp")) or time_ms_of(field(data, "timestamp"))
        self.session.note_time(time_ms)
        role = _ROLES.get(kind) if isinstance(kind, str) else None
        if role is None:
            self.skip(kind, _KNOWN_KINDS)
        else:
            self.say(role, _text_of(field(data, "content")), place, field(data, "message_id"), time_ms)


def _text_of(content: object) -> str:
    """Return the text of a content whose blocks have a `kind` and `data`, or are those of other programs."""
    blocks = content if isinstance(content, list) else [content]
    if not any(field(block, "kind") is not None for block in blocks):
        return visible_text(content)
    return "\n".join(text_of(field(block, "data")) for block in blocks if field(block, "kind") == "text")


READER: Final = LinesFiles(
    KiroReader,
    Form(rf"{ID}\.jsonl"),
    details=Details(
        "{id}.json", title=("title",), cwd=("cwd",), started=("created_at",), updated=("updated_at",)
    ),
)
