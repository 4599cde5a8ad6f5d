"""Downloads go on where they stopped, and what is no use never gets a model's name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import trio

from memd.embedding.model import download
from memd.embedding.model.download import fetch_file
from memd_client.errors import ChecksumMismatchError, DownloadFailedError
from tests.support.download_server import DownloadServer, serving

BODY = bytes(range(256)) * 20_000
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def server() -> Iterator[DownloadServer]:
    with serving(BODY) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "RETRY_SECONDS", 0.0)


def fetch(
    server: DownloadServer, target: Path, sha256: str | None = SHA256
) -> list[tuple[str, int, int, str]]:
    seen: list[tuple[str, int, int, str]] = []
    run = partial(fetch_file, f"{server.url}/file.gguf", target, sha256=sha256)
    trio.run(partial(run, progress=lambda *step: seen.append(step)))
    return seen


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_download_arrives_whole_with_progress_and_leaves_nothing_else(
    server: DownloadServer, tmp_path: Path
) -> None:
    seen = fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY
    assert seen[-1] == ("download", len(BODY), len(BODY), "file.gguf")
    assert [step[1] for step in seen] == sorted(step[1] for step in seen)
    assert files(tmp_path) == ["file.gguf"]


def test_download_goes_on_where_the_connection_broke(server: DownloadServer, tmp_path: Path) -> None:
    server.break_after = [3_000_000, 1_500_000]
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY
    starts = [int(wanted[6:-1]) if wanted else 0 for _, wanted in server.asked]
    assert starts[0] == 0
    assert 0 < starts[1] < starts[2]


def test_download_goes_on_in_a_later_process(server: DownloadServer, tmp_path: Path) -> None:
    (tmp_path / "file.gguf.part").write_bytes(BODY[:1_000_000])
    (tmp_path / "file.gguf.part.tag").write_text(server.etag)
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY
    assert server.asked == [("/file.gguf", "bytes=1000000-")]


@pytest.mark.parametrize(("etag", "knows_ranges"), [('"v2"', True), ('"v1"', False)])
def test_download_begins_anew_where_the_file_changed_or_ranges_are_unknown(
    server: DownloadServer, tmp_path: Path, etag: str, knows_ranges: bool
) -> None:
    (tmp_path / "file.gguf.part").write_bytes(b"of another version")
    (tmp_path / "file.gguf.part.tag").write_text('"v1"')
    server.etag, server.knows_ranges = etag, knows_ranges
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY


def test_part_without_a_version_is_not_built_upon(server: DownloadServer, tmp_path: Path) -> None:
    (tmp_path / "file.gguf.part").write_bytes(b"of who knows what")
    fetch(server, tmp_path / "file.gguf", sha256=None)
    assert (tmp_path / "file.gguf").read_bytes() == BODY


def test_wrong_file_is_removed_and_named(server: DownloadServer, tmp_path: Path) -> None:
    with pytest.raises(ChecksumMismatchError, match=r"file\.gguf"):
        fetch(server, tmp_path / "file.gguf", sha256="0" * 64)
    assert files(tmp_path) == []


def test_checksum_stated_by_the_hub_is_held(server: DownloadServer, tmp_path: Path) -> None:
    server.linked_etag = "0" * 64
    with pytest.raises(ChecksumMismatchError):
        fetch(server, tmp_path / "file.gguf", sha256=None)
    server.linked_etag = SHA256
    fetch(server, tmp_path / "file.gguf", sha256=None)


def test_error_status_is_named_and_not_tried_again(server: DownloadServer, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(DownloadFailedError, match="404"):
        fetch(server, tmp_path / "file.gguf")
    assert len(server.asked) == 1
    assert files(tmp_path) == []


def test_connection_that_brings_nothing_more_is_given_up_and_the_part_kept(
    server: DownloadServer, tmp_path: Path
) -> None:
    server.break_after = [2_000_000, 0, 0, 0]
    with pytest.raises(DownloadFailedError):
        fetch(server, tmp_path / "file.gguf")
    assert len(server.asked) == 2
    assert "file.gguf.part" in files(tmp_path)


def test_nobody_there_is_said_with_the_host(tmp_path: Path) -> None:
    with pytest.raises(DownloadFailedError, match=r"127\.0\.0\.1 can't be reached"):
        trio.run(
            partial(fetch_file, "http://127.0.0.1:9/x.gguf", tmp_path / "x.gguf", progress=lambda *step: None)
        )


def test_full_disk_is_noticed_before_anything_is_written(
    server: DownloadServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "SPARE_BYTES", 1 << 60)
    with pytest.raises(DownloadFailedError, match="are needed"):
        fetch(server, tmp_path / "file.gguf")
    assert files(tmp_path) == []


def test_unusable_proxy_in_the_environment_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://proxy:1")
    with pytest.raises(DownloadFailedError, match="proxy") as caught:
        trio.run(partial(fetch_file, "https://x.invalid/x.gguf", tmp_path / "x", progress=lambda *step: None))
    assert "ALL_PROXY" in caught.value.hint
