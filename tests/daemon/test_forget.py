"""`memctl forget` with a real daemon: every place, tombstones, receipts, undo, kills."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator

import pytest

from memd_client import Client
from memd_client.errors import BadParamsError, FileMissingError
from memd_client.messages import ForgetReceipt
from tests.support.forgetting import ForgetfulHome

SECRET = "Anna Kowalska lives in Lisbon"
OTHER = "The cormorant gateway listens on port 8443"


@pytest.fixture
def home() -> Iterator[ForgetfulHome]:
    """A home with a daemon's settings."""
    with ForgetfulHome() as state:
        state.note("MEMORY.md", f"# Memory\n\n- {OTHER}\n- {SECRET}\n- As said, {SECRET}, near the river\n")
        yield state


def forget(client: Client, target: str, *, everywhere: bool = False) -> ForgetReceipt:
    """Forget a target and return its receipt."""
    found = client.forget("find", target, everywhere=everywhere)
    (receipt,) = client.forget("forget", target, everywhere=everywhere, confirmed=found.found_id).receipts
    assert receipt.state == "done"
    return receipt


def found_paths(client: Client, query: str = "Kowalska Lisbon") -> list[str]:
    """Return the paths of hits whose snippet has the secret."""
    return [hit.path for hit in client.search(query).hits if "Kowalska" in hit.snippet]


def states(receipt: ForgetReceipt) -> dict[str, set[str]]:
    """Return the states of a receipt's places by kind."""
    places = dict[str, set[str]]()
    for place in receipt.places:
        places.setdefault(place.place, set()).add(place.state)
    return places


def test_text_leaves_notes_conversations_copies_index_and_logs(home: ForgetfulHome) -> None:
    home.session(1, f"By the way, {SECRET}. Fix the build", "I will", title=f"{SECRET} and the build")
    kept = home.session(2, f"{SECRET}!", "Noted")
    (home.vault / "people.md").write_text(f"# People\n\n{SECRET.upper()}\nBen lives in Porto\n")
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        client.memory_store(SECRET)
        kept.unlink()
        assert found_paths(client, SECRET) != []
        receipt = forget(client, SECRET)
        assert states(receipt) == {
            "facts": {"erased"},
            "notes": {"erased"},
            "conversations": {"hidden", "erased"},
            "retained copies": {"erased"},
            "index": {"erased"},
            "recall log": {"erased"},
        }
        assert [check.location for check in receipt.checked if check.count] == []
        assert any(path.endswith("000001.jsonl") for path in receipt.unreachable)
        assert home.with_text(SECRET, SECRET.upper()) == []
        assert found_paths(client) == []
        assert client.memory_recall("Anna").facts == []
        (session,) = [row for row in client.conversations().conversations if row.session.id.endswith("1")]
        assert session.session.title == "[forgotten] and the build"
        messages = client.conversation_read("claude-code/5f0c8a52-0000-4000-8000-000000000001").messages
        assert messages[0].text == "By the way, [forgotten]. Fix the build"
        assert client.search("cormorant gateway").hits[0].snippet.count(OTHER) == 1
    assert (
        home.workspace() / "MEMORY.md"
    ).read_text() == f"# Memory\n\n- {OTHER}\n- As said,, near the river\n"
    assert (home.vault / "people.md").read_text() == "# People\n\nBen lives in Porto\n"
    assert stat.S_IMODE((home.state / "memory" / "forgotten.json").stat().st_mode) == 0o600


def test_forgotten_text_never_comes_back(home: ForgetfulHome) -> None:
    transcript = home.session(1, f"Note that {SECRET}.", "Noted")
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        forget(client, SECRET)
        home.note("copied-back.md", "")
        home.note("memory/back.md", f"Restored: {SECRET.lower()}, again\n")
        with transcript.open("ab") as file:
            file.write(transcript.read_bytes().split(b"\n")[0].replace(b'"5-1"', b'"5-9"') + b"\n")
        client.index(force=True)
        assert found_paths(client) == []
        assert client.get("memory/back.md").text == "Restored: [forgotten], again\n"
        client.reset(delete_vectors=True)
        assert found_paths(client) == []
        with pytest.raises(BadParamsError):
            client.memory_store(f"{SECRET} since May")
        client.append_note(f"Heard that {SECRET}")
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        assert found_paths(client) == []
        assert client.session_started("s1", kind="main", max_characters=10_000).context.count("Kowalska") == 0
    notes = {home.workspace() / "memory" / "back.md"}
    assert set(home.with_text(SECRET)) <= notes


def test_find_changes_nothing_and_a_stale_confirmation_is_refused(home: ForgetfulHome) -> None:
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        before = {path: data for path, data in home.files() if path.suffix == ".md"}
        found = client.forget("find", SECRET)
        assert (found.kind, [place.place for place in found.places]) == ("text", ["notes", "index"])
        assert found.places[0].count == 2
        with pytest.raises(BadParamsError):
            client.forget("forget", SECRET, confirmed="0123")
        assert {path: data for path, data in home.files() if path.suffix == ".md"} == before
        with pytest.raises(FileMissingError):
            client.forget("find", "zanzibarquux retention policy")
        with pytest.raises(BadParamsError):
            client.forget("find", "lives in")
        assert client.forget("receipts").receipts == []


def test_query_forgets_the_sentences_that_answer_it(home: ForgetfulHome) -> None:
    home.session(1, "The build is red. Anna Kowalska moved to Lisbon last year. Fix it", "I will")
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        found = client.forget("find", "where does Anna Kowalska live")
        assert SECRET in [statement.text.removeprefix("- ") for statement in found.statements]
        assert all("build" not in statement.text for statement in found.statements)


