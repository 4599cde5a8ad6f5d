"""Tests of finding keys, and of keeping them out of messages."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.choose.credentials import MAX_PROFILES_BYTES, expand, find_key, usable_headers, usable_key
from memd.embedding.remote.catalog import GEMINI, OPENAI
from memd.embedding.secret import Secret
from memd.settings.endpoints import EndpointSettings, ProviderEntry
from memd_client.errors import ConfigInvalidError
from tests.support.logs import capture_logs

NOW = 1_700_000_000_000


def write_profiles(state: Path, content: object, agent: str = "main") -> Path:
    """Write an agent's auth profiles: a string unchanged, anything else as JSON."""
    path = state / "agents" / agent / "agent" / "auth-profiles.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def api_key(key: object, provider: str = "openai", **more: object) -> dict[str, object]:
    return {"type": "api_key", "provider": provider, "key": key, **more}


def find(
    state: Path,
    *,
    known: Any = OPENAI,
    entry: ProviderEntry | None = None,
    remote: EndpointSettings | None = None,
    agent: str = "work",
    environ: Mapping[str, str] | None = None,
) -> str | None:
    """Return the text of the key that is found."""
    key = find_key(known, entry, remote, agent, state, environ or {}, clock=lambda: NOW)
    return None if key is None else key.reveal()


def test_key_places_are_searched_in_order(tmp_path: Path) -> None:
    write_profiles(tmp_path, {"version": 1, "profiles": {"openai:default": api_key("of main")}})
    write_profiles(tmp_path, {"version": 1, "profiles": {"openai:default": api_key("of the agent")}}, "work")
    places: dict[str, Any] = {
        "remote": EndpointSettings(api_key="of remote"),
        "entry": ProviderEntry(id="openai", api_key="of the entry"),
        "environ": {"OPENAI_API_KEY": "of the environment"},
    }

    assert find(tmp_path, **places) == "of remote"
    places["remote"] = EndpointSettings(api_key=" ")
    assert find(tmp_path, **places) == "of the agent"
    write_profiles(tmp_path, {"version": 1, "profiles": {}}, "work")
    assert find(tmp_path, **places) == "of main"
    write_profiles(tmp_path, {})
    assert find(tmp_path, **places) == "of the entry"
    places["entry"] = None
    assert find(tmp_path, **places) == "of the environment"
    assert find(tmp_path) is None


def test_the_first_variable_that_is_set_wins(tmp_path: Path) -> None:
    both = {"GOOGLE_API_KEY": "second", "GEMINI_API_KEY": "first"}

    assert find(tmp_path, known=GEMINI, environ=both) == "first"
    assert find(tmp_path, known=GEMINI, environ=both | {"GEMINI_API_KEY": " \n"}) == "second"


def test_surrounding_space_is_removed_from_a_key(tmp_path: Path) -> None:
    assert find(tmp_path, environ={"OPENAI_API_KEY": " sk-1\r\n"}) == "sk-1"
    assert find(tmp_path, remote=EndpointSettings(api_key="\tsk-2\n")) == "sk-2"


@pytest.mark.parametrize(
    "key", ["sk-marker\nX-Other: 1", "sk-marker\0", "sk-\x7fmarker", "“sk-marker”", "sk-\ud800marker"]
)
def test_key_unfit_for_a_header_is_named_by_its_setting_only(tmp_path: Path, key: str) -> None:
    for places, named in [
        ({"remote": EndpointSettings(api_key=key)}, "search.endpoint.apiKey"),
        ({"entry": ProviderEntry(id="openai", api_key=key)}, "models.providers.openai.apiKey"),
        ({"environ": {"OPENAI_API_KEY": key}}, "OPENAI_API_KEY"),
    ]:
        with pytest.raises(ConfigInvalidError, match=named) as caught:
            find(tmp_path, **places)  # type: ignore[arg-type]

        assert "marker" not in "".join(traceback.format_exception(caught.value))
        assert "marker" not in str(caught.value.to_wire())


# --- references -----------------------------------------------------------------------------------------


