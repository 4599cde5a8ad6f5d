"""Programs, settings, folders and leftovers: what the engine's report says, as findings. Pure."""

from __future__ import annotations

import shlex
from typing import Any

from memd.cli.checks.finding import OK, WARNING, WRONG, Finding, first_of
from memd.cli.wording import count, size

Report = dict[str, Any]

OLDEST_PYTHON = (3, 11)

SCARCE_BYTES = 100_000_000
"""Free space below which indexes can soon no longer be written."""

LOW_BYTES = 512_000_000
"""Free space that asks for a look: an index and a download need some room beside what there is."""

FIX_OF_LEFTOVER = {
    "damaged index": "It was rebuilt from your Markdown: rm {path}",
    "unfinished adoption": "The next start removes it.",
    "unfinished download": "`memctl model pull` goes on with it; to be rid of it: rm {path}",
    "unfinished model": "The next `memctl model pull` removes it.",
}

FIX_OF_REFUSED = (
    "Move them to {toml}, below [search] for all agents or [agents.ID.search] for one, under the same names; "
    "docs/configuration.md#where-settings-go has every place."
)


def check_programs(report: Report) -> list[Finding]:
    """Return how the programs are that memd stands on."""
    area, programs = "installation", report["programs"]
    python = programs["python"]
    is_new = tuple(map(int, python.split(".")[:2])) >= OLDEST_PYTHON
    found = [
        Finding(
            area, "Python", OK if is_new else WRONG, python, "" if is_new else "Install Python 3.11 or later."
        ),
        Finding(area, "memd", OK, report["version"]),
    ]
    if programs["fts5"]:
        found.append(Finding(area, "SQLite", OK, f"{programs['apsw']} with FTS5"))
    else:
        fix = programs["fixes"]["apsw"]
        found.append(Finding(area, "SQLite", WRONG, f"{programs['apsw']} has no FTS5", fix))
    if programs["sqlite_vec"]:
        found.append(Finding(area, "sqlite-vec", OK, f"{programs['sqlite_vec']}, loads"))
    else:
        is_wanted = programs["sqlite_vec_wanted"]
        fix = programs["fixes"]["sqlite-vec"] if is_wanted else ""
        text = f"not loaded ({programs['sqlite_vec_problem']}): vectors are compared without it"
        found.append(Finding(area, "sqlite-vec", WARNING if is_wanted else OK, text, fix))
    llama = programs["llama_cpp"]
    text = llama or "not installed: no local models, all else works"
    fix = "" if llama else f"To add it (needs a C++ compiler): `{programs['fixes']['llama-cpp-python']}`."
    found.append(Finding(area, "llama.cpp", OK, text, fix))
    return found


def check_settings(report: Report) -> list[Finding]:
    """Return how `openclaw.json` and `memd.toml` are."""
    found: list[Finding] = []
    for name, file in (("openclaw.json", report["config"]), ("memd.toml", report["daemon_config"])):
        problems = file["problems"]
        found += [Finding("settings", name, WRONG, each["message"], each["hint"]) for each in problems]
        if not problems:
            text = file["path"] if file["exists"] else f"{file['path']} is not there: defaults"
            found.append(Finding("settings", name, OK, text))
    unknown = report["config"]["unknown_keys"]
    if unknown:
        text = f"{count(len(unknown), 'key')} without meaning here: {first_of(unknown)}"
        fix = "Correct or remove them; docs/configuration.md has all keys."
        found.append(Finding("settings", "unknown keys", WARNING, text, fix))
    refused = report["config"]["refused_keys"]
    if refused:
        text = f"OpenClaw 2026.9 doesn't start with {count(len(refused), 'key')} of openclaw.json: {first_of(refused)}"
        toml = report["daemon_config"]["path"]
        found.append(Finding("settings", "refused keys", WARNING, text, FIX_OF_REFUSED.format(toml=toml)))
    return found


def check_folders(report: Report) -> list[Finding]:
    """Return whether what is written has a place, and room there."""
    found: list[Finding] = []
    index_bytes = sum(agent["index_bytes"] for agent in report["agents"])
    seen: set[int] = set()
    for folder in report["folders"]:
        name, path = folder["name"], folder["path"]
        if not folder["is_folder"]:
            found.append(
                Finding("disk", name, WRONG, f"{path}: a file is in the way", f"ls -ld {shlex.quote(path)}")
            )
        elif not folder["writable"]:
            fix = f"chmod u+rwx {shlex.quote(path)}"
            found.append(Finding("disk", name, WRONG, f"{path} can't be written", fix))
        else:
            text = path if folder["exists"] else f"{path} is made when it is needed"
            found.append(Finding("disk", name, OK, text))
        if folder["device"] not in seen:
            seen.add(folder["device"])
            found.append(_room(folder, index_bytes))
    return found


def _room(folder: Report, index_bytes: int) -> Finding:
    """Return how much room there is on a disk: a rebuilt index needs as much as the one it replaces."""
    free = folder["free_bytes"]
    text = f"{size(free)} free at {folder['path']}; indexes take {size(index_bytes)}"
    fix = f"Free some space: df -h {shlex.quote(folder['path'])}"
    if free < SCARCE_BYTES:
        return Finding("disk", "free space", WRONG, text, fix)
    if free < max(LOW_BYTES, index_bytes):
        return Finding("disk", "free space", WARNING, text, fix)
    return Finding("disk", "free space", OK, text)


def check_leftovers(report: Report) -> list[Finding]:
    """Return what lies about and takes room."""
    rows = report["leftovers"]
    if not rows:
        return [Finding("disk", "leftovers", OK, "none")]
    return [
        Finding(
            "disk",
            "leftovers",
            WARNING,
            f"{row['kind']}, {size(row['bytes'])}: {row['path']}",
            FIX_OF_LEFTOVER[row["kind"]].format(path=shlex.quote(row["path"])),
        )
        for row in rows
    ]
