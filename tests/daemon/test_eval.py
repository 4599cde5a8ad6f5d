"""`memctl eval` with a real daemon, the sample memory and a private daemon for `--compare`."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd.sample import copy_sample
from tests.support.daemon import DaemonProcess
from tests.support.models import minilm_path
from tests.support.programs import Terminal
from tests.support.provider_server import KEY, serve_provider
from tests.support.state_homes import KEYWORD_ONLY, StateHome

PLACES = (
    "harbour",
    "orchard",
    "library",
    "station",
    "chapel",
    "market",
    "castle",
    "museum",
    "bakery",
    "garden",
)
THINGS = (
    "lantern",
    "violin",
    "compass",
    "kettle",
    "ladder",
    "mirror",
    "basket",
    "hammer",
    "pillow",
    "bucket",
)


def story(at: int) -> str:
    """Return a sentence that is different for each number."""
    return (
        f"The {THINGS[at]} number {4000 + at} of the {PLACES[at]} went to Ana Pereira{at} before winter came."
    )


def write_notes(home: StateHome) -> None:
    """Write notes that give enough queries."""
    for at in range(10):
        home.note(f"memory/{PLACES[at]}.md", f"# The {PLACES[at]} {THINGS[at]}\n\n{story(at)}\n")


def evaluate(daemon: DaemonProcess, *options: str, **environ: str) -> dict[str, Any]:
    """Run `memctl eval --json` and return its document."""
    ran = daemon.memctl("eval", "--json", *options, environ=environ, timeout_s=120)
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def without_times(document: dict[str, Any]) -> dict[str, Any]:
    """Return the shares of all queries, without the durations."""
    return {name: value for name, value in document["now"]["all"].items() if not name.endswith("_ms")}


def files_below(folder: Path) -> dict[str, str]:
    """Return the hashes of all files below a folder, without SQLite's log, which a reader may create."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


@pytest.fixture(scope="module")
def sample() -> Iterator[DaemonProcess]:
    """A daemon with the sample memory and its local model."""
    minilm_path()
    with StateHome() as home:
        (home.state / "openclaw.json").unlink()
        copy_sample(home.state)
        (home.root / "tmp").mkdir()
        with DaemonProcess(home, {"TMPDIR": str(home.root / "tmp")}) as daemon:
            with daemon.client() as client:
                client.index()
            yield daemon


@pytest.fixture(scope="module")
def keywords() -> Iterator[DaemonProcess]:
    """A daemon with notes and keyword search only."""
    with StateHome(KEYWORD_ONLY) as home:
        write_notes(home)
        (home.root / "tmp").mkdir()
        with DaemonProcess(home, {"TMPDIR": str(home.root / "tmp")}) as daemon:
            yield daemon


@pytest.mark.model
def test_sample_is_found_and_the_result_is_the_same_again(sample: DaemonProcess) -> None:
    first = evaluate(sample)
    few, again = (evaluate(sample, "--queries", "60") for _ in range(2))

    assert (first["agent"], first["queries"], first["now"]["modes"]) == ("main", 300, ["hybrid"])
    assert list(first["now"]["file_kinds"]) == ["daily notes", "curated notes", "other notes"]
    assert list(first["now"]["query_kinds"]) == ["headings", "names", "dates", "rare words", "sentences"]
    assert list(first["now"]["wordings"]) == ["as written", "with a typo"]
    assert first["now"]["wordings"]["as written"]["found"] > 0.9
    assert first["now"]["all"]["found"] > 0.75
    assert first["now"]["all"]["first"] > 0.75
    assert without_times(few) == without_times(again)


@pytest.mark.model
def test_sample_in_chinese_is_found(sample: DaemonProcess) -> None:
    assert evaluate(sample, "--agent", "zh", "--queries", "60")["now"]["all"]["found"] > 0.9


@pytest.mark.model
def test_other_fusion_is_compared_and_nothing_of_the_user_changes(sample: DaemonProcess) -> None:
    before = files_below(sample.home.state)

    result = evaluate(sample, "--compare", "query.hybrid.fusion=rrf", "--queries", "60")

    assert files_below(sample.home.state) == before
    assert list((sample.home.root / "tmp").iterdir()) == []
    against = result["against"]
    assert against["settings"]["query.hybrid.fusion"] == "rrf"
    assert against["modes"] == ["hybrid"]
    difference = against["differences"]["first"]
    assert difference["value"] == pytest.approx(against["all"]["first"] - result["now"]["all"]["first"])
    assert difference["low"] <= difference["value"] <= difference["high"]


