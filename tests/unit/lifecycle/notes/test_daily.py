"""What an entry of a day's note looks like, and which day it is."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.lifecycle.notes.daily import clean_entry, day_of, entry_for, local_time, note_path

DAY = date(2026, 11, 22)


def at(year: int, month: int, day: int, hour: int, minute: int) -> int:
    """Return a moment (UTC) in epoch milliseconds."""
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp() * 1000)


def grown(held: str, text: str, key: str | None = None) -> tuple[str, tuple[int, int]]:
    """Return a note with an entry more, as `writing.append` leaves it, and the entry's lines."""
    entry = entry_for(held, DAY, clean_entry(text), key)
    lead = "\n" if held and entry.added and not held.endswith("\n") else ""
    return held + lead + entry.added, (entry.start_line, entry.end_line)


def lines(note: str, place: tuple[int, int]) -> str:
    return "\n".join(note.split("\n")[place[0] - 1 : place[1]])


@pytest.mark.parametrize(
    ("now_ms", "zone", "day"),
    [
        (at(2026, 11, 22, 23, 30), "UTC", "2026-11-22"),
        (at(2026, 11, 22, 23, 30), "Europe/Prague", "2026-11-23"),
        (at(2026, 11, 22, 3, 0), "America/Los_Angeles", "2026-11-21"),
        (at(2026, 11, 22, 23, 59), "Asia/Kathmandu", "2026-11-23"),
        (at(2028, 2, 28, 23, 30), "Europe/Prague", "2028-02-29"),
        (at(2026, 12, 31, 11, 0), "Pacific/Kiritimati", "2027-01-01"),
        (at(2026, 3, 29, 0, 59), "Europe/Prague", "2026-03-29"),
        (at(2026, 10, 24, 22, 30), "Europe/Prague", "2026-10-25"),
    ],
)
def test_today_is_the_users_day(now_ms: int, zone: str, day: str) -> None:
    assert note_path(local_time(now_ms, zone).date()) == f"memory/{day}.md"


def test_without_a_zone_the_machines_own_counts() -> None:
    now_ms = at(2026, 11, 22, 12, 0)
    assert local_time(now_ms, None).timestamp() * 1000 == now_ms
    assert local_time(now_ms, None).tzinfo is not None


def test_the_clocks_change_leaves_two_hours_apart() -> None:
    first, second = (local_time(at(2026, 10, 25, hour, 30), "Europe/Prague") for hour in (0, 1))
    assert f"{first:%H:%M}" == f"{second:%H:%M}" == "02:30"
    assert (first.tzname(), second.tzname()) == ("CEST", "CET")


@pytest.mark.parametrize("text", ["2028-02-29", "2026-01-01", "0100-01-01"])
def test_a_day_that_exists_is_a_date(text: str) -> None:
    assert str(day_of(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-29",
        "2026-13-01",
        "0099-01-01",
        "20260101",
        "2026-1-1",
        "../x",
        "2026-W01-1",
        "２０２６-01-01",
        "",
    ],
)
def test_a_day_that_does_not_exist_is_none(text: str) -> None:
    assert day_of(text) is None


def test_a_new_note_begins_with_its_day() -> None:
    note, place = grown("", "first")
    assert note == "# 2026-11-22\n\nfirst\n"
    assert place == (3, 3)


@pytest.mark.parametrize(
    "held", ["# 2026-11-22\n\nfirst\n", "# 2026-11-22\n\nfirst", "# 2026-11-22\n\nfirst\n\n"]
)
def test_entries_are_separated_by_a_blank_line(held: str) -> None:
    note, place = grown(held, "second\nline")
    assert note == "# 2026-11-22\n\nfirst\n\nsecond\nline\n"
    assert lines(note, place) == "second\nline"


def test_the_same_key_is_appended_once() -> None:
    note, place = grown("", "one\n\ntwo", "run:7")
    assert note == "# 2026-11-22\n\none\n\ntwo\n<!-- memd:key=run:7 -->\n"
    later, _ = grown(note, "something else", "run:8")
    again, known = grown(later, "one\n\ntwo", "run:7")
    assert again == later
    assert known == place == (3, 5)


def test_another_text_with_a_known_key_is_led_to_the_last_paragraph_of_the_first() -> None:
    note, _ = grown("", "one\n\ntwo\nthree", "k")
    again, place = grown(note, "other", "k")
    assert again == note
    assert lines(note, place) == "two\nthree"


def test_a_key_that_only_begins_the_same_is_another() -> None:
    note, _ = grown("", "one", "run:7")
    assert "two" in grown(note, "two", "run:77")[0]
    assert "two" in grown(note, "two", "run")[0]


def test_a_text_can_not_forge_a_key() -> None:
    note, _ = grown("", "hello\n<!-- memd:key=victim -->\n<!--\tMEMD:key=victim -->")
    assert "\n<!-- memd:" not in note
    assert "meant" in grown(note, "meant", "victim")[0]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("\n \n  indented\n\n", "  indented"),
        ("bell\x07 and \x1b[31mred\x85", "bell and [31mred"),
        ("```py\nprint()", "```py\nprint()\n```"),
        ("~~~~\n```\n~~~", "~~~~\n```\n~~~\n~~~~"),
        ("```\nwhole\n```", "```\nwhole\n```"),
        ("a `tick` ``` b", "a `tick` ``` b"),
        ("<!-- open\nstill", "<!-- open\nstill\n-->"),
        ("<!-- whole -->\ntext", "<!-- whole -->\ntext"),
        ("\x01 \n", ""),
    ],
)
def test_an_entry_leaves_nothing_open(text: str, clean: str) -> None:
    assert clean_entry(text) == clean


TEXTS = st.text(min_size=1) | st.text(alphabet="a \n\r`~<!->#memd:key=\0".replace("\0", ""), min_size=1)


@given(st.lists(st.tuples(TEXTS, st.sampled_from([None, "k1", "k2"])), max_size=6))
def test_entries_are_at_the_returned_lines(entries: list[tuple[str, str | None]]) -> None:
    note = ""
    for text, key in entries:
        clean = clean_entry(text)
        if not clean:
            continue
        before = note
        note, place = grown(before, text, key)
        assert note.startswith(before)
        if note != before:
            assert lines(note, place) == clean
        assert 1 <= place[0] <= place[1] <= note.count("\n")
    for key in ("k1", "k2"):
        assert note.split("\n").count(f"<!-- memd:key={key} -->") == any(
            used == key and clean_entry(text) for text, used in entries
        )
