"""Whatever bytes arrive, the page answers with a refusal or closes, and goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.page import PageThread, Visitor
from tests.support.sockets import short_directory

METHODS = [b"GET ", b"POST ", b"CONNECT ", b"OPTIONS * ", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
TARGETS = [
    b"/",
    b"/?token=",
    b"//[",
    b"/api/search",
    b"/api/events",
    b" HTTP/1.1",
    b" HTTP/1.0",
    b" HTTP/9.9",
]
ENDS = [b"\r\n", b"\n", b"\r\n\r\n", b"\n\n"]
HEADERS = [
    b"Host: 127.0.0.1\r\n",
    b"Host: HOST\r\n",
    b"Host: HOST\r\nHost: x\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\nConnection: upgrade\r\n",
    b"Cookie: memd=\xff\r\n",
    b"Origin: http://HOST\r\n",
    b" folded\r\n",
    b"X: \x00\r\n",
]
BODIES = [b"5\r\nhello\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"\xff\xfe\x00", b"x" * 20_000]
WORDS = st.sampled_from(
    [*METHODS, *TARGETS, *ENDS, *HEADERS, *BODIES, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03"]
)


@pytest.fixture(scope="module")
def server() -> Iterator[PageThread]:
    with short_directory() as directory, PageThread(directory / "s") as running:
        yield running


@pytest.fixture(scope="module")
def visitor(server: PageThread) -> Visitor:
    return server.visitor()


def check(visitor: Visitor, said: bytes) -> None:
    """Fail unless what was said is nothing, or refusals alone."""
    answers = re.findall(rb"^HTTP/1\.1 (\d{3})", said, re.MULTILINE)
    assert not said or said.startswith(b"HTTP/1.1 "), said[:100]
    assert [status for status in answers if not status.startswith((b"4", b"501"))] == []
    assert b"Traceback" not in said


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.one_of(WORDS, st.binary(max_size=40)), max_size=14))
def test_no_bytes_get_more_than_a_refusal(visitor: Visitor, parts: list[bytes]) -> None:
    data = b"".join(parts).replace(b"HOST", visitor.host.encode())

    check(visitor, visitor.raw(data))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 400), junk=st.binary(max_size=60), at=st.integers(0, 400))
def test_a_broken_request_with_a_session_breaks_nothing(
    visitor: Visitor, cut: int, junk: bytes, at: int
) -> None:
    body = b'{"query": "x"}'
    whole = (
        f"POST /api/search HTTP/1.1\r\nHost: {visitor.host}\r\nCookie: {visitor.cookie}\r\nOrigin: http://{visitor.host}\r\n"
        f"Content-Type: application/json\r\nX-Memd: 1\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body

    said = visitor.raw((whole[:at] + junk + whole[at:])[: len(whole) - cut])

    assert not said or said.startswith(b"HTTP/1.1 "), said[:100]
    assert b"HTTP/1.1 500" not in said


def test_afterwards_the_page_is_as_it_was(server: PageThread, visitor: Visitor) -> None:
    assert visitor.call("search", {"query": "x"}).status == 200
    server.wait_until(lambda: "0 connections" in repr(server.page))
