"""Execute the steps of a plan in order, and print each."""

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
    RunCommand,
    StartDaemon,
    Step,
    WriteFile,
)
from memd.system.state_file import replace_synced
from memd_client.errors import ServiceFailedError

PrintLine = Callable[[str], None]

RETRY_DELAY_S = 0.5


def describe_step(step: Step) -> str:
    """Return a step in words."""
    match step:
        case MakeDirectory(path=path):
            return f"make directory {path}"
        case KeepCopy(path=path, to=to):
            return f"rename {path}, which memctl did not write, to {to}"
        case WriteFile(path=path):
            return f"write {path}"
        case RemoveFile(path=path):
            return f"remove {path}"
        case RunCommand(argv=argv):
            return f"run {shlex.join(argv)}"
        case EndDaemon(pid=pid):
            return f"stop the daemon (pid {pid})"
        case StartDaemon(socket=socket):
            return f"start the daemon on {socket}"


def print_steps(steps: Iterable[Step], print_line: PrintLine) -> None:
    """Print the steps, with the text of files, without executing them."""
    for step in steps:
        if isinstance(step, MakeDirectory) and os.path.isdir(step.path):
            continue
        print_line(describe_step(step))
        if isinstance(step, WriteFile):
            for each in step.text.splitlines():
                print_line(f"    {each}")


def carry_out(
    steps: Iterable[Step],
    print_line: PrintLine,
    *,
    run: Runner = run_command,
    wait: Callable[[float], object] = lambda seconds: threading.Event().wait(seconds),
) -> None:
    """Execute steps in order, and print each; stop at the first failure.

    Every step can be repeated. Ctrl-C between two steps keeps the results of the earlier ones.
    """
    for step in steps:
        if isinstance(step, RunCommand):
            _run(step, run, wait)
        elif isinstance(step, EndDaemon):
            stop_holder(step.socket, step.pid)
        elif isinstance(step, StartDaemon):
            start_plain(step.socket)
        elif isinstance(step, MakeDirectory) and os.path.isdir(step.path):
            continue
        else:
            _change_files(step)
        print_line(describe_step(step))


def _run(step: RunCommand, run: Runner, wait: Callable[[float], object]) -> None:
    """Run a command, with as many tries as its step allows."""
    for left in reversed(range(step.tries)):
        result = run(step.argv)
        if result.code == 0 or step.may_fail:
            return
        if left:
            wait(RETRY_DELAY_S)
    output = " ".join((result.err.strip() or result.out.strip()).split()) or f"exit code {result.code}"
    raise ServiceFailedError(f"`{shlex.join(step.argv)}` failed: {output}")


def _change_files(step: MakeDirectory | KeepCopy | WriteFile | RemoveFile) -> None:
    """Execute a step that changes files."""
    try:
        match step:
            case MakeDirectory(path=path):
                os.makedirs(path, mode=0o700, exist_ok=True)
            case KeepCopy(path=path, to=to):
                os.rename(path, to)
            case WriteFile(path=path, text=text):
                # Atomic: a service manager never reads half a file.
                replace_synced(Path(path), text.encode(), 0o644)
            case RemoveFile(path=path):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
    except OSError as error:
        raise ServiceFailedError(
            f"cannot {describe_step(step)}: {error.strerror}",
            hint="correct the permissions, or free disk space",
        ) from error
