"""One pull, or removal, at a time in a models directory, over all processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import trio

from memd_client.errors import DownloadFailedError

LOCK_FILE: Final = ".pull.lock"
LOCK_POLL_SECONDS: Final = 0.5


@contextlib.asynccontextmanager
async def lock_models(
    models_dir: Path, progress: Callable[[str, int, int, str], None]
) -> AsyncIterator[None]:
    """Hold the models directory for one pull; the lock of a killed process is gone with it."""
    file = await trio.to_thread.run_sync(_open_lock, models_dir)
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                progress("wait", 0, 0, "another process is pulling a model")
                await trio.sleep(LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(file)


def _open_lock(models_dir: Path) -> int:
    """Return the descriptor of the lock file, made with its directory where they are missing."""
    try:
        models_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(models_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise DownloadFailedError(
            f"models can't be kept in {models_dir}: {error.strerror}",
            hint="Check its permissions, or set MEMD_MODEL_DIR to a directory of yours.",
        ) from None
