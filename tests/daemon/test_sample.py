"""The bundled sample memory: the expected note is the first hit of every query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memd.sample import copy_sample
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.models import minilm_path
from tests.support.sample_queries import load_sample_queries
from tests.support.state_homes import StateHome

pytestmark = pytest.mark.model


@contextmanager
def indexed_sample() -> Iterator[Client]:
    """Yield a client of a daemon that has only the sample."""
    minilm_path()
    with StateHome() as home:
        (home.state / "openclaw.json").unlink()
        copy_sample(home.state)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            yield client


def test_sample_query_finds_its_note_first() -> None:
    first = {}
    with indexed_sample() as client:
        for question in load_sample_queries():
            reply = client.search(question.query, agent=question.agent)
            assert reply.mode == "hybrid"
            first[question.query] = reply.hits[0].path if reply.hits else ""
    assert first == {question.query: question.path for question in load_sample_queries()}


@pytest.mark.long
def test_nonsense_query_has_no_hits() -> None:
    with indexed_sample() as client:
        for query in ("zxqv blorp fnord", "qwertyuiop asdfgh"):
            reply = client.search(query)
            assert (reply.hits, reply.abstained) == ([], True)
