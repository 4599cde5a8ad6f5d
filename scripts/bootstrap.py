"""Creates `.venv` and installs memd into it, with Python 3.11 alone; skips installed parts.

python3 scripts/bootstrap.py [--dev] [--build]

Without arguments it installs the requirements of keyword search; `scripts/first_run.py` adds the local model after a
first search: a wheel, or with `--build` llama-cpp-python, built from source. `--dev` installs everything, tests and
checks included.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))

from memd.embedding.local.compiler import compiler_command, has_wheel, missing_compiler

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "memd-installed.json"
LOG = VENV / "install.log"

LLAMA_FLAGS = (
    "-DLLAVA_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_EXAMPLES=OFF"
    " -DLLAMA_BUILD_TESTS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF"
)
"""Build the library alone, which halves the build time."""

OWN_FLAGS = "CMAKE_ARGS"
"""The variable with the user's flags for llama-cpp-python, such as for a GPU."""

PIP_WITH_PYTHON_OPTION = (22, 3)
"""The first release of pip that installs into another environment (`--python`)."""

PIP_INSTALL = ("install", "--disable-pip-version-check", "--no-compile")
"""Modules are compiled at their first import, which saves seconds before the first search."""

TICK_S = 0.2
LOG_EVERY_S = 15
"""Interval of progress lines if standard output is not a terminal."""
LOG_TAIL_BYTES = 16_384
"""Part of a log that is searched for build progress; one compiler command takes 2 kB."""


def main() -> None:
    """Install the parts that the arguments select, unless they are installed."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file runs before anything checked the version
        fail(f"memd needs Python 3.11 or newer, found {sys.version.split()[0]}", "install a newer python3")
    with one_installation():
        install_base()
        if "--dev" in sys.argv:
            add_pip()
            if is_compiler_needed("local-build"):
                fail(
                    f"cannot build llama-cpp-python: no {missing_compiler()} found",
                    add_compiler(),
                )
            for part in ("local", "local-build") if has_wheel() else ("local-build",):
                install_local(part)
            install_part("dev", "Installing requirements (dev)")


def install_base() -> None:
    """Install the daemon, the clients and `memctl`, without a local model."""
    if not PYTHON.exists():
        STAMP.unlink(missing_ok=True)
        make_venv()
    install_part("run", "Installing requirements", "run", "build")
    projects = [ROOT / name for name in ("client", "daemon")]
    print_of = fingerprint(*(project / "pyproject.toml" for project in projects))
    if read_stamp().get("memd") != print_of or not (VENV / "bin" / "memctl").exists():
        editable = [word for project in projects for word in ("-e", str(project))]
        remove_old_name()
        run_pip("Installing memd", ["--no-deps", "--no-build-isolation", *editable])
        write_stamp("memd", print_of)


def local_part() -> str:
    """Return the part that runs local models: a wheel, or llama-cpp-python if it is wanted or there is no wheel."""
    return "local" if has_wheel() and "--build" not in sys.argv else "local-build"


def install_local(part: str) -> None:
    """Install what runs local models; building takes minutes at first, later the wheel is in pip's cache."""
    titles = {
        "local": "Installing llama.cpp (34 MB)",
        "local-build": "Building llama-cpp-python (about three minutes on two cores, once per machine)",
    }
    install_part(part, titles[part])


def is_local_installed(part: str) -> bool:
    """Return whether a local part is installed as in its requirement file, with the same flags."""
    return read_stamp().get(part) == fingerprint(ROOT / "requirements" / f"{part}.txt") + own_flags(part)


def own_flags(part: str) -> str:
    """Return the user's flags of a part."""
    return os.environ.get(OWN_FLAGS, "") if part == "local-build" else ""


def is_compiler_needed(part: str) -> bool:
    """Return whether a local part has to be built but a compiler is missing."""
    return part == "local-build" and not is_local_installed(part) and bool(missing_compiler())


def add_compiler() -> str:
    """Return the command that installs a compiler, then the local part."""
    command, run = compiler_command(), "scripts/run --build" if "--build" in sys.argv else "scripts/run"
    return f"{command} && {run}" if command else f"install a C++ compiler, then run {run}"


