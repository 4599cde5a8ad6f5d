"""Tests of downloads: resuming, verification, disk space, secrecy of the token."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from memd.embedding.local import download
from memd.embedding.local.download import fetch_file
from memd.embedding.secret import Secret
from memd_client.errors import ChecksumMismatchError, DownloadFailedError
from tests.support.download_server import DownloadServer, serve_download

BODY = bytes(range(256)) * 20_000
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture
def server() -> Iterator[DownloadServer]:
    with serve_download(BODY) as running:
        yield running


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "RETRY_SECONDS", 0.0)


def fetch(
    server: DownloadServer, target: Path, sha256: str | None = SHA256, **more: Any
) -> list[tuple[str, int, int, str]]:
    seen: list[tuple[str, int, int, str]] = []
    run = partial(fetch_file, f"{server.url}/file.gguf", target, sha256=sha256, **more)
    trio.run(partial(run, progress=lambda *step: seen.append(step)))
    return seen


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_download_is_complete_with_progress_and_no_leftovers(server: DownloadServer, tmp_path: Path) -> None:
    seen = fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY
    assert seen[-1] == ("download", len(BODY), len(BODY), "file.gguf")
    assert [step[1] for step in seen] == sorted(step[1] for step in seen)
    assert files(tmp_path) == ["file.gguf"]


def test_download_resumes_after_a_broken_connection(server: DownloadServer, tmp_path: Path) -> None:
    server.break_after = [3_000_000, 1_500_000]
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY
    starts = [int(wanted[6:-1]) if wanted else 0 for _, wanted in server.asked]
    assert starts[0] == 0
    assert 0 < starts[1] < starts[2]


def test_download_resumes_in_a_later_process(server: DownloadServer, tmp_path: Path) -> None:
    (tmp_path / "file.gguf.part").write_bytes(BODY[:1_000_000])
    (tmp_path / "file.gguf.part.tag").write_text(server.etag)
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY
    assert server.asked == [("/file.gguf", "bytes=1000000-")]


@pytest.mark.parametrize(("etag", "knows_ranges"), [('"v2"', True), ('"v1"', False)])
def test_download_restarts_if_the_file_changed_or_ranges_are_unsupported(
    server: DownloadServer, tmp_path: Path, etag: str, knows_ranges: bool
) -> None:
    (tmp_path / "file.gguf.part").write_bytes(b"of another version")
    (tmp_path / "file.gguf.part.tag").write_text('"v1"')
    server.etag, server.knows_ranges = etag, knows_ranges
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY


def test_part_without_a_version_is_not_resumed(server: DownloadServer, tmp_path: Path) -> None:
    (tmp_path / "file.gguf.part").write_bytes(b"of who knows what")
    fetch(server, tmp_path / "file.gguf", sha256=None)
    assert (tmp_path / "file.gguf").read_bytes() == BODY


def test_wrong_file_is_removed_and_named(server: DownloadServer, tmp_path: Path) -> None:
    with pytest.raises(ChecksumMismatchError, match=r"file\.gguf"):
        fetch(server, tmp_path / "file.gguf", sha256="0" * 64)
    assert files(tmp_path) == []


def test_checksum_of_the_hub_is_verified(server: DownloadServer, tmp_path: Path) -> None:
    server.linked_etag = "0" * 64
    with pytest.raises(ChecksumMismatchError):
        fetch(server, tmp_path / "file.gguf", sha256=None)
    server.linked_etag = SHA256
    fetch(server, tmp_path / "file.gguf", sha256=None)


def test_error_status_is_named_and_not_retried(server: DownloadServer, tmp_path: Path) -> None:
    server.status = 404
    with pytest.raises(DownloadFailedError, match="404"):
        fetch(server, tmp_path / "file.gguf")
    assert len(server.asked) == 1
    assert files(tmp_path) == []


def test_download_without_progress_fails_and_keeps_its_part(server: DownloadServer, tmp_path: Path) -> None:
    server.break_after = [2_000_000, 0, 0, 0]
    with pytest.raises(DownloadFailedError):
        fetch(server, tmp_path / "file.gguf")
    assert len(server.asked) == 2
    assert "file.gguf.part" in files(tmp_path)


def test_unreachable_host_is_named(tmp_path: Path) -> None:
    with pytest.raises(DownloadFailedError, match=r"127\.0\.0\.1 can't be reached"):
        trio.run(
            partial(fetch_file, "http://127.0.0.1:9/x.gguf", tmp_path / "x.gguf", progress=lambda *step: None)
        )


def test_full_disk_is_noticed_before_anything_is_written(
    server: DownloadServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "RESERVED_BYTES", 1 << 60)
    with pytest.raises(DownloadFailedError, match="are needed"):
        fetch(server, tmp_path / "file.gguf")
    assert files(tmp_path) == []


def test_disk_that_fills_up_ends_the_download_before_it_is_full(
    server: DownloadServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "CHECK_BYTES", 1 << 20)
    free = iter([1 << 40, 1 << 40, 1 << 20])
    with pytest.raises(DownloadFailedError, match=r"are needed and 1\.05 MB are free"):
        fetch(server, tmp_path / "file.gguf", free_bytes=lambda directory: next(free, 1 << 20))
    assert files(tmp_path) == ["file.gguf.part", "file.gguf.part.tag"]
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY


LIMITED = """
import resource, sys
from functools import partial
from pathlib import Path
import trio
from memd.embedding.local.download import fetch_file
from memd.embedding.secret import Secret
from memd_client.errors import DownloadFailedError
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    trio.run(partial(fetch_file, sys.argv[1], Path(sys.argv[2]), progress=lambda *step: None))
except DownloadFailedError as error:
    print(error.message)
