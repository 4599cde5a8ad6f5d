"""What installing or removing a service would do, step by step. Pure: what is there comes in, steps come out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["systemd", "launchd", "none"]

MARK = "Written by `memctl service install`, sha256 "
"""Begins the line that tells our file from one that was edited, or written by a person."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What the settings ask of a service.

    Attributes:
        command: The command that runs the daemon; its first word is a path.
        socket: Where it listens; empty for the manager's own runtime directory.
        written: Directories it writes in, each made where it is missing.
        read: Folders with memory: workspaces and extra paths.
        memory_mb: What it may hold in memory.
        environ: Variables the daemon is to see.
        hidden: Names of variables set here that may hold secrets, and are not written into any file.
    """

    command: tuple[str, ...]
    socket: str
    written: tuple[str, ...]
    read: tuple[str, ...]
    memory_mb: int
    environ: Mapping[str, str]
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to install into, and how it stands.

    Attributes:
        kind: Which service manager.
        folder: Where its files go.
        home: The user's home directory.
        uid: The user.
        namespaces: Whether the manager can give a service a user namespace.
        installed: Whether the service's file is there.
        loaded: Whether the manager knows the service.
        state: What the manager says of the service, in its own words.
        service_pid: The daemon the manager runs, 0 where it runs none.
        holder_pid: The daemon that holds the lock, 0 where none does.
        files: What stands in the service's files now, by path.
        free_names: Names for a copy of each file, which nothing has yet.
    """

    kind: Kind
    folder: str
    home: str
    uid: int
    namespaces: bool = True
    installed: bool = False
    loaded: bool = False
    state: str = ""
    service_pid: int = 0
    holder_pid: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    free_names: Mapping[str, str] = field(default_factory=dict)

    @property
    def stray_pid(self) -> int:
        """The daemon that runs without the service; 0 where there is none."""
        return self.holder_pid if self.holder_pid != self.service_pid else 0


@dataclass(frozen=True, slots=True)
class MakeDirectory:
    """Make a directory, its user's alone, where it is missing."""

    path: str


@dataclass(frozen=True, slots=True)
class KeepCopy:
    """Move a file that isn't ours out of the way."""

    path: str
    to: str


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Write a file, whole or not at all."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """Remove a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Run:
    """Run a command of the service manager.

    Attributes:
        argv: The command.
        may_fail: Failing means that there was nothing to do.
        tries: How often it is tried: a manager may still be busy with the command before.
    """

    argv: tuple[str, ...]
    may_fail: bool = False
    tries: int = 1


@dataclass(frozen=True, slots=True)
class EndDaemon:
    """End the daemon that holds a socket's lock, and wait until it ended."""

    socket: str
    pid: int


@dataclass(frozen=True, slots=True)
class StartDaemon:
    """Start a daemon without a service, and wait until it answers."""

    socket: str


Step = MakeDirectory | KeepCopy | WriteFile | RemoveFile | Run | EndDaemon | StartDaemon


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in their order, and what a person should know besides."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


def marked(text: str, comment: str = "# {}", after: int = 0) -> str:
    """Return a file's text with the line that proves it to be ours."""
    lines = text.splitlines(keepends=True)
    mark = comment.format(MARK + hashlib.sha256(text.encode()).hexdigest()) + "\n"
    return "".join([*lines[:after], mark, *lines[after:]])


def is_ours(text: str) -> bool:
    """Return whether a file is as we wrote it, in this release or an earlier one."""
    lines = text.splitlines(keepends=True)
    marks = [each for each in lines if MARK in each]
    if len(marks) != 1:
        return False
    rest = "".join(each for each in lines if each is not marks[0])
    return hashlib.sha256(rest.encode()).hexdigest() in marks[0]


def write_steps(machine: Machine, texts: Mapping[str, str]) -> list[Step]:
    """Return the steps that bring files to these texts; none for a file that has it already.

    A file that was edited, or written by a person, is kept under another name.
    """
    steps: list[Step] = []
    for path, text in texts.items():
        there = machine.files.get(path)
        if there == text:
            continue
        if there is not None and not is_ours(there):
            steps.append(KeepCopy(path, machine.free_names[path]))
        steps.append(WriteFile(path, text))
    return steps


def remove_steps(machine: Machine, paths: Sequence[str]) -> list[Step]:
    """Return the steps that take files away; one that was edited is kept under another name."""
    steps: list[Step] = []
    for path in paths:
        there = machine.files.get(path)
        if there is not None:
            ours = is_ours(there)
            steps.append(RemoveFile(path) if ours else KeepCopy(path, machine.free_names[path]))
    return steps


def install_notes(machine: Machine, needs: Needs, changed: bool) -> list[str]:
    """Return what a person should know after an installation."""
    notes = []
    if machine.stray_pid:
        notes.append(
            f"a daemon runs without the service (pid {machine.stray_pid}); `memctl service restart` ends it "
            "and hands over to the service"
        )
    elif changed and machine.service_pid and machine.kind == "systemd":
        notes.append(
            f"the running daemon (pid {machine.service_pid}) keeps its earlier limits until "
            "`memctl service restart`"
        )
    if needs.hidden:
        notes.append(
            f"set here, but not seen by the service: {', '.join(needs.hidden)}; docs/service.md says where "
            "keys for a service belong"
        )
    return notes


def lies_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def outermost(paths: Sequence[str]) -> list[str]:
    """Return paths without those below another one, in their order, each once."""
    unique = list(dict.fromkeys(paths))
    return [each for each in unique if not any(each != other and lies_in(each, other) for other in unique)]
