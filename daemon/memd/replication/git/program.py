"""Runs the system's git, with the user's ssh and credential setup, and without anything that asks or runs code.

Only plumbing commands are used, on memd's own repository: git never writes to a workspace, so attributes, filters and
hooks of a repository have no effect. Every command has a deadline and limits.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from memd.system import units
from memd_client.errors import GitFailedError, GitMissingError

MIN_VERSION: Final = (2, 38)

LOCAL_TIMEOUT_S: Final = 60.0
"""Deadline of a command that reads or writes memd's repository only."""

CONNECT_TIMEOUT_S: Final = 10
"""How long ssh may take to connect."""

MAX_OUTPUT_BYTES: Final = 256 * 1024 * 1024
"""Most output of a command; more counts as a failure."""

MAX_ERROR_CHARS: Final = 400

RAM_LIMIT_KB: Final = 4 * 1024 * 1024
"""Address space of a command that reads data of a remote: a small pack can describe huge objects."""

SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "core.sharedRepository=umask",
    "color.ui=false",
    "core.bigFileThreshold=16m",
    "core.commitGraph=false",
    "core.logAllRefUpdates=false",
    "credential.interactive=false",
    "fetch.fsckObjects=true",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",  # one file, so that the limit of a file is that of a fetch
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "gc.writeCommitGraph=false",
    "i18n.logOutputEncoding=UTF-8",
    "log.showSignature=false",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "push.followTags=false",
    "push.gpgSign=false",
    "push.negotiate=false",
    "push.pushOption=",
    "push.recurseSubmodules=no",
    "submodule.recurse=false",
    "transfer.fsckObjects=true",
)
"""Settings that precede the user's own."""

_KEPT: Final = (
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_",
    "GIT_PROXY_COMMAND",
    "GIT_CONFIG_GLOBAL",
)
"""Variables of git that are passed on; others would name another repository or run programs."""

_NOISE: Final = (
    "hint:",
    "Please make sure you have the correct access rights",
    "and the repository exists.",
    "error: git upload-pack: git-pack-objects died with error",
    "remote: aborting due to possible repository corruption",
    "fatal: protocol error: bad pack header",
    "remote: Another git process seems to be running",
    "remote: an editor opened by",
    "remote: are terminated then try again",
    "remote: may have crashed in this repository",
    "remote: remove the file manually",
)
"""Starts of lines that say nothing about a failure, or what another line says too."""

_CREDENTIALS: Final = re.compile(
    r"(\w+://)(?:[^/:\s]*:[^/\s]*@|[^/@\s]*:(?!\d*/)\S*@)"  # a password may have any character; a port is none
    r"|((?:https?|ftps?)://)[^/\s]*@",  # a token in place of the user
    re.IGNORECASE,
)
"""Credentials in addresses."""

_ESCAPE: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?)")
"""Escape sequences of terminals: colors, movements, titles."""

_LIMITED: Final = 'trap "" 25; ulimit -f "$1"; ulimit -v "$2" 2>/dev/null; shift 2; exec "$@"'
"""Shell program that runs a command with limits on file size (512-byte blocks) and address space (KiB).

Signal 25, SIGXFSZ, is ignored: git then says that a file is too large.
"""


class GitResult(Struct, frozen=True):
    """The result of a command: its exit status, output, and the end of its error output.

    `is_cut`: It was ended because it printed more than its limit.
    """

    status: int
    output: bytes
    errors: str
    is_cut: bool = False

    @property
    def text(self) -> str:
        """The output as text without surrounding blank space."""
        return self.output.decode("utf-8", "replace").strip()


