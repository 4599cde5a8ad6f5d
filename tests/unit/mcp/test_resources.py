"""Addresses of memory files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl

from memd.mcp.reach import Reach
from memd.mcp.resources import address_of, place_of, template_of
from memd_client.aio import Client
from memd_client.errors import AgentUnknownError, PathRefusedError

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
    lambda name: "/" not in name and name not in (".", "..")
)


def reach(agent: str | None = None) -> Reach:
    """Return the reach of a server; nothing is asked."""
    return Reach(Client("/tmp/nobody.sock"), agent)


@given(st.lists(NAMES, min_size=1, max_size=3), st.booleans())
def test_an_address_leads_back_to_its_file(parts: list[str], is_outside: bool) -> None:
    path = "/".join(["..", *parts] if is_outside else parts)

    address = str(AnyUrl(address_of("main", path)))  # as it comes back from a client

    assert place_of(reach(), address) == ("main", path)


def test_an_address_is_readable() -> None:
    assert address_of("main", "memory/2026-01-16.md") == "memory://main/memory/2026-01-16.md"
    assert template_of(None) == "memory://{agent}/{+path}"
    assert template_of("work") == "memory://work/{+path}"


@pytest.mark.parametrize(
    "address",
    ["file:///a", "memory://main", "memory:///a.md", "memory://main/a?b", "memory://main/%ff", "a", ""],
)
def test_what_is_no_address_is_refused_with_the_right_form(address: str) -> None:
    with pytest.raises(PathRefusedError) as refused:
        place_of(reach(), address)

    assert "memory://{agent}/{+path}" in refused.value.hint


def test_another_agent_than_the_fixed_one_is_unknown() -> None:
    assert place_of(reach("work"), "memory://work/a.md") == ("work", "a.md")
    with pytest.raises(AgentUnknownError, match="serves the agent work alone"):
        place_of(reach("work"), "memory://main/a.md")
