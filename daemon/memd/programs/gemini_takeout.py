"""Conversations with Gemini in archives of Google Takeout: activities that don't name their conversation.

An activity is a prompt with its answer, in JSON or as a cell of a page. Those of one day are a conversation. The words
for "Prompted", and the form of the time, depend on the account's language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from html import unescape
from typing import Final

from memd.programs.conversation import Conversation, Message, Session
from memd.programs.exports import ChatExport, Listed, Record, split_array
from memd.programs.records import count_unknown, text_of, time_ms_of
from memd.text.query.days.words import MONTHS

MAX_CELL_BYTES: Final = 1_048_576
"""Most bytes of an activity's HTML; the rest is cut."""

_CELL: Final = b'<div class="outer-cell'
_LEAD = re.compile(
    r"(?:Prompted(?: with:)?|Asked (?:Gemini|Bard):|Asked|Said|Eingegebener Prompt:|送信したメッセージ:)(?:\s+|\Z)"
)
"""How titles of prompts begin, in English, German and Japanese."""

_OTHER = re.compile(
    r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Edited|Pinned|Renamed|Exported|Updated|Canvas|Feedback"
    r"|フィードバック)"
)
"""How titles of other activities begin, such as feedback on an answer."""

_ATTACHED = re.compile(r"\s*\b(?:Attached \d+ files?|\d+ Datei(?:en)? angehängt)\b.*", re.S)
_TIME = re.compile(
    r"(?P<date>[^:]{6,30}?)[ ,]+(?P<hour>\d{1,2}):(?P<rest>\d\d:\d\d)(?: ?(?P<half>[AaPp])\.? ?[Mm]\.?)? "
    r"(?P<zone>[A-Z]{1,5})(?:(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d\d))?)?"
)
_UNSEEN = re.compile(r"<(script|style)\b[^<]*(?:<(?!/\1)[^<]*)*+|<[^<>]*mdl-typography--caption.*", re.S)
"""Scripts, and the captions at the end of a cell."""

_LINE_TAG = re.compile(r"</?(?:p|br|div|li|tr|h[1-6]|pre)\b[^<>]*>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<!--[^<>]*>")


class GeminiTakeout(ChatExport):
    """Activities of a Google account with Gemini."""

    title = "Gemini"
    names = re.compile(r"(?:.*/)?[^/]*(?:Gemini|Bard)[^/]*/[^/]+\.(?:json|html)", re.S)
    is_joined = True

    def split(self, name: str, blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield the activities in a file, each with its position."""
        return split_array(blocks) if name.lower().endswith(".json") else _split_cells(blocks)

    def decode(self, data: bytes) -> Record | None:
        """Return an activity with its title, its time as text and in milliseconds, and its answer."""
        if data.startswith(_CELL):
            return _read_cell(_lines_of(data.decode("utf-8", "replace")))
        record = super().decode(data)
        if record is None or not re.search("Gemini|Bard", text_of(record.get("header"))):
            return record and {}
        items = record.get("safeHtmlItem")
        pages = [
            text_of(item.get("html"))
            for item in (items if isinstance(items, list) else ())
            if isinstance(item, dict)
        ]
        return {
            "day": text_of(record.get("time"))[:10],
            "time_ms": time_ms_of(text_of(record.get("time"))),
            "title": text_of(record.get("title")).strip(),
            "answer": "\n".join(line for page in pages for line in _lines_of(page)),
        }

    def list_record(self, record: Record) -> Listed:
        """Return the day of an activity."""
        return Listed(record["day"], record["time_ms"], 2) if record.get("time_ms") else Listed()

    def conversation(self, session_id: str, records: Sequence[Record]) -> Conversation:
        """Return the conversation of a day. In a language without known words, what was answered was a prompt."""
        conversation = Conversation(Session(session_id))
        ordered = [*reversed(records)]  # an export begins with the newest
        ordered.sort(key=lambda record: int(record["time_ms"]))
        for number, record in enumerate(ordered):
            lead, is_other = _LEAD.match(record["title"]), _OTHER.match(record["title"])
            if lead is None and (is_other or not record["answer"]):
                count_unknown(conversation.unknown, "activity") if is_other is None else None
                continue
            prompt = _ATTACHED.sub("", record["title"][lead.end() if lead else 0 :])
            prompt = prompt.removesuffix("と入力しました").strip()
            place, time_ms = 2 * number + 1, record["time_ms"]
            conversation.session.note_time(time_ms)
            if prompt:
                conversation.messages.append(Message("user", prompt, place, time_ms=time_ms))
            if record["answer"]:
                conversation.messages.append(
                    Message("assistant", record["answer"], place + 1, time_ms=time_ms)
                )
        return conversation


def _split_cells(blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the cells of a page, each with its position."""
    data, base, searched = b"", 0, 1
    for block in blocks:
        data += block
        while (end := data.find(_CELL, searched)) > 0:
            if data.startswith(_CELL):
                yield base, data[: min(end, MAX_CELL_BYTES)]
            data, base, searched = data[end:], base + end, 1
        searched = max(1, len(data) - len(_CELL))
    if data.startswith(_CELL):
        yield base, data[:MAX_CELL_BYTES]


def _read_cell(lines: list[str]) -> Record | None:
    """Return an activity: product, title, time and answer, or its prompt below the time; None without a time."""
    times = ((number, time) for number, line in enumerate(lines) if (time := _read_time(line)) is not None)
    number, (day, time_ms) = next(times, (0, ("", 0)))
    if not day or not re.search("Gemini|Bard", lines[0]):
        return None if not day else {}
    title, answer = lines[1:number], lines[number + 1 :]
    if len(title) == 1 and _LEAD.fullmatch(title[0]):
        title, answer = title + answer[:1], answer[1:]
    return {"day": day, "time_ms": time_ms, "title": "\n".join(title), "answer": "\n".join(answer)}


def _read_time(line: str) -> tuple[str, int] | None:
    """Return the day and time that a line is, None for others. Abbreviated zones are taken for this machine's zone."""
    read = _TIME.fullmatch(line)
    if read is None:
        return None
    numbers = [int(number) for number in re.findall(r"\d+", read["date"])]
    for word in re.findall(r"[^\W\d_]{3,}", read["date"].lower()):
        month = next((number for name, number in MONTHS.items() if name.startswith(word)), 0)
        numbers[1:1] = [month] if month and len(numbers) == 2 else []
    if len(numbers) != 3:
        return None
    year, month, day = numbers if numbers[0] > 31 else reversed(numbers)
    hour = int(read["hour"]) % (12 if read["half"] else 24) + 12 * ((read["half"] or "") in ("p", "P"))
    offset = "+00:00" if read["zone"] in ("GMT", "UTC") else ""
    if read["sign"]:
        offset = f"{read['sign']}{int(read['hours']):02}:{read['minutes'] or '00'}"
    date = f"{year:04}-{month:02}-{day:02}"
    try:
        seconds = datetime.fromisoformat(f"{date}T{hour:02}:{read['rest']}{offset}").timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return date, time_ms_of(seconds * 1_000) or 0


def _lines_of(page: str) -> list[str]:
    """Return the lines of a page's visible text. `html.parser` takes hours for some pages of 1 MB, so it isn't used."""
    page = _UNSEEN.sub("", page[:MAX_CELL_BYTES]).replace("\n", " ")
    lines = unescape(_TAG.sub("", _LINE_TAG.sub("\n", page))).split("\n")
    return [line for line in (" ".join(line.split()) for line in lines) if line]


READER: Final = GeminiTakeout
