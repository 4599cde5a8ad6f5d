"""Tests that secrets are found in any encoding, and ordinary words are kept."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memd.embedding.redaction import REDACTED, WINDOW, Redactor, redactor_of, url_secrets
from memd.embedding.secret import Secret
from tests.support.encodings import ENCODINGS
from tests.unit.embedding.remote.test_failures import KNOWN_ERRORS

KEY = "sk-proj-0123+56/89=bcdefghij?lmn"
HEADER = "tenant-4f7a91c2"
PASSWORD = "p4ss:w0rd!"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("secret", [KEY, HEADER, PASSWORD, "hunter2x"])
def test_secret_in_any_encoding_makes_the_text_redacted(secret: str, encoding: str) -> None:
    login = base64.b64encode(f"someone:{PASSWORD}".encode()).decode()
    redactor = redactor_of(
        Secret(KEY),
        {"X-Tenant": HEADER, "Authorization": f"Basic {login}", "Cookie": "a=b; session=hunter2x"},
    )
    for text in ("{}", "bad key {}, sorry", "code_{}", "e-{}.example"):
        assert redactor.clean(text.format(ENCODINGS[encoding](secret))) == REDACTED


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60), st.data())
def test_any_key_in_any_encoding_is_found_in_any_text(key: str, data: st.DataObject) -> None:
    assume(sum(map(str.isalnum, key)) >= WINDOW)
    encoding = data.draw(st.sampled_from(sorted(set(ENCODINGS) - {"the first part", "the last part"})))
    before, after = data.draw(st.text(max_size=20)), data.draw(st.text(max_size=20))
    text = f"{before} {ENCODINGS[encoding](key)} {after}"
    assert Redactor([key]).has_secret(text)
    assert Redactor([key]).clean(text, 400) == REDACTED


def test_known_error_texts_are_not_redacted() -> None:
    redactor = redactor_of(Secret(KEY), {"X-Tenant": HEADER})
    for name, status, body, _ in KNOWN_ERRORS:
        words = body.decode() if isinstance(body, bytes) else json.dumps(body)
        if "sk-proj" not in words:
            assert not redactor.has_secret(words[:300], WINDOW), (name, status, words)
    assert redactor.clean("model_not_found") == "model_not_found"
    assert redactor.clean("certificate verify failed: unable to get local issuer certificate").startswith(
        "cert"
    )


def test_short_secret_is_found_in_text_and_ignored_in_ids() -> None:
    redactor = redactor_of(None, {"X-Env": "batch", "X-Version": "v1"})
    assert redactor.has_secret("bad_batch")
    assert not redactor.has_secret("batch_000001", WINDOW)
    assert not redactor.has_secret("v1 is old")


@given(st.text())
def test_clean_text_is_one_bounded_printable_line(text: str) -> None:
    shown = Redactor([KEY]).clean(text, 50)
    assert len(shown) <= 50
    assert shown.isprintable()


def test_url_passwords_are_secrets_and_email_addresses_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found = url_secrets(
        [
            "http://ann:pa%24s@proxy:3128",
            "bob:secret@proxy:80",
            "https://token@host/x",
            "me@example.com",
            "/a:b@c",
        ]
    )
    assert set(found) == {"ann", "pa%24s", "pa$s", "bob", "secret", "token", ""}
    monkeypatch.setenv("HTTPS_PROXY", "http://ann:wh4tever@proxy:3128")
    assert redactor_of().clean("407 no wh4tever") == REDACTED
    assert redactor_of(url="https://host/file?sig=abcdef012345").has_secret("abcdef012345")


def test_redactor_prints_no_secret() -> None:
    assert KEY not in repr(redactor_of(Secret(KEY), {"X": KEY}))
