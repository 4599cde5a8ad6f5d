"""Plans to install or remove a service: the state of the machine in, steps out. Pure."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from memd_client.state_folder import USUAL_NAME

Kind = Literal["systemd", "launchd", "none"]

MARK = "Written by `memctl service install`, sha256 "
"""Start of the line that identifies an unedited file written by memctl."""


class Needs(Struct, frozen=True):
    """The settings' requirements of a service.

    Attributes:
        command: The command that runs the daemon; its first word is a path.
        socket: The socket's path; empty for the manager's runtime directory.
        written: Directories it writes, created if missing.
        read: Folders with notes: workspaces and extra paths.
        memory_mb: Limit of its RAM.
        environ: Environment variables of the daemon.
        hidden: Names of variables that may contain secrets and are not written into any file.
    """

    command: tuple[str, ...]
    socket: str
    written: tuple[str, ...]
    read: tuple[str, ...]
    memory_mb: int
    environ: Mapping[str, str]
    hidden: tuple[str, ...] = ()


class Machine(Struct, frozen=True):
    """The service manager, and the state of the service.

    Attributes:
        kind: The service manager.
        folder: The folder of the service's files.
        home: The user's home directory.
        uid: The user.
        name: The name of the state folder's daemon, which is the service's name.
        namespaces: Whether the manager can give a service a user namespace.
        installed: Whether the service's file exists.
        loaded: Whether the manager knows the service.
        state: The state reported by the manager.
        service_pid: The daemon that the manager runs; 0 if none.
        holder_pid: The daemon that holds the lock; 0 if none.
        files: Contents of the service's files, by path.
        free_names: Unused names for backups of each file.
    """

    kind: Kind
    folder: str
    home: str
    uid: int
    name: str = USUAL_NAME
    namespaces: bool = True
    installed: bool = False
    loaded: bool = False
    state: str = ""
    service_pid: int = 0
    holder_pid: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    free_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def unmanaged_pid(self) -> int:
        """The daemon that runs without the service; 0 if there is none."""
        return self.holder_pid if self.holder_pid != self.service_pid else 0


class MakeDirectory(Struct, frozen=True):
    """Create a directory, accessible to its user only, if it is missing."""

    path: str


class KeepCopy(Struct, frozen=True):
    """Rename a file that memctl did not write."""

    path: str
    to: str


class WriteFile(Struct, frozen=True):
    """Write a file atomically."""

    path: str
    text: str


class RemoveFile(Struct, frozen=True):
    """Remove a file."""

    path: str


class RunCommand(Struct, frozen=True):
    """Run a command of the service manager.

    Attributes:
        argv: The command.
        may_fail: Failure means that there was nothing to do.
        tries: Number of tries: the manager may be busy with the previous command.
    """

    argv: tuple[str, ...]
    may_fail: bool = False
    tries: int = 1


class EndDaemon(Struct, frozen=True):
    """Stop the daemon that holds a socket's lock, and wait for its end."""

    socket: str
    pid: int


class StartDaemon(Struct, frozen=True):
    """Start the daemon without a service, and wait until it responds."""

    socket: str


Step = MakeDirectory | KeepCopy | WriteFile | RemoveFile | RunCommand | EndDaemon | StartDaemon


class InstallPlan(Struct, frozen=True):
    """Steps in order, and notes for the user."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


def with_mark(text: str, comment: str = "# {}", after: int = 0) -> str:
    """Return a file's text with the line that identifies it as written by memctl."""
    lines = text.splitlines(keepends=True)
    mark = comment.format(MARK + hashlib.sha256(text.encode()).hexdigest()) + "\n"
    return "".join([*lines[:after], mark, *lines[after:]])


def is_ours(text: str) -> bool:
    """Return whether a file is unedited since memctl wrote it, in any release."""
    lines = text.splitlines(keepends=True)
    marks = [each for each in lines if MARK in each]
    if len(marks) != 1:
        return False
    rest = "".join(each for each in lines if each is not marks[0])
    return hashlib.sha256(rest.encode()).hexdigest() in marks[0]


def write_steps(machine: Machine, texts: Mapping[str, str]) -> list[Step]:
    """Return the steps that write these texts; none for files that are up to date.

    A file that a user edited or wrote is kept under another name.
    """
    steps: list[Step] = []
    for path, text in texts.items():
        present = machine.files.get(path)
        if present == text:
            continue
        if present is not None and not is_ours(present):
            steps.append(KeepCopy(path, machine.free_names[path]))
        steps.append(WriteFile(path, text))
    return steps


def remove_steps(machine: Machine, paths: Sequence[str]) -> list[Step]:
    """Return the steps that remove files; an edited file is kept under another name."""
    steps: list[Step] = []
    for path in paths:
        present = machine.files.get(path)
        if present is not None:
            ours = is_ours(present)
            steps.append(RemoveFile(path) if ours else KeepCopy(path, machine.free_names[path]))
    return steps


def install_notes(machine: Machine, needs: Needs, changed: bool) -> list[str]:
    """Return the notes for the user after an installation."""
    notes = []
    if machine.unmanaged_pid:
        notes.append(
            f"the daemon is running, but not as the service (pid {machine.unmanaged_pid}); "
            "run `memctl service restart` to replace it by the service"
        )
    elif changed and machine.service_pid and machine.kind == "systemd":
        notes.append(
            f"the running daemon (pid {machine.service_pid}) keeps its old limits until "
            "`memctl service restart`"
        )
    if needs.hidden:
        notes.append(
            f"not passed to the service, as they may be secret: {', '.join(needs.hidden)}; "
            "see docs/service.md on keys for a service"
        )
    return notes


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def outermost(paths: Sequence[str]) -> list[str]:
    """Return the distinct paths, in order, without those below another one."""
    unique = list(dict.fromkeys(paths))
    return [each for each in unique if not any(each != other and is_below(each, other) for other in unique)]
