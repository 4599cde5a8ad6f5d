"""Prints the counts that the project limits; `scripts/size` calls it.

The search is traced in a separate daemon on a small workspace: with `--traced-daemon` this program is that daemon with
a profile function. It writes a line of JSON to standard output when a recording begins, on SIGUSR1, and one with the
result, on SIGUSR2.
"""

from __future__ import annotations

import ast
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memd_client import Client

ROOT = Path(__file__).resolve().parents[1]
DAEMON = ROOT / "daemon" / "memd"
TESTS = ROOT / "tests"

RANKING = "memd.search.rank"
QUERY = "lease of flat 7"
START_DEADLINE_S = 60.0
SEARCHES = 5
"""Recorded searches. Modules that all of them ran count, so timers do not."""

NOISE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


@dataclass(frozen=True, slots=True)
class SourceSize:
    """Modules, all their lines, and the lines with code."""

    modules: int
    lines: int
    code_lines: int


@dataclass(slots=True)
class SearchPath:
    """Modules of memd that a search ran, and frames of memd above the ranking."""

    modules: set[str] = field(default_factory=set)
    frames: list[str] = field(default_factory=list)


def count_code_lines(source: str) -> int:
    """Return the number of lines with code, without blanks, comments and docstrings."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str()), end_lineno=int(end)):
                texts.update(range(node.lineno, end + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOISE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


def measure_sources(folder: Path) -> SourceSize:
    """Return the size of the Python files below a folder."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    return SourceSize(
        len(sources), sum(len(each.splitlines()) for each in sources), sum(map(count_code_lines, sources))
    )


def import_layers(pyproject: str) -> list[str]:
    """Return the package layers of the text of `pyproject.toml`, highest first."""
    contracts = tomllib.loads(pyproject)["tool"]["importlinter"]["contracts"]
    return [layer for each in contracts if each["type"] == "layers" for layer in each["layers"]]


def is_in(module: str, package: str) -> bool:
    """Return whether a module is a package or below it."""
    return module == package or module.startswith(f"{package}.")


class SearchTracer:
    """A profile function for all threads that records modules of memd while it is on."""

    def __init__(self) -> None:
        self.path = SearchPath()
        self._is_recording = False
        self._names: dict[CodeType, str] = {}

    def install(self) -> None:
        """Trace this thread and threads that start later."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        signal.signal(signal.SIGUSR1, self._begin)
        signal.signal(signal.SIGUSR2, self._end)

    def _begin(self, *_: object) -> None:
        self.path, self._is_recording = SearchPath(), True
        _answer("recording")

    def _end(self, *_: object) -> None:
        self._is_recording = False
        _answer({"modules": sorted(self.path.modules), "frames": self.path.frames})

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        if not self._is_recording or event != "call":
            return
        module = str(frame.f_globals.get("__name__"))
        if not is_in(module, "memd"):
            return
        self.path.modules.add(module)
        if not self.path.frames and is_in(module, RANKING):
            self.path.frames = [*_waiting_frames(), *_frames_above(frame)]


def _frames_above(frame: FrameType) -> list[str]:
    """Return the frames of memd on this thread's stack above a frame, outermost first."""
    names = []
    above = frame.f_back
    while above is not None:
        names.append(_frame_name(above))
        above = above.f_back
    return [name for name in reversed(names) if is_in(name, "memd")]


def _waiting_frames() -> list[str]:
    """Return the frames of memd in the task that waits for this thread, if any."""
    import trio

    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        root = trio.from_thread.run_sync(trio.lowlevel.current_root_task)
        chains = [_chain(task.coro) for task in _tasks_below(root)]
        return max((each for each in chains if any(is_in(name, "memd.search") for name in each)), key=len)
    return []


def _tasks_below(task: Any) -> Iterator[Any]:
    """Yield a task and its descendants."""
    yield task
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield from _tasks_below(child)


