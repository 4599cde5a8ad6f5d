from __future__ import annotations

import pytest

from memd.programs.blocks import visible_text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Which port?", "Which port?"),
        (None, ""),
        (7, ""),
        ([], ""),
        ({"type": "text", "text": "8443."}, "8443."),
        ([{"type": "text", "text": "one"}, {"type": "output_text", "text": "two"}], "one\ntwo"),
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "8443."}], "8443."),
        ([{"type": "tool_use", "name": "Bash"}, {"type": "tool_result", "content": "8443"}], ""),
        ([{"text": "hm", "thought": True}, {"text": "8443."}], "8443."),
        ([{"type": "text", "text": None}, {"type": "text"}, {"type": "text", "text": "  "}], ""),
        ([{"type": ["text"], "text": "damaged"}], ""),
    ],
)
def test_only_visible_text_of_a_content_is_returned(content: object, text: str) -> None:
    assert visible_text(content) == text


def test_parts_of_google_are_joined_without_a_separator() -> None:
    assert visible_text([{"text": "Which "}, {"text": "port?"}], "") == "Which port?"
