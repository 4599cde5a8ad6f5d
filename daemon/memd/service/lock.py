"""One daemon a user: a lock held for life on a file beside the socket.

The lock, not the socket's file and not a pid, is the only truth about whether a daemon runs. The system
gives it back when the process ends, however it ends. The file itself stays: removing it would let two
daemons each lock a file of that name.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import structlog

from memd_client.discovery import check_socket_path, private_directory
from memd_client.errors import DaemonRunningError, SocketPathError

log = structlog.get_logger(__name__)

TRIES = 10
"""How often the file may be replaced under our hands before we give up."""


class DaemonLock:
    """The lock of the daemon that listens on a socket. Made by `acquire`; a context manager."""

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
        """Take the lock of a socket; don't wait for it.

        The directory is made if it is missing. Children don't inherit the lock across exec.
        """
        name = check_socket_path(socket_path)
        private_directory(os.path.dirname(name))
        path = f"{name}.lock"
        for _ in range(TRIES):
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise SocketPathError(f"can't open the lock {path}: {error.strerror}") from error
            try:
                lock = cls._lock(path, descriptor)
            except BaseException:
                os.close(descriptor)
                raise
            if lock.is_ours():
                lock._write_pid()
                return lock
            lock.release()  # someone replaced the file between opening and locking it
        raise SocketPathError(f"the lock {path} is replaced again and again")

    @classmethod
    def _lock(cls, path: str, descriptor: int) -> DaemonLock:
        """Lock an open file."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _read_pid(descriptor)
            raise DaemonRunningError(
                f"a daemon runs already (pid {pid or 'unknown'}); it holds {path}", data={"pid": pid}
            ) from None
        except OSError as error:
            raise SocketPathError(f"can't lock {path}: {error.strerror} (errno {error.errno})") from error
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
        """Give the lock back. Idempotent."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _write_pid(self) -> None:
        """Note who holds the lock, for the message of the next one."""
        assert self._descriptor is not None
        try:
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:  # a full disk: the lock holds all the same
            log.warning("service.pid_not_written", path=self.path, reason=error.strerror)


def _read_pid(descriptor: int) -> int | None:
    """Return the pid noted in a lock file; None where it holds none (yet)."""
    try:
        return int(os.pread(descriptor, 32, 0))
    except (OSError, ValueError):
        return None