def test_references_are_expanded_in_any_position(tmp_path: Path) -> None:
    environ = {"A": "one", "b_2": "two", "OPENAI_API_KEY": "usual"}

    assert find(tmp_path, remote=EndpointSettings(api_key="${A}-${b_2}"), environ=environ) == "one-two"
    assert find(tmp_path, entry=ProviderEntry(id="openai", api_key="${A}"), environ=environ) == "one"
    assert expand("https://${A}.host/$${A}/$A", environ, "x") == "https://one.host/${A}/$A"
    assert usable_headers({"X-Team": "t-${A}"}, environ, "place") == {"X-Team": "t-one"}


def test_variable_name_without_braces_is_a_reference(tmp_path: Path) -> None:
    named = EndpointSettings(api_key="OPENAI_API_KEY")

    assert find(tmp_path, remote=named, environ={"OPENAI_API_KEY": "usual"}) == "usual"
    with pytest.raises(ConfigInvalidError, match="OPENAI_API_KEY"):
        find(tmp_path, remote=named)


@pytest.mark.parametrize("environ", [{}, {"MY_KEY": ""}, {"MY_KEY": " "}])
def test_unset_variable_is_named_with_its_setting(tmp_path: Path, environ: dict[str, str]) -> None:
    usual = environ | {"OPENAI_API_KEY": "usual"}

    with pytest.raises(ConfigInvalidError) as caught:
        find(tmp_path, remote=EndpointSettings(api_key="sk-marker-${MY_KEY}"), environ=usual)

    assert caught.value.data == {"key": "search.endpoint.apiKey", "variable": "MY_KEY"}
    assert "MY_KEY" in caught.value.message
    assert "MY_KEY" in caught.value.hint
    assert "marker" not in repr(caught.value)


@pytest.mark.parametrize(
    "headers", [{"X Team": "v"}, {"": "v"}, {"X-Team": "marker\r\nEvil: 1"}, {"X-Team": "märker-marker"}]
)
def test_invalid_header_is_named_without_its_value(headers: dict[str, str]) -> None:
    with pytest.raises(ConfigInvalidError, match=r"search\.endpoint\.headers") as caught:
        usable_headers(headers, {}, "search.endpoint.headers")

    assert "marker" not in str(caught.value.to_wire())


@given(st.text(), st.dictionaries(st.sampled_from("ABC"), st.text(min_size=1)))
def test_any_text_gives_a_key_or_a_named_error(text: str, environ: dict[str, str]) -> None:
    try:
        key = usable_key(expand(text, environ, "the setting"), "the setting")
    except ConfigInvalidError as error:
        shown = error.message
    else:
        shown = "the setting" if key is None or key.reveal().isascii() else key.reveal()

    assert "the setting" in shown


# --- auth profiles --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("profile", "key"),
    [
        (api_key("k"), "k"),
        ({"mode": "api_key", "provider": "openai", "key": "k"}, "k"),
        ({"type": "apiKey", "provider": "OpenAI ", "apiKey": "k"}, "k"),
        ({"type": "api_key", "key": "k"}, "k"),
        (api_key(None, keyRef={"source": "env", "provider": "default", "id": "MY_KEY"}), "mine"),
        (api_key("${MY_KEY}"), "mine"),
        (api_key({"source": "env", "id": "MY_KEY"}), "mine"),
        ({"type": "token", "provider": "openai", "token": "t"}, "t"),
        ({"type": "token", "provider": "openai", "token": "t", "expires": NOW + 1}, "t"),
        ({"type": "token", "provider": "openai", "tokenRef": {"source": "env", "id": "MY_KEY"}}, "mine"),
        ({"type": "token", "provider": "openai", "token": "t", "expires": NOW}, None),
        ({"type": "oauth", "provider": "openai", "access": "a", "refresh": "r"}, None),
        (api_key("k", provider="anthropic"), None),
        (api_key(""), None),
        ("k", None),
    ],
)
def test_profiles_of_every_format_give_their_key_or_none(
    tmp_path: Path, profile: object, key: str | None
) -> None:
    write_profiles(tmp_path, {"version": 1, "profiles": {"openai:default": profile}}, "work")

    assert find(tmp_path, environ={"MY_KEY": "mine"}) == key


