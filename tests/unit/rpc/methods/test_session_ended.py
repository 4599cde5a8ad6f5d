"""session_ended: valid parameters; test_session_note tests the note."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.text.cut.annotations import hide_annotations
from tests.unit.lifecycle.session_home import ANSWERED, ASKED, Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path) as home:
        yield home


def test_the_flushes_of_the_session_are_forgotten_with_it(home: Home) -> None:
    home.say("abc", ASKED, ANSWERED)

    assert home.end(session_key="agent:main:main", session_id="abc").reason == "written"
    assert home.forgotten == ["agent:main:main"]


def test_a_private_note_is_labelled_with_its_session_apart_from_the_others(home: Home) -> None:
    home.say("abc", ASKED, ANSWERED)
    shared = home.text(home.end(session_id="abc"))
    key = "agent:main:telegram:direct:7 --> x"
    reply = home.end(session_id="abc", session_key=key, private=True)
    home.now_ms += 5_000
    again = home.end(session_id="abc", session_key=key, private=True)

    label, text = home.text(reply).split("\n", 1)
    assert reply.path == "memory/sessions/2026-01-16-api-design.md"
    assert label == "<!-- memd:session=agent:main:telegram:direct:7%20--%3E%20x -->"
    assert text == shared.replace("agent:main:main", key)
    assert (again.path, again.reason) == (reply.path, "known")
    assert hide_annotations(home.text(reply)).split("\n", 1) == ["", text]
