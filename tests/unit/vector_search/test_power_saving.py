"""On battery a local model embeds the newest texts; a backlog waits for mains power, or for somebody who asks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memd.sync.vectors.fill import NEWEST_TEXTS
from tests.support.fake_provider import FakeProvider
from tests.support.meanings import FakeChooser, Scene, meaning_of, run, until

BACKLOG = [f"entry number {number}" for number in range(3 * NEWEST_TEXTS)]


class Machine:
    """A laptop whose plug a test pulls."""

    on_battery = True

    def __call__(self) -> bool:
        return self.on_battery


def local_provider() -> FakeProvider:
    provider = FakeProvider()
    provider.id = "local"
    return provider


def rests(scene: Scene) -> bool:
    return scene.meaning.fill is not None and scene.meaning.fill.rests


def test_a_backlog_rests_on_battery_and_is_embedded_on_mains_power(tmp_path: Path) -> None:
    provider, machine = local_provider(), Machine()

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider), saves_power=machine) as scene:
            await scene.publish("memory/a.md", BACKLOG)
            await until(lambda: rests(scene))
            assert len(provider.texts) == NEWEST_TEXTS
            assert scene.meaning.chunks_pending == len(BACKLOG) - NEWEST_TEXTS
            machine.on_battery = False
            await scene.until_whole()
            assert not rests(scene)

    run(body)


def test_texts_that_are_told_of_after_they_were_counted_rest_once(tmp_path: Path) -> None:
    provider, told = local_provider(), list[Callable[[], None]]()

    def tell_once() -> bool:
        # The fill asks for the battery between its count and its work.
        while told:
            told.pop()()
        return True

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider), saves_power=tell_once) as scene:
            published = await scene.commit("memory/a.md", BACKLOG)
            told.append(lambda: scene.meaning.on_published(published))
            assert scene.meaning.fill is not None
            scene.meaning.fill.wake()
            await until(lambda: rests(scene))
            assert not told
            assert scene.meaning.chunks_pending == len(BACKLOG) - NEWEST_TEXTS

    run(body)


def test_a_note_written_on_battery_is_embedded_at_once(tmp_path: Path) -> None:
    provider, machine = local_provider(), Machine()

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider), saves_power=machine) as scene:
            await scene.publish("memory/a.md", BACKLOG)
            await until(lambda: rests(scene))
            scene.clock.now_ms += 60_000
            await scene.publish("memory/new.md", ["written on the train"])
            await until(lambda: "written on the train" in provider.texts)

    run(body)


def test_whoever_waits_for_vectors_gets_all_of_them_on_battery_too(tmp_path: Path) -> None:
    provider = local_provider()

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider), saves_power=Machine()) as scene:
            await scene.publish("memory/a.md", BACKLOG)
            await until(lambda: rests(scene))
            assert scene.meaning.fill is not None
            await scene.meaning.fill.settle()
            assert scene.meaning.chunks_pending == 0

    run(body)


def test_a_remote_provider_costs_no_power_here_and_never_rests(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider), saves_power=Machine()) as scene:
            await scene.publish("memory/a.md", BACKLOG)
            await scene.until_whole()
            assert len(provider.texts) == len(BACKLOG)

    run(body)
