"""Tests of the daemon's downloads: sharing, retries, cancellation."""

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
    """A scripted pull that records progress and completion."""

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
    """Ignore progress."""


@autojump
async def test_concurrent_requests_share_one_download_and_its_progress() -> None:
    hub, progress_calls, paths = Hub(), [[], []], []  # type: ignore[var-annotated]
    async with hub.downloads() as downloads:

        async def request(number: int, reference: str) -> None:
            paths.append(
                await downloads.pull(reference, DIR, lambda *step: progress_calls[number].append(step))
            )

        async with trio.open_nursery() as nursery:
            downloads.start_nowait(REF, DIR)
            nursery.start_soon(request, 0, REF)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(request, 1, f" {REF} ")
            await trio.testing.wait_all_tasks_blocked()
            [status] = downloads.status()
            assert (status.ref, status.state, status.done, status.total) == (REF, "running", 1, 2)
            hub.gate.set()
        assert hub.calls == 1
        assert paths == [DIR / "model.gguf"] * 2
        assert progress_calls[0][-1] == progress_calls[1][-1] == ("download", 2, 2, REF)
        assert hub.done == [REF]
        assert downloads.status() == []


@autojump
async def test_every_waiting_request_gets_its_own_error() -> None:
    hub, errors = Hub(), []
    hub.failures = [ChecksumMismatchError("wrong file", hint="way out")]
    async with hub.downloads() as downloads:

        async def request() -> None:
            with pytest.raises(ChecksumMismatchError, match="wrong file") as caught:
                await downloads.pull(REF, DIR, ignore)
            errors.append(caught.value)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(request)
            nursery.start_soon(request)
            await trio.testing.wait_all_tasks_blocked()
            hub.gate.set()
        assert errors[0] is not errors[1]
        assert errors[0].hint == "way out"
        [status] = downloads.status()
        assert (status.state, status.problem) == ("failed", "wrong file")
        assert await downloads.pull(REF, DIR, ignore) == DIR / "model.gguf"
        assert downloads.status() == []


@autojump
async def test_download_of_settings_is_retried_with_backoff() -> None:
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
async def test_request_does_not_wait_for_the_backoff() -> None:
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
async def test_download_ends_with_its_last_request_unless_settings_use_it() -> None:
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
async def test_request_during_a_cancellation_starts_a_new_download() -> None:
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
async def test_model_removed_from_settings_is_not_retried() -> None:
    hub = Hub()
    hub.gate.set()
    hub.failures = [DownloadFailedError("no route") for _ in range(8)]
    async with hub.downloads(is_wanted=lambda reference: False) as downloads:
        downloads.start_nowait(REF, DIR)
        await trio.sleep(3600)
        assert hub.calls == 1
        assert downloads.status() == []


@autojump
async def test_stopped_download_is_forgotten() -> None:
    hub = Hub()
    async with hub.downloads() as downloads:
        downloads.start_nowait(REF, DIR)

        async def request() -> None:
            with pytest.raises(ShuttingDownError):
                await downloads.pull(REF, DIR, ignore)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(request)
            await trio.testing.wait_all_tasks_blocked()
            await downloads.stop(DIR / "hf_owner_repo_model.gguf")
        assert hub.cancelled == 1
        assert downloads.status() == []
        await downloads.stop(DIR / "hf_owner_repo_model.gguf")
        await trio.sleep(3600)
        assert hub.calls == 1


@autojump
async def test_unexpected_error_fails_only_its_download() -> None:
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
async def test_automatic_downloads_are_not_started_if_forbidden() -> None:
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
async def test_path_is_checked_and_reported_without_download(tmp_path: Path) -> None:
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


async def test_real_download_is_shared_by_all_requests(server: DownloadServer, tmp_path: Path) -> None:
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
