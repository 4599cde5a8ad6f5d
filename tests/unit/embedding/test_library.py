"""Tests of the models on disk: listing with users, and safe removal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from memd.embedding.local import library as library_module
from memd.embedding.local.downloads import Downloads
from memd.embedding.local.engine import ENGINES
from memd.embedding.local.library import ModelLibrary
from memd.embedding.local.model import ModelSpec
from memd.embedding.local.model_files import lock_models
from memd.embedding.local.owner import ModelOwner
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, parse_reference
from memd.settings.local import Local
from memd.settings.schema import Chunking, MemorySearch
from memd_client.errors import (
    BadParamsError,
    ConfigInvalidError,
    DownloadFailedError,
    MemdError,
    ModelMissingError,
    PathRefusedError,
)
from memd_client.messages import ModelReply
from tests.support import fake_model_child as fake
from tests.support.download_server import DownloadServer, serve_download
from tests.support.models import running_owner
from tests.support.tiny_models import BERT, write_tiny_model
from tests.unit.embedding.model_in_use import PATIENT

REF = "hf:owner/my_repo/model_Q8_0.gguf"


def ignore(*step: object) -> None:
    """Ignore progress."""


class LibrarySetup:
    """A models directory, agents' settings, and the calls of the library."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.agents: dict[str, MemorySearch] = {}
        self.removed: list[str] = []
        directory.mkdir()

    def put(self, reference: str, note: str | None = None) -> Path:
        path = fake.write_model(parse_reference(reference).file(self.directory))
        if note is not None:
            path.with_name(path.name + ".ref").write_text(note)
        return path

    def names(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir())

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[ModelLibrary, ModelOwner]]:
        """Run a library over the directory."""

        async def removed(reference: str) -> None:
            self.removed.append(reference)

        async with running_owner(PATIENT) as owner, trio.open_nursery() as nursery:
            downloads = Downloads()
            await nursery.start(downloads.run)
            yield ModelLibrary(self.directory, owner, downloads, lambda: self.agents, removed), owner
            nursery.cancel_scope.cancel()

    async def list_all(self) -> ModelReply:
        async with self.open() as (library, _):
            return await library.list_all()

    async def remove(self, reference: str, *, force: bool = False) -> ModelReply:
        """Remove a model; raises the library's errors."""
        error: MemdError | None = None
        async with self.open() as (library, _):
            try:
                return await library.remove(reference, force=force, progress=ignore)
            except MemdError as failure:
                error = failure
        assert error is not None
        raise error


@pytest.fixture
def setup(tmp_path: Path) -> LibrarySetup:
    return LibrarySetup(tmp_path / "models")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DownloadServer]:
    with serve_download(fake.write_model(tmp_path / "served.gguf").read_bytes()) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def local(path: str | None = None, **more: Any) -> MemorySearch:
    return MemorySearch(provider="local", local=Local(model_path=path, **more))


async def test_model_is_listed_by_its_pulled_reference(setup: LibrarySetup, server: DownloadServer) -> None:
    async with setup.open() as (library, _owner):
        await library.pull(REF, ignore)
    [model] = (await setup.list_all()).models
    assert (model.ref, model.path) == (REF, str(setup.directory / "hf_owner_my_repo_model_Q8_0.gguf"))
    assert model.size_bytes == (await trio.Path(model.path).stat()).st_size
    assert (model.used_by, model.loaded) == ([], False)


async def test_models_without_a_reference_file_are_listed_by_setting_or_file_name(
    setup: LibrarySetup,
) -> None:
    setup.put("minilm")
    setup.put(DEFAULT_LOCAL_MODEL)
    setup.put(REF, note="hf:some/other/file.gguf")
    setup.put("hf:a/b/c.gguf", note="\0\ud800".encode("utf-8", "surrogatepass").decode("latin-1"))
    setup.agents = {"main": local()}
    reply = await setup.list_all()
    assert sorted(model.ref for model in reply.models) == sorted(
        ["minilm", DEFAULT_LOCAL_MODEL, "hf_owner_my_repo_model_Q8_0.gguf", "hf_a_b_c.gguf"]
    )
    assert (reply.path, reply.size_bytes) == (
        str(setup.directory),
        sum(model.size_bytes for model in reply.models),
    )


async def test_needs_of_known_models_are_described_before_the_download(setup: LibrarySetup) -> None:
    async with setup.open() as (library, _owner):
        default, small = await library.describe(""), await library.describe("minilm")
    assert (default.ref, default.size_bytes) == (DEFAULT_LOCAL_MODEL, 333_590_944)
    assert default.path == str(parse_reference(DEFAULT_LOCAL_MODEL).file(setup.directory))
    assert default.info
    assert small.info
    assert not default.info.downloaded
    assert (default.info.dims, default.info.trained_tokens, default.info.windows) == (768, 2048, 1)
    assert default.info.peak_bytes > default.info.ram_bytes > default.size_bytes
    assert default.info.ram_bytes > small.info.ram_bytes


