"""Model downloads of the daemon, shared by all requests, with retries."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import trio

from memd.embedding.local.reference import ModelReference, is_hub_offline, parse_reference
from memd.system.back_off import back_off_s
from memd.system.log import log
from memd_client.errors import MemdError, ShuttingDownError
from memd_client.reports import DownloadStatus

if TYPE_CHECKING:
    from memd.embedding.local.download import Progress

State = Literal["running", "waiting", "failed"]

RETRY_FIRST_SECONDS: Final = 60.0
RETRY_MAX_SECONDS: Final = 1800.0
"""The back-off after a failed download doubles from the first to the maximum."""

MAX_FAILED: Final = 20
"""The number of failed downloads that the status shows."""

Pull = Callable[[str, Path, "Progress"], Awaitable[Path]]


async def _pull(reference: str, models_dir: Path, progress: Progress) -> Path:
    """Pull a model. Imports HTTP only now, because it takes 4 MB of RAM."""
    from memd.embedding.local.pull import pull_model

    return await pull_model(reference, models_dir, progress)


async def _do_nothing(reference: str) -> None:
    """The default of `on_done`."""


class _Attempt:
    """One attempt of a download, its progress listeners and its result."""

    def __init__(self) -> None:
        self.listeners: list[Progress] = []
        self.scope = trio.CancelScope()
        self.over = trio.Event()
        self.path: Path | None = None
        self.error: MemdError | None = None

    async def result(self) -> Path:
        """Wait for the file, or raise the error."""
        await self.over.wait()
        if self.path is not None:
            return self.path
        error = self.error or ShuttingDownError("the download was stopped")
        raise type(error)(error.message, hint=error.hint, data=error.data)  # a copy for each request


class _Download:
    """A model's download, which `wanted_by_settings` keeps running with retries."""

    def __init__(self, wanted: ModelReference, models_dir: Path) -> None:
        self.wanted = wanted
        self.models_dir = models_dir
        self.wanted_by_settings = False
        self.current: _Attempt | None = None
        self.retry_now = trio.Event()
        self.failures = 0
        self.stage, self.done, self.total = "", 0, 0
        self.error: MemdError | None = None

    @property
    def state(self) -> State:
        if self.current is not None:
            return "running"
        return "waiting" if self.wanted_by_settings else "failed"

    def status(self) -> DownloadStatus:
        problem = self.error.message if self.error is not None and self.current is None else ""
        return DownloadStatus(self.wanted.shown, self.state, self.stage, self.done, self.total, problem)


