"""Rewrites a history without the contents of some files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from memd.replication.git.program import failed
from memd.replication.git.repository import WORK, Repository

TIMEOUT_S: Final = 600.0


async def rewrite_without(repository: Repository, tip: str, is_purged: Callable[[str], bool]) -> str:
    """Return a new commit whose history is that of another one, without the files that `is_purged` selects.

    Raises:
        GitFailedError: The history can't be read or written.
    """
    await repository.set_refs({WORK: tip})
    exported = await repository.git.run(
        "fast-export", "--no-data", "--signed-tags=strip", "--reencode=no", WORK, timeout_s=TIMEOUT_S
    )
    stream, mark = _without(exported, is_purged)
    if not mark:
        raise failed("fast-export", "the history has no commits")
    stream += b"get-mark " + mark + b"\ndone\n"
    command = ("fast-import", "--quiet", "--done", "--force", "--date-format=raw-permissive")  # foreign zones
    output = await repository.git.run(*command, stdin=stream, timeout_s=TIMEOUT_S)
    return output.decode("ascii").strip()


def _without(exported: bytes, is_purged: Callable[[str], bool]) -> tuple[bytes, bytes]:
    """Return a stream for fast-import without some files, and the mark of its last commit."""
    result = bytearray()
    mark = b""
    at = 0
    while at < len(exported):
        end = exported.find(b"\n", at)
        end = len(exported) if end < 0 else end
        line = exported[at:end]
        at = end + 1
        if line.startswith(b"data "):
            size = int(line[5:])
            result += line + b"\n" + exported[at : at + size]
            at += size
        elif line.startswith(b"mark "):
            mark = line[5:]
            result += line + b"\n"
        elif not (line[:2] in (b"M ", b"D ") and is_purged(_path_in(line))):
            result += line + b"\n"
    return bytes(result), mark


def _path_in(line: bytes) -> str:
    """Return the path of a line that changes or removes a file."""
    raw = line.split(b" ", 3)[3] if line.startswith(b"M ") else line[2:]
    if not raw.startswith(b'"'):
        return raw.decode("utf-8", "replace")
    text = raw[1:-1]
    result = bytearray()
    at = 0
    while at < len(text):
        if text[at : at + 1] != b"\\":
            result += text[at : at + 1]
            at += 1
        elif text[at + 1 : at + 4].isdigit():
            result.append(int(text[at + 1 : at + 4], 8))
            at += 4
        else:
            result += {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(
                text[at + 1 : at + 2], text[at + 1 : at + 2]
            )
            at += 2
    return result.decode("utf-8", "replace")
