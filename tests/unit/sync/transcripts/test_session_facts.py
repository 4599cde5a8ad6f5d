"""What the index keeps about a session."""

from __future__ import annotations

import pytest

from memd.sync.transcripts.conversation import Conversation, Message, Session
from memd.sync.transcripts.projects import facts_of


@pytest.mark.parametrize(
    ("given", "title"), [("Ports", "Ports"), ("", "Which port does staging use? 8443?"), (" ", "")]
)
def test_title_is_the_given_one_else_the_first_prompt(given: str, title: str) -> None:
    messages = [
        Message("assistant", "Hello", 1),
        Message("user", "Which port\ndoes staging use?  8443?", 2),
        Message("user", "And now?", 3),
    ]
    conversation = Conversation(Session("s", title=given), messages)

    assert facts_of("codex", conversation, session_id="s", updated_ms=0).title == title


def test_title_of_a_session_without_a_prompt_is_empty() -> None:
    assert facts_of("codex", Conversation(Session("s")), session_id="s", updated_ms=0).title == ""
