"""Errors for a host that can't be reached, from the exit status and the messages of ssh."""

from __future__ import annotations

import re
import shlex

from .errors import (
    DaemonUnreachableError,
    DeadlineExceededError,
    FrameInvalidError,
    FrameTooBigError,
    HostAuthError,
    HostCommandError,
    HostUnreachableError,
    MemdError,
)

SSH_FAILED = 255
"""Exit status of ssh itself; any other is that of the command on the host."""

CANNOT_RUN, NOT_FOUND = 126, 127
"""Exit statuses of a shell that can't run a command."""

MAX_SAID_CHARS = 300
"""Longest line of ssh in a message."""

MAX_MEMCTL_CHARS = 1_500
"""Longest message and hint of `memctl` on the host: one may have the end of the daemon's log."""

_MEMCTL_ERROR = re.compile(r"^error: (.*)\n(?:  hint: (.*)\n)?  code: ([a-z_]+)$", re.MULTILINE)
"""An error as `memctl` prints it."""

_SSH_ERRORS: tuple[tuple[str, type[MemdError], str, str], ...] = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        HostAuthError,
        "the host key of {host} is not the key that ssh knows",
        "run `ssh {quoted}` and follow its advice if the change of the key is expected",
    ),
    (
        "Host key verification failed",
        HostAuthError,
        "ssh does not know the host key of {host}",
        "run `ssh {quoted}` once to check and accept its key",
    ),
    (
        r"Permission denied \(|Too many authentication failures",
        HostAuthError,
        "{host} accepts no key of this user: {said}",
        "make `ssh -oBatchMode=yes {quoted} true` succeed, for example with `ssh-copy-id` or `ssh-add`",
    ),
    (
        "Could not resolve hostname",
        HostUnreachableError,
        "the host {host} is not known: {said}",
        "check the host's name, or add it to ~/.ssh/config",
    ),
    (
        "Connection refused",
        HostUnreachableError,
        "{host} refuses connections: {said}",
        "check that sshd runs on {host} and listens on that port",
    ),
    (
        r"timed out|No route to host|Network is unreachable|Host is down",
        HostUnreachableError,
        "{host} does not respond: {said}",
        "check the network, and that {host} is running",
    ),
)
"""A pattern in the messages of ssh, the class of the error, its message and its hint."""


def host_error(host: str, status: int | None, text: str, error: MemdError, timeout_s: float) -> MemdError:
    """Return why a host could not be used.

    Args:
        host: The host, as the user named it.
        status: The exit status of ssh; None: it still runs. Negative: the signal that ended it.
        text: What ssh and the command on the host wrote to standard error.
        error: The error of the greeting.
        timeout_s: How long connecting was allowed to take.
    """
    from_memctl = _memctl_error(host, text)
    if from_memctl is not None:
        return from_memctl
    said = _last_line(text)
    if status in (CANNOT_RUN, NOT_FOUND):
        return HostCommandError(
            f"memctl can't be run on {host}: {said or f'status {status}'}",
            hint=f"install memd on {host}, or name its `memctl` in MEMD_HOST_COMMAND",
        )
    if status == SSH_FAILED:
        return _ssh_error(host, text)
    if isinstance(error, FrameInvalidError | FrameTooBigError):
        return HostCommandError(
            f"{host} sent text that is not memd's protocol",
            hint=f"let the startup files of the shell on {host} print nothing if it is not interactive",
        )
    if isinstance(error, DeadlineExceededError):
        return HostUnreachableError(
            _with_said(f"no reply from {host} in {timeout_s:g} s", said),
            hint=f"run `ssh {shlex.quote(host)} memctl status` to see what takes long",
        )
    if status == 0:
        return DaemonUnreachableError(f"the daemon on {host} ended before it replied to `hello`")
    if status is None or status < 0:
        ended = "ssh closed the connection" if status is None else f"ssh was ended by signal {-status}"
        return HostUnreachableError(_with_said(f"no connection to {host}: {ended}", said))
    return HostCommandError(
        _with_said(f"the command on {host} ended with status {status}", said),
        hint=f"run `ssh {shlex.quote(host)} memctl status` to see why",
    )


def _memctl_error(host: str, text: str) -> MemdError | None:
    """Return the error that `memctl` printed on the host; None without one."""
    found = list(_MEMCTL_ERROR.finditer(text.replace("\r", "")))
    if not found:
        return None
    message, hint, code = found[-1].groups("")
    message, hint = (_printable(each)[:MAX_MEMCTL_CHARS] for each in (message, hint))
    if code == "usage":
        return HostCommandError(
            f"memctl on {host} is too old for clients of other machines: {message}",
            hint=f"upgrade memd on {host}",
        )
    data = {"hint": f"on {host}: {hint}"} if hint else {}
    return MemdError.from_wire({"code": code, "message": f"{host}: {message}", "data": data})


def _ssh_error(host: str, text: str) -> MemdError:
    """Return the error for a message of ssh itself."""
    words = {"host": host, "quoted": shlex.quote(host)}
    for pattern, kind, message, hint in _SSH_ERRORS:
        found = re.search(rf"^.*(?:{pattern}).*$", text, re.MULTILINE)
        if found:
            said = _shortened(found[0])
            return kind(message.format(said=said, **words), hint=hint.format(**words))
    return HostUnreachableError(
        _with_said(f"ssh can't connect to {host}", _last_line(text)),
        hint=f"run `ssh {shlex.quote(host)} memctl status` to see why",
    )


def _last_line(text: str) -> str:
    """Return the last line that isn't blank."""
    lines = [line for line in text.splitlines() if line.strip()]
    return _shortened(lines[-1]) if lines else ""


def _with_said(message: str, said: str) -> str:
    return f"{message}: {said}" if said else message


def _shortened(line: str) -> str:
    return _printable(line.strip())[:MAX_SAID_CHARS]


def _printable(text: str) -> str:
    """Return text without control characters, which the host could send to the terminal."""
    return "".join(char for char in text if char.isprintable())
