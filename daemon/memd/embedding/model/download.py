"""One file over HTTP: resumable, checksummed, with progress."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import httpx
import structlog
import trio

from memd_client.errors import ChecksumMismatchError, DownloadFailedError

log = structlog.get_logger(__name__)

Progress = Callable[[str, int, int, str], None]
"""Called with (stage, done, total, detail), bytes unless the stage counts something else; never blocks."""

PART_SUFFIX: Final = ".part"
TAG_SUFFIX: Final = ".part.tag"
"""What came so far, and the server's word for which version it is of: both go when the file is whole."""

CONNECT_SECONDS: Final = 5.0
"""A hub that can't be reached says so within this, and another source is tried."""

READ_SECONDS: Final = 60.0
"""Silence of a server in the middle of a file."""

TRIES: Final = 5
RETRY_SECONDS: Final = 1.0
"""A connection that breaks in the middle is taken up again where it broke, after this pause, so often at
most, and only while each try brings something."""

BLOCK_BYTES: Final = 1024 * 1024
SPARE_BYTES: Final = 256 * 1024 * 1024
"""Room left on the disk: memory notes are written there too."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@contextlib.contextmanager
def _mapped(host: str) -> Iterator[None]:
    """Turn httpx's and the disk's exceptions into DownloadFailedError."""
    try:
        yield
    except httpx.ConnectError as error:
        raise DownloadFailedError(f"{host} can't be reached: {error}") from None
    except httpx.TimeoutException:
        raise DownloadFailedError(f"{host} did not answer in time") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise DownloadFailedError(
            f"the download from {host} broke: {type(error).__name__}: {error}"
        ) from None
    except (ImportError, ValueError) as error:  # a proxy in the environment that httpx can't use
        raise DownloadFailedError(
            f"the proxy settings in the environment can't be used: {error}",
            hint="Correct or unset ALL_PROXY, HTTPS_PROXY and HTTP_PROXY.",
        ) from None
    except OSError as error:
        raise DownloadFailedError(
            f"the download can't be written: {error.strerror}", hint="Check free space and permissions."
        ) from None


async def fetch_file(url: str, target: Path, *, progress: Progress, sha256: str | None = None) -> None:
    """Download a file to `target`, going on where an earlier try stopped.

    Args:
        url: Where it is.
        target: Where it goes; it appears whole and checked, or not at all. Only one task of one process
            may download to it at a time: see `pull.lock_models`.
        progress: Called with stage ``download`` and bytes.
        sha256: What the file must be, in hex; None takes the server's own word where the hub gives one.

    Raises:
        DownloadFailedError: No connection, an error status, no room, or it kept breaking.
        ChecksumMismatchError: What came is not the wanted file; it was removed.

    Cancellation: what came so far is kept for the next try.
    """
    host = urlsplit(url).hostname or url
    for attempt in range(1, TRIES + 1):
        before = _size(_part(target))
        try:
            with _mapped(host):
                expected = await _fetch_rest(url, target, progress, sha256)
            break
        except DownloadFailedError as error:
            came = _size(_part(target))
            if attempt == TRIES or came <= before:
                raise
            log.info("embedding.download_resumed", host=host, bytes=came, error=error.message)
            await trio.sleep(RETRY_SECONDS)
    await _accept(target, expected)


async def _fetch_rest(url: str, target: Path, progress: Progress, sha256: str | None) -> str | None:
    """Append what is missing to the part file; return the checksum it must have, where one is known."""
    part, tag_file = _part(target), target.with_name(target.name + TAG_SUFFIX)
    came, tag = _size(part), _load_tag(tag_file)
    headers = {"Accept-Encoding": "identity"}
    if came and tag:
        headers |= {"Range": f"bytes={came}-", "If-Range": tag}
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    trust_env = urlsplit(url).hostname not in _LOOPBACK
    async with (
        httpx.AsyncClient(timeout=timeout, follow_redirects=True, trust_env=trust_env) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        if response.status_code == 416:  # the part is no part of this file, or all of it: begin anew
            part.unlink(missing_ok=True)
            raise DownloadFailedError(f"{url} refused to go on at byte {came}")
        if response.status_code not in (200, 206):
            raise DownloadFailedError(f"{url} answered {response.status_code}")
        if response.status_code == 200:
            came = 0
        total = came + int(response.headers.get("Content-Length", 0))
        _check_room(target.parent, total - came)
        tag_file.write_text(_tag_of(response), encoding="ascii", errors="ignore")
        file = await trio.to_thread.run_sync(part.open, "ab" if came else "wb")
        with file:
            async for block in response.aiter_bytes(BLOCK_BYTES):
                await trio.to_thread.run_sync(file.write, block)
                came += len(block)
                progress("download", came, total, target.name)
            await trio.to_thread.run_sync(_sync, file)
        if total and came != total:
            raise DownloadFailedError(f"{url} ended after {came} of {total} bytes")
        return sha256 or _hub_checksum(response)


async def _accept(target: Path, expected: str | None) -> None:
    """Check the finished part and give it its name."""
    part, tag_file = _part(target), target.with_name(target.name + TAG_SUFFIX)
    if expected is not None:
        actual = await trio.to_thread.run_sync(load_sha256, part)
        if actual != expected:
            part.unlink(missing_ok=True)
            tag_file.unlink(missing_ok=True)
            raise ChecksumMismatchError(
                f"{target.name} has SHA-256 {actual[:16]}…, expected {expected[:16]}…"
            )
    part.replace(target)
    tag_file.unlink(missing_ok=True)


def load_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex.

    Raises:
        OSError: It can't be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _part(target: Path) -> Path:
    return target.with_name(target.name + PART_SUFFIX)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _load_tag(path: Path) -> str:
    return path.read_text(encoding="ascii", errors="ignore").strip() if path.exists() else ""


def _tag_of(response: httpx.Response) -> str:
    """Return what `If-Range` may say of this version; a weak tag promises nothing about bytes."""
    etag = str(response.headers.get("ETag", ""))
    return str(response.headers.get("Last-Modified", "")) if not etag or etag.startswith("W/") else etag


def _hub_checksum(response: httpx.Response) -> str | None:
    """Return the SHA-256 the hub states on the way to a large file, None where nobody states one."""
    for step in (*response.history, response):
        stated = str(step.headers.get("X-Linked-ETag", "")).strip('"').lower()
        if _SHA256.fullmatch(stated):
            return stated
    return None


def _check_room(directory: Path, needed: int) -> None:
    free = shutil.disk_usage(directory).free
    if needed + SPARE_BYTES > free:
        raise DownloadFailedError(
            f"{needed >> 20} MB are needed and {free >> 20} MB are free in {directory}",
            hint="Make room there, or set MEMD_MODEL_DIR to a larger disk.",
        )


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
