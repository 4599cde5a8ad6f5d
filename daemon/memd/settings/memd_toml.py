"""The file `memd.toml`: the daemon's own settings, and memory settings of agents (see `names`)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from memd.settings.fields import convert, describe_type, describe_value, fields_of
from memd.settings.names import SOURCES, TOML_NAMES
from memd.settings.schema import DaemonSettings
from memd.system.nearest_name import did_you_mean
from memd.system.state_file import UnreadableFileError, load_text
from memd_client.errors import ConfigInvalidError

Problems = tuple[ConfigInvalidError, ...]

S = TypeVar("S", bound=msgspec.Struct)


class MemdToml(Struct, frozen=True):
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
    return MemdToml(path, None, toml_problem(path, what))


def read_daemon_settings(file: MemdToml) -> tuple[DaemonSettings, Problems]:
    """Return the daemon's settings, and the problems of the file."""
    if file.problem is not None:
        return DaemonSettings(), (file.problem,)
    problems: list[ConfigInvalidError] = []
    tables = {key: raw for key, raw in (file.tables or {}).items() if key not in {*TOML_NAMES, SOURCES}}
    return _read_table(file.path, DaemonSettings, tables, "", problems), tuple(problems)


def _read_table(
    path: Path, kind: type[S], table: Mapping[str, object], prefix: str, problems: list[ConfigInvalidError]
) -> S:
    """Return the settings of one table of the file; add what is wrong with it to the problems."""
    known = {field.key: field for field in fields_of(kind)}
    values: dict[str, Any] = {}
    for name, raw in table.items():
        key, field = f"{prefix}{name}", known.get(name)
        if field is None:
            near = did_you_mean(name, [*known, *TOML_NAMES, SOURCES])
            problems.append(toml_problem(path, f"`{key}` is not a setting{near}", key))
        elif field.group is not None and isinstance(raw, Mapping):
            values[name] = _read_table(path, field.group, raw, f"{key}.", problems)
        elif field.group is None and (value := convert(raw, field.type)) is not None:
            values[name] = value
        else:
            expected = "a table" if field.group is not None else describe_type(field.type)
            message = f"{key}: expected {expected}, found {describe_value(raw)}"
            problems.append(toml_problem(path, message, key, expected))
    return kind(**values)


def toml_problem(path: Path, what: str, key: str = "", expected: str = "") -> ConfigInvalidError:
    """Return the error for a problem of `memd.toml`."""
    facts = {"file": str(path), "key": key, "expected": expected}
    return ConfigInvalidError(f"{path}: {what}", data={name: fact for name, fact in facts.items() if fact})
