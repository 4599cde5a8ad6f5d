"""The daemon's own paths: from the environment, or in the user's folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from memd.settings.paths import daemon_config_file, models_dir
from tests.support.written_paths import WRITTEN_PATHS


class _PathOf(Protocol):
    """A function that returns a path for an environment."""

    def __call__(self, environ: Mapping[str, str] | None = None) -> Path: ...


@pytest.mark.parametrize(
    ("find", "variable"), [(models_dir, "MEMD_MODEL_DIR"), (daemon_config_file, "MEMD_CONFIG")]
)
def test_variable_sets_the_path_and_home_is_expanded(find: _PathOf, variable: str) -> None:
    assert find({variable: "/data/memd"}) == Path("/data/memd")
    assert find({variable: "~/memd"}) == Path.home() / "memd"


@pytest.mark.parametrize("blank", [{}, {"MEMD_MODEL_DIR": "  ", "MEMD_CONFIG": ""}])
def test_a_blank_variable_means_the_users_folders(
    blank: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg/cache")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/xdg/config")

    found = (models_dir(blank), daemon_config_file(blank))

    assert [path.name for path in found] == ["models", "memd.toml"]
    assert all(path.is_absolute() and "memd" in path.parts for path in found)


def test_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_MODEL_DIR", "/from/the/process")

    assert models_dir() == Path("/from/the/process")


def test_every_written_path_has_a_name_a_writer_and_a_cleaner() -> None:
    names = [path.name for path in WRITTEN_PATHS]

    assert len(names) == len(set(names))
    assert all(path.location and path.writer.startswith("memd") and path.cleaner for path in WRITTEN_PATHS)