def test_fact_is_forgotten_by_its_id_also_where_it_is_quoted(home: ForgetfulHome) -> None:
    text = "Anna's <dev> key & box is blue"
    home.session(1, f"Remember: {text}", "Noted")
    with home.daemon() as daemon, daemon.client() as client:
        fact = client.memory_store(text)
        client.memory_store("Ben likes short answers")
        client.index()
        assert forget(client, fact.id).kind == "fact"
        assert [row.text for row in client.memory_recall("").facts] == ["Ben likes short answers"]
        assert home.with_text(text, "key & box") == []
    assert "Ben likes short answers" in (home.workspace() / "memory" / "facts.md").read_text()


def test_note_is_removed_with_its_own_lines_and_shared_lines_stay_elsewhere(home: ForgetfulHome) -> None:
    shared = "The release train leaves every second Friday"
    home.note("memory/plan.md", f"# Plan\n\n{shared}\nOnly Clara knows the vault code\nok\n")
    home.note("memory/other.md", f"# Other\n\n{shared}\n")
    home.session(1, "Only Clara knows the vault code", "ok")
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        receipt = forget(client, "memory/plan.md")
        assert receipt.kind == "note"
        assert [place.location for place in receipt.places if place.state == "retained"] != []
        assert not (home.workspace() / "memory" / "plan.md").exists()
        assert shared in client.search(shared).hits[0].snippet
        home.note("memory/plan.md", f"# Plan\n\n{shared}\nOnly Clara knows the vault code\nok\n")
        assert "vault code" not in client.get("memory/plan.md").text


def test_note_is_forgotten_with_shared_lines_if_everywhere(home: ForgetfulHome) -> None:
    shared = "The release train leaves every second Friday"
    home.note("memory/plan.md", f"{shared}\n")
    home.note("memory/other.md", f"# Other\n\n{shared}\n")
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        forget(client, "memory/plan.md", everywhere=True)
        assert home.with_text(shared) == []
        assert (home.workspace() / "memory" / "other.md").read_text() == "# Other\n\n"


def test_conversation_leaves_index_copies_and_work_but_not_its_program(home: ForgetfulHome) -> None:
    transcript = home.session(1, "The heron waits at the pier", "It does", title="Heron at the pier")
    home.session(2, "The pelican waits at the pier", "It does")
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        receipt = forget(client, "5f0c8a52-0000-4000-8000-000000000001")
        assert receipt.kind == "conversation"
        assert str(transcript) in receipt.unreachable
        client.reset(delete_vectors=True)
        assert [hit.path[-1] for hit in client.search("waits at the pier").hits] == ["2"]
        assert home.with_text("The heron waits") == []
    assert b"heron" in transcript.read_bytes()


def test_undo_restores_notes_from_the_trash_with_later_changes() -> None:
    with ForgetfulHome("forget_trash_days = 3\n") as home:
        note = home.note("MEMORY.md", f"# Memory\n\n- {SECRET}\n- {OTHER}\n")
        home.note("memory/plan.md", "Only Clara knows the vault code\n")
        home.session(1, f"Note that {SECRET}", "Noted")
        with home.daemon() as daemon, daemon.client() as client:
            client.index()
            receipt = forget(client, SECRET)
            forget(client, "memory/plan.md")
            assert receipt.trash_until_ms > receipt.time_ms
            assert {path.parent.parent.name for path in home.with_text(SECRET)} == {"forgotten"}
            note.write_text(note.read_text() + "- new line\n")
            (undone,) = client.forget("undo").receipts
            assert (undone.kind, undone.state) == ("note", "undone")
            assert client.get("memory/plan.md").text == "Only Clara knows the vault code\n"
            client.forget("undo", receipt=receipt.id)
            assert note.read_text() == f"# Memory\n\n- {SECRET}\n- {OTHER}\n- new line\n"
            assert set(found_paths(client)) == {
                "MEMORY.md",
                "claude-code/5f0c8a52-0000-4000-8000-000000000001",
            }
            assert not (home.state / "memory" / "forgotten" / receipt.id).exists()


@pytest.mark.long
def test_text_in_a_note_that_cant_be_changed_is_masked_and_reported(home: ForgetfulHome) -> None:
    (home.vault / "people.md").write_text(f"{SECRET}\n")
    folder = os.open(home.vault, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        with home.daemon() as daemon, daemon.client() as client:
            client.index()
            receipt = forget(client, SECRET)
            (place,) = [place for place in receipt.places if place.location.endswith("people.md")]
            assert (place.state, "locked" in place.reason) == ("failed", True)
            assert found_paths(client) == []
            assert client.get("vault/people.md").text == "[forgotten]\n"
    finally:
        os.close(folder)


def test_command_asks_prints_a_receipt_and_lists_it(home: ForgetfulHome) -> None:
    with home.daemon() as daemon, daemon.client() as client:
        client.index()
        refused = daemon.memctl("forget", *SECRET.split())
        assert (refused.returncode, "no terminal" in refused.stderr) == (2, True)
        dry = daemon.memctl("forget", "--dry-run", SECRET)
        assert (dry.returncode, "MEMORY.md" in dry.stdout) == (0, True)
        done = daemon.memctl("forget", "--yes", "--json", SECRET)
        assert done.returncode == 0
        (receipt,) = json.loads(done.stdout)["receipts"]
        assert receipt["state"] == "done"
        listed = daemon.memctl("forget", "--receipts").stdout
        assert receipt["id"] in listed
        assert "Kowalska" not in listed
        assert daemon.memctl("forget").returncode == 1
