"""On battery a local model embeds only the newest texts, unless a client waits for all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memd.sync.vectors.fill import NEWEST_TEXTS
from tests.support.fake_provider import FakeProvider
from tests.support.vector_fixture import FakeChooser, VectorFixture, run_fast, vector_fixture, wait_for

BACKLOG = [f"entry number {number}" for number in range(3 * NEWEST_TEXTS)]


class FakePower:
    """The power supply of a laptop."""

    on_battery = True

    def __call__(self) -> bool:
        return self.on_battery


def local_provider() -> FakeProvider:
    provider = FakeProvider()
    provider.id = "local"
    return provider


def rests(fixture: VectorFixture) -> bool:
    return fixture.vectors.fill is not None and fixture.vectors.fill.rests


def test_a_backlog_waits_on_battery_and_is_embedded_on_mains_power(tmp_path: Path) -> None:
    provider, machine = local_provider(), FakePower()

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider), saves_power=machine) as fixture:
            await fixture.publish("memory/a.md", BACKLOG)
            await wait_for(lambda: rests(fixture))
            assert len(provider.texts) == NEWEST_TEXTS
            assert fixture.vectors.chunks_pending == len(BACKLOG) - NEWEST_TEXTS
            machine.on_battery = False
            await fixture.until_whole()
            assert not rests(fixture)

    run_fast(body)


def test_texts_reported_after_counting_wait_once(tmp_path: Path) -> None:
    provider, told = local_provider(), list[Callable[[], None]]()

    def tell_once() -> bool:
        # The fill checks the battery between counting and embedding.
        while told:
            told.pop()()
        return True

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider), saves_power=tell_once) as fixture:
            published = await fixture.commit("memory/a.md", BACKLOG)
            told.append(lambda: fixture.vectors.on_published(published))
            assert fixture.vectors.fill is not None
            fixture.vectors.fill.wake()
            await wait_for(lambda: rests(fixture))
            assert not told
            assert fixture.vectors.chunks_pending == len(BACKLOG) - NEWEST_TEXTS

    run_fast(body)


def test_a_note_written_on_battery_is_embedded_at_once(tmp_path: Path) -> None:
    provider, machine = local_provider(), FakePower()

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider), saves_power=machine) as fixture:
            await fixture.publish("memory/a.md", BACKLOG)
            await wait_for(lambda: rests(fixture))
            fixture.clock.now_ms += 60_000
            await fixture.publish("memory/new.md", ["written on the train"])
            await wait_for(lambda: "written on the train" in provider.texts)

    run_fast(body)


def test_waiting_for_vectors_embeds_all_on_battery(tmp_path: Path) -> None:
    provider = local_provider()

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider), saves_power=FakePower()) as fixture:
            await fixture.publish("memory/a.md", BACKLOG)
            await wait_for(lambda: rests(fixture))
            assert fixture.vectors.fill is not None
            await fixture.vectors.fill.settle()
            assert fixture.vectors.chunks_pending == 0

    run_fast(body)


def test_a_remote_provider_ignores_battery_power(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider), saves_power=FakePower()) as fixture:
            await fixture.publish("memory/a.md", BACKLOG)
            await fixture.until_whole()
            assert len(provider.texts) == len(BACKLOG)

    run_fast(body)
