"""Paths of OpenClaw's files, and the contents of its settings file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from memd.settings.endpoints import ProviderEntry
from memd.settings.fields import describe_value
from memd.settings.layers import Findings, Layer, read_layers, shown_key
from memd.system.state_file import MAX_SETTINGS_BYTES, UnreadableFileError, load_text
from memd_client import state_folder
from memd_client.discovery import require_utf8
from memd_client.errors import ConfigInvalidError
from memd_client.state_folder import CONFIG_NAME, OLD_CONFIG_NAME, OLD_STATE_FOLDER, STATE_FOLDER

_JSON5_PLACE = re.compile(r":(\d+) .* at column (\d+)$", re.DOTALL)


def find_state_dir(environ: Mapping[str, str], home: Path) -> Path:
    """Return the state directory: the one named in the environment, OpenClaw's, or memd's own."""
    path = state_folder.find_state_dir(environ, lambda: str(home))
    return Path(require_utf8(path, state_folder.STATE_VARIABLE))


def find_config_path(environ: Mapping[str, str], home: Path) -> Path:
    """Return the path of openclaw.json, which may not exist."""
    named = state_folder.value_of(environ, state_folder.CONFIG_VARIABLE)
    if named:
        path = state_folder.named_path(named, environ, lambda: str(home))
        return Path(require_utf8(path, state_folder.CONFIG_VARIABLE))
    state_dir = find_state_dir(environ, home)
    new, old = state_dir / CONFIG_NAME, state_dir / OLD_CONFIG_NAME
    return old if os.path.lexists(old) and not os.path.lexists(new) else new


def files_of_openclaw(home: Path) -> tuple[Path, ...]:
    """Return the paths that appear once OpenClaw is installed; a caller watches them."""
    names = {STATE_FOLDER: ("", CONFIG_NAME, "agents"), OLD_STATE_FOLDER: ("", OLD_CONFIG_NAME, "agents")}
    return tuple(home / folder / name for folder in names for name in names[folder])


def workspace_of(agent_id: str | None, state_dir: Path, home: Path) -> Path:
    """Return OpenClaw's default workspace."""
    folder = home / "clawd" if state_dir.name == OLD_STATE_FOLDER else state_dir / "workspace"
    return folder if agent_id is None else folder.with_name(f"{folder.name}-{agent_id}")


def load_agent_folders(state_dir: Path) -> list[str]:
    """Return the sorted names of the folders in `agents/`, without hidden ones."""
    folder = state_dir / "agents"
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.name[0] != "." and entry.is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unusable(folder, f"cannot be listed: {error.strerror}") from error


def load_document(
    path: Path, *, required: bool = False, max_bytes: int = MAX_SETTINGS_BYTES
) -> dict[str, object]:
    """Return the object in a settings file in JSON or JSON5."""
    try:
        text = load_text(path, max_bytes)
    except FileNotFoundError:
        if required or path.is_symlink():
            raise _unusable(path, "does not exist") from None
        return {}
    except UnreadableFileError as error:
        raise _unusable(path, str(error)) from error
    document = _parse(path, text)
    if not isinstance(document, dict):
        raise _unusable(path, f"must contain an object, found {describe_value(document)}")
    return document


def read_provider_entries(layer: Layer, findings: Findings) -> dict[str, ProviderEntry]:
    """Return OpenClaw's `models.providers` by id."""
    entries: dict[str, ProviderEntry] = {}
    for name, values in layer.values.items():
        if not isinstance(values, Mapping):
            findings.add_wrong(layer, shown_key(name), "an object", values)
        elif name.strip():
            place = Layer(layer.key(shown_key(name)), values, layer.shared, is_foreign=True)
            read = read_layers(ProviderEntry, [place], findings)
            entries[name.strip()] = msgspec.structs.replace(read, id=name.strip())
    return entries


def _parse(path: Path, text: str) -> object:
    """Return the value of a text; the fast JSON parser is tried first."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if not text.strip():
        raise _unusable(path, "is empty")
    import json5  # 0.5 MB, and most files are plain JSON

    try:
        return json5.loads(text)
    except RecursionError as error:
        raise _unusable(path, "is nested too deeply") from error
    except ValueError as error:
        place = _JSON5_PLACE.search(str(error))
        if place is None:
            raise _unusable(path, "is not JSON5") from error
        line, column = int(place[1]), int(place[2])
        raise _unusable(
            path, f"is not JSON5: line {line}, column {column}", line=line, column=column
        ) from error


def _unusable(path: Path, what: str, **facts: int) -> ConfigInvalidError:
    """Return the error for a file or folder that cannot be read."""
    return ConfigInvalidError(f"{path} {what}", data={"file": str(path), **facts})
