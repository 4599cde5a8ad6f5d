"""Names of files on a file system that ignores case or Unicode form, as on macOS. Pure.

Two files whose names differ only in that are kept apart: all but the first get a name of their own there.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from itertools import count


class LocalNames:
    """The local path of each path of the repository, and back.

    Args:
        paths: Paths of the repository.
        is_folding: Whether the file system ignores case and Unicode form; if not, all paths are the same.
    """

    def __init__(self, paths: Iterable[str], *, is_folding: bool) -> None:
        self._local: dict[str, str] = {}
        if is_folding:
            taken: dict[str, str] = {}  # the folder or file of the repository that has a folded local name
            for path in sorted(paths):
                local = self._place(path, taken)
                if local != path:
                    self._local[path] = local
        self._path = {local: path for path, local in self._local.items()}

    def local(self, path: str) -> str:
        """Return the local path of a path of the repository."""
        return self._local.get(path, path)

    def path(self, local: str) -> str:
        """Return the path in the repository of a local path."""
        return self._path.get(local, local)

    @staticmethod
    def _place(path: str, taken: dict[str, str]) -> str:
        """Return a local path none of whose names is taken by another file or folder."""
        local, here = "", ""
        for name in path.split("/"):
            here = f"{here}/{name}" if here else name
            wanted = f"{local}/{name}" if local else name
            if taken.setdefault(_folded(wanted), here) != here:
                names = (_own_name(name, here, number) for number in count())
                own = (f"{local}/{each}" if local else each for each in names)
                wanted = next(each for each in own if taken.setdefault(_folded(each), here) == here)
            local = wanted
        return local


def _own_name(name: str, path: str, number: int) -> str:
    """Return a name with a mark of its path; `number` counts the names that were taken."""
    stem, dot, suffix = name.rpartition(".")
    mark = "~" + hashlib.sha256(f"{path}{'/' * number}".encode()).hexdigest()[:6]
    return f"{stem}{mark}{dot}{suffix}" if stem else f"{name}{mark}"


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