def test_profiles_match_all_names_of_a_provider(tmp_path: Path) -> None:
    write_profiles(tmp_path, {"profiles": {"google:default": api_key("k", provider="google")}})

    assert find(tmp_path, known=GEMINI) == "k"


def test_profiles_are_used_in_the_users_order(tmp_path: Path) -> None:
    profiles = {"openai:a": api_key("a"), "openai:b": api_key("b"), "openai:c": {"type": "oauth"}}

    write_profiles(tmp_path, {"profiles": profiles, "order": {"OpenAI": ["openai:c", "gone", "openai:b"]}})
    assert find(tmp_path) == "b"

    write_profiles(tmp_path, {"profiles": profiles, "order": {"openai": ["openai:c"]}})
    assert find(tmp_path) is None

    write_profiles(tmp_path, {"profiles": profiles, "lastGood": {"openai": "openai:b"}})
    assert find(tmp_path) == "b"

    token = {"type": "token", "provider": "openai", "token": "t"}
    write_profiles(tmp_path, {"profiles": {"openai:0": token, **profiles}})
    assert find(tmp_path) == "a"


@pytest.mark.parametrize(
    "content",
    [
        '{"profiles": {"openai:default": {"key": "sk-marker"',
        '["sk-marker"]',
        "sk-marker",
        "",
        json.dumps({"profiles": {"openai:sk": {"type": "api_key", "key": "a\nsk-marker"}}}),
        json.dumps(
            {"profiles": {"openai:sk": {"type": "api_key", "key": {"source": "exec", "id": "sk-marker"}}}}
        ),
        json.dumps({"profiles": {"openai:sk": {"type": "api_key", "key": "${NOT_SET}sk-marker"}}}),
        " " * MAX_PROFILES_BYTES + '{"profiles": {"openai:sk": {"type": "api_key", "key": "sk-marker"}}}',
    ],
)
def test_broken_profiles_file_is_named_and_other_keys_still_work(tmp_path: Path, content: str) -> None:
    path = write_profiles(tmp_path, content, "work")

    with pytest.raises(ConfigInvalidError) as caught:
        find(tmp_path)
    assert str(path) in caught.value.message
    shown = "".join(traceback.format_exception(caught.value)) + str(caught.value.to_wire())
    assert "sk-marker" not in shown
    error: BaseException | None = caught.value
    while error is not None:
        assert "sk-marker" not in str(vars(error))
        error = error.__context__

    with capture_logs() as logs:
        assert find(tmp_path, environ={"OPENAI_API_KEY": "usual"}) == "usual"
    assert [entry["event"] for entry in logs] == ["embedding.auth_profiles_skipped"]
    assert "sk-marker" not in str(logs)

    write_profiles(tmp_path, {"profiles": {"openai:default": api_key("of main")}})
    assert find(tmp_path) == "of main"


def test_profiles_path_that_is_not_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "agents" / "main" / "agent" / "auth-profiles.json"
    path.mkdir(parents=True)

    with pytest.raises(ConfigInvalidError, match="is not a regular file"):
        find(tmp_path)


_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
_NAMES = st.sampled_from(
    "profiles order lastGood openai openai:a type mode api_key token key apiKey keyRef source env id expires".split()
)
_ANYTHING = st.recursive(
    _LEAVES | _NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=5),
    max_leaves=30,
)


@given(st.dictionaries(_NAMES, _ANYTHING, max_size=4))
def test_any_profiles_file_gives_a_key_none_or_a_named_error(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, Any]
) -> None:
    state = tmp_path_factory.mktemp("state")
    path = write_profiles(state, content)

    named: str | None = None
    key: str | None = None
    try:
        key = find(state)
    except ConfigInvalidError as error:
        named = error.message

    assert named is None or str(path) in named
    assert key is None or key == key.strip()


def test_a_secret_is_not_printed() -> None:
    assert "sk-marker" not in f"{Secret('sk-marker')} {Secret('sk-marker')!r} {[Secret('sk-marker')]}"
