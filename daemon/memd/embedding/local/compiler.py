"""Whether this machine has a wheel of llama.cpp, or a compiler. `scripts/bootstrap.py` imports it without packages."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from typing import Final

WHEELS: Final = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64")}
"""The systems and machines that xllamacpp has a wheel for; on Linux with glibc."""

COMPILERS: Final = {"C++": ("c++", "g++", "clang++"), "C": ("cc", "gcc", "clang")}

COMPILER_COMMANDS: Final = {
    "apt-get": "sudo apt-get install -y build-essential",
    "dnf": "sudo dnf install -y gcc-c++",
    "zypper": "sudo zypper install -y gcc-c++",
    "pacman": "sudo pacman -S --needed base-devel",
    "apk": "sudo apk add build-base linux-headers",
    "xcode-select": "xcode-select --install",
}
"""The command that installs a compiler, by the package manager that is on PATH."""


def has_wheel() -> bool:
    """Return whether there is a wheel of xllamacpp for this machine."""
    is_linux = sys.platform == "linux"
    return (sys.platform, platform.machine()) in WHEELS and (
        not is_linux or platform.libc_ver()[0] == "glibc"
    )


def missing_compiler() -> str:
    """Return the missing compiler with its command names; empty if there is one. Blocks: may run a command."""
    # A Mac without Xcode's tools has commands of these names that only offer to install the tools.
    is_stub = sys.platform == "darwin" and not _has_xcode_tools()
    for language, names in COMPILERS.items():
        if is_stub or not any(map(shutil.which, names)):
            return f"{language} compiler ({', '.join(names)})"
    return ""


def _has_xcode_tools() -> bool:
    try:
        return subprocess.run(["xcode-select", "-p"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def compiler_command() -> str:
    """Return the command that installs a compiler; empty if no package manager is known."""
    for program, command in COMPILER_COMMANDS.items():
        if shutil.which(program):
            return command.removeprefix("sudo ") if os.geteuid() == 0 else command
    return ""
