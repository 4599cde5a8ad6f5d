"""How much the page may ask for, and how long everybody may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageLimits:
    """The limits of the page's server.

    connections: open at once. A browser opens six for one page; beyond them one that has shown no session gives way.
    header_bytes: of a request's line and headers. A browser sends less than two thousand.
    body_bytes: of a request's body: the longest fact, spelled out in JSON escapes, is a tenth of it.
    answers_bytes: replies on their way to all browsers together; one more is answered with `daemon_busy`. One alone
        always fits.
    request_s: from connecting, or from a request's first byte, until it is whole.
    idle_s: between requests of a connection that has shown its session. Longer than browsers keep one open unused.
    send_s: what a browser may take to accept one piece of an answer.
    token_s: a link that nobody opened is dead after that: the browser is started with it, or it is pasted.
    tokens: links that wait to be opened; the eldest dies first.
    sessions: pages that were opened since the server was; the eldest ends first.
    unwatched_s: the server ends when no page has been open for so long. A page that is loaded anew takes a second.
    heartbeat_s: how often an event stream says something, so that a page that is gone is noticed.
    """

    connections: int = 32
    header_bytes: int = 16 * 1024
    body_bytes: int = 256 * 1024
    answers_bytes: int = 64 * 1024 * 1024
    request_s: float = 10
    idle_s: float = 120
    send_s: float = 15
    token_s: float = 60
    tokens: int = 16
    sessions: int = 32
    unwatched_s: float = 60
    heartbeat_s: float = 15
