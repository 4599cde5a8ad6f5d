"""Replace a file's text while other programs write to it: what they write is never lost.

The new text is written to a temporary file, and the two files exchange their names in one step. The replaced file thus
still has a name: it is read again, and if another program wrote to it or replaced it meanwhile, the names are
exchanged back and the edit is made again. A change that cannot be put back is merged line by line.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher

from memd.lifecycle.files import kernel_files
from memd.lifecycle.files.folder_files import (
    LIMIT_BYTES,
    WRITER_S,
    busy,
    decode,
    open_plain,
    read_bytes,
    read_settled,
    require_size,
    state_of,
    wait_for_writers,
    write_new,
    write_spare,
)
from memd.system.temp_files import temp_name
from memd_client.errors import MemdError, NoteUnwritableError


def carry_over(before: str, after: str, held: str) -> str:
    """Return a text with the changes that led from one of its versions to another.

    No line that is new in `after` is missing from the result. A line that `after` changed or removed is changed or
    removed when `held` still has it; when `held` has changed it too, both stay.
    """
    old, new, lines = before.split("\n"), after.split("\n"), held.split("\n")
    places = _places(old, lines)
    known = Counter(lines) - Counter(old)
    result = list(lines)
    # From the end, so that places before it stay what they are.
    for tag, i1, i2, j1, j2 in reversed(SequenceMatcher(None, old, new).get_opcodes()):
        if tag == "equal":
            continue
        added = [line for line in new[j1:j2] if not known[line]]
        at = [places.get(number) for number in range(i1, i2)]
        start = at[0] if at else None
        if start is not None and at == list(range(start, start + len(at))):
            result[start : start + len(at)] = added
        else:
            start = next((places[number] + 1 for number in range(i1 - 1, -1, -1) if number in places), 0)
            result[start:start] = added
    return "\n".join(result)


def has_change(before: str, after: str, held: str) -> bool:
    """Return whether a text still has the change that led from one version to another."""
    if held == after:
        return True
    old, new, lines = (Counter(text.split("\n")) for text in (before, after, held))
    return all(lines[line] >= new[line] for line in new - old) and all(
        lines[line] <= new[line] for line in old - new
    )


def _places(old: list[str], lines: list[str]) -> dict[int, int]:
    """Return where lines of one version stand in another, by their numbers."""
    places: dict[int, int] = {}
    for block in SequenceMatcher(None, old, lines).get_matching_blocks():
        places.update(
            zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size), strict=True)
        )
    return places


CHANGE_TRIES = 5
"""How often a change is made again because another program wrote meanwhile."""

CARRY_TRIES = 50
"""The same for a change of another program: it must not be lost."""


def replace_text(
    folder: int, name: str, path: str, edit: Callable[[str], str], tries: int = CHANGE_TRIES
) -> bool:
    """Replace a file of an open, locked folder by what an edit makes of it (blocking)."""
    for _ in range(tries):
        changed = _try_once(folder, name, path, edit)
        if changed is not None:
            return changed
    raise NoteUnwritableError(f"{path} is written to all the time", data={"path": path})


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A file and the temporary file that is to take its place: texts before and after, the latter's inode."""

    folder: int
    name: str
    spare: str
    path: str
    before: str
    text: str
    inode: int


def _try_once(folder: int, name: str, path: str, edit: Callable[[str], str]) -> bool | None:
    """Make an edit; None when another program wrote meanwhile."""
    try:
        handle, state = open_plain(folder, name, path)
    except FileNotFoundError:
        return _try_new(folder, name, edit)
    try:
        require_size(state.size, path, LIMIT_BYTES)
        before = decode(read_bytes(handle), path)
        text = edit(before)
        if text == before:
            return False
        spare = write_spare(folder, text.encode(), state.mode)
        try:
            if not wait_for_writers(handle, WRITER_S):
                raise busy(path)
            if state_of(folder, name) != state:
                return None
            mine = os.stat(spare, dir_fd=folder, follow_symlinks=False).st_ino
            return _replace(_Replacement(folder, name, spare, path, before, text, mine))
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(spare, dir_fd=folder)
    finally:
        os.close(handle)


