"""The file `memd.toml`: the daemon's own settings, and memory settings of agents (see `names`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memd.settings.fields import convert, describe_type, describe_value, fields_of
from memd.settings.names import OWN_NAMES
from memd.settings.schema import DaemonSettings
from memd.system.state_file import UnreadableFileError, load_text
from memd_client.errors import ConfigInvalidError

Problems = tuple[ConfigInvalidError, ...]


@dataclass(frozen=True, slots=True)
class MemdToml:
    """The tables of `memd.toml`: empty if there is no file, None with a problem if it is invalid."""

    path: Path
    tables: Mapping[str, object] | None
    problem: ConfigInvalidError | None = None


def load_memd_toml(path: Path) -> MemdToml:
    """Read the file. Never raises."""
    try:
        return MemdToml(path, tomllib.loads(load_text(path)))
    except FileNotFoundError:
        return MemdToml(path, {})
    except UnreadableFileError as error:
        what = str(error)
    except (ValueError, RecursionError) as error:
        what = f"is not TOML: {error}"
    return MemdToml(path, None, _problem(path, what))


def load_daemon_settings(path: Path) -> tuple[DaemonSettings, Problems]:
    """Return the daemon's settings from a file, and their problems."""
    return read_daemon_settings(load_memd_toml(path))


def read_daemon_settings(file: MemdToml) -> tuple[DaemonSettings, Problems]:
    """Return the daemon's settings, and the problems of the file."""
    if file.problem is not None:
        return DaemonSettings(), (file.problem,)
    known = {field.key: field for field in fields_of(DaemonSettings)}
    values: dict[str, Any] = {}
    problems: list[ConfigInvalidError] = []
    for key, raw in (file.tables or {}).items():
        if key in OWN_NAMES or key == "sources":
            continue
        if key not in known:
            problems.append(_problem(file.path, f"`{key}` is not a setting", key))
        elif (value := convert(raw, known[key].type)) is not None:
            values[key] = value
        else:
            expected = describe_type(known[key].type)
            message = f"{key}: expected {expected}, found {describe_value(raw)}"
            problems.append(_problem(file.path, message, key, expected))
    return DaemonSettings(**values), tuple(problems)


def _problem(path: Path, what: str, key: str = "", expected: str = "") -> ConfigInvalidError:
    """Return the error for a problem of `memd.toml`."""
    facts = {"file": str(path), "key": key, "expected": expected}
    return ConfigInvalidError(f"{path}: {what}", data={name: fact for name, fact in facts.items() if fact})
