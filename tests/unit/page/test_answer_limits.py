"""Answers on their way to browsers, all together, against their limit."""

from __future__ import annotations

from memd.page.access import PageLimits
from tests.support.page import PageThread
from tests.support.sockets import short_directory


def test_answers_that_browsers_do_not_read_are_bounded_together() -> None:
    limits = PageLimits(answers_bytes=8_000_000)
    with short_directory() as directory, PageThread(directory / "s", page_limits=limits) as server:
        visitor = server.visitor()
        head = (
            f"POST /api/search HTTP/1.1\r\nHost: {visitor.host}\r\nCookie: {visitor.cookie}\r\n"
            f"Origin: http://{visitor.host}\r\nContent-Type: application/json\r\nX-Memd: 1\r\n"
        )
        body = b'{"query": "big 7000000"}'
        with visitor.connected() as deaf:
            deaf.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            assert deaf.recv(1) == b"H"  # its answer is on its way, and not read any further

            refused = visitor.call("search", {"query": "big 7000000"})
            small = visitor.call("search", {"query": "x"})

        assert (refused.status, refused.json["error"]["code"]) == (503, "daemon_busy")
        assert small.status == 200
        assert visitor.call("search", {"query": "big 7000000"}).status == 200
