"""Replacement of a file's text without losing concurrent writes of other programs.

The new text is written to a temporary file, and the two files exchange their names atomically. The replaced file thus
keeps a name: it is read again, and if another program wrote to it or replaced it meanwhile, the names are exchanged
back and the edit is repeated. If that is not possible, the other program's change is merged line by line.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from memd.lifecycle.files import kernel_files
from memd.lifecycle.files.folder_files import (
    LIMIT_BYTES,
    WRITER_TIMEOUT_S,
    busy,
    decode,
    open_plain,
    read_bytes,
    read_settled,
    require_size,
    state_of,
    wait_for_writers,
    write_new,
    write_temporary,
)
from memd.system.temp_files import temp_name
from memd.text.three_way import compare
from memd_client.errors import MemdError, NoteUnwritableError


def merge_changes(before: str, after: str, held: str) -> str:
    """Return `held` with the changes from `before` to `after` applied.

    The result has all lines that are new in `after`. A line that `after` changed or removed is changed or removed if
    `held` still has it; if `held` has changed it too, both versions stay.
    """
    old, lines = before.split("\n"), held.split("\n")
    known = Counter(lines) - Counter(old)
    result: list[str] = []
    for region in compare(old, after.split("\n"), lines):
        if region.ours in (region.base, region.theirs):
            result += region.theirs
        else:
            kept = region.base if region.is_overlap else ()
            result += [line for line in region.ours if line not in kept and not known[line]]
            result += region.theirs if region.is_overlap else ()
    return "\n".join(result)


def has_change(before: str, after: str, held: str) -> bool:
    """Return whether a text still has the change from one version to another."""
    if held == after:
        return True
    old, new, lines = (Counter(text.split("\n")) for text in (before, after, held))
    return all(lines[line] >= new[line] for line in new - old) and all(
        lines[line] <= new[line] for line in old - new
    )


MAX_CHANGE_TRIES = 5
"""How often a change is repeated because another program wrote meanwhile."""

MAX_MERGE_TRIES = 50
"""How often another program's change is merged; it must not be lost."""


def replace_text(
    folder: int, name: str, path: str, edit: Callable[[str], str], tries: int = MAX_CHANGE_TRIES
) -> bool:
    """Replace the text of a file in an open, locked folder by the result of `edit` (blocking)."""
    for _ in range(tries):
        changed = _try_once(folder, name, path, edit)
        if changed is not None:
            return changed
    raise NoteUnwritableError(f"other programs write to {path} continuously", data={"path": path})


def remove_text(folder: int, name: str, path: str, is_expected: Callable[[str], bool]) -> bool:
    """Remove a file of an open, locked folder if its text is as expected (blocking).

    Returns:
        Whether it is gone. If another program writes to it meanwhile, it stays.
    """
    try:
        handle, _ = open_plain(folder, name, path)
    except FileNotFoundError:
        return True
    try:
        if not wait_for_writers(handle, WRITER_TIMEOUT_S):
            raise busy(path)
        before = read_bytes(handle)
    finally:
        os.close(handle)
    if not is_expected(decode(before, path)):
        return False
    spare = temp_name()
    os.rename(name, spare, src_dir_fd=folder, dst_dir_fd=folder)
    removed = _Replacement(folder, name, spare, path, "", "", 0)
    if _settled_or_keep(removed) == before:
        os.unlink(spare, dir_fd=folder)
        os.fsync(folder)
        return True
    try:
        os.link(spare, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise _keep(removed) from None
    except OSError:  # a file system without hard links
        if state_of(folder, name) is not None:
            raise _keep(removed) from None
        os.rename(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
        return False
    os.unlink(spare, dir_fd=folder)
    return False


class _Replacement(Struct, frozen=True):
    """A file and the temporary file that replaces it, with both texts and the latter's inode."""

    folder: int
    name: str
    spare: str
    path: str
    before: str
    text: str
    inode: int


def _try_once(folder: int, name: str, path: str, edit: Callable[[str], str]) -> bool | None:
    """Apply an edit; return None if another program wrote meanwhile."""
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
        spare = write_temporary(folder, text.encode(), state.mode)
        try:
            if not wait_for_writers(handle, WRITER_TIMEOUT_S):
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
    """Create a missing file; return None if another program created it meanwhile."""
    text = edit("")
    if not text:
        return False
    return True if write_new(folder, name, text.encode()) else None


def _replace(made: _Replacement) -> bool | None:
    """Replace the old file by the new one; return None if another program wrote meanwhile."""
    try:
        is_kept = _exchange(made)
    except FileNotFoundError:
        return None  # it was removed or renamed meanwhile
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
            _merge(made, made.before, replaced)
    return _verify_change(made)


def _verify_change(made: _Replacement) -> bool | None:
    """Return True if the file has the change; None if another program has undone it since."""
    try:
        handle, _ = open_plain(made.folder, made.name, made.path)
    except FileNotFoundError:
        return True  # it was removed since, with the change
    try:
        wait_for_writers(handle, WRITER_TIMEOUT_S)  # one may have emptied it to rewrite it
        held = decode(read_bytes(handle), made.path)
    finally:
        os.close(handle)
    return True if has_change(made.before, made.text, held) else None


def _put_back(made: _Replacement) -> None:
    """Restore the replaced file's name; changes of other programs to the new file are merged."""
    try:
        _exchange(made)
    except FileNotFoundError:  # the new file was removed since; the restored file was not
        os.rename(made.spare, made.name, src_dir_fd=made.folder, dst_dir_fd=made.folder)
        return
    displaced = state_of(made.folder, made.spare)
    if displaced is not None and displaced.inode != made.inode:
        # Another program has replaced the new file: its file stays, and the previous text is merged into it.
        _exchange(made)
        _merge(made, made.before, _settled_or_keep(made))
        return
    rest = _settled_or_keep(made)
    if rest != made.text.encode():
        _merge(made, made.text, rest)


def _is_in_place(made: _Replacement) -> bool:
    state = state_of(made.folder, made.name)
    return state is not None and state.inode == made.inode


def _merge(made: _Replacement, before: str, after: bytes) -> None:
    """Merge another program's change of a version that has lost its name."""
    try:
        theirs = decode(after, made.path)
        replace_text(
            made.folder,
            made.name,
            made.path,
            lambda held: merge_changes(before, theirs, held),
            MAX_MERGE_TRIES,
        )
    except (OSError, MemdError):
        raise _keep(made) from None


def _settled_or_keep(made: _Replacement) -> bytes:
    """Return the bytes of the version that has lost its name; if they can't be read, keep it under a new name."""
    try:
        return read_settled(made.folder, made.spare, made.path)
    except (OSError, MemdError):
        raise _keep(made) from None


def _keep(made: _Replacement) -> NoteUnwritableError:
    """Keep another program's version under a new name, and return the error that names it."""
    kept = f"{made.name.removesuffix('.md')}-kept-{secrets.token_hex(4)}.md"
    os.rename(made.spare, kept, src_dir_fd=made.folder, dst_dir_fd=made.folder)
    return NoteUnwritableError(
        f"another program wrote to {made.path}; its version is kept as {kept}",
        hint="compare the two files, then try again",
        data={"path": made.path},
    )


def _exchange(made: _Replacement) -> bool:
    """Exchange the temporary file and the file; return whether the replaced one now has the temporary name.

    On file systems that can't exchange names, the file is linked before it is replaced, in two steps; without hard
    links it is not kept.
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
