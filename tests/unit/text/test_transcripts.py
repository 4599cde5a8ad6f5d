"""A transcript becomes who said what, one line a message."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memd.text.transcripts import flatten_transcript


def said(role: object, content: object) -> str:
    """Return a transcript's line."""
    return json.dumps({"type": "message", "message": {"role": role, "content": content}})


def test_each_message_is_one_line_with_its_source() -> None:
    lines = [
        said("user", "a\n b"),
        said("toolResult", "x"),
        "",
        said("assistant", [{"type": "text", "text": "c"}]),
    ]

    assert flatten_transcript("\n".join(lines)) == ("User: a b\nAssistant: c", [1, 4])


def test_only_text_blocks_count() -> None:
    content = [{"type": "image", "text": "x"}, {"type": "text", "text": " a "}, {"type": "text"}, "b", None]

    assert flatten_transcript(said("user", content))[0] == "User: a"


def test_damaged_lines_are_left_out() -> None:
    damaged = [
        "{",
        "null",
        "[1]",
        "\ufeff" + said("user", "x"),
        '{"type": "message", "message": {"role": ["user"], "content": "x"}}',
        '{"type": "message", "message": NaN}',
        '{"type": "message", "message": {"role": "user", "content": {"text": "x"}}}',
        "[" * 100_000,
        "9" * 5000,
    ]

    assert flatten_transcript("\n".join([*damaged, said("user", "ok")])) == ("User: ok", [len(damaged) + 1])


def test_whitespace_is_what_it_is_to_the_writer() -> None:
    assert flatten_transcript(said("user", "\ufeffa\u00a0\u3000b\x1c\u2028c"))[0] == "User: a b\x1c c"


def test_a_lone_surrogate_can_be_stored_afterwards() -> None:
    text, _ = flatten_transcript(said("user", "a\ud83db 🙂"))

    assert text.encode() == "User: a\ufffdb 🙂".encode()


@given(st.lists(st.one_of(st.text(), st.builds(said, st.sampled_from(["user", "assistant"]), st.text()))))
def test_every_line_of_the_text_has_a_source(lines: list[str]) -> None:
    text, sources = flatten_transcript("\n".join(lines))

    assert len(sources) == (len(text.split("\n")) if text else 0)
    assert sources == sorted(set(sources))
