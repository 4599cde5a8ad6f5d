"""Makes `.venv` and installs memd into it; needs nothing but Python 3.11. Takes a moment if all is installed.

python3 scripts/bootstrap.py [--dev]

Without arguments it installs what a keyword search needs; `scripts/first_run.py` adds the local model after the first
answer. `--dev` installs everything, tests and checks included.
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

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "memd-installed.json"
LOG = VENV / "install.log"

LLAMA_FLAGS = (
    "-DLLAVA_BUILD=OFF -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_EXAMPLES=OFF"
    " -DLLAMA_BUILD_TESTS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF"
)
"""Only the library is needed: this halves the build."""

PIP_WITH_PYTHON_OPTION = (22, 3)
"""The first release of pip that installs into another environment (`--python`)."""

PIP_INSTALL = ("install", "--disable-pip-version-check", "--no-compile")
"""Modules are compiled at their first import: that spares seconds before the first answer."""

COMPILERS = {"C++": ("c++", "g++", "clang++"), "C": ("cc", "gcc", "clang")}

COMPILER_COMMANDS = {
    "apt-get": "sudo apt-get install -y build-essential",
    "dnf": "sudo dnf install -y gcc-c++",
    "zypper": "sudo zypper install -y gcc-c++",
    "pacman": "sudo pacman -S --needed base-devel",
    "apk": "sudo apk add build-base linux-headers",
    "xcode-select": "xcode-select --install",
}
"""The command that installs a compiler, by the package manager that is on PATH."""

TICK_S = 0.2
LOG_EVERY_S = 15
"""How often the progress is printed if standard output is no terminal."""
LOG_TAIL_BYTES = 16_384
"""How much of a log is searched for the progress of a build: a compiler's command line takes 2 kB."""


def main() -> None:
    """Install what the arguments ask for, unless it is installed already."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file runs before anything checked the version
        fail("memd needs Python 3.11 or newer", f"this is {sys.version.split()[0]}: install a newer python3")
    with one_installation():
        install_base()
        if "--dev" in sys.argv:
            add_pip()
            if is_compiler_needed():
                fail(
                    f"llama-cpp-python is built from source, and there is no {missing_compiler()}",
                    add_compiler(),
                )
            install_local()
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


def install_local() -> None:
    """Install llama-cpp-python, which takes minutes once a machine: later its wheel is in pip's cache."""
    install_part("local", "Building llama-cpp-python (about three minutes on two cores, once a machine)")


def is_local_installed() -> bool:
    """Return whether the installed local part is that of the requirement file."""
    return read_stamp().get("local") == fingerprint(ROOT / "requirements" / "local.txt")


def is_compiler_needed() -> bool:
    """Return whether the local part is to be built and can't be, for want of a compiler."""
    return not is_local_installed() and bool(missing_compiler())


def missing_compiler() -> str:
    """Return which compiler is missing, with the names it was looked for by; empty if there is one."""
    for language, names in COMPILERS.items():
        if not any(map(shutil.which, names)):
            return f"{language} compiler ({', '.join(names)})"
    return ""


def add_compiler() -> str:
    """Return the command that installs a compiler on this system, then the local part."""
    for program, command in COMPILER_COMMANDS.items():
        if shutil.which(program):
            return f"{command.removeprefix('sudo ') if os.geteuid() == 0 else command} && scripts/run"
    return "install a C++ compiler, then scripts/run"


def make_venv() -> None:
    """Make the virtual environment; its own pip comes later if this interpreter's can install into it."""
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
        fail(f"the virtual environment {VENV} could not be made", way)


def add_pip() -> None:
    """Install pip into the environment, which takes seconds; without one this interpreter's goes on serving."""
    if not (VENV / "bin" / "pip").exists():
        run_step("Adding pip", [str(PYTHON), "-Im", "ensurepip", "--default-pip"], needed=False)


def install_part(part: str, title: str, *files: str) -> None:
    """Install requirement files, unless they are installed already."""
    paths = [ROOT / "requirements" / f"{name}.txt" for name in files or (part,)]
    print_of = fingerprint(*paths)
    if read_stamp().get(part) != print_of:
        named = [word for path in paths for word in ("-r", str(path))]
        run_pip(title, ["--require-hashes", *named], counts=part == "local")
        write_stamp(part, print_of)


