"""A home with transcripts, OpenClaw writing to it, and the source that reads its database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.sources.databases import ConversationDatabases
from tests.support.transcripts import OpenClawDatabase, TranscriptHome, database_of


@pytest.fixture
def home(tmp_path: Path) -> TranscriptHome:
    """Return an empty home."""
    return TranscriptHome(tmp_path)


@pytest.fixture
def openclaw(home: TranscriptHome) -> Iterator[OpenClawDatabase]:
    """Return OpenClaw with its open database."""
    with home.open_database() as database:
        yield database


@pytest.fixture
def source(home: TranscriptHome) -> Iterator[ConversationDatabases]:
    """Return the source under test."""
    source = database_of(home)
    yield source
    source.close()
