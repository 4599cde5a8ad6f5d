"""Reads conversations from the database of Cursor's editor.

Of its tables only `cursorDiskKV` and `composerHeaders` are read. `ItemTable` has login tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from memd.programs.values import (
    blob_of,
    json_column,
    limited,
    number_of,
    text_column,
    text_of,
    time_of,
)
from memd.system.sqlite import Database, ForeignDatabaseError, columns_of, opened_foreign

_COMPOSER: Final = "composerData:"
_BUBBLE: Final = "bubbleId:"
_AFTER_COLON: Final = ";"
"""The character after the colon: the end of the range of keys that begin with a text and a colon."""

READ_COMPOSERS: Final = 64
"""Conversations whose values are read in one transaction."""


class CursorComposer(NamedTuple):
    """What the listing knows about a conversation without reading its value.

    A row that is written gets a new number, because the table replaces rows.

    Attributes:
        row: Number of its row.
        size_bytes: Size of its value.
        bubbles: Number of its messages' rows.
        last_row: Number of the newest of these.
        updated_ms: When it was updated, 0 if only its value says so.
        is_subagent: Whether the list of conversations says that an agent started it.
    """

    id: str
    row: int
    size_bytes: int
    bubbles: int = 0
    last_row: int = 0
    updated_ms: int = 0
    is_subagent: bool = False


class CursorBubble(NamedTuple):
    """A message: its id, and its JSON, None if it is missing or too long."""

    id: str
    data: bytes | None


def list_composers(path: Path) -> list[CursorComposer]:
    """Return all conversations that have a value.

    Costs a scan of the keys of all conversations and messages in the index of keys, about 0.1 s for a million
    messages. No value is read.
    """
    with opened_foreign(path) as db:
        headers = _read_headers(db)
        rows = db.execute(
            f"""SELECT {text_column("k.key")}, k.rowid, octet_length(k.value),
                    (SELECT count(*) FROM cursorDiskKV b WHERE b.key >= ?3 || substr(k.key, ?4) || ':'
                        AND b.key < ?3 || substr(k.key, ?4) || ?5),
                    (SELECT max(rowid) FROM cursorDiskKV b WHERE b.key >= ?3 || substr(k.key, ?4) || ':'
                        AND b.key < ?3 || substr(k.key, ?4) || ?5)
                FROM cursorDiskKV k WHERE k.key >= ?1 AND k.key < ?2 AND k.value IS NOT NULL""",
            (_COMPOSER, _end(_COMPOSER), _BUBBLE, len(_COMPOSER) + 1, _AFTER_COLON),
        )
        composers = []
        for key, row, size, bubbles, last in limited(rows):
            composer_id = text_of(key)[len(_COMPOSER) :]
            updated, is_subagent = headers.get(composer_id, (0, False))
            if composer_id:
                facts = (number_of(row), number_of(size), number_of(bubbles), number_of(last))
                composers.append(CursorComposer(composer_id, *facts, updated, is_subagent))
        return composers


def read_composers(path: Path, ids: Sequence[str]) -> dict[str, bytes | None]:
    """Return the JSON of some conversations; None for one that is too long. Reads at most `READ_COMPOSERS`."""
    with opened_foreign(path) as db:
        _check(db)
        return {each: _value(db, _COMPOSER + each)[1] for each in ids[:READ_COMPOSERS]}


@contextmanager
def opened_composer(
    path: Path, composer_id: str
) -> Iterator[tuple[bytes | None, Iterator[CursorBubble]] | None]:
    """Yield a conversation's JSON and its messages by key, within one read transaction; None if it doesn't exist."""
    with opened_foreign(path) as db:
        _check(db)
        is_there, data = _value(db, _COMPOSER + composer_id)
        yield (data, _bubbles(db, composer_id)) if is_there else None


def _bubbles(db: Database, composer_id: str) -> Iterator[CursorBubble]:
    """Yield the messages of a conversation in the order of their keys, which isn't that of the conversation."""
    start = f"{_BUBBLE}{composer_id}:"
    rows = db.execute(
        f"""SELECT {text_column("key")}, {json_column("value")} FROM cursorDiskKV WHERE key >= ? AND key < ?
            ORDER BY key""",
        (start, _end(start)),
    )
    for key, data in limited(rows):
        yield CursorBubble(text_of(key)[len(start) :], blob_of(data))


def _value(db: Database, key: str) -> tuple[bool, bytes | None]:
    """Return whether a key has a value, and the value."""
    row = db.execute(
        f"SELECT {json_column('value')} FROM cursorDiskKV WHERE key = ? AND value IS NOT NULL", (key,)
    ).fetchone()
    return row is not None, blob_of(row[0]) if row is not None else None


def _read_headers(db: Database) -> dict[str, tuple[int, bool]]:
    """Return update times, and whether it is a subagent, by conversation; newer releases list them in a table."""
    _check(db)
    columns = columns_of(db, "composerHeaders")
    if not columns.keys() >= {"composerId", "lastUpdatedAt"}:
        return {}
    subagent = "isSubagent" if "isSubagent" in columns else "0"
    rows = db.execute(f"SELECT {text_column('composerId')}, lastUpdatedAt, {subagent} FROM composerHeaders")
    return {
        text_of(key): (time_of(updated), bool(number_of(is_subagent)))
        for key, updated, is_subagent in limited(rows)
    }


def _check(db: Database) -> None:
    if not columns_of(db, "cursorDiskKV").keys() >= {"key", "value"}:
        raise ForeignDatabaseError("it has no table cursorDiskKV with keys and values", unknown=True)


def _end(start: str) -> str:
    """Return the end of the range of keys that begin with a text that ends with a colon."""
    return start[:-1] + _AFTER_COLON
