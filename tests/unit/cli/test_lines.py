"""Format of numbers, times and foreign text, and lines in terminals of any width."""

from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from memd.cli.doctor import finding_lines
from memd.cli.facts import fact_lines
from memd.cli.lines import (
    UNSAFE_FORMAT,
    about,
    ago,
    cells,
    count,
    percent,
    printable,
    rough,
    size,
    span,
    until,
)
from memd.cli.output import Output, OutputStream, shorten_middle
from memd.cli.status_lines import status_lines
from memd.service.checks.finding import OK, WRONG, Finding
from memd_client.facts import FactRow
from memd_client.messages import ModelFile, ModelReply, SkippedFile
from tests.unit.cli.memctl_runner import MAIN, MINILM, NOW_MS, OUTAGE, memctl, status_of
from tests.unit.cli.sample_metrics import figures

REFERENCE = json.loads((Path(__file__).parents[2] / "support/units.json").read_text())
"""The reference values, which the page's units are compared with too."""

NOW = 10**12

SHOWN: dict[str, Callable[..., str]] = {
    "size": size,
    "count": "{:,}".format,
    "counted": count,
    "rough": rough,
    "duration_ms": span,
    "ago_ms": lambda age_ms: ago(None if age_ms is None else NOW, NOW + (age_ms or 0)),
    "percent": percent,
    "about_ms": about,
}


@pytest.mark.parametrize("unit", sorted(REFERENCE.keys() - {"about"}))
def test_values_match_the_reference_table(unit: str) -> None:
    rows: list[list[Any]] = REFERENCE[unit]

    assert [[*row[:-1], SHOWN[unit](*row[:-1])] for row in rows] == rows


def test_future_time_is_shown_in_one_unit() -> None:
    assert [until(NOW + ahead_ms, NOW) for ahead_ms in (30_400, 120_000)] == ["in 30 s", "in 2 min"]


def test_past_time_is_now() -> None:
    assert until(0, 1) == "now"


@given(st.text(st.characters()))
def test_printable_text_has_no_control_characters(text: str) -> None:
    shown = printable(text, "")

    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in shown)
    assert not UNSAFE_FORMAT & set(shown)
    shown.encode()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "M"])))
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert printable(text) == text


def test_wide_characters_take_two_columns_and_accents_none() -> None:
    assert [cells(text) for text in ("abc", "研究", "e\u0301", "")] == [3, 4, 1, 0]


WIDTHS = (40, 60, 80, 120)

PATH = "/home/ann/projects/北京的笔记/a-very-long-folder-name/another-folder/memory/2026-11-24-notes.md"
LONG_ID = "assistant-of-the-whole-department-for-everything"

AGENTS = [
    replace(MAIN, agent="main", workspace=PATH),
    replace(MAIN, agent="研究助手", workspace="/home/ann/研究", files_pending=2, chunks_pending=1200),
    replace(MAIN, agent=LONG_ID, workspace=PATH, provider="openai", model="text-embedding-3-small"),
    replace(
        MAIN,
        agent="work",
        degraded=OUTAGE,
        provider="none",
        model="",
        skipped=[SkippedFile(PATH.removeprefix("/"), "symbolic link")],
    ),
]
STATUS = status_of(*AGENTS, socket=f"{PATH}.sock", models=[replace(MINILM, path=PATH)])
MODELS = ModelReply(
    "",
    "/models",
    374_800_000,
    [
        ModelFile("hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf", "/a", 328_600_000),
        ModelFile("minilm", "/models/minilm-l6-v2-f16.gguf", 46_200_000, ["main", "work"], True),
    ],
)
FINDINGS = [
    Finding("settings", "openclaw.json", OK, f"{PATH} does not exist; defaults apply"),
    Finding("agent main", "workspace", WRONG, f"{PATH} does not exist", "Set `workspace` in openclaw.json."),
    Finding(
        f"agent {LONG_ID}",
        "file events",
        OK,
        "4 folders with 2 watches each; limit for all programs: 192,536",
    ),
]
FACT = FactRow("01J", "I prefer dark mode in every editor", 0.75, "preference", NOW_MS, 0.0, PATH, 3)

