"""Downloads a file over HTTP: resumable, verified by checksum, with progress."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import httpx
import trio
from msgspec import Struct

from memd.embedding.local.model_files import PART_SUFFIX, TAG_SUFFIX
from memd.embedding.redaction import WINDOW, Redactor, redactor_of
from memd.embedding.secret import Secret
from memd.system.log import log
from memd.system.state_file import load_whole
from memd.system.units import size
from memd_client.errors import ChecksumMismatchError, DownloadFailedError

Progress = Callable[[str, int, int, str], None]
"""Called with (stage, done, total, detail); numbers are bytes in most stages. Must not block."""

CONNECT_SECONDS: Final = 5.0
"""Short, so that another source is tried soon if the hub is unreachable."""

READ_SECONDS: Final = 60.0
"""The timeout without data during a download."""

TRIES: Final = 5
RETRY_SECONDS: Final = 1.0
"""An interrupted download is resumed after this pause, up to `TRIES` times, as long as each try makes progress."""

TAG_BYTES: Final = 8 * 1024
BLOCK_BYTES: Final = 1024 * 1024
RESERVED_BYTES: Final = 256 * 1024 * 1024
"""Disk space that stays free, for instance for notes."""

CHECK_BYTES: Final = 16 * BLOCK_BYTES
"""The interval of checks of the free disk space."""

MAX_TAG: Final = 256
"""The longest ETag that is stored for resuming."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_RANGE: Final = re.compile(r"bytes (?:(\d{1,18})-\d{1,18}|\*)/(\d{1,18}|\*)", re.ASCII)
_TOKEN: Final = re.compile(r"[!-~]+")
_TOKEN_HINT: Final = "Correct or unset HF_TOKEN in the daemon's environment."
_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


FreeBytes = Callable[[Path], int]
"""Returns the free bytes of the disk of a directory."""


