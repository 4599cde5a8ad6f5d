"""Makes `.venv` and installs memd into it; needs nothing but Python 3.11. Runs in a moment when all is there.

python3 scripts/bootstrap.py [--no-local] [--dev]
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

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

TICK_S = 0.2


def main() -> None:
    """Install what the arguments ask for, unless it is installed already."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file runs before anything checked the version
        fail("memd needs Python 3.11 or newer", f"this is {sys.version.split()[0]}: install a newer python3")
    parts = ["run", "build"]
    if "--no-local" not in sys.argv:
        parts.append("local")
    elif "--dev" not in sys.argv:
        print(
            "Without llama-cpp-python: search is by words alone, not by meaning, unless a provider is configured."
        )
    if "--dev" in sys.argv:
        parts.append("dev")
    made = read_stamp()
    if not PYTHON.exists():
        made = {}
        make_venv()
    for part in parts:
        print_of = fingerprint(ROOT / "requirements" / f"{part}.txt")
        if made.get(part) != print_of:
            install_part(part)
            made[part] = print_of
            STAMP.write_text(json.dumps(made))
    print_of = fingerprint(ROOT / "client" / "pyproject.toml", ROOT / "daemon" / "pyproject.toml")
    if made.get("memd") != print_of or not (VENV / "bin" / "memctl").exists():
        arguments = [
            "--no-deps",
            "--no-build-isolation",
            "-e",
            str(ROOT / "client"),
            "-e",
            str(ROOT / "daemon"),
        ]
        run_pip("Installing memd", arguments)
        made["memd"] = print_of
        STAMP.write_text(json.dumps(made))


def make_venv() -> None:
    """Make the virtual environment."""
    done = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        way = (
            "on Debian and Ubuntu: apt install python3-venv"
            if "ensurepip" in done.stdout
            else done.stderr.strip()
        )
        fail(f"the virtual environment {VENV} could not be made", way)


def install_part(part: str) -> None:
    """Install one requirement file."""
    arguments = ["--require-hashes", "-r", str(ROOT / "requirements" / f"{part}.txt")]
    if part != "local":
        run_pip(f"Installing requirements ({part})", arguments)
        return
    for tool in (("c++", "g++", "clang++"), ("cc", "gcc", "clang")):
        if not any(map(shutil.which, tool)):
            fail(
                f"llama-cpp-python is built from source, and there is no {tool[0]} compiler ({', '.join(tool[1:])})",
                "on Debian and Ubuntu: apt install build-essential; on macOS: xcode-select --install;"
                " or go on without search by a local model: --no-local",
            )
    run_pip("Building llama-cpp-python (about three minutes on two cores, once a machine)", arguments)


def run_pip(title: str, arguments: list[str]) -> None:
    """Run pip, showing how long it takes; what it says is shown only when it fails."""
    environ = {
        "CMAKE_ARGS": LLAMA_FLAGS,
        "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 2),
        **os.environ,
    }
    command = [*installer(), *arguments]
    started = time.monotonic()
    live = sys.stdout.isatty()
    shown = -1
    print(f"{title} ...", end="" if live else "\n", flush=True)
    with LOG.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environ)
        while process.poll() is None:
            time.sleep(TICK_S)
            elapsed = int(time.monotonic() - started)
            if live and elapsed != shown:
                print(f"\r{title} ... {elapsed} s ", end="", flush=True)
            elif not live and elapsed // 15 > max(shown, 0) // 15:
                print(f"  {elapsed} s", flush=True)
            shown = elapsed
    if process.returncode:
        print()
        tail = "\n".join(LOG.read_text(errors="replace").splitlines()[-15:])
        fail(f"{title} failed; the end of {LOG}:\n{tail}", way_out(tail))
    print(f"{f'{chr(13)}{title}' if live else ' '} done, {time.monotonic() - started:.0f} s", flush=True)


def installer() -> list[str]:
    """Return the command that installs into the environment: its pip, else uv (whose own environments lack pip)."""
    if (VENV / "bin" / "pip").exists():
        return [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check"]
    uv = shutil.which("uv")
    if uv is None:
        fail(f"{VENV} has no pip, and there is no uv", f"remove {VENV}, then run this again")
    return [str(uv), "pip", "install", "--python", str(PYTHON)]


def way_out(tail: str) -> str:
    """Return what a person can do about a failed installation."""
    if re.search(r"CMake|compiler|ninja|cmake", tail):
        return "see the log for what the compiler misses; or go on without a local model: --no-local"
    if re.search(r"Connection|resolve|Network|timed out", tail, re.IGNORECASE):
        return "check the network and pip's index settings, then run this again"
    return "see the log, then run this again"


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


def fail(what: str, way: str) -> None:
    """Say what is wrong and the way out, and stop."""
    print(f"error: {what}\n  try: {way}", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
