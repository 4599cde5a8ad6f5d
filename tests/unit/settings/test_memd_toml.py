"""memd.toml: typed settings; an error affects one key."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.settings.endpoints import EndpointSettings, ProviderEntry
from memd.settings.memd_toml import MemdToml, load_memd_toml, read_daemon_settings
from memd.settings.schema import DaemonSettings, MemorySearch


def _load(folder: Path, text: str | bytes) -> tuple[DaemonSettings, list[str]]:
    """Return the settings from a memd.toml with that text, and the messages of its problems."""
    path = folder / "memd.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    settings, problems = read_daemon_settings(load_memd_toml(path))
    return settings, [problem.message.removeprefix(f"{path}: ") for problem in problems]


def test_missing_file_means_defaults(tmp_path: Path) -> None:
    assert read_daemon_settings(load_memd_toml(tmp_path / "memd.toml")) == (DaemonSettings(), ())


def test_settings_of_the_file_are_used(tmp_path: Path) -> None:
    settings, problems = _load(
        tmp_path, 'log_level = "debug"\nvector_ram_mb = 64\nmodel_keep_alive_minutes = 5\n'
    )

    assert (settings.log_level, settings.vector_ram_mb, settings.model_keep_alive_minutes) == (
        "debug",
        64,
        5,
    )
    assert problems == []


def test_a_table_has_settings_of_its_own(tmp_path: Path) -> None:
    settings, problems = _load(tmp_path, "[hooks]\nenabled = false\nmax_tokens = 120\n")

    assert (settings.hooks.enabled, settings.hooks.max_tokens, settings.hooks.agent) == (False, 120, None)
    assert problems == []


def test_an_invalid_key_of_a_table_is_reported_and_ignored(tmp_path: Path) -> None:
    settings, problems = _load(tmp_path, '[hooks]\nenabled = false\nmax_tokens = "many"\nloud = 1\n')

    assert (settings.hooks.enabled, settings.hooks.max_tokens) == (False, 300)
    assert problems == [
        "hooks.max_tokens: expected a whole number of at least 1, found a string",
        "`hooks.loud` is not a setting",
    ]


def test_a_value_in_place_of_a_table_is_reported(tmp_path: Path) -> None:
    settings, problems = _load(tmp_path, "hooks = true\n")

    assert settings == DaemonSettings()
    assert problems == ["hooks: expected a table, found true or false"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('max_file_mb = "16"', "max_file_mb: expected a whole number of at least 1, found a string"),
        ("max_file_mb = 0", "max_file_mb: expected a whole number of at least 1, found the number 0"),
        (
            "vector_ram_mb = -1",
            "vector_ram_mb: expected a whole number of at least 0, found the number -1",
        ),
        ("model_threads = true", "model_threads: expected a whole number of at least 0, found true or false"),
        (
            "model_keep_alive_minutes = nan",
            "model_keep_alive_minutes: expected a number of at least 0, found a number that is not finite",
        ),
        (
            'log_level = "loud"',
            'log_level: expected one of "debug", "error", "info", "warning", found a string',
        ),
        ("socket = []", "socket: expected a string, found a list"),
        (
            "daily_token_budget = 1.5",
            "daily_token_budget: expected a whole number of at least 0, found the number 1.5",
        ),
        (
            "vector_cache_mb = -1",
            "vector_cache_mb: expected a whole number of at least 0, found the number -1",
        ),
        ("colour = 1", "`colour` is not a setting"),
    ],
)
def test_invalid_key_is_reported_and_ignored(tmp_path: Path, line: str, problem: str) -> None:
    settings, problems = _load(tmp_path, f"catch_up_ms = 99\n{line}\n")

    assert problems == [problem]
    assert settings == DaemonSettings(catch_up_ms=99)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("catch_up_ms = = 1", "is not TOML"),
        (b"\xff\xfe", "is not UTF-8 (byte 0)"),
        ("a = " + "[" * 5000, "is not TOML"),
    ],
)
def test_broken_file_means_defaults_and_one_problem(tmp_path: Path, text: str | bytes, problem: str) -> None:
    settings, problems = _load(tmp_path, text)

    assert settings == DaemonSettings()
    assert len(problems) == 1
    assert problem in problems[0]


def test_folder_instead_of_the_file_is_a_problem(tmp_path: Path) -> None:
    settings, problems = read_daemon_settings(load_memd_toml(tmp_path))

    assert settings == DaemonSettings()
    assert "is not a regular file" in problems[0].message
    assert problems[0].data["file"] == str(tmp_path)


@pytest.mark.parametrize("kind", [EndpointSettings, partial(ProviderEntry, id="mine")])
def test_keys_and_header_values_are_not_in_a_repr(kind: Callable[..., object]) -> None:
    shown = repr(
        kind(
            base_url="https://me:sk-secret@host/v1?key=sk-secret#sk-secret",
            api_key="sk-secret",
            headers={"X-Key": "hidden"},
        )
    )

    assert "sk-secret" not in shown
    assert "hidden" not in shown
    assert "X-Key" in shown
    assert "https://host/v1" in shown


def test_settings_with_a_remote_can_be_printed() -> None:
    settings = MemorySearch(endpoint=EndpointSettings(api_key="sk-secret", headers={"X-Key": "hidden"}))

    assert "sk-secret" not in repr(settings)
    assert "hidden" not in repr(settings)


@given(st.text())
def test_password_in_an_address_is_not_in_a_repr(address: str) -> None:
    shown = repr(EndpointSettings(base_url=f"{address}//me:sk-secret@host/v1"))

    assert "sk-secret" not in shown


_SCALARS = st.one_of(
    st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers(), max_size=2)
)


@given(st.dictionaries(st.sampled_from(DaemonSettings.__struct_fields__), _SCALARS))
def test_settings_with_any_value_are_valid(document: dict[str, Any]) -> None:

    settings, problems = read_daemon_settings(MemdToml(Path("memd.toml"), document))

    msgspec.convert(msgspec.to_builtins(settings), DaemonSettings)
    assert len(problems) <= len(document)
