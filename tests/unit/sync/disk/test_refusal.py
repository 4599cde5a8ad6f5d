"""A path that can't be read is refused with the reason, and with the paths that may have been meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.sync.disk.discover import LINK, Discovery, Found
from memd.sync.disk.refusal import refusal_of
from memd_client.errors import FileMissingError, PathRefusedError
from memd_client.messages import Skipped

DAYS = ["memory/2026-01-16.md", "memory/2026-01-18.md"]


def disk(beyond_limits: int = 0) -> Discovery:
    files = {path: Found(path, f"/w/{path}", 1, 1, 1, 1) for path in DAYS}
    return Discovery(files=files, skipped=[Skipped("memory/link", LINK)], beyond_limits=beyond_limits)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("memory/link/a.md", f"memory/link/a.md is left out: {LINK}"),
        ("memory/.git/a.md", "hidden folders and"),
        ("memory/venv/a.md", "venv are not memory"),
        ("notes/a.md", "outside the memory files"),
        ("/etc/passwd", "absolute"),
    ],
)
def test_a_path_that_is_no_memory_is_refused_with_the_reason(path: str, said: str) -> None:
    error = refusal_of(path, disk(), "/w")

    assert isinstance(error, PathRefusedError)
    assert said in error.message


def test_a_missing_file_names_the_near_ones() -> None:
    error = refusal_of("memory/2026-01-17.md", disk(), "/w")

    assert isinstance(error, FileMissingError)
    assert error.hint == "Did you mean memory/2026-01-16.md or memory/2026-01-18.md?"
    assert error.data["near"] == DAYS


def test_a_file_beyond_the_limits_is_not_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "old.md").write_text("old")

    error = refusal_of("memory/old.md", disk(beyond_limits=1), str(tmp_path))

    assert isinstance(error, PathRefusedError)
    assert "max_agent_files" in error.hint