class Git:
    """Commands on one repository.

    Args:
        directory: The git directory.
        program: The path of git.
        inherited: Descriptors that the commands inherit; a lock among them is held until the last command ends.
    """

    def __init__(self, directory: Path, program: str, inherited: Sequence[int] = ()) -> None:
        self.directory = directory
        self._program = program
        self._inherited = tuple(inherited)

    def __repr__(self) -> str:
        return f"<Git {self.directory}>"

    async def run(self, *arguments: str, stdin: bytes = b"", timeout_s: float = LOCAL_TIMEOUT_S) -> bytes:
        """Return the output of a local command.

        Raises:
            GitFailedError: It failed or timed out.
        """
        result = await self.attempt(*arguments, stdin=stdin, timeout_s=timeout_s)
        if result.status:
            raise failed(arguments[0], result.errors)
        return result.output

    async def text(self, *arguments: str) -> str:
        """Return the output of a local command as text; raises as `run`."""
        return (await self.run(*arguments)).decode("utf-8", "replace").strip()

    async def answer(self, *arguments: str) -> str:
        """Return the output of a local command as text, "" if it fails because there is no answer."""
        result = await self.attempt(*arguments)
        return "" if result.status else result.text

    async def attempt(
        self,
        *arguments: str,
        stdin: bytes = b"",
        timeout_s: float = LOCAL_TIMEOUT_S,
        file_limit_bytes: int | None = None,
        output_limit_bytes: int = MAX_OUTPUT_BYTES,
        environ: Mapping[str, str] | None = None,
    ) -> GitResult:
        """Run a command and return its result, whatever its exit status.

        Cancellation: the command is ended.

        Raises:
            GitFailedError: It can't be started, was killed, exceeded `timeout_s` or printed too much.
        """
        command = [self._program, *(part for each in SETTINGS for part in ("-c", each)), *arguments]
        if file_limit_bytes is not None:
            limits = (str(max(1, file_limit_bytes // 512)), str(RAM_LIMIT_KB))
            command = ["/bin/sh", "-c", _LIMITED, "sh", *limits, *command]
        is_there = self.directory.is_dir()
        env = (
            git_environ(os.environ)
            | ({"GIT_DIR": str(self.directory)} if is_there else {})
            | dict(environ or {})
        )
        folder = str(self.directory) if is_there else "/"
        try:
            with trio.fail_after(timeout_s):
                result = await _run(command, stdin, env, folder, self._inherited, output_limit_bytes)
        except trio.TooSlowError:
            raise failed(arguments[0], f"no result within {timeout_s:g} s") from None
        except OSError as error:
            raise failed(arguments[0], error.strerror or type(error).__name__) from None
        if result.is_cut:
            raise failed(arguments[0], f"more than {units.size(output_limit_bytes)} of output")
        if result.status < 0:  # its exit status must not be read as an answer
            raise failed(arguments[0], f"ended by signal {-result.status}; {result.errors}")
        return result


def failed(command: str, errors: str) -> GitFailedError:
    """Return the error of a failed command."""
    said = one_message(errors) or "no message"
    return GitFailedError(f"git {command} failed: {said}", data={"command": command})


def one_message(errors: str) -> str:
    """Return the end of git's error output as one line, without credentials in addresses.

    Remotes write a part of it: characters that control a terminal are removed.
    """
    cleaned = (_ESCAPE.sub("", line) for line in errors.splitlines())
    lines = ["".join(filter(str.isprintable, line)).strip() for line in cleaned]
    kept = list(
        dict.fromkeys(line for line in lines if line not in ("", "remote:") and not line.startswith(_NOISE))
    )
    while len(kept) > 1 and len("; ".join(kept)) > MAX_ERROR_CHARS:
        del kept[0]
    return without_password("; ".join(kept))[-MAX_ERROR_CHARS:]


def without_password(text: str) -> str:
    """Return a text with the credentials of addresses replaced; the user of ssh is none."""
    return _CREDENTIALS.sub(lambda found: f"{found[1] or found[2]}***@", text)


def find_git() -> str:
    """Return the path of git (blocking).

    Raises:
        GitMissingError: There is none, or it is older than `MIN_VERSION`.
    """
    program = shutil.which("git")
    if program is None:
        raise GitMissingError("git is not installed, or not on the daemon's PATH")
    try:
        ran = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=LOCAL_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise GitMissingError(f"{program} can't be run: {error}") from None
    found = re.search(r"(\d+)\.(\d+)", ran.stdout)
    if found is None or (int(found[1]), int(found[2])) < MIN_VERSION:
        wanted = ".".join(map(str, MIN_VERSION))
        raise GitMissingError(
            f"{program} is {ran.stdout.strip()[:60] or 'unknown'}; memd needs {wanted} or later"
        )
    return program


def git_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: the user's, in English, without prompts."""
    env = {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    env |= {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "SSH_ASKPASS_REQUIRE": "never",
    }
    env.pop("SSH_ASKPASS", None)
    return env


def ssh_command(configured: str) -> str:
    """Return the ssh command for git: the user's, with options that forbid questions.

    Args:
        configured: The user's `GIT_SSH_COMMAND` or `core.sshCommand`; empty if there is none.
    """
    command = configured or "ssh"
    try:
        name = os.path.basename(shlex.split(command)[0])
    except (ValueError, IndexError):
        return command
    if name not in ("ssh", "ssh.exe"):
        return command
    options = (
        "BatchMode=yes",
        f"ConnectTimeout={CONNECT_TIMEOUT_S}",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
    )
    return command + "".join(f" -o{option}" for option in options)


async def _run(
    command: Sequence[str],
    stdin: bytes,
    env: Mapping[str, str],
    folder: str,
    inherited: Sequence[int],
    output_limit_bytes: int,
) -> GitResult:
    """Run a command in a process group of its own and return its result; end the group on cancellation."""
    process = await trio.lowlevel.open_process(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd=folder,
        pass_fds=tuple(inherited),
        start_new_session=True,
    )
    output, errors = bytearray(), bytearray()
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    status, is_cut = 0, False
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_feed, process.stdin, stdin)
            nursery.start_soon(_collect_end, process.stderr, errors, 64 * 1024)
            is_cut = not await _collect(process.stdout, output, output_limit_bytes)
            if is_cut:
                nursery.cancel_scope.cancel()
        if not is_cut:
            status = await process.wait()
    finally:
        with trio.CancelScope(shield=True):
            await _end(process)
    return GitResult(status, bytes(output), bytes(errors[-16_384:]).decode("utf-8", "replace"), is_cut)


async def _feed(pipe: trio.abc.SendStream, data: bytes) -> None:
    """Write a command's input; a command that ends early needs no more."""
    async with pipe:
        try:
            if data:
                await pipe.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return


async def _collect(pipe: trio.abc.ReceiveStream, into: bytearray, most: int) -> bool:
    """Read a pipe to its end; return False after more than `most` bytes."""
    async with pipe:
        async for part in pipe:
            into += part
            if len(into) > most:
                return False
    return True


async def _collect_end(pipe: trio.abc.ReceiveStream, into: bytearray, most: int) -> None:
    """Read a pipe to its end, and keep the last bytes."""
    async with pipe:
        async for part in pipe:
            into += part
            if len(into) > most:
                del into[: len(into) - most]


async def _end(process: trio.Process) -> None:
    """End a process with its children, and reap it."""
    if process.returncode is None:
        for number, grace_s in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 5.0)):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
            with trio.move_on_after(grace_s):
                await process.wait()
                return
    with trio.move_on_after(1.0):
        await process.wait()
