"""`memctl web` with a real daemon: the page, its access control, its events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.page import Visitor, ask_as_another_user, can_be_another_user, read_all
from tests.support.sockets import wait_until
from tests.support.state_homes import StateHome, agents_config


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with StateHome() as home:
        search = {"provider": "none", "sync": {"watchDebounceMs": 50}}
        home.configure(agents_config(home.state, "work", memory_search=search))
        home.note("MEMORY.md", "# Ann\n\nThe garden gate has the code kestrel-12.\n")
        home.note("memory/2026-03-04.md", "# Monday\n\nThe staging gateway listens on port-otter.\n")
        home.note("memory/facts.md", "# Facts\n\n- Anna lives in Lisbon\n", agent="work")
        with DaemonProcess(home) as running:
            running.wait_for(lambda status: all(agent.chunks for agent in status.agents))
            yield running


def open_page(daemon: DaemonProcess, *arguments: str) -> Visitor:
    """Return a visitor who opened the link of `memctl web`."""
    ran = daemon.memctl("web", "--no-browser", *arguments)
    assert ran.returncode == 0, ran.stderr
    return Visitor(ran.stdout.strip()).enter()


def test_page_and_its_files_are_served_to_the_visitor_of_the_link(daemon: DaemonProcess) -> None:
    visitor = open_page(daemon)

    page = visitor.ask("GET", "/")

    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    session = visitor.ask("GET", "/api/session").json
    assert (session["agent"], session["agents"]) == (None, ["main", "work"])


def test_search_explains_each_hit(daemon: DaemonProcess) -> None:
    reply = open_page(daemon).call("search", {"query": "staging gateway", "explain": True}).json["result"]

    assert reply["hits"][0]["path"] == "memory/2026-03-04.md"
    assert reply["hits"][0]["explain"]["reasons"]


def test_facts_are_stored_edited_and_forgotten_with_an_event_each(daemon: DaemonProcess) -> None:
    visitor = open_page(daemon)
    with visitor.events() as events:
        events.next_block()
        stored = visitor.call("memory_store", {"text": "I like tea", "agent": "work"}).json["result"]
        edit = {"id": stored["id"], "text": "I like coffee", "expected_text": "I like tea", "agent": "work"}
        edited = visitor.call("memory_edit", edit).json["result"]
        again = visitor.call("memory_edit", edit)
        listed = visitor.call("facts", {"agent": "work"}).json["result"]
        visitor.call("memory_forget", {"id": edited["id"], "agent": "work"})
        gone = visitor.call("memory_edit", edit)

        states = [events.next_event("fact")["data"]["state"] for _ in range(3)]

    assert states == ["stored", "edited", "forgotten"]
    assert (again.status, again.json["error"]["code"]) == (409, "fact_changed")
    assert (gone.status, gone.json["error"]["code"]) == (404, "fact_missing")
    assert {fact["text"] for fact in listed["facts"]} == {"Anna lives in Lisbon", "I like coffee"}
    assert daemon.home.workspace("work").joinpath("memory/facts.md").read_text().count("\n- ") == 1


def test_changed_file_sends_an_event(daemon: DaemonProcess) -> None:
    visitor = open_page(daemon)
    with visitor.events() as events:
        events.next_block()
        daemon.home.note("memory/2026-03-05.md", "# Tuesday\n\nThe lease ends in June.\n")

        while (event := events.next_event("sync"))["agent"] != "main":  # of an earlier test's facts
            pass

    assert event["data"]["files_changed"] == 1
    files = visitor.call("files").json["result"]["files"]
    assert (files[0]["path"], files[0]["title"]) in {
        ("memory/2026-03-05.md", "Tuesday"),
        ("MEMORY.md", "Ann"),
    }


def test_page_of_one_agent_shows_no_other_agent(daemon: DaemonProcess) -> None:
    visitor = open_page(daemon, "--agent", "work")
    asked = {
        "search": {"query": "garden gate code staging gateway lease", "min_score": 0},
        "search_agents": {"query": "garden gate code staging gateway lease", "min_score": 0},
        "get": {"path": "MEMORY.md"},
        "files": {},
        "facts": {},
        "memory_recall": {"query": ""},
        "status": {},
        "metrics": {},
    }

    said = {name: visitor.call(name, params).body.decode() for name, params in asked.items()}

    words = ("kestrel", "otter", "June", "2026-03-04", '"main"', "workspace/")
    told = [(name, word) for name, body in said.items() for word in words if word in body]
    assert told == []
    assert "Anna lives in Lisbon" in said["facts"]
    with visitor.events() as events:
        events.next_block()
        daemon.home.note("memory/2026-03-06.md", "# For main\n")
        daemon.home.note("memory/2026-03-06.md", "# For work\n", agent="work")
        assert events.next_event("sync")["agent"] == "work"


@pytest.mark.skipif(not can_be_another_user(), reason="only root can start another user's process")
def test_other_user_of_the_machine_is_refused_even_with_the_link(daemon: DaemonProcess) -> None:
    link = Visitor(daemon.memctl("web", "--no-browser").stdout.strip())
    visitor = open_page(daemon)

    for path, cookie in ((link.link, ""), ("/", visitor.cookie)):
        request = f"GET {path} HTTP/1.1\r\nHost: {link.host}\r\nCookie: {cookie}\r\nConnection: close\r\n\r\n"
        assert ask_as_another_user(link.port, request.encode()) == b""

    assert link.enter().ask("GET", "/").status == 200  # and the link still works


def test_idle_connections_do_not_block_the_page(daemon: DaemonProcess) -> None:
    visitor = open_page(daemon)
    stuck = [visitor.connected() for _ in range(60)]
    for sock in stuck[::2]:
        sock.sendall(b"GET / HTTP/1.1\r\nHost:")

    with daemon.client() as client:
        assert client.search("staging gateway").hits
    assert visitor.call("search", {"query": "staging gateway"}).json["result"]["hits"]

    assert read_all(stuck[0]) == b""  # the oldest connection was closed
    for sock in stuck:
        sock.close()


def test_log_holds_no_page_key_and_no_memory(daemon: DaemonProcess) -> None:
    link = Visitor(daemon.memctl("web", "--no-browser").stdout.strip())
    visitor = open_page(daemon)
    visitor.ask("GET", link.link + "x")
    visitor.call("search", {"query": "staging gateway"})

    log = daemon.log_tail(100_000)

    keys = (link.link.rpartition("=")[2], visitor.link.rpartition("=")[2], visitor.cookie.rpartition("=")[2])
    assert [word for word in (*keys, "staging gateway") if word in log] == []
    assert {"page.opened", "page.refused"} <= {record["event"] for record in daemon.events()}


def test_unknown_agent_and_missing_daemon_are_errors(daemon: DaemonProcess) -> None:
    unknown = daemon.memctl("web", "--no-browser", "--agent", "nobody")
    with StateHome() as home:
        down = DaemonProcess(home).memctl("web", "--no-browser")

    assert (unknown.returncode, down.returncode) == (1, 1)
    assert "agent_unknown" in unknown.stderr
    assert "daemon_unreachable" in down.stderr
    assert down.stdout == ""


def test_page_closes_with_the_daemon() -> None:
    with StateHome() as home, DaemonProcess(home) as daemon:
        visitor = open_page(daemon)
        with visitor.events() as events:
            events.next_block()

            assert daemon.stop() == 0

        def is_closed() -> bool:
            try:
                visitor.connected().close()
            except ConnectionRefusedError:
                return True
            return False

        wait_until(is_closed)