@pytest.mark.model
def test_same_model_compared_with_itself_differs_by_nothing(sample: DaemonProcess) -> None:
    result = evaluate(sample, "--compare", "local.modelPath=minilm", "--queries", "60")

    assert result["against"]["model"]
    assert {each["value"] for each in result["against"]["differences"].values()} == {0.0}


def test_table_and_misses_are_printed_and_no_query_is_logged(keywords: DaemonProcess) -> None:
    ran = keywords.memctl("eval", "--show-misses")

    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0].split() == ["queries", "first", "found", "shown", "refused", "p50", "p95", "characters"]
    assert lines[1].startswith("all ")
    assert any(line.endswith(" queries · keyword") for line in lines)
    log = keywords.log_tail(1_000_000)
    assert not any(thing in log for thing in THINGS)


def test_comparison_is_printed_with_intervals(keywords: DaemonProcess) -> None:
    ran = keywords.memctl("eval", "--compare", "query.maxResults=1")

    assert ran.returncode == 0, ran.stderr
    head, first = ran.stdout.splitlines()[:2]
    assert head.split()[:3] == ["all", "queries", "now"]
    assert first.startswith("first ")
    assert " to " in first


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("query.hybrid.fusion=rff", "--compare: query.hybrid.fusion: expected one of"),
        ("query.hybird.fusion=rrf", "--compare: `query.hybird` is not a setting"),
        ("local.modelPath=/nowhere/model.gguf", "/nowhere/model.gguf does not exist"),
        ("local.modelPath=hf:owner/repository/file.gguf", "is not pulled"),
        ("provider=openai", "would send the notes"),
    ],
)
def test_setting_that_cannot_be_used_is_an_error_with_a_hint(
    keywords: DaemonProcess, setting: str, message: str
) -> None:
    ran = keywords.memctl("eval", "--compare", setting)

    assert (ran.returncode, ran.stdout) == (1, "")
    error = [line for line in ran.stderr.splitlines() if line.startswith(("error:", "  hint:"))]
    assert message in error[0]
    assert error[1].startswith("  hint: ")
    assert list((keywords.home.root / "tmp").iterdir()) == []


def test_ctrl_c_leaves_no_folder_and_no_daemon(
    keywords: DaemonProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = keywords.home.root / "tmp"
    monkeypatch.setenv("TMPDIR", str(folder))
    arguments = ("eval", "--queries", "10000", "--compare", "query.maxResults=1")

    with Terminal(keywords, *arguments) as terminal:
        terminal.wait_for("with --compare")
        (private,) = folder.iterdir()
        terminal.press(b"\x03")
        assert terminal.wait_end() == 130

    assert list(folder.iterdir()) == []
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert private.name not in running


def test_extra_paths_have_a_row_of_their_own() -> None:
    search = {"provider": "none", "extraPaths": ["../vault"]}
    with StateHome({"agents": {"defaults": {"memorySearch": search}}}) as home:
        write_notes(home)
        (home.state / "vault").mkdir()
        (home.state / "vault" / "trip.md").write_text(
            "# Ferry timetable\n\nThe ferry to Hydra leaves at seven.\n"
        )
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            kinds = evaluate(daemon)["now"]["file_kinds"]
    assert list(kinds) == ["other notes", "extra paths"]
    assert kinds["extra paths"]["found"] > 0.7


def test_queries_are_sent_to_a_remote_provider_only_if_allowed() -> None:
    with StateHome() as home, serve_provider("compatible", key=KEY, dims=8) as server:
        remote = {"baseUrl": server.url, "apiKey": KEY}
        search = {"provider": "openai", "model": server.facts.model, "remote": remote}
        home.configure({"agents": {"defaults": {"memorySearch": search}}})
        write_notes(home)
        with DaemonProcess(home) as daemon:
            with daemon.client() as client:
                client.index()
            sent = len(server.requests)

            ran = daemon.memctl("eval", "--json", "--queries", "20", "--compare", "query.maxResults=2")
            alone = json.loads(ran.stdout)
            assert (alone["now"]["modes"], alone["against"]["modes"]) == (["keyword"], ["keyword"])
            assert "--allow-remote permits that" in ran.stderr
            assert len(server.requests) == sent

            allowed = evaluate(daemon, "--queries", "20", "--allow-remote")
            assert allowed["now"]["modes"] == ["hybrid"]
            assert len(server.requests) > sent


def test_too_few_notes_are_an_error_with_a_hint() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "# Ann\n\nThe garden gate has the code kestrel-12.\n")
        with DaemonProcess(home) as daemon:
            ran = daemon.memctl("eval")
    assert ran.returncode == 1
    assert "error: the notes of agent main are too few: 1 file gave " in ran.stderr
    assert "hint: choose an agent with more notes" in ran.stderr
