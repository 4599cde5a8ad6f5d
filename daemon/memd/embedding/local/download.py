"""One file over HTTP: resumable, checksummed, with progress."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import urlsplit

import httpx
import structlog
import trio

from memd.embedding.local.model_files import PART_SUFFIX, TAG_SUFFIX
from memd.embedding.redaction import WINDOW, Redactor, redactor_of
from memd.embedding.secret import Secret
from memd.system.state_file import load_whole
from memd.system.units import size
from memd_client.errors import ChecksumMismatchError, DownloadFailedError

log = structlog.get_logger(__name__)

Progress = Callable[[str, int, int, str], None]
"""Called with (stage, done, total, detail), bytes unless the stage counts something else; never blocks."""

CONNECT_SECONDS: Final = 5.0
"""A hub that can't be reached says so within this, and another source is tried."""

READ_SECONDS: Final = 60.0
"""Silence of a server in the middle of a file."""

TRIES: Final = 5
RETRY_SECONDS: Final = 1.0
"""A connection that breaks in the middle is taken up again where it broke, after this pause, so often at
most, and only while each try brings something."""

TAG_BYTES: Final = 8 * 1024
BLOCK_BYTES: Final = 1024 * 1024
SPARE_BYTES: Final = 256 * 1024 * 1024
"""Room left on the disk: memory notes are written there too."""

CHECK_BYTES: Final = 16 * BLOCK_BYTES
"""After so many bytes the room is looked at again."""

MAX_TAG: Final = 256
"""The longest ETag that is kept for going on later."""

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_RANGE: Final = re.compile(r"bytes (?:(\d{1,18})-\d{1,18}|\*)/(\d{1,18}|\*)", re.ASCII)
_TOKEN: Final = re.compile(r"[!-~]+")
_TOKEN_HINT: Final = "Correct or unset HF_TOKEN in the daemon's environment."
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


