"""Plain calls to a provider server, for tests of the server itself."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from tests.support.provider_server import KEY, ProviderServer

Answer = tuple[int, dict[str, str], Any]


def call(
    server: ProviderServer,
    method: str,
    path: str,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
    raw: bool = False,
) -> Answer:
    """Send one request and return (status, headers, JSON or bytes)."""
    url = urlsplit(server.url)
    connection = http.client.HTTPConnection(url.netloc, timeout=20)
    try:
        own = {"x-goog-api-key": KEY} if server.dialect == "gemini" else {"Authorization": f"Bearer {KEY}"}
        kind = {"Content-Type": "application/json"} if body else {}
        connection.request(method, url.path + path, body, {**own, **kind, **(headers or {})})
        response = connection.getresponse()
        data = response.read()
        named = {name.lower(): value for name, value in response.headers.items()}
        is_json = named.get("content-type") == "application/json" and data and not raw
        return response.status, named, json.loads(data) if is_json else data
    finally:
        connection.close()
