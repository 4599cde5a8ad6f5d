"""Lines of notes, and the search for lines by their words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.cli.evaluation.notes import NoteIndex, NoteKind, NoteText, split_lines, text_key, tokens

NOTE = """---
title: not a line
---
# Gateway

The staging gateway listens on **port 4711**. <!-- importance: 9 -->

## Certificates

- [ ] renew [the certificate](https://example.org/long/address) by [[people|Ana]]

```sh
renew --now
```
<!-- a comment
of two lines -->
Last line.
"""


def note(text: str, path: str = "memory/a.md", kind: NoteKind = NoteKind.OTHER) -> NoteText:
    """Return a note."""
    return NoteText(path, kind, text)


def test_lines_have_the_numbers_of_the_file_and_no_markdown() -> None:
    assert [(line.number, line.level, line.text) for line in split_lines(note(NOTE))] == [
        (4, 1, "Gateway"),
        (6, 0, "The staging gateway listens on port 4711."),
        (8, 2, "Certificates"),
        (10, 0, "renew the certificate by Ana"),
        (13, 0, "renew --now"),
        (17, 0, "Last line."),
    ]


def test_place_of_a_line_is_its_section_and_of_a_heading_all_below_it() -> None:
    lines = {line.text: line for line in split_lines(note(NOTE))}

    assert (lines["Last line."].first, lines["Last line."].last) == (8, 18)
    assert (lines["Gateway"].first, lines["Gateway"].last) == (4, 18)
    assert lines["Gateway"].following == "The staging gateway listens on port 4711."


def test_place_of_a_line_in_a_long_section_is_near_the_line() -> None:
    (*_, last) = split_lines(note("\n".join(f"line number {at} " + "x" * 80 for at in range(100))))

    assert (last.first, last.last) == (92, 100)


def test_part_of_a_transcript_has_the_lines_of_the_transcript() -> None:
    part = NoteText(
        "sessions/s.jsonl", NoteKind.TRANSCRIPT, "User: the heron\nAssistant: flew", None, (7, 12)
    )

    assert [(line.text, line.number, line.first, line.last) for line in split_lines(part)] == [
        ("the heron", 7, 7, 12),
        ("flew", 7, 7, 12),
    ]


def test_tokens_are_words_or_characters_of_scripts_without_spaces() -> None:
    assert tokens("Retry_backoff: 3月 网关port") == ["retry", "backoff", "3", "月", "网", "关", "port"]


def test_line_is_found_by_its_words_in_order() -> None:
    index = NoteIndex(
        [note("the heron flew\nflew the heron\n测试网关的端口"), note("a heron flew off", "memory/b.md")]
    )

    assert [line.note.path for line in index.find("Heron flew")] == ["memory/a.md", "memory/b.md"]
    assert [line.text for line in index.find("网关")] == ["测试网关的端口"]
    assert index.find("cormorant") == []


@given(st.lists(st.text(max_size=40), max_size=8).map("\n".join))
def test_every_line_is_found_by_its_text_and_lies_in_its_place(text: str) -> None:
    index = NoteIndex([note(text)])

    for line in index.lines:
        assert line.first <= line.number <= line.last <= text.count("\n") + 1
        found = index.find(line.text)
        assert line in found or not any(len(each) > 1 for each in tokens(line.text))
        assert all(text_key(line.text) in text_key(each.text) for each in found)
