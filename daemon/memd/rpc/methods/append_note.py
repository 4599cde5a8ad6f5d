"""append_note: append an entry to a daily note."""

from __future__ import annotations

from memd.lifecycle.notes.daily import clean_entry, day_of
from memd.rpc.call import Call
from memd.rpc.params import wrong
from memd_client.limits import MAX_NOTE_BYTES
from memd_client.notes import AppendNoteParams, AppendNoteReply


async def handle(call: Call, params: AppendNoteParams) -> AppendNoteReply:
    """Append the entry and return its lines."""
    _check_text(params.text)
    day = None if params.date is None else day_of(params.date)
    if params.date is not None and day is None:
        raise wrong("append_note", "date", "must be a day as YYYY-MM-DD")
    return await call.lifecycle(params.agent).notes.append_note(params, day)


def _check_text(text: str) -> None:
    """Raise if a text can't be an entry."""
    reason = ""
    try:
        if len(text.encode()) > MAX_NOTE_BYTES:
            reason = f"must have at most {MAX_NOTE_BYTES} bytes"
    except UnicodeEncodeError:
        reason = "must be text that UTF-8 can spell"
    if "\0" in text:
        reason = "must not hold NUL"
    elif not reason and not clean_entry(text):
        reason = "must not be empty"
    if reason:
        raise wrong("append_note", "text", reason)
