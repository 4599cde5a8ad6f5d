"""Requests of an open agent about its index and its vectors: index, reset, vacuum, embed and keep_vector."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trio

from memd.index.cache import active_space
from memd.settings.agents import AgentConfig
from memd.settings.schema import DaemonSettings
from memd_client.errors import (
    ProviderAuthError,
    ProviderUnavailableError,
)
from memd_client.messages import EmbedParams, SearchParams
from tests.support.agents import AgentFixture, config_in, on_stopped_clock, running_agent
from tests.support.fake_provider import FakeProvider
from tests.support.vector_fixture import FakeChooser

NOTE = "# Harbor\n\nThe upload retries five times.\n"
OTHER_NOTE = "# Bakery\n\nThe oven needs an hour to get warm.\n"


class Reported:
    """The progress of a request."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def __call__(self, stage: str, done: int, total: int, detail: str) -> None:
        self.stages.append(stage)


def provided(folder: Path) -> AgentConfig:
    """Return an agent with a provider."""
    return config_in(folder, provider="fake")


async def wait_filled(fixture: AgentFixture) -> None:
    """Wait until every chunk has a vector."""
    await fixture.agent.index(False, Reported())
    assert fixture.opened[-1].vector_search.chunks_pending == 0


# --- index, reset and vacuum ------------------------------------------------------------------------


