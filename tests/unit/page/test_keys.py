"""A link works once, and not for long."""

from __future__ import annotations

from memd.page.access import PageLimits
from memd.page.opening import Keys


class Clock:
    """Seconds a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_link_becomes_a_session_once() -> None:
    keys = Keys(PageLimits(), Clock())
    token = keys.issue("main")

    session = keys.exchange(token)

    assert session is not None
    assert session.agent == "main"
    assert keys.exchange(token) is None
    assert keys.find(session.key) is session
    assert keys.find(token) is None


def test_an_unused_link_expires_and_a_session_does_not() -> None:
    clock = Clock()
    keys = Keys(PageLimits(token_s=60), clock)
    early, late = keys.issue(None), keys.issue(None)
    session = keys.exchange(early)
    clock.now += 60

    assert session is not None
    assert keys.exchange(late) is None
    assert keys.find(session.key) is session


def test_keys_are_long_different_and_never_shown() -> None:
    keys = Keys(PageLimits(), Clock())
    token = keys.issue(None)
    session = keys.exchange(keys.issue(None))

    assert session is not None
    assert len({token, session.key}) == 2
    assert min(len(token), len(session.key)) >= 43  # 256 bits in base64
    assert not any(key in repr(each) for key in (token, session.key) for each in (keys, session))


def test_what_is_no_key_is_none() -> None:
    keys = Keys(PageLimits(), Clock())
    token = keys.issue(None)

    for wrong in ("", " ", token[:-1], token + "A", "\ud800", "ü" * 43, "\0"):
        assert keys.exchange(wrong) is None
        assert keys.find(wrong) is None
    assert keys.exchange(token) is not None


def test_too_many_links_or_sessions_cost_the_eldest() -> None:
    keys = Keys(PageLimits(tokens=2, sessions=2), Clock())
    links = [keys.issue(None) for _ in range(3)]
    assert keys.exchange(links[0]) is None

    sessions = [keys.exchange(keys.issue(None)) for _ in range(3)]

    assert [keys.find(each.key) is not None for each in sessions if each] == [False, True, True]