class Downloads:
    """Owner of all model downloads. Resources: tasks inside `run`."""

    def __init__(
        self,
        *,
        on_done: Callable[[str], Awaitable[None]] = _do_nothing,
        is_wanted: Callable[[str], bool] = lambda reference: True,
        environ: Mapping[str, str] = os.environ,
        pull: Pull = _pull,
    ) -> None:
        self._on_done = on_done
        self._is_wanted = is_wanted
        self._environ = environ
        self._pull = pull
        self._downloads: dict[Path, _Download] = {}
        self._nursery: trio.Nursery | None = None

    def __repr__(self) -> str:
        states = ", ".join(f"{each.wanted.shown} {each.state}" for each in self._downloads.values())
        return f"<Downloads {'running' if self._nursery else 'stopped'}: {states or 'none'}>"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the downloads until cancelled; incomplete files are kept for the next start.

        Failures of a download are raised by its requests and shown in the status only.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._nursery = None
            self._downloads.clear()

    def status(self) -> list[DownloadStatus]:
        """Return the status of each download, by reference."""
        return sorted((each.status() for each in self._downloads.values()), key=lambda status: status.ref)

    def start_nowait(self, reference: str, models_dir: Path) -> bool:
        """Start the download of a configured model; False if that is impossible."""
        wanted = parse_reference(reference)
        if wanted.kind == "path" or is_hub_offline(self._environ) or not self._is_running():
            return False
        download = self._download_of(wanted, models_dir)
        if not download.wanted_by_settings:
            download.wanted_by_settings = True
            assert self._nursery is not None
            self._nursery.start_soon(self._keep_trying, download)
        return True

    async def pull(self, reference: str, models_dir: Path, progress: Progress) -> Path:
        """Download a model, joining a download under way; return its file.

        Cancellation: the download continues if another request waits for it or settings use the model.
        """
        wanted = parse_reference(reference)
        if not self._is_running():
            raise ShuttingDownError(f"{wanted.shown} can't be downloaded: the daemon is stopping")
        if wanted.kind == "path":
            path = await self._pull(reference, models_dir, progress)
            await self._report_done(wanted)
            return path
        download = self._download_of(wanted, models_dir)
        while (ending := download.current) is not None and ending.scope.cancel_called:
            await ending.over.wait()
            download = self._download_of(wanted, models_dir)
        current = self._join(download)
        current.listeners.append(progress)
        download.retry_now.set()
        try:
            return await current.result()
        finally:
            if progress in current.listeners:
                current.listeners.remove(progress)
            if not current.listeners and not download.wanted_by_settings:
                current.scope.cancel()

    async def stop(self, file: Path) -> None:
        """Cancel the download to a file; its requests raise ShuttingDownError.

        Cancellation: the download still ends, a moment later.
        """
        download = self._downloads.pop(file, None)
        if download is None:
            return
        download.wanted_by_settings = False
        download.retry_now.set()
        if download.current is not None:
            download.current.scope.cancel()
            await download.current.over.wait()

    def _is_running(self) -> bool:
        return self._nursery is not None and not self._nursery.cancel_scope.cancel_called

    def _download_of(self, wanted: ModelReference, models_dir: Path) -> _Download:
        """Return the download to a reference's file, a new one if there is none."""
        file = wanted.file(models_dir)
        if file not in self._downloads:
            self._downloads[file] = _Download(wanted, models_dir)
        return self._downloads[file]

    def _join(self, download: _Download) -> _Attempt:
        """Return the attempt under way, or start one."""
        if download.current is None:
            assert self._nursery is not None
            download.current = _Attempt()
            self._nursery.start_soon(self._try_once, download, download.current)
        return download.current

    async def _keep_trying(self, download: _Download) -> None:
        """Retry until the model is complete or no settings use it."""
        while download.wanted_by_settings:
            current = self._join(download)
            await current.over.wait()
            if current.error is not None and download.wanted_by_settings:
                await self._wait_for_retry(download)
                if download.current is None and not self._is_wanted(download.wanted.text):
                    download.wanted_by_settings = False
                    self._forget(download)

    async def _wait_for_retry(self, download: _Download) -> None:
        """Wait for the back-off, or until a request needs the download."""
        download.retry_now = trio.Event()
        with trio.move_on_after(back_off_s(download.failures, RETRY_FIRST_SECONDS, RETRY_MAX_SECONDS)):
            await download.retry_now.wait()

    async def _try_once(self, download: _Download, current: _Attempt) -> None:
        """Run one attempt and publish its result."""

        def report(stage: str, done: int, total: int, detail: str) -> None:
            download.stage, download.done, download.total = stage, done, total
            for listener in current.listeners:
                listener(stage, done, total, detail)

        text = download.wanted.text
        try:
            with current.scope:
                current.path = await self._pull(text, download.models_dir, report)
            if current.path is not None:
                await self._report_done(download.wanted)
        except MemdError as error:
            current.error = download.error = error
        except Exception as error:
            log.exception("embedding.download_crashed", model=download.wanted.shown)
            current.error = download.error = MemdError(f"the download crashed: {type(error).__name__}")
        finally:
            download.current = None
            self._record_result(download, current)
            current.over.set()

    async def _report_done(self, wanted: ModelReference) -> None:
        """Call `on_done`, before requests receive the file."""
        try:
            await self._on_done(wanted.text)
        except Exception:
            log.exception("embedding.pulled_model_unused", model=wanted.shown)

    def _record_result(self, download: _Download, current: _Attempt) -> None:
        """Update the download's state after an attempt."""
        if current.path is not None:
            download.wanted_by_settings = False
            download.retry_now.set()
        if current.error is None:  # completed or cancelled
            if not download.wanted_by_settings:
                self._forget(download)
            return
        download.failures += 1
        shown, message = download.wanted.shown, current.error.message
        log.warning("embedding.download_failed", model=shown, error=message, failures=download.failures)
        failed = [each for each in self._downloads.values() if each.state == "failed"]
        for each in failed[:-MAX_FAILED]:
            self._forget(each)

    def _forget(self, download: _Download) -> None:
        for file in [file for file, each in self._downloads.items() if each is download]:
            del self._downloads[file]
