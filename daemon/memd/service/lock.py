"""One daemon per user: a lock on a file next to the socket, held while the process runs.

The lock alone, not the socket's file or a pid, decides whether a daemon runs. The system releases it when the process
ends in any way. The file remains: if it were removed, two daemons could each lock a file of that name.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from memd.system.log import log
from memd_client.discovery import check_socket_path, ensure_private_directory
from memd_client.errors import DaemonRunningError, SocketPathError

TRIES = 10
"""Attempts while other processes replace the file."""


class DaemonLock:
    """The lock of the daemon that listens on a socket; a context manager, returned by `acquire`."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    def __repr__(self) -> str:
        return f"<DaemonLock {self.path}, {'released' if self._descriptor is None else 'held'}>"

    def __enter__(self) -> DaemonLock:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()

    @classmethod
    def acquire(cls, socket_path: str | Path) -> DaemonLock:
        """Acquire the lock of a socket without waiting.

        Creates the directory if it is missing. Children don't inherit the lock across exec.
        """
        name = check_socket_path(socket_path)
        ensure_private_directory(os.path.dirname(name))
        path = f"{name}.lock"
        for _ in range(TRIES):
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise SocketPathError(f"cannot open the lock {path}: {error.strerror}") from error
            try:
                lock = cls._lock(path, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            if lock.is_ours():
                lock._write_pid()
                return lock
            lock.release()  # another process replaced the file between opening and locking it
        raise SocketPathError(f"cannot lock {path}: other processes keep replacing the file")

    @classmethod
    def _lock(cls, path: str, descriptor: int) -> DaemonLock:
        """Lock an open file."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _read_pid(descriptor)
            raise DaemonRunningError(
                f"a daemon is running already (pid {pid or 'unknown'}); it holds {path}", data={"pid": pid}
            ) from None
        except OSError as error:
            raise SocketPathError(f"cannot lock {path}: {error.strerror} (errno {error.errno})") from error
        return cls(path, descriptor)

    def is_ours(self) -> bool:
        """Return whether the lock is held and the path still names the locked file."""
        if self._descriptor is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.lstat(self.path))
        except OSError:
            return False

    def release(self) -> None:
        """Release the lock. Idempotent."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _write_pid(self) -> None:
        """Write the pid into the file, for the error of a second daemon."""
        assert self._descriptor is not None
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:  # a full disk; the lock is held regardless
            log.warning("service.pid_not_written", path=self.path, reason=error.strerror)


def _read_pid(descriptor: int) -> int | None:
    """Return the pid in a lock file; None if it has none yet."""
    try:
        return int(os.pread(descriptor, 32, 0))
    except (OSError, ValueError):
        return None
