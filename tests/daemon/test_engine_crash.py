"""A daemon whose only engine has an instruction that the processor lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.engines import CRASH, write_engine
from tests.support.models import minilm_path
from tests.support.state_homes import StateHome

pytestmark = pytest.mark.model

MINILM = {"agents": {"defaults": {"memorySearch": {"provider": "local", "local": {"modelPath": "minilm"}}}}}

WITHOUT_WHEEL = "import sys\nsys.modules['xllamacpp'] = None\n"
"""Lets Python find no package xllamacpp, although it is installed."""


def test_keyword_search_works_and_the_crash_is_named_everywhere(tmp_path: Path) -> None:
    minilm_path()
    environ = write_engine(tmp_path, CRASH)
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_WHEEL)
    with StateHome(MINILM) as home:
        home.note("MEMORY.md", "# Flat\n\nThe lease of the flat ends in March.\n")
        with DaemonProcess(home, environ, fresh=True) as daemon, daemon.client() as client:
            daemon.wait_for(lambda status: status.models and status.models[0].state == "failed", 120)
            replies = [client.search(query) for query in ("lease", "the flat", "when does it end?")]
            doctor = json.loads(daemon.memctl("doctor", "--json").stdout)["findings"]
            events = [
                json.loads(line)["event"] for line in daemon.memctl("logs", "--json").stdout.splitlines()
            ]
            info = client.model("minilm", action="info").info

    assert [hit.path for hit in replies[0].hits] == ["MEMORY.md"]
    for reply in replies:
        assert (reply.mode, reply.degraded and reply.degraded.code) == ("keyword", "local_extra_missing")
        assert reply.degraded is not None
        assert reply.degraded.reason.startswith("llama-cpp-python crashed on this processor")
        assert "run" in reply.degraded.hint
    [model] = [each for each in doctor if each["name"] == "model"]
    assert (model["state"], "illegal instruction" in model["found"]) == ("wrong", True)
    assert events.count("embedding.engine_crashed") == 1
    assert info is not None
    assert info.engine == ""
