"""session_ended: valid parameters; test_session_note tests the note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd_client.errors import BadParamsError
from tests.unit.lifecycle.session_home import ANSWERED, ASKED, Home


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"session_key": " "}, "session_key"),
        ({"reason": "bored"}, "reason"),
        ({"ended_ms": 0}, "ended_ms"),
        ({"ended_ms": 10**15}, "ended_ms"),
    ],
)
def test_a_wrong_parameter_is_named(params: dict[str, Any], field: str, tmp_path: Path) -> None:
    with pytest.raises(BadParamsError) as caught:
        Home(tmp_path).end(**params)

    assert caught.value.data["field"] == field


def test_the_flushes_of_the_session_are_forgotten_with_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.say("abc", ASKED, ANSWERED)

    assert home.end(session_key="agent:main:main", session_id="abc").reason == "written"
    assert home.forgotten == ["agent:main:main"]
