"""The SDK without what a server on standard streams has no use for."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from memd_client.installation import Installation

UNUSED = (
    "uvicorn",
    "starlette",
    "httpx._client",
    "jsonschema.validators",
    "mcp.client",
    "mcp.server.fastmcp",
    "rich",
)

LOAD = "import json, sys; from memd.mcp.sdk import SdkMissingError, load_sdk; "


def run(program: str) -> Any:
    """Return what a program of its own prints as JSON."""
    ran = subprocess.run(
        [sys.executable, "-c", LOAD + program], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(ran.stdout)


def test_a_server_imports_no_client_and_no_web_server() -> None:
    loaded = run("load_sdk(); import memd.mcp.serving; print(json.dumps(sorted(sys.modules)))")

    assert [name for name in loaded if name.startswith(UNUSED)] == []
    assert "mcp.server.lowlevel.server" in loaded


def test_a_deferred_module_is_there_when_it_is_asked_for() -> None:
    program = "load_sdk(); from mcp.server.lowlevel import server; schema = server.jsonschema; "

    assert run(program + "print(json.dumps(schema.validators.__name__))") == "jsonschema.validators"


def test_where_lean_imports_fail_the_whole_sdk_is_imported() -> None:
    program = (
        "from memd.mcp import sdk; sdk.DEFERRED = 7; load_sdk(); "
        "print(json.dumps(['mcp.client' in sys.modules, 'mcp.server.lowlevel.server' in sys.modules]))"
    )

    assert run(program) == [True, True]


def test_without_the_sdk_the_error_says_how_to_get_it() -> None:
    program = (
        "from memd.mcp import sdk; sdk.find_spec = lambda name: None\n"
        "try: load_sdk()\n"
        "except SdkMissingError as error: print(json.dumps(str(error)))"
    )

    assert run(program).endswith(f"`{Installation().add_extra('mcp')}`")
