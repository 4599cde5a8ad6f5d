"""The page is open while a browser uses it, and only for browsers with its link."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import trio

from memd.page.access import PageLimits
from memd.page.answers import ALWAYS
from memd.page.server import PageServer
from memd.system.events import EVENTS
from memd_client import Client
from memd_client.errors import AgentUnknownError, PageUnavailableError, ShuttingDownError
from tests.support.page import PageThread, Visitor, read_all
from tests.support.sockets import short_directory


@pytest.fixture
def socket_path() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory / "s"


@pytest.fixture
def server(socket_path: Path) -> Iterator[PageThread]:
    with PageThread(socket_path) as running:
        yield running


def is_open(port: int) -> bool:
    """Return whether a port is open."""
    with closing(socket.socket()) as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


# --- from the first look to the last


def test_the_port_is_closed_until_show_and_then_bound_to_loopback(server: PageThread) -> None:
    assert "closed" in repr(server.page)

    one, two = Visitor(server.link()), Visitor(server.link("main"))

    assert one.port == two.port
    assert one.link != two.link
    with socket.create_server(("127.0.0.2", one.port)):  # another address of the machine is free
        pass


def test_an_agent_there_is_not_opens_no_page(server: PageThread) -> None:
    with pytest.raises(AgentUnknownError):
        server.link("nobody")

    assert "closed" in repr(server.page)


def test_the_page_closes_after_a_minute_without_use(server: PageThread) -> None:
    visitor = server.visitor()

    server.pass_time(59)
    assert is_open(visitor.port)
    server.pass_time(2)
    server.wait_closed()

    assert not is_open(visitor.port)
    assert server.visitor().ask("GET", "/").status == 200  # and opens again


def test_the_page_stays_open_while_it_is_used(server: PageThread) -> None:
    visitor = server.visitor()

    with visitor.events() as events:
        assert events.next_block() == {"retry": "2000"}
        for _ in range(5):
            server.pass_time(59)
        assert is_open(visitor.port)
    server.pass_time(16)  # by now the page is known to be gone
    server.pass_time(59)
    server.pass_time(2)
    server.wait_closed()

    assert not is_open(visitor.port)


def test_sessions_end_with_the_opening(server: PageThread) -> None:
    before = server.visitor()
    server.pass_time(61)
    server.wait_closed()
    after = server.visitor()

    after.cookie = f"memd-{after.port}={before.cookie.partition('=')[2]}"

    assert after.ask("GET", "/").status == 403


def test_the_page_ends_with_the_daemon(socket_path: Path) -> None:
    with PageThread(socket_path) as server:
        visitor = server.visitor()
        with visitor.events() as events:
            events.next_block()
            server.stop()

    assert not is_open(visitor.port)


def test_without_a_daemon_around_it_there_is_no_page() -> None:
    async def ask() -> None:
        await PageServer("9.9").show(None)

    with pytest.raises(ShuttingDownError):
        trio.run(ask)


def test_a_page_that_cannot_be_opened_says_why_and_is_tried_again(
    server: PageThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(port: int, *, host: str) -> list[trio.SocketListener]:
        raise OSError(24, os.strerror(24))

    with monkeypatch.context() as patched, Client(server.path) as client:
        patched.setattr(trio, "open_tcp_listeners", refuse)
        with pytest.raises(PageUnavailableError, match="Too many open files"):
            client.open_page()

    assert server.visitor().ask("GET", "/").status == 200


# --- the link


def test_a_link_works_once_and_leads_to_the_page_without_its_key(server: PageThread) -> None:
    visitor = Visitor(server.link())

    first = visitor.ask("GET", visitor.link)
    again = visitor.ask("GET", visitor.link)

    attributes = [each.strip() for each in first.headers["set-cookie"].split(";")[1:]]
    assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=Strict"]
    assert (first.status, b'content="0; url=/"' in first.body) == (200, True)
    assert again.status == 403
    assert b"memctl web" in again.body
    assert "set-cookie" not in again.headers


def test_an_unused_link_expires_after_a_minute(server: PageThread) -> None:
    visitor = Visitor(server.link())
    other = server.visitor()
    with other.events() as events:
        events.next_block()
        server.pass_time(61)

        assert visitor.ask("GET", visitor.link).status == 403


@pytest.mark.parametrize("token", ["", "x", "%00", "%FF%FE", "a" * 5000, "../..", "<script>"])
def test_a_wrong_link_gets_a_page_that_says_what_to_do(server: PageThread, token: str) -> None:
    reply = Visitor(server.link()).ask("GET", f"/?token={token or '+'}")

    assert (reply.status, b"memctl web" in reply.body) == (403, True)
    assert b"script" not in reply.body


def test_a_browser_that_opens_its_link_again_comes_to_its_page(server: PageThread) -> None:
    visitor = server.visitor()

    again = visitor.ask("GET", visitor.link)

    assert (again.status, "set-cookie" in again.headers) == (200, False)


# --- who gets nothing


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/static/index.html"),
        ("GET", "/api/session"),
        ("GET", "/api/events"),
        ("POST", "/api/search"),
        ("DELETE", "/"),
        ("GET", "/nothing"),
    ],
)
@pytest.mark.parametrize("cookie", ["", "wrong", "other_port", "token"])
def test_without_a_session_there_is_nothing_to_see(
    server: PageThread, method: str, path: str, cookie: str
) -> None:
    visitor = server.visitor()
    key = visitor.cookie.partition("=")[2]
    token = server.link().rpartition("=")[2]
    visitor.cookie = {
        "": "",
        "wrong": f"memd-{visitor.port}={key[:-1]}",
        "other_port": f"memd-{visitor.port + 1}={key}",
        "token": f"memd-{visitor.port}={token}",
    }[cookie]

    reply = visitor.ask(
        method, path, b"{}" if method == "POST" else None, {"Origin": f"http://{visitor.host}"}
    )

    assert (reply.status, reply.body) == (403, b"")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": None},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": None},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_origin_gets_nothing_even_with_the_cookie(
    server: PageThread, headers: dict[str, str | None]
) -> None:
    reply = server.visitor().call("search", {"query": "x"}, headers)

    assert reply.status in (400, 403)  # HTTP/1.1 without a host is no request
    assert reply.body == b""
    assert not [name for name in reply.headers if name.startswith("access-control")]
    assert server.memory.main.searches == 0


@pytest.mark.parametrize(
    ("status", "headers"),
    [(415, {"Content-Type": "text/plain"}), (415, {"Content-Type": None}), (415, {"X-Memd": None})],
)
def test_what_a_form_could_send_is_refused(
    server: PageThread, status: int, headers: dict[str, str | None]
) -> None:
    assert server.visitor().call("search", {"query": "x"}, headers).status == status
    assert server.memory.main.searches == 0


def test_no_answer_to_a_preflight_lets_another_origin_in(server: PageThread) -> None:
    visitor = server.visitor()
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}

    reply = visitor.ask("OPTIONS", "/api/search", headers=asked)

    assert (reply.status, reply.body) == (403, b"")
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_another_users_process_gets_not_even_an_answer(socket_path: Path) -> None:
    with PageThread(socket_path, is_owned_by_user=lambda ours, theirs: False) as server:
        visitor = Visitor(server.link())

        assert visitor.raw(f"GET {visitor.link} HTTP/1.1\r\nHost: {visitor.host}\r\n\r\n".encode()) == b""


def test_every_answer_keeps_itself_to_the_page(server: PageThread) -> None:
    visitor = server.visitor()
    answers = [
        visitor.ask("GET", "/"),
        visitor.ask("GET", "/nothing"),
        visitor.ask("PUT", "/"),
        visitor.call("search", {"query": "x"}),
        visitor.call("search"),
        visitor.ask("GET", "/", headers={"Host": "evil.example"}),
        visitor.ask("GET", "/?token=wrong", headers={"Cookie": None}),
    ]

    assert [each.status for each in answers] == [200, 404, 405, 200, 400, 403, 403]
    for reply in answers:
        assert {name: reply.headers.get(name.lower()) for name, _ in ALWAYS} == dict(ALWAYS)
        assert reply.headers["cache-control"] == "no-store"


# --- events


def test_events_come_as_they_happen_and_to_whom_they_concern(server: PageThread) -> None:
    everybody, one = server.visitor(), server.visitor("other")
    with everybody.events() as all_events, one.events() as other_events:
        server.wait_until(lambda: len(EVENTS._subscriptions) == 2)
        server._token.run_sync_soon(lambda: EVENTS.publish("sync", "main", files_changed=1))
        server._token.run_sync_soon(lambda: EVENTS.publish("note", "other", path="memory/a.md"))

        assert all_events.next_event("sync")["agent"] == "main"
        heard = other_events.next_block(), other_events.next_block()

    assert [block.get("event") for block in heard] == [None, "note"]
    assert '"path":"memory/a.md"' in heard[1]["data"]
    server.pass_time(16)
    server.wait_until(lambda: not EVENTS._subscriptions)


def test_a_quiet_stream_says_now_and_then_that_it_is_there(server: PageThread) -> None:
    with server.visitor().events() as events:
        events.next_block()
        server.wait_until(lambda: EVENTS._subscriptions)
        server.pass_time(15)

        assert events.next_block() == {"": ""}


# --- limits


def test_a_request_that_is_too_large_is_refused(server: PageThread) -> None:
    visitor = server.visitor()

    assert visitor.call("search", {"query": "x" * 300_000}).status == 413
    assert visitor.ask("GET", "/" + "x" * 20_000).status == 431
    assert visitor.ask("GET", "/", headers={"X-Long": "x" * 20_000}).status == 431


def test_who_says_nothing_or_too_slowly_is_left(server: PageThread) -> None:
    visitor = server.visitor()
    with visitor.connected() as silent, visitor.connected() as slow:
        slow.sendall(f"GET / HTTP/1.1\r\nHost: {visitor.host}\r\n".encode())
        with visitor.connected() as body:
            head = f"POST /api/search HTTP/1.1\r\nHost: {visitor.host}\r\nCookie: {visitor.cookie}\r\n"
            own = f"Origin: http://{visitor.host}\r\nContent-Type: application/json\r\nX-Memd: 1\r\n"
            body.sendall(f"{head}{own}Content-Length: 10\r\n\r\n{{".encode())
            server.wait_until(lambda: "3 connections" in repr(server.page))
            server.pass_time(11)

            assert [read_all(sock) for sock in (silent, slow, body)] == [b"", b"", b""]


def test_a_connection_is_used_again_and_closed_when_idle(server: PageThread) -> None:
    visitor = server.visitor()
    asked = f"GET /api/session HTTP/1.1\r\nHost: {visitor.host}\r\nCookie: {visitor.cookie}\r\n\r\n".encode()
    with visitor.connected() as sock, visitor.events():
        for asked_at_once in (1, 1, 2, 3):  # the next before the first is answered
            sock.sendall(asked * asked_at_once)
            said = b""
            while said.count(b'"version":"9.9"}') < asked_at_once:
                said += sock.recv(65_536)
            assert said.count(b"HTTP/1.1 200") == asked_at_once
        server.pass_time(121)

        assert read_all(sock) == b""


def test_strangers_give_way_and_the_pages_own_connections_stay(socket_path: Path) -> None:
    with PageThread(socket_path, page_limits=PageLimits(connections=3)) as server:
        visitor = server.visitor()
        with visitor.events() as events:
            events.next_block()
            strangers = [visitor.connected() for _ in range(5)]
            server.wait_until(lambda: "3 connections" in repr(server.page))

            assert visitor.call("search", {"query": "x"}).status == 200
            assert read_all(strangers[0]) == b""
            for sock in strangers:
                sock.close()

            with visitor.events() as second, visitor.events() as third:
                assert second.next_block() == third.next_block() == {"retry": "2000"}
                assert visitor.ask("GET", "/").status == 503


def test_a_browser_that_leaves_takes_its_request_along(server: PageThread) -> None:
    visitor = server.visitor()
    own = {"Origin": f"http://{visitor.host}", "Content-Type": "application/json", "X-Memd": "1"}
    connection = visitor._begin("POST", "/api/search", b'{"query": "wait"}', own)
    server.wait_until(lambda: server.memory.main.waiting == 1)

    connection.close()

    server.wait_until(lambda: server.memory.main.cancelled == 1)
    assert visitor.call("search", {"query": "x"}).status == 200


def test_a_defect_in_one_connection_is_its_own(server: PageThread, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = server.visitor()

    def fail(*args: object) -> None:
        raise RuntimeError("a defect")

    with monkeypatch.context() as patched:
        patched.setattr("memd.page.visit.Visit._file", fail)
        with pytest.raises(ConnectionError):
            visitor.ask("GET", "/")

    assert visitor.ask("GET", "/").status == 200