def _chain(coroutine: Any) -> list[str]:
    """Return the frames of memd of a suspended coroutine, outermost first."""
    names = []
    while coroutine is not None and getattr(coroutine, "cr_frame", None) is not None:
        names.append(_frame_name(coroutine.cr_frame))
        coroutine = coroutine.cr_await
    return [name for name in names if is_in(name, "memd")]


def _frame_name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"


def _answer(value: object) -> None:
    """Write a line of JSON to the program that started this daemon."""
    os.write(sys.__stdout__.fileno(), json.dumps(value).encode() + b"\n")  # type: ignore[union-attr]


def run_traced_daemon() -> None:
    """Run the daemon in this process with a tracer."""
    SearchTracer().install()
    from memd.__main__ import main

    sys.argv[1:] = []
    main()


def trace_search(home: Path) -> SearchPath:
    """Trace a keyword search of a daemon on a small workspace in an empty folder."""
    from memd_client import Client

    environ = _prepare_home(home)
    process = subprocess.Popen(
        [sys.executable, __file__, "--traced-daemon"],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        with Client(environ["MEMD_SOCKET"], timeout_s=START_DEADLINE_S) as client:
            _index(client, process)
            client.search(QUERY)
            runs = [_record_search(client, process) for _ in range(SEARCHES)]
        return SearchPath(set.intersection(*(each.modules for each in runs)), runs[-1].frames)
    finally:
        process.terminate()
        process.communicate(timeout=START_DEADLINE_S)


def _prepare_home(home: Path) -> dict[str, str]:
    """Write settings and notes; return the environment of a daemon for them."""
    workspace = home / "workspace"
    workspace.mkdir()
    for number in range(20):
        text = f"# Note {number}\n\nThe lease of flat {number} ends in June.\n\nThe kettle is blue.\n"
        (workspace / f"note-{number}.md").write_text(text)
    agent = {"id": "main", "workspace": str(workspace)}
    settings = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}, "list": [agent]}}
    (home / "openclaw.json").write_text(json.dumps(settings))
    return {
        **os.environ,
        "HOME": str(home),
        "OPENCLAW_STATE_DIR": str(home),
        "MEMD_SOCKET": str(home / "memd.sock"),
        "MEMD_CONFIG": str(home / "memd.toml"),
    }


def _index(client: Client, process: subprocess.Popen[bytes]) -> None:
    """Index the workspace as soon as the daemon listens."""
    from memd_client.errors import MemdError

    until = time.monotonic() + START_DEADLINE_S
    while True:
        try:
            client.index()
            return
        except MemdError:
            if time.monotonic() > until or process.poll() is not None:
                raise
            time.sleep(0.1)


def _record_search(client: Client, process: subprocess.Popen[bytes]) -> SearchPath:
    """Return the daemon's recording of one search."""
    assert process.stdout is not None
    process.send_signal(signal.SIGUSR1)
    process.stdout.readline()
    client.search(QUERY)
    process.send_signal(signal.SIGUSR2)
    recorded = json.loads(process.stdout.readline())
    return SearchPath(set(recorded["modules"]), recorded["frames"])


def main() -> None:
    """Print the counts; `--verbose` also names the modules and frames of a search."""
    for name, folder in (("daemon/memd", DAEMON), ("tests", TESTS)):
        size = measure_sources(folder)
        print(f"{name:<16}{size.lines:>8,} lines, {size.code_lines:,} of code, in {size.modules:,} modules")
    layers = import_layers((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    print(f"{'import layers':<16}{len(layers):>8}")
    with tempfile.TemporaryDirectory(prefix="memd-", dir="/tmp") as home:
        path = trace_search(Path(home))
    print(f"{'a search':<16}{len(path.modules):>8} modules, {len(path.frames)} frames above {RANKING}")
    if "--verbose" in sys.argv:
        for each in (*sorted(path.modules), "", *path.frames):
            print(f"  {each}")


if __name__ == "__main__":
    if "--traced-daemon" in sys.argv:
        run_traced_daemon()
    else:
        main()
