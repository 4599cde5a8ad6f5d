"""What an edit replaced and wrote: short spans of changed lines, without secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.programs.spans import GAP, MAX_SPAN_BYTES, cut, spans_of, spans_of_diff
from memd.programs.work import FileChange, WorkLog
from tests.support.transcript_programs import codex, gemini
from tests.unit.programs.test_tool_calls import ClaudeWorkFile, gemini_call, work_in
from tests.unit.programs.test_work import KEY, PATCH, steps_of

LINES = [f"line {number} of a file that has many" for number in range(400)]
HUNKS = [
    {
        "oldStart": 1,
        "oldLines": 2,
        "newStart": 1,
        "newLines": 2,
        "lines": [" a", "-port = 8443", "+port = 9001"],
    },
    {"oldStart": 9, "oldLines": 1, "newStart": 9, "newLines": 1, "lines": ["+host = 'b'"]},
]
DIFF = "--- ports.txt\n+++ ports.txt\n@@ -1,2 +1,2 @@\n a\n-port = 8443\n+port = 9001\n@@ -9 +9 @@\n+host"


def changes(steps: list[Any]) -> list[tuple[str, str, str]]:
    """Return the files of steps with their spans."""
    return [(step.path, step.old, step.new) for step in steps if isinstance(step, FileChange)]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Edit", {"file_path": "/a", "old_string": "8443", "new_string": "9001"}),
        ("edit", {"filePath": "/a", "oldString": "8443", "newString": "9001"}),
        ("edit", {"path": "/a", "old_str": "8443", "new_str": "9001"}),
        ("edit", {"path": "/a", "oldText": "8443", "newText": "9001"}),
        ("edit", {"path": "/a", "edits": [{"oldText": "8443", "newText": "9001"}]}),
        ("StrReplace", {"path": "/a", "old_string": "8443", "new_string": "9001"}),
        ("replace", {"file_path": "/a", "old_string": "8443", "new_string": "9001"}),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: /a\n@@\n x\n-8443\n+9001\n*** End Patch"},
        ),
    ],
)
def test_edit_of_any_program_has_the_old_and_the_new_span(tool: str, arguments: dict[str, Any]) -> None:
    assert changes(steps_of(tool, arguments)) == [("/a", "8443", "9001")]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": "/a", "content": "port = 8443"}),
        ("NotebookEdit", {"notebook_path": "/a", "new_source": "port = 8443"}),
        ("create", {"path": "/a", "file_text": "port = 8443"}),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: /a\n+port = 8443\n*** End Patch"}),
    ],
)
def test_written_file_has_its_beginning_as_the_new_span(tool: str, arguments: dict[str, Any]) -> None:
    assert changes(steps_of(tool, arguments)) == [("/a", "", "port = 8443")]
    arguments = {key: value.replace("port = 8443", "\n+".join(LINES)) for key, value in arguments.items()}
    ((_, old, new),) = changes(steps_of(tool, arguments))
    assert old == ""
    assert 1_900 < len(new) <= MAX_SPAN_BYTES
    assert new.splitlines()[-1].lstrip("+") in LINES, "a line is not cut"


def test_several_edits_of_one_file_are_separated_by_a_gap() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "", "new_string": "c"}, "junk"]

    assert changes(steps_of("MultiEdit", {"file_path": "/a", "edits": edits})) == [
        ("/a", "a", f"b\n{GAP}\nc")
    ]


def test_patch_gives_each_file_its_own_lines() -> None:
    assert changes(steps_of("apply_patch", {"input": PATCH})) == [
        ("src/ports.py", "8443", "9001"),
        ("src/ports.py", "", ""),
        ("src/port.py", "", ""),
        ("docs/ports.md", "", "Port 9001."),
        ("old.toml", "", ""),
    ]


def test_patch_in_a_command_that_changes_the_folder_belongs_to_that_folder() -> None:
    line = f"cd web && apply_patch <<'EOF'\n{PATCH}\nEOF"

    assert changes(steps_of("exec_command", {"cmd": line}, "/srv"))[0] == (
        "/srv/web/src/ports.py",
        "8443",
        "9001",
    )


def test_file_that_is_read_or_deleted_has_no_spans() -> None:
    assert changes(steps_of("Read", {"file_path": "/a", "content": "x"})) == [("/a", "", "")]
    assert changes(steps_of("Delete", {"path": "/a", "content": "x"})) == [("/a", "", "")]


def test_long_edit_keeps_the_lines_that_differ() -> None:
    before, after = "\n".join(LINES), "\n".join([*LINES[:200], "port = 9001", *LINES[201:]])

    assert spans_of("/a", [(before, after)]) == (LINES[200], "port = 9001")


def test_changed_lines_of_a_diff_that_look_like_its_headings_stay() -> None:
    diff = ["@@ -1 +1 @@", "--- a comment in SQL", "+++ counter"]

    assert spans_of_diff("/a", diff) == ("-- a comment in SQL", "++ counter")


@given(st.text(max_size=300), st.integers(0, 200))
def test_cut_text_fits_and_is_a_beginning(text: str, most_bytes: int) -> None:
    assert len(cut(text, most_bytes).encode()) <= most_bytes
    assert text.startswith(cut(text, most_bytes))


@given(st.lists(st.tuples(st.text(max_size=3_000), st.text(max_size=3_000)), min_size=1, max_size=3))
def test_spans_never_exceed_their_limit(edits: list[tuple[str, str]]) -> None:
    for text in spans_of("/a", edits):
        assert len(text.encode()) <= MAX_SPAN_BYTES


def test_secrets_are_redacted_from_spans_also_at_their_ends() -> None:
    for padding in range(MAX_SPAN_BYTES - 80, MAX_SPAN_BYTES + 10, 3):
        text = f"{'x' * padding} {KEY}"
        for span in spans_of("/a", [(text, text + "!")]):
            assert KEY[:20] not in span
    log = WorkLog()
    log.call("Write", {"file_path": "/a", "content": "x"}, 1, call="c", time_ms=None)
    log.result("c", "ok", diff=["@@", f"-key = {KEY}", f"+token = {KEY}"])
    assert KEY not in str(log.steps)


# --- diffs with the results -------------------------------------------------------------------------


def test_claude_code_s_rewritten_file_has_the_lines_of_its_patch() -> None:
    file = ClaudeWorkFile()
    file.call("t1", "Write", file_path="/a", content="\n".join(LINES))
    file.result("t1", "updated", {"type": "update", "structuredPatch": HUNKS, "originalFile": "old text"})
    file.call("t2", "Edit", file_path="/b", old_string="one", new_string="two")
    file.result("t2", "updated", {"structuredPatch": HUNKS, "userModified": True})
    file.call("t3", "Edit", file_path="/c", old_string="one", new_string="two")
    file.result("t3", "updated", {"structuredPatch": HUNKS, "userModified": False})

    spans = ("port = 8443", f"port = 9001\n{GAP}\nhost = 'b'")
    assert changes(work_in("claude-code", file.lines)) == [
        ("/a", *spans),
        ("/b", *spans),
        ("/c", "one", "two"),
    ]


def test_codex_s_items_have_the_lines_of_their_diffs() -> None:
    items = {
        "/a": {"type": "update", "unified_diff": DIFF},
        "/b": {"type": "add", "content": "one\ntwo\n"},
        "/c": {"type": "delete", "content": "gone"},
    }
    lines = [codex.meta(), codex.item("FileChange", "c1", changes=items, status="completed")]

    assert changes(work_in("codex", lines)) == [
        ("/a", "port = 8443", f"port = 9001\n{GAP}\nhost"),
        ("/b", "", "one\ntwo"),
        ("/c", "", ""),
    ]


def test_codex_s_custom_patch_has_its_lines() -> None:
    call = {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "call_id": "c1"}

    assert changes(work_in("codex", [codex.meta(), codex.line("response_item", call)]))[0] == (
        "src/ports.py",
        "8443",
        "9001",
    )


def test_gemini_s_rewritten_file_has_the_lines_of_its_diff() -> None:
    shown = {"fileDiff": DIFF, "originalContent": "old text", "newContent": "new text"}
    call = gemini_call(
        "g1", "write_file", {"file_path": "/a", "content": "new text"}, "ok", resultDisplay=shown
    )
    lines = [gemini.line(gemini.session()), gemini.line(gemini.answered("m2", "", toolCalls=[call]))]

    assert changes(work_in("gemini", lines)) == [("/a", "port = 8443", f"port = 9001\n{GAP}\nhost")]
    assert "original" not in json.dumps(work_in("gemini", lines))
