"""The skill file of `memctl setup` in the real programs of npm: each offers it to its model."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.cli.setup.discover import SKILL
from memd.programs.catalog import PROGRAMS, Places
from tests.support.real_program import QUESTION
from tests.support.real_programs import REAL_PROGRAMS, real_program

DESCRIPTION = b"memory of earlier sessions with any coding agent"

pytestmark = [pytest.mark.long, pytest.mark.parametrize("name", [*REAL_PROGRAMS])]


def test_the_model_is_told_of_the_skill(name: str, tmp_path: Path) -> None:
    with real_program(name, tmp_path) as (program, server):
        (path,) = Places(program.home, program.environ()).paths([PROGRAMS[name].skill])
        path.parent.mkdir(parents=True)
        path.write_bytes(SKILL.read_bytes())
        program.run(*program.headless(QUESTION))

    assert any(DESCRIPTION in body for body in server.bodies)
