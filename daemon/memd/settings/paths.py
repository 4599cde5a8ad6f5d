"""The paths of models and of the daemon's own settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from memd_client.discovery import require_utf8

ACCOUNTS_FILE = "memd-accounts.json"
"""File next to the indexes with the usage and pauses of accounts at providers."""


def models_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder for models: `MEMD_MODEL_DIR`, else `models` in the user's cache folder."""
    named = _named("MEMD_MODEL_DIR", environ)
    return named or platformdirs.user_cache_path("memd", appauthor=False) / "models"


def daemon_config_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of `memd.toml`: `MEMD_CONFIG`, else in the user's config folder."""
    named = _named("MEMD_CONFIG", environ)
    return named or platformdirs.user_config_path("memd", appauthor=False) / "memd.toml"


def _named(variable: str, environ: Mapping[str, str] | None) -> Path | None:
    """Return the absolute path in a variable, with `~` expanded; None if it is unset or blank."""
    text = (os.environ if environ is None else environ).get(variable, "").strip()
    return Path(require_utf8(os.path.abspath(os.path.expanduser(text)), variable)) if text else None
