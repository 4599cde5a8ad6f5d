"""URIs of memory files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl

from memd.mcp.resources import parse_uri, template_of, uri_of
from memd.mcp.scope import AgentScope
from memd_client.aio import AsyncioClient
from memd_client.errors import AgentUnknownError, PathRefusedError

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
    lambda name: "/" not in name and name not in (".", "..")
)


def scope(agent: str | None = None) -> AgentScope:
    """Return the scope of a server."""
    return AgentScope(AsyncioClient("/tmp/nobody.sock"), agent)


@given(st.lists(NAMES, min_size=1, max_size=3), st.booleans())
def test_uri_identifies_its_file(parts: list[str], is_outside: bool) -> None:
    path = "/".join(["..", *parts] if is_outside else parts)

    uri = str(AnyUrl(uri_of("main", path)))  # as it comes back from a client

    assert parse_uri(scope(), uri) == ("main", path)


def test_uri_is_readable() -> None:
    assert uri_of("main", "memory/2026-01-16.md") == "memory://main/memory/2026-01-16.md"
    assert template_of(None) == "memory://{agent}/{+path}"
    assert template_of("work") == "memory://work/{+path}"


@pytest.mark.parametrize(
    "uri",
    ["file:///a", "memory://main", "memory:///a.md", "memory://main/a?b", "memory://main/%ff", "a", ""],
)
def test_invalid_uri_is_refused_with_the_template(uri: str) -> None:
    with pytest.raises(PathRefusedError) as refused:
        parse_uri(scope(), uri)

    assert "memory://{agent}/{+path}" in refused.value.hint


def test_other_agent_than_the_fixed_one_is_unknown() -> None:
    assert parse_uri(scope("work"), "memory://work/a.md") == ("work", "a.md")
    with pytest.raises(AgentUnknownError, match="limited to the agent work"):
        parse_uri(scope("work"), "memory://main/a.md")
