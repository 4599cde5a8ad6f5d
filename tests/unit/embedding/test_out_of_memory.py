"""Tests of a model process without memory: a named error, retries, and recovery."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio

from memd.embedding.local.model import LocalModel, ModelSpec
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.process import CHILD_COMMAND, OUT_OF_MEMORY_HINT, ModelSettings
from memd_client.errors import ModelChildError
from tests.support.models import running_owner, wait_until
from tests.unit.embedding.model_in_use import only

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        sys.platform != "linux", reason="other systems don't limit a process to its address space"
    ),
]

AT_THE_START = """
import os, resource, sys
from pathlib import Path
limit, starts = Path(sys.argv[1]), Path(sys.argv[1] + ".starts")
with starts.open("a") as log:
    log.write("start\\n")
if megabytes := int(limit.read_text()):
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, resource.RLIM_INFINITY))
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Starts a model process with the address space in MB that a file contains, 0 for no limit."""

ONCE_LOADED = """
import os, resource, sys, traceback
from pathlib import Path
from memd.embedding.local import child
limit, starts = Path(sys.argv[1]), Path(sys.argv[1] + ".starts")
with starts.open("a") as log:
    log.write("start\\n")
load = child.load_model
def load_and_close(*arguments, **options):
    model = load(*arguments, **options)
    if limit.read_text() != "0":
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (has + (4 << 20), resource.RLIM_INFINITY))
    return model
child.load_model = load_and_close
try:
    child.main(sys.argv[2:])
except Exception:
    traceback.print_exc()
sys.stderr.flush()
os._exit(1)
"""
"""A model process with 4 MB left after loading, unless a file contains 0: replies fit, texts don't."""


def acquire_minilm(owner: ModelOwner, minilm: Path) -> LocalModel:
    return owner.acquire(ModelSpec(minilm, "minilm"), chunk_tokens=400)


def starts(limit: Path) -> int:
    return Path(f"{limit}.starts").read_text().count("start")


@pytest.mark.parametrize("megabytes", [60, 80], ids=["not for its libraries", "not for its weights"])
async def test_out_of_memory_while_loading_is_named_and_recovers(
    tmp_path: Path, minilm: Path, megabytes: int
) -> None:
    limit = tmp_path / "limit"
    limit.write_text(str(megabytes))
    settings = ModelSettings(
        query_timeout_s=120, command=(sys.executable, "-c", AT_THE_START, str(limit), *CHILD_COMMAND)
    )

    async with running_owner(settings) as owner:
        used = acquire_minilm(owner, minilm)
        # then the error is about memory, not about packages or the file, and has a hint
        with pytest.raises(ModelChildError, match="ran out of memory: could not load the model") as raised:
            await used.embed("a query", "query")
        assert raised.value.hint == OUT_OF_MEMORY_HINT
        assert "ran out of memory" in str(only(owner).problem)
        assert starts(limit) == 2, "each start is put off for longer than the one before"
        # when there is enough memory again, the next text is embedded automatically
        limit.write_text("0")
        assert (await used.embed("a query", "query")).size == 384
        assert only(owner).problem == ""


async def test_restarts_of_a_model_without_memory_use_backoff(tmp_path: Path, minilm: Path) -> None:
    limit = tmp_path / "limit"
    limit.write_text("60")
    settings = ModelSettings(command=(sys.executable, "-c", AT_THE_START, str(limit), *CHILD_COMMAND))

    async with running_owner(settings) as owner:
        used = acquire_minilm(owner, minilm)
        begun = trio.current_time()
        for _ in range(2):
            with pytest.raises(ModelChildError):
                await used.embed("a text", "text")
        # each text is tried twice, with back-off of 0.5, 1 and 2 s between starts
        assert starts(limit) == 4
        assert trio.current_time() - begun >= 0.5 + 1 + 2


@pytest.mark.parametrize(
    "texts", [["one text"], pytest.param(["two texts", "side by side"], marks=pytest.mark.long)]
)
async def test_out_of_memory_while_embedding_is_named_and_recovers(
    tmp_path: Path, minilm: Path, texts: list[str]
) -> None:
    limit = tmp_path / "limit"
    limit.write_text("1")
    settings = ModelSettings(command=(sys.executable, "-c", ONCE_LOADED, str(limit)))
    long = [f"{text} " * 300 for text in texts]
    errors: list[ModelChildError] = []

    async with running_owner(settings) as owner:
        used = acquire_minilm(owner, minilm)

        async def ask(text: str) -> None:
            try:
                await used.embed(text, "text")
            except ModelChildError as error:  # any other error would count as refused text
                errors.append(error)

        # when the model is loaded, and no memory is left
        async with trio.open_nursery() as nursery:
            for text in long:
                nursery.start_soon(ask, text)
        # then each request gets the error
        assert ["ran out of memory: could not embed a text" in error.message for error in errors] == [
            True for _ in texts
        ]
        # and once there is enough memory they get their vectors
        limit.write_text("0")
        for text in long:
            assert (await used.embed(text, "text")).size == 384
        await wait_until(lambda: only(owner).problem == "")
