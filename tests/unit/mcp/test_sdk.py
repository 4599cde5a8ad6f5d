"""The SDK as an optional dependency."""

from __future__ import annotations

import sys

import pytest

from memd.mcp.sdk import SdkMissingError, load_serve
from memd_client.installation import Installation


class Without:
    """An import finder that hides a module."""

    def __init__(self, missing: str) -> None:
        self._missing = missing

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self._missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("missing", "problem"), [("mcp", "is not installed"), ("mcp.types", "cannot be imported")]
)
def test_missing_sdk_is_an_error_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, missing: str, problem: str
) -> None:
    for name in [name for name in sys.modules if f"{name}.".startswith(("mcp.", "memd.mcp.server."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Without(missing), *sys.meta_path])

    with pytest.raises(SdkMissingError, match=problem) as raised:
        load_serve()

    assert raised.value.hint == f"run `{Installation().add_extra('mcp')}`"