def _try_new(folder: int, name: str, edit: Callable[[str], str]) -> bool | None:
    """Make a file that is missing; None when another program made it meanwhile."""
    text = edit("")
    if not text:
        return False
    return True if write_new(folder, name, text.encode()) else None


def _replace(made: _Replacement) -> bool | None:
    """Put a new file in the place of the old one; None when another program wrote meanwhile."""
    try:
        is_kept = _exchange(made)
    except FileNotFoundError:
        return None  # it was removed or renamed just then
    if is_kept:
        try:
            os.fsync(made.folder)
            replaced = read_settled(made.folder, made.spare, made.path)
        except (OSError, MemdError):
            _put_back(made)
            raise
        if replaced != made.before.encode():
            if _is_in_place(made):
                _put_back(made)
                return None
            _carry(made, made.before, replaced)
    return _stands(made)


def _stands(made: _Replacement) -> bool | None:
    """Return True when the file has our change; None when another program has undone it since."""
    try:
        handle, _ = open_plain(made.folder, made.name, made.path)
    except FileNotFoundError:
        return True  # it was removed since, our change with it
    try:
        wait_for_writers(handle, WRITER_S)  # one may have emptied it to rewrite it
        held = decode(read_bytes(handle), made.path)
    finally:
        os.close(handle)
    return True if has_change(made.before, made.text, held) else None


def _put_back(made: _Replacement) -> None:
    """Give the replaced file its name back; what others wrote to ours meanwhile is carried over."""
    try:
        _exchange(made)
    except FileNotFoundError:  # ours was removed since: the file that is put back was not
        os.rename(made.spare, made.name, src_dir_fd=made.folder, dst_dir_fd=made.folder)
        return
    displaced = state_of(made.folder, made.spare)
    if displaced is not None and displaced.inode != made.inode:
        # Another program replaced ours just now: its file stays, and what stood there before it is carried over.
        _exchange(made)
        _carry(made, made.before, _settled_or_keep(made))
        return
    rest = _settled_or_keep(made)
    if rest != made.text.encode():
        _carry(made, made.text, rest)


def _is_in_place(made: _Replacement) -> bool:
    state = state_of(made.folder, made.name)
    return state is not None and state.inode == made.inode


def _carry(made: _Replacement, before: str, after: bytes) -> None:
    """Take over what another program made of a version that has lost its name."""
    try:
        theirs = decode(after, made.path)
        replace_text(
            made.folder, made.name, made.path, lambda held: carry_over(before, theirs, held), CARRY_TRIES
        )
    except (OSError, MemdError):
        raise _keep(made) from None


def _settled_or_keep(made: _Replacement) -> bytes:
    """Return the bytes of the version that has lost its name; it gets another one when they can't be read."""
    try:
        return read_settled(made.folder, made.spare, made.path)
    except (OSError, MemdError):
        raise _keep(made) from None


def _keep(made: _Replacement) -> NoteUnwritableError:
    """Give another program's version a name of its own, and return the error that says so."""
    kept = f"{made.name.removesuffix('.md')}-kept-{secrets.token_hex(4)}.md"
    os.rename(made.spare, kept, src_dir_fd=made.folder, dst_dir_fd=made.folder)
    return NoteUnwritableError(
        f"{made.path} was written to by another program; its version is kept as {kept}",
        hint="Compare the two files, then ask again.",
        data={"path": made.path},
    )


def _exchange(made: _Replacement) -> bool:
    """Exchange the temporary file and the file; return whether the replaced one has the temporary name now.

    On file systems that can't exchange names it is linked before it is replaced, in two steps; without links,
    nothing is kept of it.
    """
    folder = made.folder
    if kernel_files.exchange(folder, made.spare, made.name):
        return True
    kept = temp_name()
    try:
        os.link(made.name, kept, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        os.replace(made.spare, made.name, src_dir_fd=folder, dst_dir_fd=folder)
        return False
    try:
        os.replace(made.spare, made.name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        os.unlink(kept, dir_fd=folder)
        raise
    os.rename(kept, made.spare, src_dir_fd=folder, dst_dir_fd=folder)
    return True