class _DownloadTask(Struct, frozen=True):
    """A download: its source, target, credentials and progress listener."""

    url: str
    target: Path
    sha256: str | None
    token: Secret | None
    progress: Progress
    free_bytes: FreeBytes

    @property
    def part(self) -> Path:
        return self.target.with_name(self.target.name + PART_SUFFIX)

    @property
    def tag_file(self) -> Path:
        return self.target.with_name(self.target.name + TAG_SUFFIX)

    @property
    def shown(self) -> str:
        """The address without query and login, which may be secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{self.host}{parts.path}"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or "the server"

    @property
    def redactor(self) -> Redactor:
        """A redactor of the token and of passwords in addresses."""
        return redactor_of(self.token, url=self.url)

    def received_bytes(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def discard_part(self) -> None:
        self.part.unlink(missing_ok=True)
        self.tag_file.unlink(missing_ok=True)


@contextlib.contextmanager
def _mapped_errors(task: _DownloadTask) -> Iterator[None]:
    """Convert errors of httpx and the disk to DownloadFailedError, without secrets."""
    host = task.host
    try:
        yield
    except httpx.ConnectError as error:
        raise DownloadFailedError(f"{host} can't be reached: {task.redactor.clean(str(error))}") from None
    except httpx.TimeoutException:
        raise DownloadFailedError(f"{host} did not answer in time") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise DownloadFailedError(
            f"the download from {host} broke: {type(error).__name__}: {task.redactor.clean(str(error))}"
        ) from None
    except (ImportError, ValueError) as error:  # an unusable proxy; the text may contain a password
        raise DownloadFailedError(
            f"the proxy settings in the environment can't be used ({type(error).__name__})",
            hint="correct or unset ALL_PROXY, HTTPS_PROXY and HTTP_PROXY",
        ) from None
    except OSError as error:
        raise DownloadFailedError(
            f"the download can't be written: {error.strerror}",
            hint="check free space and permissions",
            data={"errno": error.errno},
        ) from None


def load_free_bytes(directory: Path) -> int:
    """Return the free bytes of the disk of a directory."""
    return shutil.disk_usage(directory).free


async def fetch_file(
    url: str,
    target: Path,
    *,
    progress: Progress,
    sha256: str | None = None,
    token: Secret | None = None,
    free_bytes: FreeBytes = load_free_bytes,
) -> None:
    """Download a file to `target`, resuming an earlier download.

    Cancellation: the incomplete file is kept for the next try.
    """
    task = _DownloadTask(url, target, sha256, token, progress, free_bytes)
    for attempt in range(1, TRIES + 1):
        before = task.received_bytes()
        try:
            with _mapped_errors(task):
                expected = await _fetch_rest(task)
            break
        except DownloadFailedError as error:
            if error.data.get("errno") in _DISK_FULL:  # free the space for other programs
                task.discard_part()
                raise
            received = task.received_bytes()
            is_restarting = error.data.get("refused_at") == before > 0
            if attempt == TRIES or (received <= before and not is_restarting):
                raise
            log.info("embedding.download_resumed", host=task.host, bytes=received, error=error.message)
            await trio.sleep(RETRY_SECONDS)
    await _accept(task, expected)


def _headers(task: _DownloadTask, received: int, tag: str) -> dict[str, str]:
    """Return the headers of the request for the missing bytes."""
    headers = {"Accept-Encoding": "identity"}
    if received and tag:
        headers |= {"Range": f"bytes={received}-", "If-Range": tag}
    if task.token is not None and (task.url.startswith("https:") or task.host in _LOOPBACK):
        token = task.token.reveal()
        if not _TOKEN.fullmatch(token):  # otherwise httpx would print it in its error
            raise DownloadFailedError("the hub token contains characters that no token has", hint=_TOKEN_HINT)
        headers["Authorization"] = f"Bearer {token}"
    return headers


async def _fetch_rest(task: _DownloadTask) -> str | None:
    """Append the missing bytes to the part file; return its checksum, if known."""
    received, tag = task.received_bytes(), _load_tag(task.tag_file)
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    headers = _headers(task, received, tag)
    async with (
        httpx.AsyncClient(
            timeout=timeout, follow_redirects=True, trust_env=task.host not in _LOOPBACK
        ) as client,
        client.stream("GET", task.url, headers=headers) as response,
    ):
        _check_response(task, response, received)
        expected = task.sha256 or _hub_checksum(response)
        if response.status_code == 416:  # the part file is complete, see `_check_response`
            return expected
        if response.status_code == 200:
            received = 0
        total = received + int(response.headers.get("Content-Length", 0))
        _check_free_space(task, total - received)
        task.tag_file.write_text(_resume_tag(response, task.redactor), encoding="ascii", errors="ignore")
        file = await trio.to_thread.run_sync(task.part.open, "ab" if received else "wb")
        with file:
            received = await _append(task, response, file, received, total)
            await trio.to_thread.run_sync(_sync, file)
    if total and received != total:
        raise DownloadFailedError(f"{task.shown} ended after {received:,} of {total:,} bytes")
    return expected


async def _append(
    task: _DownloadTask, response: httpx.Response, file: BinaryIO, received: int, total: int
) -> int:
    """Append a reply's body to the part file; return the file's size.

    httpx's generators unwind only if the stream itself fails or is cancelled. So a failed write cancels the stream, and
    writes are shielded from other cancellation.
    """
    failure: OSError | DownloadFailedError | None = None
    with trio.CancelScope() as reading:
        async for block in response.aiter_bytes(BLOCK_BYTES):
            if failure is not None:
                continue
            try:
                if received // CHECK_BYTES != (received + len(block)) // CHECK_BYTES:
                    _check_free_space(task, max(0, total - received))
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(file.write, block)
            except (OSError, DownloadFailedError) as error:
                failure = error
                reading.cancel()
                continue
            received += len(block)
            task.progress("download", received, total, task.target.name)
    if failure is not None:
        raise failure
    return received


def _check_response(task: _DownloadTask, response: httpx.Response, received: int) -> None:
    """Raise unless a reply has the missing bytes, or says that there are none."""
    responses = (*response.history, response)
    if task.url.startswith("https:") and any(each.url.scheme != "https" for each in responses):
        raise DownloadFailedError(f"{task.shown} redirects to an unencrypted address")
    status = response.status_code
    first, whole = _range_of(response)
    if (
        status == 200
        or (status == 206 and first == received)
        or (status == 416 and received and whole == received)
    ):
        return
    if status in (206, 416):
        task.discard_part()
        raise DownloadFailedError(
            f"{task.shown} can't be resumed at byte {received}", data={"refused_at": received}
        )
    raise DownloadFailedError(f"{task.shown} answered {status}", data={"status": status})


async def _accept(task: _DownloadTask, expected: str | None) -> None:
    """Verify the complete part file and rename it to the target."""
    if expected is not None:
        actual = await trio.to_thread.run_sync(load_sha256, task.part)
        if actual != expected:
            task.discard_part()
            raise ChecksumMismatchError(
                f"{task.target.name} has SHA-256 {actual[:16]}…, expected {expected[:16]}…"
            )
    task.part.replace(task.target)
    task.tag_file.unlink(missing_ok=True)


def load_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _load_tag(path: Path) -> str:
    try:
        return load_whole(path, TAG_BYTES).decode("ascii", "ignore").strip()
    except (OSError, ValueError):
        return ""


def _resume_tag(response: httpx.Response, redactor: Redactor) -> str:
    """Return the value for `If-Range`: a strong ETag, else the modification date.

    It is stored in a file, so it is empty if it is too long or repeats a secret.
    """
    etag = str(response.headers.get("ETag", ""))
    tag = str(response.headers.get("Last-Modified", "")) if not etag or etag.startswith("W/") else etag
    return tag if len(tag) <= MAX_TAG and not redactor.has_secret(tag, WINDOW) else ""


def _hub_checksum(response: httpx.Response) -> str | None:
    """Return the SHA-256 in the hub's headers, None without one."""
    for step in (*response.history, response):
        stated = str(step.headers.get("X-Linked-ETag", "")).strip('"').lower()
        if _SHA256.fullmatch(stated):
            return stated
    return None


def _range_of(response: httpx.Response) -> tuple[int | None, int | None]:
    """Return the first byte of a reply and the file's size, None if unknown."""
    match = _RANGE.fullmatch(str(response.headers.get("Content-Range", "")).strip())
    if match is None:
        return None, None
    return (int(match[1]) if match[1] else None), (int(match[2]) if match[2].isdecimal() else None)


def _check_free_space(task: _DownloadTask, needed: int) -> None:
    """Raise if the download would leave less than `RESERVED_BYTES` free."""
    directory = task.target.parent
    free = task.free_bytes(directory)
    if needed + RESERVED_BYTES > free:
        raise DownloadFailedError(
            f"{size(needed)} are needed and {size(free)} are free in {directory}",
            hint="free disk space, or set MEMD_MODEL_DIR to a larger disk",
        )


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
