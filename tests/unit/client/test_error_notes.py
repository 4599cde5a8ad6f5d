"""The hint of an error in tracebacks: once, however the error travels."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable

import pytest

from memd_client.errors import AgentUnknownError, DaemonUnreachableError, MemdError


def raised_again(error: MemdError) -> MemdError:
    """Return an error that was caught and raised twice."""
    for _ in range(2):
        try:
            raise error
        except MemdError as caught:
            error = caught
    return error


@pytest.mark.parametrize(
    "passed_on",
    [
        raised_again,
        copy.copy,
        copy.deepcopy,
        lambda error: pickle.loads(pickle.dumps(error)),
        lambda error: MemdError.from_wire(error.to_wire()),
    ],
    ids=["raised again", "copied", "deeply copied", "pickled", "sent"],
)
def test_an_error_passed_on_shows_its_own_hint_once(passed_on: Callable[[MemdError], MemdError]) -> None:
    error = passed_on(AgentUnknownError("there is no agent anna", hint="Known agents: main."))

    shown = "".join(traceback.format_exception(error))

    assert type(error) is AgentUnknownError
    assert shown.count("hint: ") == 1
    assert shown.endswith("there is no agent anna\nhint: Known agents: main.\n")
    assert str(error) == "there is no agent anna"


def test_an_uncaught_error_ends_a_program_with_its_hint() -> None:
    script = "from memd_client import Client; Client('/tmp/memd-none/s').search('kettle')"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == f"hint: {DaemonUnreachableError.hint}"
    assert "kettle" not in ended.stderr.splitlines()[-2]