async def test_needs_of_a_model_on_disk_are_those_of_its_file_and_chunks(
    setup: LibrarySetup, tmp_path: Path
) -> None:
    path = write_tiny_model(tmp_path / "mine.gguf", BERT)
    setup.agents = {
        "main": MemorySearch(provider="local", local=Local(model_path=str(path))),
        "long": MemorySearch(
            provider="local", local=Local(model_path=str(path)), chunking=Chunking(tokens=1000)
        ),
    }
    async with setup.open() as (library, _owner):
        reply = await library.describe(str(path))
        [listed] = (await library.list_all()).models
    assert reply.info
    assert (reply.info.downloaded, reply.info.architecture, reply.info.layers) == (True, "bert", BERT.layers)
    assert (reply.info.context_tokens, reply.info.chunk_tokens, reply.info.windows) == (512, 1002, 2)
    assert listed.ram_bytes == reply.info.ram_bytes


async def test_needs_of_an_unknown_model_are_an_error_with_the_command(setup: LibrarySetup) -> None:
    async with setup.open() as (library, _owner):
        with pytest.raises(ModelMissingError) as caught:
            await library.describe(REF)
    assert f"memctl model pull {REF}" in caught.value.hint


async def test_every_model_names_its_agents(setup: LibrarySetup, tmp_path: Path) -> None:
    setup.put("minilm")
    setup.put(DEFAULT_LOCAL_MODEL)
    mine = fake.write_model(tmp_path / "mine.gguf")
    setup.agents = {
        "auto": MemorySearch(),
        "named": local("minilm"),
        "default": local(),
        "fallback": MemorySearch(provider="openai", fallback="local"),
        "path": local(str(mine)),
        "cloud": MemorySearch(provider="openai"),
        "none": MemorySearch(provider="none"),
        "broken": local("hf:nonsense"),
    }
    users = {model.ref: model.used_by for model in (await setup.list_all()).models}
    assert users == {
        "minilm": ["auto", "named"],
        DEFAULT_LOCAL_MODEL: ["default", "fallback"],
        str(mine): ["path"],
    }


async def test_agents_model_directories_are_listed(setup: LibrarySetup, tmp_path: Path) -> None:
    other = LibrarySetup(tmp_path / "other")
    path = other.put(REF, note=REF)
    setup.agents = {"main": local(REF, model_cache_dir=str(other.directory))}
    [model] = (await setup.list_all()).models
    assert (model.ref, model.path, model.used_by) == (REF, str(path), ["main"])
    await setup.remove(REF, force=True)
    assert not path.exists()


async def test_loaded_model_is_marked(setup: LibrarySetup) -> None:
    path = setup.put("minilm")

    async with setup.open() as (library, owner):
        used = owner.acquire(ModelSpec(path, "minilm"), chunk_tokens=400)
        assert [model.loaded for model in (await library.list_all()).models] == [False]
        await used.embed("text", "text")
        assert [model.loaded for model in (await library.list_all()).models] == [True]


