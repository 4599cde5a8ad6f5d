"""Whether an index that is open is still the file at its path.

A file that was removed or replaced goes on answering through an open connection, from what nobody else sees any
more; one that was cut short answers from zeros. Two stats before each use tell, and cost some microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memd.index.care.quarantine import remove_logs
from memd_client.errors import IndexCorruptError, IndexLostError

_Identity = tuple[int, int]


class FileIdentityCheck:
    """What an index and its log were when they were opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(path.name + "-wal")
        found = os.stat(path)
        self._identity: _Identity = (found.st_dev, found.st_ino)
        self._log_identity = _identity_of(self._log)
        self._least = found.st_size

    def __repr__(self) -> str:
        return f"<Standing of {self._path.name}>"

    def check(self) -> None:
        """Look whether the file and its log are still those that are open."""
        least = self._least
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            raise self._lost("was removed") from None
        except OSError:
            return  # the connection is open all the same; what it can't do it says itself
        if (found.st_dev, found.st_ino) != self._identity:
            raise self._lost("was replaced by another file")
        if found.st_size < least and self._least == least:
            raise IndexCorruptError(
                f"the index {self._path} was cut short while it was open", data={"path": str(self._path)}
            )
        if self._log_identity is None:
            self._log_identity = _identity_of(self._log)
        elif _identity_of(self._log) != self._log_identity:
            raise self._lost("was robbed of its log")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Look, as `check` does, and allow the file to shrink inside the block: its writer may give pages back."""
        self.check()
        self._least = 0
        try:
            yield
        finally:
            with suppress(OSError):  # the next check says why
                self._least = os.stat(self._path).st_size

    def is_in_place(self) -> bool:
        """Return whether what lies at the path is the file that was opened."""
        return _identity_of(self._path) == self._identity

    def remove_log(self) -> None:
        """Remove the log of a file that is gone: nothing can use it, and another file at the path must not."""
        if self._log_identity is not None and _identity_of(self._log) == self._log_identity:
            with suppress(OSError):
                remove_logs(self._path)

    def _lost(self, how: str) -> IndexLostError:
        return IndexLostError(
            f"the index {self._path} {how} while it was open", data={"path": str(self._path)}
        )


def _identity_of(path: Path) -> _Identity | None:
    """Return which file lies at a path, None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