Printed = Callable[[bool, int], str]


def command(*arguments: str, **replies: Any) -> Printed:
    """Return a function that prints a command, to a terminal of some width or to a pipe."""

    def run(terminal: bool, width: int) -> str:
        return memctl(*arguments, terminal=terminal, colour=False, width=width, **replies).out

    return run


def lines(make: Callable[[Output], None]) -> Printed:
    """Return a function that prints lines, to a terminal of some width or to a pipe."""

    def run(terminal: bool, width: int) -> str:
        file = io.StringIO()
        stream = OutputStream(file, terminal=terminal, colour=False, width=width)
        make(Output(stream, stream, lambda: 0.0))
        return file.getvalue()

    return run


BUSY = figures(10_000, searches=100, failed=20, fast=90, slow=10, cpu_s=2.5, pending=40)

SCREENS: dict[str, Printed] = {
    "agents": command("agents", status=STATUS),
    "top": command("top", "--once", metrics=BUSY),
    "model list": command("model", "list", model=MODELS),
    "status": command("status", status=STATUS),
    "status -v": lines(lambda output: output.lines(status_lines(STATUS, NOW_MS, verbose=True))),
    "doctor": lines(lambda output: output.lines(finding_lines(FINDINGS))),
    "facts list": lines(lambda output: output.lines(fact_lines(FACT))),
}


def is_shown_as(shown: str, word: str) -> bool:
    """Return whether a word on the screen is in the text, or is one shortened in its middle."""
    begin, ellipsis, end = shown.partition("…")
    if not ellipsis:
        return shown == word
    return bool(begin) and word.startswith(begin) and word.endswith(end) and len(begin + end) < len(word)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SCREENS)
def test_terminal_output_has_whole_words_and_every_cell(name: str, width: int) -> None:
    shown, text = SCREENS[name](True, width), SCREENS[name](False, width)

    assert max(map(cell_len, shown.splitlines())) <= width
    words, wanted = (set(each.split()) - {"·"} for each in (shown, text))
    assert [word for word in words if not any(is_shown_as(word, each) for each in wanted)] == []
    assert [each for each in wanted if not any(is_shown_as(word, each) for word in words)] == []


@pytest.mark.parametrize("name", SCREENS)
def test_pipe_output_is_complete(name: str) -> None:
    text = SCREENS[name](False, 40)

    assert text == SCREENS[name](False, 120)
    assert "…" not in text


def test_table_stays_a_table_if_it_fits() -> None:
    models = SCREENS["model list"](True, 60).splitlines()
    agents = memctl("agents", terminal=True, colour=False, width=90, status=status_of(*AGENTS[:2])).out

    assert [row.split()[0] for row in agents.splitlines()] == ["agent", "main", "研究助手"]
    assert [row.split()[0] for row in models] == ["model", "hf:ggml-…ma-300M-Q8_0.gguf", "minilm"]


def test_rows_of_a_wider_table_become_blocks() -> None:
    agents = memctl("agents", terminal=True, colour=False, width=60, status=status_of(MAIN)).out

    assert agents == (
        "agent main\n"
        "  state ready · files 54 · chunks 1,300 · pending - ·\n"
        "  provider local minilm · problems - · workspace\n"
        "  /home/ann/.openclaw/workspace\n"
    )


@pytest.mark.parametrize(
    ("width", "shown"), [(20, "/a/研究/notes.md"), (16, "/a/研究/notes.md"), (12, "/a/…notes.md")]
)
def test_path_is_shortened_in_its_middle(width: int, shown: str) -> None:
    assert shorten_middle("/a/研究/notes.md", width) == shown
    assert cell_len(shown) <= width
