"""Checks of the hooks in other programs' settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memd.cli.checks.installation import WARNING, Finding
from memd.cli.hook_setup.changes import HookFiles, installed_hooks
from memd.programs.catalog import HOOKS


def check_hooks(home: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Return a finding for each program whose hooks are not those of this release."""
    states = [installed_hooks(HookFiles(program, home, environ)) for program in HOOKS]
    return [
        Finding(
            "hooks",
            each.program,
            WARNING,
            each.problem or each.state,
            f"run `memctl hooks install {each.program}`",
        )
        for each in states
        if each.state in ("incomplete", "command missing")
    ]
