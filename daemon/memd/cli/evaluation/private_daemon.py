"""A second daemon with other settings, whose index and settings are in a temporary folder.

It reads the same notes and transcripts as the user's daemon and writes none of their files. Daemon and folder are gone
when the block ends, also after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from memd.cli.arguments import HintedError
from memd.cli.evaluation.settings import private_document
from memd.settings.paths import daemon_config_file
from memd_client.errors import DaemonStartError, DaemonUnreachableError

if TYPE_CHECKING:
    from memd_client import Client
    from memd_client.messages import StatusReply

FOLDER_PREFIX = "memd-eval-"

START_TIMEOUT_S = 30.0
POLL_INTERVAL_S = 0.02

STOP_TIMEOUT_S = 10.0
"""Time until a daemon that doesn't stop is killed."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def private_daemon(status: StatusReply, agent: str, settings: Mapping[str, Any]) -> Iterator[Client]:
    """Run a daemon that has the user's settings, but others for one agent, and yield a client of it.

    `status` is that of the user's daemon.
    """
    document = _load_own_settings()
    with _ended_by_signals():
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
        process: subprocess.Popen[bytes] | None = None
        try:
            others = [each.agent for each in status.agents if each.agent != agent]
            index = str(folder / "{agentId}.sqlite")
            config = _write_settings(folder, private_document(document, agent, others, settings, index))
            process = _start(folder, config, status)
            with _connect(folder, process) as client:
                yield client
        finally:
            with _undisturbed():
                _stop(process)
                shutil.rmtree(folder, ignore_errors=True)


def _load_own_settings() -> dict[str, Any]:
    """Return the contents of the user's `memd.toml`; empty if there is none."""
    path = daemon_config_file()
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise HintedError(
            f"cannot read {path}: {error}", "run `memctl doctor`, and correct the file"
        ) from None


def _write_settings(folder: Path, document: Mapping[str, Any]) -> Path:
    """Write a settings file and return its path."""
    import tomlkit

    path = folder / "memd.toml"
    path.write_text(tomlkit.dumps(document), "utf-8")
    return path


def _start(folder: Path, config: Path, status: StatusReply) -> subprocess.Popen[bytes]:
    """Start the daemon."""
    from memd_client.discovery import daemon_command, start_daemon

    variables = {
        "MEMD_CONFIG": str(config),
        "OPENCLAW_STATE_DIR": status.state_dir,
        "OPENCLAW_CONFIG_PATH": status.config_path,
    }
    assignments = [f"{name}={value}" for name, value in variables.items()]
    return start_daemon(str(folder / "memd.sock"), ["env", *assignments, *daemon_command()])


def _connect(folder: Path, process: subprocess.Popen[bytes]) -> Client:
    """Return a client once the daemon is ready."""
    from memd_client import Client
    from memd_client.discovery import log_tail

    socket = str(folder / "memd.sock")
    client = Client(socket)
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        ended = process.poll()
        try:
            client.hello()
        except DaemonUnreachableError:
            if ended is not None or time.monotonic() > deadline:
                raise DaemonStartError(
                    f"the daemon for --compare did not start; its log ends with: {log_tail(socket)}"
                ) from None
        else:
            return client
        threading.Event().wait(POLL_INTERVAL_S)


def _stop(process: subprocess.Popen[bytes] | None) -> None:
    """Stop the daemon, which also stops its models, and wait for its end."""
    if process is None:
        return
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM and SIGHUP interrupt the block as Ctrl-C does, so that it removes what it made."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handlers(dict.fromkeys(_STOP_SIGNALS[1:], interrupt)):
        yield


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore further signals to stop while the block removes what was made."""
    with _handlers(dict.fromkeys(_STOP_SIGNALS, signal.SIG_IGN)):
        yield


@contextlib.contextmanager
def _handlers(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Set signal handlers during the block; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
