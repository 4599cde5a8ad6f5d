"""The daemon's downloads: one however many ask, tried again by itself, stopped when nobody wants it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio
import trio.testing

from memd.embedding.local.downloads import RETRY_MAX_SECONDS, Downloads
from memd_client.errors import (
    ChecksumMismatchError,
    ConfigInvalidError,
    DownloadFailedError,
    ModelMissingError,
    ShuttingDownError,
)
from tests.support import fake_model_child as fake
from tests.support.clocks import autojump
from tests.support.download_server import DownloadServer, serve_download

REF = "hf:owner/repo/model.gguf"
DIR = Path("/models")


class Hub:
    """A pull that does what it is told, and what was heard of it."""

    def __init__(self) -> None:
        self.failures: list[Exception] = []
        self.calls = 0
        self.cancelled = 0
        self.gate = trio.Event()
        self.done: list[str] = []
        self.called_at: list[float] = []

    async def pull(self, reference: str, models_dir: Path, progress: Callable[..., None]) -> Path:
        self.calls += 1
        self.called_at.append(trio.current_time())
        progress("download", 1, 2, reference)
        try:
            await self.gate.wait()
        except trio.Cancelled:
            self.cancelled += 1
            raise
        progress("download", 2, 2, reference)
        if self.failures:
            raise self.failures.pop(0)
        return models_dir / "model.gguf"

    async def on_done(self, reference: str) -> None:
        self.done.append(reference)

    @asynccontextmanager
    async def downloads(self, **options: Any) -> AsyncIterator[Downloads]:
        options = {"pull": self.pull, "on_done": self.on_done, "environ": {}, **options}
        downloads = Downloads(**options)
        async with trio.open_nursery() as nursery:
            await nursery.start(downloads.run)
            yield downloads
            nursery.cancel_scope.cancel()


def ignore(*step: object) -> None:
    """Hear nothing."""


@autojump
async def test_however_many_ask_there_is_one_download_and_all_hear_of_it() -> None:
    hub, heard, paths = Hub(), [[], []], []  # type: ignore[var-annotated]
    async with hub.downloads() as downloads:

        async def ask(number: int, reference: str) -> None:
            paths.append(await downloads.pull(reference, DIR, lambda *step: heard[number].append(step)))

        async with trio.open_nursery() as nursery:
            downloads.start_nowait(REF, DIR)
            nursery.start_soon(ask, 0, REF)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(ask, 1, f" {REF} ")
            await trio.testing.wait_all_tasks_blocked()
            [status] = downloads.status()
            assert (status.ref, status.state, status.done, status.total) == (REF, "running", 1, 2)
            hub.gate.set()
        assert hub.calls == 1
        assert paths == [DIR / "model.gguf"] * 2
        assert heard[0][-1] == heard[1][-1] == ("download", 2, 2, REF)
        assert hub.done == [REF]
        assert downloads.status() == []


@autojump
async def test_a_failure_is_told_to_everybody_who_waits_each_with_an_error_of_their_own() -> None:
    hub, errors = Hub(), []
    hub.failures = [ChecksumMismatchError("wrong file", hint="way out")]
    async with hub.downloads() as downloads:

        async def ask() -> None:
            with pytest.raises(ChecksumMismatchError, match="wrong file") as caught:
                await downloads.pull(REF, DIR, ignore)
            errors.append(caught.value)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            hub.gate.set()
        assert errors[0] is not errors[1]
        assert errors[0].hint == "way out"
        [status] = downloads.status()
        assert (status.state, status.problem) == ("failed", "wrong file")
        assert await downloads.pull(REF, DIR, ignore) == DIR / "model.gguf"
        assert downloads.status() == []


@autojump
async def test_what_settings_want_is_tried_again_ever_more_rarely_until_it_comes() -> None:
    hub = Hub()
    hub.gate.set()
    hub.failures = [DownloadFailedError("no route") for _ in range(8)]
    async with hub.downloads() as downloads:
        assert downloads.start_nowait(REF, DIR)
        assert downloads.start_nowait(REF, DIR)
        await trio.sleep(59)
        [status] = downloads.status()
        assert (hub.calls, status.state, status.problem) == (1, "waiting", "no route")
        assert downloads.start_nowait(REF, DIR)
        await trio.sleep(4 * 3600)
        assert hub.calls == 9
        assert np.diff(hub.called_at).tolist() == [60, 120, 240, 480, 960, 1800, 1800, RETRY_MAX_SECONDS]
        assert hub.done == [REF]
        assert downloads.status() == []


@autojump
async def test_whoever_asks_by_hand_does_not_wait_for_the_next_try() -> None:
    hub = Hub()
    hub.gate.set()
    hub.failures = [DownloadFailedError("no route")]
    async with hub.downloads() as downloads:
        downloads.start_nowait(REF, DIR)
        await trio.sleep(1)
        started = trio.current_time()
        await downloads.pull(REF, DIR, ignore)
        assert trio.current_time() == started
        await trio.sleep(3600)
        assert hub.calls == 2


@autojump
async def test_a_download_ends_with_the_last_who_waits_for_it_unless_settings_want_it() -> None:
    hub = Hub()
    async with hub.downloads() as downloads:
        for wanted in (False, True):
            if wanted:
                downloads.start_nowait(REF, DIR)
            with trio.move_on_after(1):
                await downloads.pull(REF, DIR, ignore)
            await trio.testing.wait_all_tasks_blocked()
            assert hub.cancelled == 1
        assert downloads.status()[0].state == "running"


@autojump
async def test_who_asks_while_a_download_is_being_given_up_gets_a_new_one() -> None:
    hub = Hub()
    async with hub.downloads() as downloads, trio.open_nursery() as nursery:
        scope = trio.CancelScope()

        async def leave() -> None:
            with scope:
                await downloads.pull(REF, DIR, ignore)

        nursery.start_soon(leave)
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
        hub.gate.set()
        assert await downloads.pull(REF, DIR, ignore) == DIR / "model.gguf"


@autojump
async def test_a_model_settings_no_longer_name_is_not_tried_again() -> None:
    hub = Hub()
    hub.gate.set()
    hub.failures = [DownloadFailedError("no route") for _ in range(8)]
    async with hub.downloads(is_wanted=lambda reference: False) as downloads:
        downloads.start_nowait(REF, DIR)
        await trio.sleep(3600)
        assert hub.calls == 1
        assert downloads.status() == []


@autojump
async def test_a_stopped_download_leaves_nothing_behind() -> None:
    hub = Hub()
    async with hub.downloads() as downloads:
        downloads.start_nowait(REF, DIR)

        async def ask() -> None:
            with pytest.raises(ShuttingDownError):
                await downloads.pull(REF, DIR, ignore)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            await downloads.stop(DIR / "hf_owner_repo_model.gguf")
        assert hub.cancelled == 1
        assert downloads.status() == []
        await downloads.stop(DIR / "hf_owner_repo_model.gguf")
        await trio.sleep(3600)
        assert hub.calls == 1


@autojump
async def test_a_defect_costs_one_download_and_nothing_else() -> None:
    hub = Hub()
    hub.gate.set()
    hub.failures = [TypeError("oops")]

    async def fails(reference: str) -> None:
        raise ValueError("an agent crashed")

    async with hub.downloads(on_done=fails) as downloads:
        with pytest.raises(Exception, match="crashed: TypeError"):
            await downloads.pull(REF, DIR, ignore)
        assert await downloads.pull(REF, DIR, ignore) == DIR / "model.gguf"


@autojump
async def test_nothing_is_started_by_itself_that_should_not_be() -> None:
    hub = Hub()
    async with hub.downloads(environ={"HF_HUB_OFFLINE": "1"}) as downloads:
        assert not downloads.start_nowait(REF, DIR)
    async with hub.downloads() as downloads:
        assert not downloads.start_nowait("/a/path.gguf", DIR)
        with pytest.raises(ConfigInvalidError):
            downloads.start_nowait("hf:nonsense", DIR)
    assert not downloads.start_nowait(REF, DIR)
    with pytest.raises(ShuttingDownError):
        await downloads.pull(REF, DIR, ignore)
    assert hub.calls == 0


@autojump
async def test_a_path_is_looked_at_and_told_but_no_download(tmp_path: Path) -> None:
    hub = Hub()
    path = fake.write_model(tmp_path / "m.gguf")
    downloads = Downloads(on_done=hub.on_done)
    async with trio.open_nursery() as nursery:
        await nursery.start(downloads.run)
        assert await downloads.pull(str(path), tmp_path, ignore) == path
        with pytest.raises(ModelMissingError):
            await downloads.pull(str(tmp_path / "none.gguf"), tmp_path, ignore)
        nursery.cancel_scope.cancel()
    assert hub.done == [str(path)]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with serve_download(fake.write_model(tmp_path / "served.gguf").read_bytes()) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


async def test_a_real_download_comes_once_for_all_who_ask(server: DownloadServer, tmp_path: Path) -> None:
    downloads = Downloads()
    async with trio.open_nursery() as outer:
        await outer.start(downloads.run)
        server.gate.clear()
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(downloads.pull, REF, tmp_path / "models", ignore)
            await trio.to_thread.run_sync(server.gate.set)
        outer.cancel_scope.cancel()
    assert len(server.asked) == 1

    assert (tmp_path / "models" / "hf_owner_repo_model.gguf").is_file()
