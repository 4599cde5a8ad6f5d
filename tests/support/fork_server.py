"""Starts daemons and commands as forks of a process that has already imported them.

Half of the processor time of the tests was spent on importing the same modules in hundreds of processes. A fork is a
real process, with its own environment, descriptors, session and signals; only the imports are saved.
What a start itself is tested for uses `subprocess`.

The server is one process per pytest process. Each start is a connection: the request goes in, the pid and later the
exit status come out.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from types import FrameType
from typing import IO, Any, Final, NoReturn

START = "from tests.support.fork_server import run_server; run_server()"
DESCRIPTORS: Final = 3
STATUS_BYTES: Final = 8

MODULES: Final = (
    "memd.app",
    "memd.cli.main",
    "memd.cli.status",
    "memd.cli.search",
    "memd.cli.output",
    # imported by a daemon on first use
    "memd.lifecycle.facts.tools",
    "memd.lifecycle.flush.flushes",
    "memd.lifecycle.hooks.service",
    "memd.lifecycle.notes.notes",
    "memd.lifecycle.tools.startup",
    "memd.replication.service",
    "memd.rpc.methods.search",
)

PROGRAMS: Final = {"memd": "memd.__main__", "memctl": "memd.cli.main"}
"""The module of each program; its function is `main`."""


PYTHON: Final = sys.executable
"""A test may replace it by a program that starts Python in another way."""

START_VARIABLES: Final = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_", "OMP_", "OPENBLAS_")


class ForkedProcess:
    """A started process, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.pid = int.from_bytes(_read(connection), "little", signed=True)
        self.returncode: int | None = None

    def __repr__(self) -> str:
        return f"<ForkedProcess {self.pid}, {self.returncode}>"

    def poll(self) -> int | None:
        """Return the exit status; None while the process runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process ends, and return its exit status."""
        if self.returncode is None:
            self._connection.settimeout(timeout or (0.000_001 if timeout == 0 else None))
            try:
                status = _read(self._connection)
            except TimeoutError:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0) from None
            self.returncode = int.from_bytes(status, "little", signed=True)
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def can_fork(environ: Mapping[str, str]) -> bool:
    """Return whether a fork is like a new process: some variables are read at the start of Python alone."""
    changed = {name for name in environ if environ[name] != os.environ.get(name)}
    is_usual = sys.platform == "linux" and sys.executable == PYTHON
    return is_usual and not any(name.startswith(START_VARIABLES) for name in changed)


def start(
    program: str,
    arguments: Sequence[str] = (),
    *,
    environ: Mapping[str, str],
    descriptors: Sequence[int],
    cwd: str = "",
) -> ForkedProcess:
    """Start `memd` or `memctl` in a session of its own, with three descriptors as its standard streams."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(_server_address())
    request = pickle.dumps((program, list(arguments), dict(environ), cwd or os.getcwd()))
    packed = array.array("i", [*descriptors, _as_file(request)])
    connection.sendmsg([b"start"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, packed)])
    os.close(packed[-1])
    return ForkedProcess(connection)


def run(
    program: str, arguments: Sequence[str], *, environ: Mapping[str, str], timeout_s: float, cwd: str = "/"
) -> subprocess.CompletedProcess[str]:
    """Run a program without input to its end, and return its output."""
    with _file() as output, _file() as errors, open(os.devnull, "rb") as nothing:
        descriptors = [nothing.fileno(), output.fileno(), errors.fileno()]
        process = start(program, arguments, environ=environ, descriptors=descriptors, cwd=cwd)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess([program, *arguments], code, *texts)


def _file() -> IO[bytes]:
    return open(os.memfd_create("output"), "w+b")


def _as_file(data: bytes) -> int:
    """Return the descriptor of a file in RAM: a request may be longer than a message."""
    descriptor = os.memfd_create("request")
    os.write(descriptor, data)
    return descriptor


def _read(connection: socket.socket) -> bytes:
    data = connection.recv(STATUS_BYTES)
    if len(data) != STATUS_BYTES:
        raise AssertionError("the server of forks has ended")
    return data


@cache
def _server_address() -> str:
    """Start the server of this process, and return its address. It ends with this process."""
    address = f"\0memd-forks-{os.getpid()}-{time.monotonic_ns()}"
    ready_in, ready_out = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", START, address[1:], str(ready_out)],
        stdin=subprocess.PIPE,  # never written; its end is the end of this process
        pass_fds=(ready_out,),
        cwd=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    )
    os.close(ready_out)
    assert os.read(ready_in, 1) == b"\1", "the server of forks did not start"
    os.close(ready_in)
    atexit.register(_end, process)
    return address


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


# --- the server ------------------------------------------------------------------------------------------------


def run_server() -> None:
    """Import the programs, and fork for each request until standard input ends."""
    for name in (*MODULES, *PROGRAMS.values()):
        __import__(name)
    gc.collect()
    gc.freeze()  # so that forks share the pages of all these objects
    _Server(f"\0{sys.argv[1]}", int(sys.argv[2])).serve()


class _Server:
    def __init__(self, address: str, ready: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._running: dict[int, socket.socket] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(address)
        self._listener.listen(64)
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        signal.signal(signal.SIGCHLD, _ignore)
        signal.set_wakeup_fd(self._wake)
        os.write(ready, b"\1")
        os.close(ready)

    def serve(self) -> None:
        for source in (self._listener.fileno(), self._woken, 0):
            self._selector.register(source, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fd == 0:
                    return
                if key.fd == self._woken:
                    os.read(self._woken, 4096)
                else:
                    self._accept()
            self._reap()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        descriptors = array.array("i")
        _, ancillary, *_ = connection.recvmsg(16, socket.CMSG_SPACE(4 * (DESCRIPTORS + 1)))
        for _, _, data in ancillary:
            descriptors.frombytes(data)
        if len(descriptors) != DESCRIPTORS + 1:
            connection.close()
            return
        pid = os.fork()
        if pid == 0:
            for held in (self._listener, connection, *self._running.values()):
                held.detach()  # else they would close the numbers of descriptors that the program opens
            self._selector.close()
            _become(descriptors)
        for each in descriptors:
            os.close(each)
        self._running[pid] = connection
        with contextlib.suppress(OSError):
            connection.send(pid.to_bytes(STATUS_BYTES, "little", signed=True))

    def _reap(self) -> None:
        """Report the processes that have ended."""
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            with self._running.pop(pid) as connection, contextlib.suppress(OSError):
                connection.send(code.to_bytes(STATUS_BYTES, "little", signed=True))


def _become(descriptors: array.array[int]) -> NoReturn:
    """Become the program of a request."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    with open(descriptors[-1], "rb") as file:
        file.seek(0)
        program, arguments, environ, cwd = pickle.load(file)
    for place in range(DESCRIPTORS):
        os.dup2(descriptors[place], place)
    os.closerange(DESCRIPTORS, max(map(int, os.listdir("/proc/self/fd"))) + 1)
    _exit_as(program, arguments, environ, cwd)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Let the wake-up descriptor report the signal."""


def _exit_as(program: str, arguments: list[str], environ: dict[str, str], cwd: str) -> NoReturn:
    """Run a program as a new Python would, and end the process."""
    code: Any = 1
    try:
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environ)
        sys.argv = [program, *arguments]
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(  # noqa: SIM115
            2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
        sys.modules[PROGRAMS[program]].main()
        code = 0
    except SystemExit as error:
        code = error.code
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 - as a new Python: printed, status 1
        traceback.print_exc()
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    sys.exit(code)