def make_venv() -> None:
    """Create the virtual environment, without pip if this interpreter's pip can serve it."""
    arguments = ["--without-pip"] if has_pip_for_others() else []
    done = subprocess.run(
        [sys.executable, "-m", "venv", *arguments, str(VENV)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        way = (
            "on Debian and Ubuntu: apt install python3-venv"
            if "ensurepip" in done.stdout
            else done.stderr.strip()
        )
        fail(f"cannot create the virtual environment {VENV}", way)


def add_pip() -> None:
    """Install pip into the environment; if that fails, this interpreter's pip serves on."""
    if not (VENV / "bin" / "pip").exists():
        run_step("Installing pip", [str(PYTHON), "-Im", "ensurepip", "--default-pip"], needed=False)


def install_part(part: str, title: str, *files: str) -> None:
    """Install requirement files, unless they are installed already."""
    paths = [ROOT / "requirements" / f"{name}.txt" for name in files or (part,)]
    print_of = fingerprint(*paths) + own_flags(part)
    if read_stamp().get(part) != print_of:
        named = [word for path in paths for word in ("-r", str(path))]
        # A wheel that was built with other flags may be installed or cached.
        anew = ["--force-reinstall", "--no-cache-dir"] if own_flags(part) else []
        run_pip(title, [*anew, "--require-hashes", *named], counts=part == "local-build")
        write_stamp(part, print_of)


def run_pip(title: str, arguments: Sequence[str], *, counts: bool = False) -> None:
    """Run `pip install`."""
    run_step(title, [*installer(), *(["--verbose"] if counts else []), *arguments])


def run_step(title: str, command: Sequence[str], *, needed: bool = True) -> None:
    """Run a command with a progress line; print the end of its output if it fails."""
    environ = {"CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 2), **os.environ}
    environ[OWN_FLAGS] = f"{LLAMA_FLAGS} {os.environ.get(OWN_FLAGS, '')}".rstrip()
    with LOG.open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=environ, pass_fds=_lock, cwd=ROOT
        )
    end = wait_until(lambda: process.poll() is not None, title)
    if process.returncode and needed:
        print()
        tail = "\n".join(LOG.read_text(errors="replace").splitlines()[-15:])
        fail(f"{title} failed; last lines of {LOG}:\n{tail}", hint_for(tail))
    print(end.format("skipped" if process.returncode else "done"), flush=True)


def wait_until(is_over: Callable[[], bool], title: str) -> str:
    """Print a step and its progress until it is over; return its last line."""
    started = time.monotonic()
    live = sys.stdout.isatty()
    shown = 0
    print(f"{title} ...", end="" if live else "\n", flush=True)
    while not is_over():
        time.sleep(TICK_S)
        elapsed = int(time.monotonic() - started)
        if live and elapsed != shown:
            print(f"\r{title} ... {progress(elapsed)} ", end="", flush=True)
        elif not live and elapsed // LOG_EVERY_S > shown // LOG_EVERY_S:
            print(f"  {progress(elapsed)}", flush=True)
        shown = elapsed
    blank = f"\r{title} {'':30}\r{title}" if live else " "
    return f"{blank} {{}}, {time.monotonic() - started:.0f} s"


def progress(elapsed_s: int) -> str:
    """Return the progress of a step: compiled files, if the log counts them, and seconds."""
    try:
        with LOG.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            counted = re.findall(rb"\[(\d+)/(\d+)\]", log.read())
    except FileNotFoundError:
        counted = []
    files = f"{int(counted[-1][0])} of {int(counted[-1][1])} files, " if counted else ""
    return f"{files}{elapsed_s} s"


def installer() -> list[str]:
    """Return the install command: the environment's pip, this interpreter's pip, or uv."""
    if (VENV / "bin" / "pip").exists():
        return [str(PYTHON), "-m", "pip", *PIP_INSTALL]
    if has_pip_for_others():
        return [sys.executable, "-m", "pip", "--python", str(PYTHON), *PIP_INSTALL]
    uv = shutil.which("uv")
    if uv is None:
        fail(f"{VENV} has no pip, and uv is not installed", f"remove {VENV}, then run this again")
    return [str(uv), "pip", "install", "--python", str(PYTHON)]


def has_pip_for_others() -> bool:
    """Return whether this interpreter has a pip that installs into other environments."""
    try:
        release = re.findall(r"\d+", version("pip"))
    except PackageNotFoundError:
        return False
    return tuple(map(int, release[:2])) >= PIP_WITH_PYTHON_OPTION


def remove_old_name() -> None:
    """Uninstall the distribution `memd`, whose new name is `memd-daemon`."""
    if any(VENV.glob("lib/*/site-packages/memd-*.dist-info")):
        command = [each for each in installer() if not each.startswith(("--disable-", "--no-"))]
        command[command.index("install")] = "uninstall"
        subprocess.run([*command, "-y", "memd"], stdout=subprocess.DEVNULL, check=False)


def hint_for(tail: str) -> str:
    """Return a hint for a failed installation."""
    if re.search(r"Connection|resolve|Network|timed out|proxy|from versions: none", tail, re.IGNORECASE):
        return "check the network and pip's index settings, then run this again"
    if re.search(r"CMake|compiler|ninja|cmake", tail):
        return "read the log for missing build tools, or go on without a local model: scripts/run --no-local"
    return "read the log, then run this again"


_lock: tuple[int, ...] = ()
"""The descriptor of the lock while `one_installation` holds it, for child processes."""


@contextlib.contextmanager
def one_installation() -> Iterator[None]:
    """Hold the lock of the environment, so that no other process installs into it.

    A pip whose parent was killed keeps the lock: the next run waits for it and continues its work.
    """
    global _lock  # noqa: PLW0603 - a process has one
    VENV.mkdir(exist_ok=True)
    with (VENV / "install.lock").open("w") as file:
        if not is_locked_by(file):
            print(wait_until(lambda: is_locked_by(file), "Waiting for another installation").format("done"))
        _lock = (file.fileno(),)
        try:
            yield
        finally:
            _lock = ()


def is_locked_by(file: TextIO) -> bool:
    """Return whether this process has locked the file; does not wait."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def fingerprint(*files: Path) -> str:
    """Return a hash of requirement files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def read_stamp() -> dict[str, str]:
    """Return the fingerprints of the installed parts."""
    try:
        made = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return made if isinstance(made, dict) else {}


def write_stamp(part: str, print_of: str) -> None:
    """Record that a part is installed."""
    STAMP.write_text(json.dumps(read_stamp() | {part: print_of}))


def fail(what: str, hint: str) -> None:
    """Print an error with its hint, and exit."""
    print(f"error: {what}\n  hint: {hint}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nInterrupted; run this again to continue.", file=sys.stderr)
        sys.exit(130)
