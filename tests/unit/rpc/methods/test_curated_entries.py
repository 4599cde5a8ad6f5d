"""curated_entries: entries of the agent meant, checked first."""

from __future__ import annotations

import pytest

from memd.rpc.checks import MAX_PROJECT_CHARACTERS
from memd.rpc.methods import curated_entries
from memd.rpc.param_bounds import MAX_PROJECTS
from memd_client.errors import AgentUnknownError, BadParamsError
from memd_client.messages import CuratedEntriesParams
from tests.unit.rpc.methods.calling import call_of, run


def test_the_agent_meant_lists() -> None:
    params = CuratedEntriesParams(kind="triggers", agent="other")
    assert run(curated_entries.handle(call_of(), params)).entries[0].text == "other"
    with pytest.raises(AgentUnknownError):
        run(curated_entries.handle(call_of(), CuratedEntriesParams(kind="triggers", agent="nobody")))


@pytest.mark.parametrize(
    ("field", "params"),
    [
        ("kind", CuratedEntriesParams(kind="facts")),
        ("limit", CuratedEntriesParams(kind="triggers", limit=0)),
        ("limit", CuratedEntriesParams(kind="triggers", limit=513)),
        ("paths", CuratedEntriesParams(kind="triggers", paths=["memory/a.md"])),
        ("active_projects", CuratedEntriesParams(kind="projects", active_projects=[""])),
        (
            "active_projects",
            CuratedEntriesParams(kind="projects", active_projects=["a" * (MAX_PROJECT_CHARACTERS + 1)]),
        ),
    ],
)
def test_a_value_out_of_range_is_named(field: str, params: CuratedEntriesParams) -> None:
    with pytest.raises(BadParamsError, match=f"`{field}` must"):
        run(curated_entries.handle(call_of(), params))


def test_the_bounds_themselves_pass() -> None:
    keys = ["a" * MAX_PROJECT_CHARACTERS] * MAX_PROJECTS
    params = CuratedEntriesParams("projects", active_projects=keys, limit=512, paths=["MEMORY.md", "USER.md"])
    assert run(curated_entries.handle(call_of(), params)).entries