def run_pip(title: str, arguments: Sequence[str], *, counts: bool = False) -> None:
    """Run `pip install`."""
    run_step(title, [*installer(), *(["--verbose"] if counts else []), *arguments])


def run_step(title: str, command: Sequence[str], *, needed: bool = True) -> None:
    """Run a command, showing how far it is; what it prints is shown only if it fails."""
    environ = {
        "CMAKE_ARGS": LLAMA_FLAGS,
        "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 2),
        **os.environ,
    }
    with LOG.open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=environ, pass_fds=_lock, cwd=ROOT
        )
    end = wait_until(lambda: process.poll() is not None, title)
    if process.returncode and needed:
        print()
        tail = "\n".join(LOG.read_text(errors="replace").splitlines()[-15:])
        fail(f"{title} failed; the end of {LOG}:\n{tail}", way_out(tail))
    print(end.format("skipped" if process.returncode else "done"), flush=True)


def wait_until(is_over: Callable[[], bool], title: str) -> str:
    """Show a step and how far it is until it is over."""
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
    """Return how far a step is: files compiled of all, if the log of a build counts them, and seconds."""
    try:
        with LOG.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL_BYTES))
            counted = re.findall(rb"\[(\d+)/(\d+)\]", log.read())
    except FileNotFoundError:
        counted = []
    files = f"{int(counted[-1][0])} of {int(counted[-1][1])} files, " if counted else ""
    return f"{files}{elapsed_s} s"


def installer() -> list[str]:
    """Return the command that installs into the environment: its own pip, this interpreter's, else uv."""
    if (VENV / "bin" / "pip").exists():
        return [str(PYTHON), "-m", "pip", *PIP_INSTALL]
    if has_pip_for_others():
        return [sys.executable, "-m", "pip", "--python", str(PYTHON), *PIP_INSTALL]
    uv = shutil.which("uv")
    if uv is None:
        fail(f"{VENV} has no pip, and there is no uv", f"remove {VENV}, then run this again")
    return [str(uv), "pip", "install", "--python", str(PYTHON)]


def has_pip_for_others() -> bool:
    """Return whether this interpreter has a pip that installs into other environments."""
    try:
        release = re.findall(r"\d+", version("pip"))
    except PackageNotFoundError:
        return False
    return tuple(map(int, release[:2])) >= PIP_WITH_PYTHON_OPTION


def remove_old_name() -> None:
    """Uninstall the distribution `memd`, renamed to `memd-daemon`: both would own the same programs."""
    if any(VENV.glob("lib/*/site-packages/memd-*.dist-info")):
        command = [each for each in installer() if not each.startswith(("--disable-", "--no-"))]
        command[command.index("install")] = "uninstall"
        subprocess.run([*command, "-y", "memd"], stdout=subprocess.DEVNULL, check=False)


def way_out(tail: str) -> str:
    """Return what a person can do about a failed installation."""
    if re.search(r"Connection|resolve|Network|timed out|proxy|from versions: none", tail, re.IGNORECASE):
        return "check the network and pip's index settings, then run this again"
    if re.search(r"CMake|compiler|ninja|cmake", tail):
        return "see the log for what the compiler misses; or go on without a local model: --no-local"
    return "see the log, then run this again"


_lock: tuple[int, ...] = ()
"""The descriptor of the lock while `one_installation` holds it, for child processes."""


@contextlib.contextmanager
def one_installation() -> Iterator[None]:
    """Hold the lock of the environment, so that no other process installs into it.

    A pip whose parent was killed holds it as well: the next run waits for it, and goes on from what it did.
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
    """Return whether the lock on a file is ours now; doesn't wait."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def fingerprint(*files: Path) -> str:
    """Return a hash of what is installed from."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def read_stamp() -> dict[str, str]:
    """Return what was installed before, by part."""
    try:
        made = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return made if isinstance(made, dict) else {}


def write_stamp(part: str, print_of: str) -> None:
    """Note that a part is installed."""
    STAMP.write_text(json.dumps(read_stamp() | {part: print_of}))


def fail(what: str, way: str) -> None:
    """Print the problem and its remedy, and exit with 1."""
    print(f"error: {what}\n  try: {way}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nInterrupted; run this again to go on from here.", file=sys.stderr)
        sys.exit(130)