FreeBytes = Callable[[Path], int]
"""Tells how much room is left where a directory is."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is fetched, where it goes, who hears of it."""

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
        """The address without what may be secret in it."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{self.host}{parts.path}"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or "the server"

    @property
    def redactor(self) -> Redactor:
        """What keeps the token, and passwords of proxies and addresses, out of messages and files."""
        return redactor_of(self.token, url=self.url)

    def came(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def forget_part(self) -> None:
        self.part.unlink(missing_ok=True)
        self.tag_file.unlink(missing_ok=True)


@contextlib.contextmanager
def _mapped(wanted: _Wanted) -> Iterator[None]:
    """Turn httpx's and the disk's exceptions into DownloadFailedError; their text shows no token or password."""
    host = wanted.host
    try:
        yield
    except httpx.ConnectError as error:
        raise DownloadFailedError(f"{host} can't be reached: {wanted.redactor.clean(str(error))}") from None
    except httpx.TimeoutException:
        raise DownloadFailedError(f"{host} did not answer in time") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise DownloadFailedError(
            f"the download from {host} broke: {type(error).__name__}: {wanted.redactor.clean(str(error))}"
        ) from None
    except (ImportError, ValueError) as error:  # a proxy that httpx can't use; its text may hold a password
        raise DownloadFailedError(
            f"the proxy settings in the environment can't be used ({type(error).__name__})",
            hint="Correct or unset ALL_PROXY, HTTPS_PROXY and HTTP_PROXY.",
        ) from None
    except OSError as error:
        raise DownloadFailedError(
            f"the download can't be written: {error.strerror}",
            hint="Check free space and permissions.",
            data={"errno": error.errno},
        ) from None


def load_free_bytes(directory: Path) -> int:
    """Return the bytes free where a directory is."""
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
    """Download a file to `target`, going on where an earlier try stopped.

    Cancellation: what came so far is kept for the next try.
    """
    wanted = _Wanted(url, target, sha256, token, progress, free_bytes)
    for attempt in range(1, TRIES + 1):
        before = wanted.came()
        try:
            with _mapped(wanted):
                expected = await _fetch_rest(wanted)
            break
        except DownloadFailedError as error:
            if error.data.get("errno") in _FULL:  # a full disk is everybody's: what came gives its room back
                wanted.forget_part()
                raise
            came = wanted.came()
            anew = error.data.get("refused_at") == before > 0
            if attempt == TRIES or (came <= before and not anew):
                raise
            log.info("embedding.download_resumed", host=wanted.host, bytes=came, error=error.message)
            await trio.sleep(RETRY_SECONDS)
    await _accept(wanted, expected)


def _headers(wanted: _Wanted, came: int, tag: str) -> dict[str, str]:
    """Return the headers of the request for what is missing."""
    headers = {"Accept-Encoding": "identity"}
    if came and tag:
        headers |= {"Range": f"bytes={came}-", "If-Range": tag}
    if wanted.token is not None and (wanted.url.startswith("https:") or wanted.host in _LOOPBACK):
        token = wanted.token.reveal()
        if not _TOKEN.fullmatch(token):  # httpx would print it in its complaint
            raise DownloadFailedError(
                "the token for the hub holds characters that no token has", hint=_TOKEN_HINT
            )
        headers["Authorization"] = f"Bearer {token}"
    return headers


async def _fetch_rest(wanted: _Wanted) -> str | None:
    """Append what is missing to the part file; return the checksum it must have, where one is known."""
    came, tag = wanted.came(), _load_tag(wanted.tag_file)
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    headers = _headers(wanted, came, tag)
    async with (
        httpx.AsyncClient(
            timeout=timeout, follow_redirects=True, trust_env=wanted.host not in _LOOPBACK
        ) as client,
        client.stream("GET", wanted.url, headers=headers) as response,
    ):
        _check_answer(wanted, response, came)
        expected = wanted.sha256 or _hub_checksum(response)
        if response.status_code == 416:  # checked to mean: all of it is here already
            return expected
        if response.status_code == 200:
            came = 0
        total = came + int(response.headers.get("Content-Length", 0))
        _check_room(wanted, total - came)
        wanted.tag_file.write_text(_tag_of(response, wanted.redactor), encoding="ascii", errors="ignore")
        file = await trio.to_thread.run_sync(wanted.part.open, "ab" if came else "wb")
        with file:
            came = await _append(wanted, response, file, came, total)
            await trio.to_thread.run_sync(_sync, file)
    if total and came != total:
        raise DownloadFailedError(f"{wanted.shown} ended after {came:,} of {total:,} bytes")
    return expected


async def _append(wanted: _Wanted, response: httpx.Response, file: BinaryIO, came: int, total: int) -> int:
    """Write what an answer brings to the part file; return how much there is of it now.

    httpx's generators unwind only where the stream itself fails or is cancelled, so what fails here cancels it, and
    nobody else can between two blocks.
    """
    failure: OSError | DownloadFailedError | None = None
    with trio.CancelScope() as reading:
        async for block in response.aiter_bytes(BLOCK_BYTES):
            if failure is not None:
                continue
            try:
                if came // CHECK_BYTES != (came + len(block)) // CHECK_BYTES:
                    _check_room(wanted, max(0, total - came))
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(file.write, block)
            except (OSError, DownloadFailedError) as error:
                failure = error
                reading.cancel()
                continue
            came += len(block)
            wanted.progress("download", came, total, wanted.target.name)
    if failure is not None:
        raise failure
    return came


def _check_answer(wanted: _Wanted, response: httpx.Response, came: int) -> None:
    """Let an answer pass that brings the file, its rest, or the word that all of it is here."""
    steps = (*response.history, response)
    if wanted.url.startswith("https:") and any(step.url.scheme != "https" for step in steps):
        raise DownloadFailedError(f"{wanted.shown} leads to an address without encryption")
    status = response.status_code
    first, whole = _range_of(response)
    if status == 200 or (status == 206 and first == came) or (status == 416 and came and whole == came):
        return
    if status in (206, 416):
        wanted.forget_part()
        raise DownloadFailedError(
            f"{wanted.shown} refused to go on at byte {came}", data={"refused_at": came}
        )
    raise DownloadFailedError(f"{wanted.shown} answered {status}", data={"status": status})


async def _accept(wanted: _Wanted, expected: str | None) -> None:
    """Check the finished part and give it its name."""
    if expected is not None:
        actual = await trio.to_thread.run_sync(load_sha256, wanted.part)
        if actual != expected:
            wanted.forget_part()
            raise ChecksumMismatchError(
                f"{wanted.target.name} has SHA-256 {actual[:16]}…, expected {expected[:16]}…"
            )
    wanted.part.replace(wanted.target)
    wanted.tag_file.unlink(missing_ok=True)


def load_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _load_tag(path: Path) -> str:
    try:
        return load_whole(path, TAG_BYTES).decode("ascii", "ignore").strip()
    except (OSError, ValueError):
        return ""


def _tag_of(response: httpx.Response, redactor: Redactor) -> str:
    """Return what `If-Range` may say of this version; a weak tag promises nothing about bytes.

    It is kept in a file: empty if it is too long, or repeats what the server was sent.
    """
    etag = str(response.headers.get("ETag", ""))
    tag = str(response.headers.get("Last-Modified", "")) if not etag or etag.startswith("W/") else etag
    return tag if len(tag) <= MAX_TAG and not redactor.shows(tag, WINDOW) else ""


def _hub_checksum(response: httpx.Response) -> str | None:
    """Return the SHA-256 the hub states on the way to a large file, None where nobody states one."""
    for step in (*response.history, response):
        stated = str(step.headers.get("X-Linked-ETag", "")).strip('"').lower()
        if _SHA256.fullmatch(stated):
            return stated
    return None


def _range_of(response: httpx.Response) -> tuple[int | None, int | None]:
    """Return the first byte an answer brings and the size of the whole file, each where it is said."""
    said = _RANGE.fullmatch(str(response.headers.get("Content-Range", "")).strip())
    if said is None:
        return None, None
    return (int(said[1]) if said[1] else None), (int(said[2]) if said[2].isdecimal() else None)


def _check_room(wanted: _Wanted, needed: int) -> None:
    """Leave some room on the disk, whoever fills it meanwhile."""
    directory = wanted.target.parent
    free = wanted.free_bytes(directory)
    if needed + SPARE_BYTES > free:
        raise DownloadFailedError(
            f"{size(needed)} are needed and {size(free)} are free in {directory}",
            hint="Make room there, or set MEMD_MODEL_DIR to a larger disk.",
        )


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
