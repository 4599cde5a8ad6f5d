"""Activities with Gemini in Google Takeout: prompts and answers by day, in the account's language."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memd.programs.conversation import Conversation
from memd.programs.gemini_takeout import READER, _lines_of, _read_time
from tests.support.transcript_programs.exports import (
    ACTIVITY,
    gemini_activity,
    gemini_cell,
    gemini_page,
    write_archive,
)


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set this machine's zone."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def ms(text: str) -> int:
    """Return a time in milliseconds."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def read(folder: Path, files: dict[str, str]) -> dict[str, Conversation]:
    """Return the conversations in an archive by day."""
    export = READER(write_archive(folder / "takeout-20261120T101112Z-001.zip", files))
    found = {session.id: export.read(session.id) for session in export.sessions()}
    return {day: conversation for day, conversation in found.items() if conversation is not None}


def said(conversation: Conversation) -> list[tuple[str, str]]:
    """Return who says what."""
    return [(message.role, message.text) for message in conversation.messages]


def test_page_has_a_conversation_per_day_oldest_first(tmp_path: Path) -> None:
    page = gemini_page(
        gemini_cell("Prompted and the heron?", "Nov 21, 2026, 1:00:05\u202fPM CET", "<p>It waits.</p>"),
        gemini_cell(
            "Prompted <b>why?</b>",
            "Nov 20, 2026, 10:12:00\u202fAM CET",
            "<p>Because <b>so</b>.</p><p>Yes.</p>",
        ),
        gemini_cell("Prompted which port?", "Nov 20, 2026, 10:11:12\u202fAM CET", "<ol><li>8443.</li></ol>"),
    )
    found = read(tmp_path, {f"{ACTIVITY}.html": page})
    assert list(found) == ["2026-11-21", "2026-11-20"]
    assert said(found["2026-11-20"]) == [
        ("user", "which port?"),
        ("assistant", "8443."),
        ("user", "<b>why?</b>"),
        ("assistant", "Because so.\nYes."),
    ]
    assert [message.place for message in found["2026-11-20"].messages] == [1, 2, 3, 4]
    assert found["2026-11-20"].messages[0].time_ms == ms("2026-11-20T09:11:12")
    assert found["2026-11-21"].session.started_ms == ms("2026-11-21T12:00:05")
    assert (found["2026-11-20"].broken, found["2026-11-20"].unknown) == (0, {})


@pytest.mark.parametrize(
    ("title", "at"),
    [
        ("Prompted which port?", "Nov 20, 2026, 10:11:12 AM GMT+01:00"),
        ("Asked Bard: which port?", "20 Nov 2026, 10:11:12 CET"),
        ("Eingegebener Prompt: which port?", "20.11.2026, 10:11:12 MEZ"),
        ("送信したメッセージ: which port?", "2026/11/20 10:11:12 JST"),
        ("which port? と入力しました", "2026年11月20日 10:11:12 JST"),
        ("which port?", "20 de nov. de 2026, 10:11:12 BRT"),
        ("which port?", "20 nov. 2026, 10:11:12 CET"),
    ],
)
def test_prompts_are_read_in_each_known_language(title: str, at: str, tmp_path: Path) -> None:
    folder = "Takeout/Meine Aktivitäten/Gemini-Apps/MeineAktivitäten.html"
    (found,) = read(tmp_path, {folder: gemini_page(gemini_cell(title, at, "8443."))}).items()
    assert found[0] == "2026-11-20"
    assert said(found[1]) == [("user", "which port?"), ("assistant", "8443.")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Jan 2, 2025, 12:04:05 AM UTC", ("2025-01-02", "2025-01-02T00:04:05")),
        ("Jan 2, 2025, 12:04:05 PM UTC", ("2025-01-02", "2025-01-02T12:04:05")),
        ("2 juil. 2025, 15:04:05 GMT", ("2025-07-02", "2025-07-02T15:04:05")),
        ("02/01/2025, 03:04:05 GMT-03:00", ("2025-01-02", "2025-01-02T06:04:05")),
        ("2 янв. 2025 г., 03:04:05 UTC", ("2025-01-02", "2025-01-02T03:04:05")),
        ("2025-01-02 03:04:05", None),
        ("31.02.2025, 03:04:05 UTC", None),
        ("Ports 8443 and 9000 at 10:11:12 UTC", None),
        ("99/99/99999999999999999999, 10:11:12 UTC", None),
        ("", None),
    ],
)
def test_time_is_a_line_of_its_own_in_any_known_form(line: str, expected: tuple[str, str] | None) -> None:
    assert _read_time(line) == (None if expected is None else (expected[0], ms(expected[1])))


