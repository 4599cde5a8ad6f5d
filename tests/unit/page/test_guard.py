"""What browsers say of a request decides whether it is the page's own."""

from __future__ import annotations

import pytest

from memd.page.access import Head, cookie_of, why_foreign, why_no_call

PORT = 40_513
HOST = {"host": f"127.0.0.1:{PORT}"}
OWN = f"http://127.0.0.1:{PORT}"
LINK = "/?token=abc"


def head(method: str = "GET", target: str = "/", **headers: str) -> Head:
    """Return a request with the right host."""
    return Head(
        method, target, {**HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    )


@pytest.mark.parametrize(
    "request_head",
    [
        head(),
        head(host=f"localhost:{PORT}"),
        head(host=f"LocalHost:{PORT}"),
        head(sec_fetch_site="none"),
        head(sec_fetch_site="same-origin", sec_fetch_mode="navigate", sec_fetch_dest="document"),
        head(
            target="/static/a.js",
            sec_fetch_site="same-origin",
            sec_fetch_mode="cors",
            sec_fetch_dest="script",
        ),
        head("POST", "/api/search", origin=OWN, sec_fetch_site="same-origin"),
        head("POST", "/api/search", origin=f"http://localhost:{PORT}", host=f"localhost:{PORT}"),
        head(target=LINK, sec_fetch_site="cross-site", sec_fetch_mode="navigate", sec_fetch_dest="document"),
        head(target=LINK, sec_fetch_site="none"),
    ],
)
def test_what_the_page_and_its_links_send_is_the_pages_own(request_head: Head) -> None:
    assert why_foreign(request_head, PORT) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"evil.example:{PORT}",
        f"127.0.0.1.evil.example:{PORT}",
        f"127.0.0.1:{PORT}, evil.example",
        f"[::1]:{PORT}",
        f"0.0.0.0:{PORT}",
        f"127.0.0.1:{PORT}.",
    ],
)
def test_a_name_that_was_made_to_lead_here_is_refused(host: str) -> None:
    assert why_foreign(head(host=host), PORT) == "host"


@pytest.mark.parametrize(
    ("reason", "request_head"),
    [
        ("origin_missing", head("POST", "/api/search")),
        ("origin", head("POST", "/api/search", origin="null")),
        ("origin", head("POST", "/api/search", origin="https://evil.example")),
        ("origin", head("POST", "/api/search", origin=f"http://127.0.0.1:{PORT + 1}")),
        ("origin", head("POST", "/api/search", origin=f"https://127.0.0.1:{PORT}")),
        ("origin", head("POST", "/api/search", origin=f"http://localhost:{PORT}")),
        ("origin", head("GET", "/", origin="https://evil.example")),
        ("fetch_site", head(sec_fetch_site="cross-site")),
        ("fetch_site", head(sec_fetch_site="same-site", sec_fetch_mode="navigate")),
        ("fetch_site", head(target="/static/a.js", sec_fetch_site="none")),
        ("fetch_site", head(target="/static/a.js", sec_fetch_site="same-site")),
        ("fetch_site", head(target="/api/events", sec_fetch_site="same-site")),
        ("fetch_site", head("POST", "/api/search", origin=OWN, sec_fetch_site="same-site")),
        ("fetch_site", head(target=LINK, sec_fetch_site="cross-site", sec_fetch_dest="iframe")),
        ("fetch_site", head(target=LINK, sec_fetch_site="cross-site", sec_fetch_mode="no-cors")),
        ("fetch_site", head(target="/?token=", sec_fetch_site="cross-site")),
    ],
)
def test_what_comes_from_another_page_is_refused(reason: str, request_head: Head) -> None:
    assert why_foreign(request_head, PORT) == reason


@pytest.mark.parametrize(
    ("token", "request_head"),
    [
        ("abc", head(target=LINK)),
        ("abc", head(target="/?a=b&token=abc")),
        (None, head(target="/")),
        (None, head(target="/x?token=abc")),
        (None, head("POST", LINK)),
        (None, head(target="/?" + "&".join(["token=a"] * 11))),
        (None, head(target="//[?token=abc")),
    ],
)
def test_a_links_key_is_taken_from_a_link_alone(token: str | None, request_head: Head) -> None:
    assert request_head.token == token


def test_a_call_is_json_with_a_header_no_form_can_send() -> None:
    assert why_no_call(head("POST", content_type="application/json; charset=UTF-8", x_memd="1")) is None
    assert why_no_call(head("POST", content_type="application/json")) == "header_missing"
    for kind in ("", "text/plain", "application/x-www-form-urlencoded", "application/json; boundary=x"):
        assert why_no_call(head("POST", content_type=kind, x_memd="1")) == "content_type"


def test_a_cookie_is_valid_if_it_is_present_once() -> None:
    assert cookie_of(head(cookie="a=1; memd-1=k; b=2"), "memd-1") == "k"
    assert cookie_of(head(cookie="memd-1=k; memd-1=l"), "memd-1") is None
    assert cookie_of(head(cookie="memd-11=k"), "memd-1") is None
    assert cookie_of(head(), "memd-1") is None