"""


def test_write_on_a_full_disk_is_named_and_frees_its_space(server: DownloadServer, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, f"{server.url}/file.gguf", str(tmp_path / "file.gguf")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "can't be written" in ran.stdout
    assert files(tmp_path) == []
    assert len(server.asked) == 1


def test_complete_part_is_accepted_without_download(server: DownloadServer, tmp_path: Path) -> None:
    (tmp_path / "file.gguf.part").write_bytes(BODY)
    (tmp_path / "file.gguf.part.tag").write_text(server.etag)
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY
    assert len(server.asked) == 1


def test_part_longer_than_the_file_is_downloaded_again(server: DownloadServer, tmp_path: Path) -> None:
    (tmp_path / "file.gguf.part").write_bytes(BODY + b"more")
    (tmp_path / "file.gguf.part.tag").write_text(server.etag)
    fetch(server, tmp_path / "file.gguf")
    assert (tmp_path / "file.gguf").read_bytes() == BODY
    assert [wanted for _, wanted in server.asked] == [f"bytes={len(BODY) + 4}-", ""]


def test_range_with_a_wrong_start_is_not_appended(server: DownloadServer, tmp_path: Path) -> None:
    (tmp_path / "file.gguf.part").write_bytes(BODY[:1000])
    (tmp_path / "file.gguf.part.tag").write_text(server.etag)
    server.shifted = 7
    fetch(server, tmp_path / "file.gguf", sha256=None)
    assert (tmp_path / "file.gguf").read_bytes() == BODY


TOKEN = Secret("hf_secretsecret")


def test_token_is_sent_only_to_the_hub(tmp_path: Path) -> None:
    with serve_download(BODY) as hub, serve_download(BODY) as other:
        hub.redirect = other.url
        fetch(hub, tmp_path / "file.gguf", token=TOKEN)
        assert hub.authorizations == ["Bearer hf_secretsecret"]
        assert other.authorizations == [""]
    assert (tmp_path / "file.gguf").read_bytes() == BODY


def test_token_is_sent_again_when_a_download_resumes(server: DownloadServer, tmp_path: Path) -> None:
    server.token, server.break_after = "hf_secretsecret", [3_000_000]
    fetch(server, tmp_path / "file.gguf", token=TOKEN)
    assert server.authorizations == ["Bearer hf_secretsecret"] * 2


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "schlüssel"])
def test_invalid_token_is_refused_without_showing_it(
    server: DownloadServer, tmp_path: Path, token: str
) -> None:
    with pytest.raises(DownloadFailedError) as caught:
        fetch(server, tmp_path / "file.gguf", token=Secret(token))
    assert token not in str(caught.value.to_wire())
    assert server.asked == []


def test_token_is_not_sent_without_encryption(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with serve_download(BODY) as proxy:  # receives requests to addresses other than this machine's
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "")
        run = partial(fetch_file, "http://hub.invalid/file.gguf", tmp_path / "file.gguf", token=TOKEN)
        trio.run(partial(run, progress=lambda *step: None))
        assert proxy.authorizations == [""]


def test_error_names_the_address_without_secrets(server: DownloadServer, tmp_path: Path) -> None:
    server.status = 404
    url = server.url.replace("//", "//ann:secret@") + "/file.gguf?signature=secret"
    with pytest.raises(DownloadFailedError, match=r"file\.gguf answered 404") as caught:
        trio.run(partial(fetch_file, url, tmp_path / "x.gguf", progress=lambda *step: None))
    assert "secret" not in str(caught.value.to_wire())
    assert caught.value.data["status"] == 404


def test_unusable_proxy_in_the_environment_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://proxy:1")
    with pytest.raises(DownloadFailedError, match="proxy") as caught:
        trio.run(partial(fetch_file, "https://x.invalid/x.gguf", tmp_path / "x", progress=lambda *step: None))
    assert "ALL_PROXY" in caught.value.hint
