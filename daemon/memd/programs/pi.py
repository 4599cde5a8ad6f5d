"""Conversations of pi, and of omp, which continues it: a tree of entries, of which a file may repeat its parent's."""

from __future__ import annotations

from typing import Final

from memd.programs.blocks import visible_text
from memd.programs.branches import MESSAGE, OTHER, PROMPT, RecordKind
from memd.programs.conversation import Role
from memd.programs.lines import ID, Form, LinesFiles, Record, TreeReader, field
from memd.programs.program import TranscriptFile
from memd.programs.records import is_marked, text_of, time_ms_of

_KNOWN_TYPES: Final = frozenset(
    """branch_summary compaction context_edit credential_pin custom custom_message label mode_change model_change
    model_usage reset_boundary service_tier_change session_init thinking_level_change ttsr_injection usage""".split()
)
_KNOWN_ROLES: Final = frozenset(
    """bashExecution branchSummary compactionSummary custom developer fileMention hookMessage pythonExecution system
    toolResult""".split()
)
"""Roles without words of a user or an answer."""

_TITLES: Final = {"title": "title", "title_change": "title", "session_info": "name"}


class PiReader(TreeReader):
    """Reads a transcript."""

    def __init__(self, file: TranscriptFile) -> None:
        super().__init__(file)
        self._forked_ms: int | None = None
        """When the session was forked: earlier entries are copies."""

    def take(self, record: Record, place: int) -> None:
        """Read a record."""
        kind, time_ms = record.get("type"), time_ms_of(record.get("timestamp"))
        if kind == "session":
            self._read_header(record, time_ms)
            return
        if isinstance(kind, str) and kind in _TITLES:
            self.name(record.get(_TITLES[kind]))
        elif kind != "message":
            self.skip(kind, _KNOWN_TYPES)
        message = record.get("message") if kind == "message" else None
        role = field(message, "role")
        is_typed = role == "user" and not is_marked(field(message, "synthetic"))
        is_typed = is_typed and field(message, "attribution") in (None, "user")
        order: RecordKind = PROMPT if is_typed else MESSAGE if kind == "message" else OTHER
        if not self.grow(record.get("id"), record.get("parentId"), order, is_prompt=is_typed):
            return
        if self._forked_ms is not None and time_ms is not None and time_ms < self._forked_ms:
            return
        self.session.note_time(time_ms)
        if is_typed or role == "assistant":
            said: Role = "user" if is_typed else "assistant"
            self.say(said, visible_text(field(message, "content")), place, record.get("id"), time_ms)
        elif kind == "message" and role != "user":
            self.skip(f"role {text_of(role)}", {f"role {known}" for known in _KNOWN_ROLES})

    def _read_header(self, record: Record, time_ms: int | None) -> None:
        """Read the first record of a file."""
        session = self.session
        session.cwd = text_of(record.get("cwd")) or session.cwd
        session.note_time(time_ms)
        self.name(record.get("title"))
        parent = text_of(record.get("parentSession"))
        if parent:
            session.parent = parent.rpartition("/")[2].removesuffix(".jsonl").rpartition("_")[2]
            self._forked_ms = time_ms


READER: Final = LinesFiles(
    PiReader,
    Form(rf".+/[^_]+_{ID}\.jsonl"),
    Form(rf"[^_]+_{ID}\.jsonl"),  # in a folder that the user chose for sessions
    Form(rf".+/[^_]+_{ID}/{ID}\.jsonl", "subagent"),
)
