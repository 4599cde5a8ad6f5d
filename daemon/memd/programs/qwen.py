"""Conversations of Qwen Code. A rewind is a record at which a new branch begins."""

from __future__ import annotations

from memd.programs.branches import PROMPT, RecordKind
from memd.programs.lines import Record, Rule, TreeReader
from memd.programs.records import is_marked, part_of, text_of


class QwenReader(TreeReader):
    """Reads a transcript."""

    def order_of(self, record: Record, kind: str, rule: Rule | None) -> RecordKind:
        """Return what a record is in the tree."""
        return PROMPT if record.get("subtype") == "rewind" else super().order_of(record, kind, rule)

    def is_foreign(self, record: Record) -> bool:
        """Return whether a record is a copy, a subagent's, or has results of tools, as older releases keep them."""
        parts = part_of(record, "message.parts")
        is_result = any(
            part_of(part, "functionResponse") for part in (parts if isinstance(parts, list) else ())
        )
        is_agents = is_marked(record.get("isSidechain")) and self.session.kind != "subagent"
        return is_result or is_agents or is_marked(record.get("forkedFrom"))

    def skip(self, kind: str, record: Record) -> None:
        """Count a record of an unknown type or subtype."""
        subtype = record.get("subtype")
        super().skip(kind if subtype is None else f"{kind}.{text_of(subtype)}", record)
