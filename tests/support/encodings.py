"""Encodings in which a server may repeat a key, in errors and headers."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply, json_reply

ENCODINGS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "upper case": str.upper,
    "lower case": str.lower,
    "split case": lambda text: "".join(one.upper() if at % 2 else one for at, one in enumerate(text)),
    "url": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "url, every character": lambda text: "".join(f"%{ord(one):02X}" for one in text),
    "json, every character": lambda text: "".join(f"\\u{ord(one):04x}" for one in text),
    "json twice": lambda text: json.dumps(json.dumps(text)),
    "html": lambda text: html.escape("".join(f"&#{ord(one)};" for one in text)),
    "hex": lambda text: text.encode().hex(),
    "hex in groups": lambda text: text.encode().hex(":"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for urls": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of user and key": lambda text: base64.b64encode(f"user:{text}".encode()).decode(),
    "base64 of a user of other length": lambda text: base64.b64encode(f"ann:{text}:".encode()).decode(),
    "base64 in lower case": lambda text: base64.b64encode(text.encode()).decode().lower(),
    "base64 of url": lambda text: base64.b64encode(quote(text, safe="").encode()).decode(),
    "the first part": lambda text: text[:12],
    "the last part": lambda text: text[-12:],
}


def forms_of(secret: str) -> set[str]:
    """Return a secret in every encoding, in lower case."""
    return {encode(secret).casefold() for encode in ENCODINGS.values()}


def echo_of(
    encode: Callable[[str], str], *names: str, status: int = 500
) -> Callable[[HttpRequest, ProviderReply], ProviderReply]:
    """Return a function that turns replies into errors that repeat headers of the request in every text field."""

    def rewrite(asked: HttpRequest, reply: ProviderReply) -> ProviderReply:
        values = [asked.headers.get(name, "").removeprefix("Bearer ") for name in names]
        said = [encode(value) for value in values if value]
        codes = [f"{before}{one}" for one in said for before in ("", "key_", "bad-key-")]
        errors = [
            {"code": code, "type": code, "status": code, "message": code, "reason": code} for code in codes
        ]
        host = "".join(one if one.isalnum() else "-" for one in said[0])
        headers = {
            "Location": f"https://{host}.example/{said[0].encode('ascii', 'replace').decode()}",
            "X-Request-Id": said[0],
            "WWW-Authenticate": said[0],
        }
        return json_reply({"error": {**errors[0], "details": errors}, "detail": errors}, status, headers)

    return rewrite
