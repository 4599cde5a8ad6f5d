"""Steps of a plan carried out one after the other, each told."""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from memd.service.install.lock_holder import start_plain, stop_holder
from memd.service.install.machine import Runner, run_command
from memd.service.install.plan import (
    EndDaemon,
    KeepCopy,
    MakeDirectory,
    RemoveFile,
    Run,
    StartDaemon,
    Step,
    WriteFile,
)
from memd.system.state_file import replace_synced
from memd_client.errors import ServiceFailedError

Tell = Callable[[str], None]

AGAIN_S = 0.5
"""Wait before a command is tried again."""


def told(step: Step) -> str:
    """Return a step in words."""
    match step:
        case MakeDirectory(path=path):
            return f"make directory {path}"
        case KeepCopy(path=path, to=to):
            return f"keep {path}, which was not written by memctl, as {to}"
        case WriteFile(path=path):
            return f"write {path}"
        case RemoveFile(path=path):
            return f"remove {path}"
        case Run(argv=argv):
            return f"run {shlex.join(argv)}"
        case EndDaemon(pid=pid):
            return f"end the daemon (pid {pid})"
        case StartDaemon(socket=socket):
            return f"start the daemon on {socket}"


def describe(steps: Iterable[Step], tell: Tell) -> None:
    """Tell what would be done, the text of files included, and do nothing."""
    for step in steps:
        if isinstance(step, MakeDirectory) and os.path.isdir(step.path):
            continue
        tell(told(step))
        if isinstance(step, WriteFile):
            for each in step.text.splitlines():
                tell(f"    {each}")


def carry_out(
    steps: Iterable[Step],
    tell: Tell,
    *,
    run: Runner = run_command,
    wait: Callable[[float], object] = lambda seconds: threading.Event().wait(seconds),
) -> None:
    """Carry steps out in their order; stop at the first that fails.

    All of them can be done again. Ctrl-C between two steps leaves what the earlier ones did.
    """
    for step in steps:
        if isinstance(step, Run):
            _run(step, run, wait)
        elif isinstance(step, EndDaemon):
            stop_holder(step.socket, step.pid)
        elif isinstance(step, StartDaemon):
            start_plain(step.socket)
        elif isinstance(step, MakeDirectory) and os.path.isdir(step.path):
            continue
        else:
            _change_files(step)
        tell(told(step))


def _run(step: Run, run: Runner, wait: Callable[[float], object]) -> None:
    """Run a command as often as its step allows."""
    for left in reversed(range(step.tries)):
        ran = run(step.argv)
        if ran.code == 0 or step.may_fail:
            return
        if left:
            wait(AGAIN_S)
    said = " ".join((ran.err.strip() or ran.out.strip()).split()) or f"status {ran.code}"
    raise ServiceFailedError(f"`{shlex.join(step.argv)}` failed: {said}")


def _change_files(step: MakeDirectory | KeepCopy | WriteFile | RemoveFile) -> None:
    """Do what a step says to files."""
    try:
        match step:
            case MakeDirectory(path=path):
                os.makedirs(path, mode=0o700, exist_ok=True)
            case KeepCopy(path=path, to=to):
                os.rename(path, to)
            case WriteFile(path=path, text=text):
                # A manager never reads half of one. Its user alone may change it.
                replace_synced(Path(path), text.encode(), 0o644)
            case RemoveFile(path=path):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
    except OSError as error:
        raise ServiceFailedError(
            f"can't {told(step)}: {error.strerror}", hint="Mend its permissions, or free some space."
        ) from error