async def test_engine_is_named_before_a_model_is_loaded_and_its_gpu_afterwards(
    setup: LibrarySetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = setup.put("minilm")
    monkeypatch.setattr(library_module, "find_engine", lambda excluded: ENGINES[len(excluded)])
    async with setup.open() as (library, owner):

        async def engine() -> tuple[str, bool | None, int | None]:
            info = (await library.describe("minilm")).info
            assert info is not None
            return info.engine, info.has_gpu, info.gpu_layers

        assert await engine() == ("llama-cpp-python", None, None)
        owner.crashes.add("llama-cpp-python")
        assert await engine() == ("xllamacpp", None, None)
        used = owner.acquire(ModelSpec(path, "minilm"), chunk_tokens=400)
        await used.embed("text", "text")
        assert await engine() == (fake.ENGINE, True, 2)


async def test_missing_directory_has_no_models(tmp_path: Path) -> None:
    setup = LibrarySetup(tmp_path / "models")
    setup.directory.rmdir()
    assert (await setup.list_all()).models == []


async def test_a_removed_model_leaves_nothing(setup: LibrarySetup) -> None:
    path = setup.put(REF, note=REF)
    size = path.stat().st_size + len(REF)
    kept = setup.put("hf:a/b/c.gguf")
    reply = await setup.remove(REF)
    assert (reply.ref, reply.path, reply.size_bytes) == (REF, str(path), size)
    assert setup.names() == [".pull.lock", kept.name]
    assert setup.removed == [REF]


async def test_incomplete_download_is_removed(setup: LibrarySetup) -> None:
    path = parse_reference(REF).file(setup.directory)
    path.with_name(path.name + ".part").write_bytes(b"half")
    path.with_name(path.name + ".part.tag").write_text("v1")
    assert (await setup.remove(REF)).size_bytes == 6
    assert setup.names() == [".pull.lock"]


async def test_minilm_is_removed_with_its_source_files(setup: LibrarySetup) -> None:
    setup.put("minilm")
    (setup.directory / "minilm-source").mkdir()
    (setup.directory / "minilm-source" / "vocab.txt").touch()
    await setup.remove("minilm")
    assert setup.names() == [".pull.lock"]


async def test_model_in_use_is_removed_only_by_force(setup: LibrarySetup) -> None:
    path = setup.put("minilm")
    setup.agents = {"main": MemorySearch(), "other": local("minilm")}
    with pytest.raises(BadParamsError, match="minilm is the model of main, other") as caught:
        await setup.remove("minilm")
    assert "--force" in caught.value.hint
    assert path.exists()
    assert setup.removed == []
    await setup.remove("minilm", force=True)
    assert not path.exists()


@pytest.mark.parametrize("spelled", ["{name}", "{directory}/{name}", "{directory}/../models/{name}"])
async def test_a_model_may_be_named_by_its_file(setup: LibrarySetup, spelled: str) -> None:
    path = setup.put(REF)
    await setup.remove(spelled.format(name=path.name, directory=setup.directory))
    assert not path.exists()


@pytest.mark.parametrize(
    "spelled",
    [
        "{outside}",
        "{directory}/../mine.gguf",
        "{directory}/sub/x.gguf",
        "../mine.gguf",
        "{directory}/.pull.lock",
    ],
)
async def test_files_outside_the_directories_are_not_removed(
    setup: LibrarySetup, tmp_path: Path, spelled: str
) -> None:
    mine = fake.write_model(tmp_path / "mine.gguf")
    setup.put(REF)
    before = setup.names()
    with pytest.raises(PathRefusedError):
        await setup.remove(spelled.format(outside=mine, directory=setup.directory), force=True)
    assert mine.exists()
    assert setup.names() == before


async def test_link_is_removed_without_its_target(setup: LibrarySetup, tmp_path: Path) -> None:
    mine = fake.write_model(tmp_path / "mine.gguf")
    (setup.directory / "link.gguf").symlink_to(mine)
    await setup.remove("link.gguf")
    assert mine.exists()
    assert "link.gguf" not in setup.names()


@pytest.mark.parametrize(
    ("reference", "error"),
    [("minilm", ModelMissingError), ("none.gguf", ModelMissingError), ("hf:nonsense", ConfigInvalidError)],
)
async def test_missing_model_is_named(setup: LibrarySetup, reference: str, error: type[MemdError]) -> None:
    with pytest.raises(error):
        await setup.remove(reference)


async def test_a_download_under_way_is_stopped_before_its_part_is_removed(
    setup: LibrarySetup, server: DownloadServer
) -> None:
    async with setup.open() as (library, _owner):
        part = setup.directory / "hf_owner_my_repo_model_Q8_0.gguf.part"
        part.write_bytes(b"of an earlier try")
        server.gate.clear()

        async def pull() -> None:
            with pytest.raises(MemdError, match="stopped"):
                await library.pull(REF, ignore)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(pull)
            with trio.fail_after(120):
                while not server.asked:  # noqa: ASYNC110 - the server is a thread
                    await trio.sleep(0.005)
            await library.remove(REF, force=False, progress=ignore)
        server.gate.set()
        assert not part.exists()


async def test_removal_waits_for_a_pull_of_another_process(
    setup: LibrarySetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "LOCK_SECONDS", 0.1)
    path = setup.put(REF)

    async with setup.open() as (library, _owner):
        async with lock_models(setup.directory, ignore):
            with pytest.raises(DownloadFailedError, match="another process"):
                await library.remove(REF, force=False, progress=ignore)
        assert path.exists()
        await library.remove(REF, force=False, progress=ignore)
        assert not path.exists()


async def test_model_is_wanted_if_settings_use_it(setup: LibrarySetup) -> None:
    setup.agents = {"main": local(REF), "other": MemorySearch(provider="none")}

    async with setup.open() as (library, _owner):
        assert library.is_wanted(REF)
        assert not library.is_wanted(DEFAULT_LOCAL_MODEL)
