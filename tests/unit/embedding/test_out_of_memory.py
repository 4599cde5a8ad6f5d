"""A system that gives the model's process no memory: named as that, tried again by and by, and over when it is over."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio

from memd.embedding.local.owner import LocalModel, ModelHold, ModelOwner
from memd.embedding.local.process import CHILD_COMMAND, MORE_MEMORY, RunnerSettings
from memd_client.errors import ModelChildError
from tests.support.models import running_owner, wait_until
from tests.unit.embedding.owning import only

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        sys.platform != "linux", reason="other systems don't hold a process to its address space"
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
"""Starts a child that may have so many megabytes of addresses as a file says, 0 for any number."""

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
"""Is a child that gets four megabytes once its model is loaded, unless a file says 0: answers fit in, texts do not."""


def hold_of(owner: ModelOwner, minilm: Path) -> ModelHold:
    return owner.hold(LocalModel(minilm, "minilm"), chunk_tokens=400)


def starts(limit: Path) -> int:
    return Path(f"{limit}.starts").read_text().count("start")


@pytest.mark.parametrize("megabytes", [60, 80], ids=["not for its libraries", "not for its weights"])
async def test_too_little_memory_to_load_the_model_is_named_and_is_over_when_there_is_more(
    tmp_path: Path, minilm: Path, megabytes: int
) -> None:
    limit = tmp_path / "limit"
    limit.write_text(str(megabytes))
    settings = RunnerSettings(
        query_timeout_s=20, command=(sys.executable, "-c", AT_THE_START, str(limit), *CHILD_COMMAND)
    )

    async with running_owner(settings) as owner:
        hold = hold_of(owner, minilm)
        # when there is too little, it is no missing extra and no broken file, and what to do is said
        with pytest.raises(ModelChildError, match="got no memory when it was to load the model") as raised:
            await hold.embed("a question", "query")
        assert raised.value.hint == MORE_MEMORY
        assert "got no memory" in str(only(owner).problem)
        assert starts(limit) == 2, "each start is put off for longer than the one before"
        # when there is enough again, the next one is answered, without anybody's doing
        limit.write_text("0")
        assert (await hold.embed("a question", "query")).size == 384
        assert only(owner).problem is None


async def test_restarts_of_a_model_without_memory_are_backed_off(tmp_path: Path, minilm: Path) -> None:
    limit = tmp_path / "limit"
    limit.write_text("60")
    settings = RunnerSettings(command=(sys.executable, "-c", AT_THE_START, str(limit), *CHILD_COMMAND))

    async with running_owner(settings) as owner:
        hold = hold_of(owner, minilm)
        begun = trio.current_time()
        for _ in range(2):
            with pytest.raises(ModelChildError):
                await hold.embed("a text", "text")
        # each text is tried twice; between starts are pauses of half a second, one and two
        assert starts(limit) == 4
        assert trio.current_time() - begun >= 0.5 + 1 + 2


@pytest.mark.parametrize(
    "texts", [["one text"], pytest.param(["two texts", "side by side"], marks=pytest.mark.long)]
)
async def test_too_little_memory_to_embed_is_named_and_no_text_is_blamed(
    tmp_path: Path, minilm: Path, texts: list[str]
) -> None:
    limit = tmp_path / "limit"
    limit.write_text("1")
    settings = RunnerSettings(command=(sys.executable, "-c", ONCE_LOADED, str(limit)))
    long = [f"{text} " * 300 for text in texts]
    errors: list[ModelChildError] = []

    async with running_owner(settings) as owner:
        hold = hold_of(owner, minilm)

        async def ask(text: str) -> None:
            try:
                await hold.embed(text, "text")
            except ModelChildError as error:  # anything else would be put down to the text
                errors.append(error)

        # when the model was loaded, and there is nothing left to work with
        async with trio.open_nursery() as nursery:
            for text in long:
                nursery.start_soon(ask, text)
        # then each is told so
        assert ["got no memory when it was to embed a text" in error.message for error in errors] == [
            True for _ in texts
        ]
        # and once there is enough they get their vectors
        limit.write_text("0")
        for text in long:
            assert (await hold.embed(text, "text")).size == 384
        await wait_until(lambda: only(owner).problem is None)
