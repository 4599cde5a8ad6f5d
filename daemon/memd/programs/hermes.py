"""Conversations of Hermes. A conversation that is compacted goes on in a new session, or in new rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from memd.programs.conversation import SessionKind
from memd.programs.records import decode_record, is_set
from memd.programs.tables import MessageTables, Row, Table, json_value
from memd.programs.values import blob_of, text_of

_JSON: Final = b"\0json:"
"""Beginning of a content that is no text."""

_CONTEXT: Final = "<memory-context>"


class HermesDatabase(MessageTables):
    """The database of a profile."""

    tables = (
        Table(
            "sessions",
            "id source created=started_at updated?=ended_at title? cwd? branch?=git_branch parent?=parent_session_id"
            " model?=model_config",
        ),
        Table(
            "messages",
            "key=id session=session_id role content time=timestamp is_active?=active is_compacted?=compacted"
            " is_observed?=observed",
            order="id",
        ),
    )
    known_blocks = frozenset(("image_url", "input_image", "image", "file", "input_audio"))
    injected = ("[SYSTEM: ", "[System: ", "[IMPORTANT: The user ", "[CONTEXT ", _CONTEXT)

    def kind_of(self, row: Row) -> SessionKind:
        """Return the kind of a session. Its parent may be a conversation that it continues, or branched from."""
        if text_of(row["source"]) in ("cron", "tool"):
            return "machine"
        model = decode_record(blob_of(row.get("model")), json_value)
        is_delegated = isinstance(model, dict) and is_set(model.get("_delegate_from"))
        return "subagent" if is_delegated or text_of(row["source"]) == "subagent" else "main"

    def chosen(self, session: Row, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows without those that the user took back, and without copies that a compaction made."""
        compacted: set[tuple[object, object]] = set()
        for row in rows:
            said = row["role"], row["content"]
            if is_set(row.get("is_compacted")):
                compacted.add(said)
            elif row.get("is_active") == 0 or said in compacted:
                row = {**row, "is_observed": True}
            yield row

    def is_hidden(self, row: Row) -> bool:
        """Return whether a message is hidden, or one of others in a group that Hermes only observed."""
        return is_set(row.get("is_observed"))

    def message_of(self, row: Row) -> tuple[str, object]:
        """Return the role of a message, and its text or blocks, without memory that Hermes added."""
        data = blob_of(row["content"])
        if data is None or data.startswith(_JSON):
            content = [] if row["content"] is None else decode_record((data or b"")[len(_JSON) :], json_value)
        else:
            content = text_of(data).partition(_CONTEXT)[0]
        return text_of(row["role"]), content


READER: Final = HermesDatabase