@on_stopped_clock
async def test_index_reports_what_it_changed(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        await fixture.agent.index(False, Reported())
        note = fixture.note("MEMORY.md", NOTE)
        fixture.note("memory/bakery.md", OTHER_NOTE)
        report = await fixture.agent.index(False, Reported())
        assert (report.agent, report.files, report.chunks, report.files_changed) == ("main", 2, 2, 2)
        assert report.skipped == []
        note.unlink()
        report = await fixture.agent.index(False, Reported())
        assert (report.files, report.files_changed, report.files_removed) == (1, 0, 1)
        reported = Reported()
        report = await fixture.agent.index(True, reported)
        assert (report.files_changed, report.embedded, report.reused) == (1, 0, 0)
        assert "text" in reported.stages


@on_stopped_clock
async def test_index_reports_files_that_it_leaves_out(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        fixture.note("memory/broken.md", "").write_bytes(b"\xff\xfe\xfa")
        report = await fixture.agent.index(False, Reported())
        assert report.files == 1
        assert [row.path for row in report.skipped] == ["memory/broken.md"]


@on_stopped_clock
async def test_index_waits_until_every_chunk_has_a_vector(tmp_path: Path) -> None:
    provider = FakeProvider()
    async with running_agent(tmp_path, provided(tmp_path), chooser=FakeChooser(provider)) as fixture:
        fixture.note("MEMORY.md", NOTE)
        fixture.note("memory/bakery.md", OTHER_NOTE)
        report = await fixture.agent.index(False, Reported())
        assert (report.chunks, report.embedded + report.reused) == (2, 2)
        assert len(provider.texts) == 2
        report = await fixture.agent.index(False, Reported())
        assert (report.embedded, report.reused, len(provider.texts)) == (0, 2, 2)
        assert (await fixture.agent.search(SearchParams("upload retries"))).mode == "hybrid"


@pytest.mark.parametrize(("vectors", "embedded"), [(False, 0), (True, 1)])
@on_stopped_clock
async def test_reset_rebuilds_the_index_and_keeps_the_vectors_unless_they_are_dropped_too(
    tmp_path: Path, vectors: bool, embedded: int
) -> None:
    chooser, reported = FakeChooser(FakeProvider()), Reported()
    async with running_agent(tmp_path, provided(tmp_path), chooser=chooser) as fixture:
        fixture.note("MEMORY.md", NOTE)
        await wait_filled(fixture)
        chooser.wanted = reopened = FakeProvider()
        report = await fixture.agent.reset(vectors, reported)
        assert (report.files, report.chunks) == (1, 1)
        assert len(reopened.texts) == embedded
        assert len(fixture.opened) == 2
        assert reported.stages[0] == "reopening"
        assert await fixture.search("upload retries") == ["MEMORY.md"]


@on_stopped_clock
async def test_reset_continues_if_its_caller_gives_up(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        fixture.note("MEMORY.md", NOTE)
        fixture.may_open = trio.Event()
        with trio.CancelScope() as caller:

            async def give_up() -> None:
                await fixture.wait_tried(2)
                caller.cancel()

            fixture.nursery.start_soon(give_up)
            await fixture.agent.reset(False, Reported())
        assert caller.cancelled_caught
        fixture.may_open.set()
        assert await fixture.search("upload retries") == ["MEMORY.md"]
        assert len(fixture.opened) == 2


@on_stopped_clock
async def test_vacuum_returns_space_to_the_file_system(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        notes = [
            fixture.note(f"memory/{number}.md", f"# {number}\n\n" + f"word{number} " * 4_000)
            for number in range(20)
        ]
        await fixture.agent.index(False, Reported())
        for note in notes:
            note.unlink()
        await fixture.agent.index(False, Reported())
        reply = await fixture.agent.vacuum()
        assert (reply.agent, reply.vectors_removed) == ("main", 0)
        assert reply.bytes_after < reply.bytes_before
        assert reply.bytes_after == fixture.opened[0].index_file.size_bytes()


@on_stopped_clock
async def test_vacuum_removes_vectors_that_are_not_used(tmp_path: Path) -> None:
    daemon = DaemonSettings(vector_cache_mb=0)
    provider = FakeProvider()
    async with running_agent(
        tmp_path, provided(tmp_path), chooser=FakeChooser(provider), daemon=daemon
    ) as fixture:
        fixture.note("MEMORY.md", NOTE)
        await wait_filled(fixture)
        await fixture.agent.embed(EmbedParams(["a fact"], keep=True))
        assert (await fixture.agent.vacuum()).vectors_removed == 1
        await wait_filled(fixture)
        assert len(provider.texts) == 2  # the chunk's vector was kept


# --- embed ------------------------------------------------------------------------------------------


@on_stopped_clock
async def test_embed_returns_packed_vectors_of_texts_and_queries(tmp_path: Path) -> None:
    provider = FakeProvider(dims=4)
    async with running_agent(tmp_path, provided(tmp_path), chooser=FakeChooser(provider)) as fixture:
        for kind, asked in (("document", provider.texts), ("query", provider.queries)):
            reply = await fixture.agent.embed(EmbedParams(["a", "b"], kind=kind))
            assert (reply.provider, reply.model, reply.count, reply.dims) == ("fake", "fake-model", 2, 4)
            rows = np.frombuffer(reply.vectors, dtype="<f4").reshape(2, 4)
            assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1])
            assert asked == ["a", "b"]
        for kind in ("document", "query"):
            reply = await fixture.agent.embed(EmbedParams([], kind=kind))
            assert (reply.count, reply.dims, reply.vectors) == (0, 0, b"")


@on_stopped_clock
async def test_embed_keeps_vectors_on_request(tmp_path: Path) -> None:
    provider = FakeProvider()
    async with running_agent(tmp_path, provided(tmp_path), chooser=FakeChooser(provider)) as fixture:
        fixture.note("MEMORY.md", NOTE)
        await wait_filled(fixture)
        del provider.texts[:]
        kept = await fixture.agent.embed(EmbedParams(["a"], keep=True))
        again = await fixture.agent.embed(EmbedParams(["a", "b"], keep=True))
        assert again.vectors.startswith(kept.vectors)
        assert provider.texts == ["a", "b"]


@on_stopped_clock
async def test_embed_without_a_provider_says_that_it_is_off(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        with pytest.raises(ProviderUnavailableError, match="embeddings are turned off for this agent"):
            await fixture.agent.embed(EmbedParams(["a"]))


@on_stopped_clock
async def test_embed_with_an_unavailable_provider_names_its_problem(tmp_path: Path) -> None:
    problem = ProviderAuthError("the key was refused", hint="set another key")
    async with running_agent(tmp_path, provided(tmp_path), chooser=FakeChooser(problem)) as fixture:
        for _ in range(2):
            with pytest.raises(ProviderAuthError, match="the key was refused") as caught:
                await fixture.agent.embed(EmbedParams(["a"]))
            assert caught.value is not problem  # each has its own traceback
            assert caught.value.hint == "set another key"
        problems = (await fixture.agent.status(deep=False)).problems
        assert [(row.code, row.hint) for row in problems] == [("provider_auth", "set another key")]


@on_stopped_clock
async def test_vector_of_a_client_is_kept_if_the_model_is_the_same(tmp_path: Path) -> None:
    provider = FakeProvider(dims=4)
    vector = np.array([3, 0, 4, 0], dtype="<f4").tobytes()
    async with running_agent(tmp_path, provided(tmp_path), chooser=FakeChooser(provider)) as fixture:
        fixture.note("MEMORY.md", NOTE)
        await wait_filled(fixture)
        assert await fixture.opened[0].index_file.read(active_space) is not None
        for text, model, given in (
            ("a", "another-model", vector),
            ("a", "fake-model", b""),
            ("a", "fake-model", vector[:-1]),
            ("a", "fake-model", bytes(16)),
        ):
            assert not await fixture.agent.keep_vector(text, model, given)
        assert await fixture.agent.keep_vector("a", "fake-model", vector)
        reply = await fixture.agent.embed(EmbedParams(["a"], keep=True))
        assert np.frombuffer(reply.vectors, dtype="<f4") == pytest.approx([0.6, 0, 0.8, 0])
        assert "a" not in provider.texts


@on_stopped_clock
async def test_vector_of_a_client_is_not_kept_without_a_provider(tmp_path: Path) -> None:
    async with running_agent(tmp_path) as fixture:
        assert not await fixture.agent.keep_vector("a", "fake-model", bytes(16))