def test_other_activities_and_products_are_left_out(tmp_path: Path) -> None:
    at = "Nov 20, 2026, 10:11:12 AM CET"
    page = gemini_page(
        gemini_cell("Prompted which port?", at),
        gemini_cell("Gave feedback: Good response", at, "the heron"),
        gemini_cell("Created Gemini Canvas titled heron", at, "the heron"),
        gemini_cell("Used Gemini Apps", at),
        gemini_cell("Searched for heron", at, header="Search"),
        gemini_cell("heron without an answer", at),
    )
    (found,) = read(tmp_path, {f"{ACTIVITY}.html": page}).values()
    assert said(found) == [("user", "which port?")]
    assert found.unknown == {"activity": 1}


def test_prompt_below_the_time_is_read_too(tmp_path: Path) -> None:
    cell = (
        '<div class="outer-cell mdl-cell"><div class="header-cell"><h3>Gemini Apps</h3><p>Prompted<br></p>'
        "<p>Jan 2, 2025, 3:04:05 PM EDT</p></div>"
        '<div class="content-cell"><p>which port?<br></p><p><strong>8443</strong> &amp; 9000</p>'
        "<script>heron</script><style>heron</style></div></div>"
    )
    (found,) = read(tmp_path, {f"{ACTIVITY}.html": gemini_page(cell)}).values()
    assert said(found) == [("user", "which port?"), ("assistant", "8443 & 9000")]


@pytest.mark.parametrize("note", ["Attached 2 files.", "2 Dateien angehängt.", "Attached 1 file."])
def test_names_of_attached_files_are_no_words(note: str, tmp_path: Path) -> None:
    at = "Nov 20, 2026, 10:11:12 AM CET"
    cell = gemini_cell("Prompted which port?", at, "8443.").replace(
        at, f'{note}<br>-&emsp;<a href="h">heron.pdf</a><br>{at}'
    )
    (found,) = read(tmp_path, {f"{ACTIVITY}.html": gemini_page(cell)}).values()
    assert said(found) == [("user", "which port?"), ("assistant", "8443.")]


def test_json_is_preferred_to_the_page_because_its_times_are_exact(tmp_path: Path) -> None:
    activities = [
        gemini_activity("Prompted and then?", "<p>Nothing.</p>", "2026-11-20T23:30:00Z"),
        gemini_activity("Prompted which port?", "<p>8443.</p><p>Or 9000.</p>"),
        gemini_activity("Used Gemini Apps"),
        gemini_activity("Watched the heron", header="YouTube"),
        gemini_activity("Prompted to be left out", time="yesterday"),
    ]
    page = gemini_page(gemini_cell("Prompted heron", "Nov 1, 2026, 10:11:12 AM CET"))
    found = read(tmp_path, {f"{ACTIVITY}.html": page, f"{ACTIVITY}.json": json.dumps(activities)})
    assert list(found) == ["2026-11-20"]
    assert said(found["2026-11-20"]) == [
        ("user", "which port?"),
        ("assistant", "8443.\nOr 9000."),
        ("user", "and then?"),
        ("assistant", "Nothing."),
    ]
    assert found["2026-11-20"].messages[0].time_ms == ms("2026-11-20T10:11:12.123")


@pytest.mark.parametrize("value", [None, 7, "text", [1], {"a": 1}, [{"html": 7}], "\ud800"])
@pytest.mark.parametrize("field", ["header", "title", "time", "safeHtmlItem"])
def test_fields_of_any_type_harm_nothing(field: str, value: object, tmp_path: Path) -> None:
    activities = [
        gemini_activity("Prompted which port?", "8443."),
        gemini_activity("Prompted a", "b") | {field: value},
    ]
    found = read(tmp_path, {f"{ACTIVITY}.json": json.dumps(activities)})
    assert ("user", "which port?") in said(found["2026-11-20"])


@pytest.mark.parametrize(
    "text", ["<!--", "<a ", "</", "<![", "&#", "<", '<a href="', "&a", "<p>", "<script>", "<style", "<a b=c "]
)
def test_hostile_pages_are_read_at_once(text: str) -> None:
    page = (text * 1_048_576)[:1_048_576]  # in quadratic time this takes hours
    assert sum(map(len, _lines_of(page))) <= len(page)


def test_page_in_many_blocks_has_the_same_cells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cells = [
        gemini_cell(f"Prompted number {number}", f"Nov 20, 2026, 10:11:{number:02} AM CET")
        for number in range(40)
    ]
    files = {f"{ACTIVITY}.html": gemini_page(*cells)}
    (whole,) = read(tmp_path, files).values()
    monkeypatch.setattr("memd.programs.export_files.BLOCK_BYTES", 100)
    (blocks,) = read(tmp_path, files).values()
    assert said(blocks) == said(whole) == [("user", f"number {number}") for number in range(40)]
