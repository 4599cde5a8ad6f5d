"""Secrets in commands, outputs and edits are redacted, ordinary lines stay."""

from __future__ import annotations

import base64
import json
import random
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.work.secrets import redact_command, redact_file_text, redact_output
from tests.support.growth import check_linear
from tests.support.planted_secrets import HEX, PlantedSecret, plant_secrets, secret_kinds

MAX_GROWTH = 20
"""The mark of a value is this much longer than the shortest value."""


def _harmless(rng: random.Random) -> list[str]:
    """Return lines without secrets."""

    def digest(count: int) -> str:
        return "".join(rng.choices(HEX, k=count))

    lines = """
PASSWORD_MIN_LENGTH = 12
PASSWORD_MIN_LENGTH=12
token = next_token()
token = lexer.next_token(text)
MAX_TOKENS=4096
password = forms.CharField(widget=forms.PasswordInput)
password=password, user=user
if token.kind == "name":
SECRET_NAME = os.environ["SECRET_NAME"]
TOKEN_URL=https://auth.example.org/oauth/token
PASSWORD_FILE=/run/secrets/db
API_TOKEN=$API_TOKEN ./deploy.sh
API_TOKEN="${API_TOKEN}" make
--password-file secrets.txt
Enter password:
password: required
const key = Object.keys(cart)[0];
cache_key = f"{user}:{page}"
primary key (id)
PASS=12 FAIL=3
tests/test_auth.py::test_token PASSED
src/auth/token.py:12:5: error: undefined name
export PATH=/usr/local/bin:$PATH
KEY_WIDTH=200
mysql --protocol=tcp -h db
docker run -u 1000:1000 -p 8080:80 nginx
curl -s -o out.json https://example.org/a?page=2&limit=5
authorize the user, then redirect
npm ci --no-audit
git log --author=eva -p
version = "1.2.3"
Successfully installed flask-3.0.3
the token has expired
Author: Eva <eva@example.org>
git@github.com:eva/shop.git
https://example.org/shop?sort=price
secret santa is on friday
cookie banner is hidden
[[package]]
name = "secrets"
""".strip().splitlines()
    made = [
        f"commit {digest(40)}",
        f"index {digest(8)}..{digest(8)} 100644",
        f"sha256:{digest(64)}",
        f"{uuid.UUID(int=rng.getrandbits(128))} ok",
        f"Downloading shop-{rng.randrange(9)}.{rng.randrange(30)}.{rng.randrange(9)}-py3-none-any.whl",
        f"dist/app.{digest(8)}.js  {rng.randrange(900)}.{rng.randrange(99)} kB",
        f'  "integrity": "sha512-{base64.b64encode(rng.randbytes(64)).decode()}",',
        f"    --hash=sha256:{digest(64)}",
        f"0x{digest(12)} in main",
        f"2026-01-0{rng.randrange(1, 9)}T10:00:00Z INFO request {digest(16)} took {rng.randrange(900)} ms",
    ]
    return [*lines, *made]


def redacted(planted: PlantedSecret) -> str:
    """Return a text without its secret."""
    if planted.place == "command":
        return redact_command(planted.text)[0]
    if planted.place.startswith("file "):
        return redact_file_text(planted.place[5:], planted.text)[0]
    return redact_output(planted.place, planted.text)[0]


def test_no_planted_secret_is_left() -> None:
    planted = plant_secrets()

    assert len(planted) == 1_000
    assert len({(secret.place, secret.shape) for secret in planted}) >= 40
    assert len(secret_kinds(random.Random(1))) >= 25
    assert [secret for secret in planted if secret.secret in redacted(secret)] == []


def test_harmless_lines_stay() -> None:
    rng = random.Random(7)
    printed = (Path(__file__).parent / "data" / "outputs.txt").read_text("utf-8").split("\n")
    lines = list(
        {line: None for _ in range(10) for line in _harmless(rng)} | dict.fromkeys(filter(str.strip, printed))
    )
    lines = lines[:500]
    changed = {line for line in lines if redact_command(line)[1] or redact_output("npm test", line)[1]}

    assert len(lines) == 500
    assert len(changed) <= 5, changed


@pytest.mark.parametrize(
    ("command", "output", "redacted"),
    [
        ("env", "A=1\nHOME=/home/eva", "A=[redacted:value]\nHOME=[redacted:value]"),
        ("env FOO=1 npm test", "NAME=1", "NAME=1"),
        ("set -e; npm test", "NAME=1", "NAME=1"),
        ("source .env && npm test", "NAME=1", "NAME=1"),
        ("cat .env.example", "NAME=1", "NAME=1"),
        ("cat .env", "cat: .env: No such file or directory", "cat: .env: No such file or directory"),
    ],
)
def test_values_go_and_names_stay_where_a_command_prints_them(
    command: str, output: str, redacted: str
) -> None:
    assert redact_output(command, output)[0] == redacted


def test_private_keys_in_outputs_are_redacted() -> None:
    key = "\n".join(base64.b64encode(random.Random(line).randbytes(48)).decode() for line in range(8))
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{key}\n-----END RSA PRIVATE KEY-----\n"

    for command in ("cat id_rsa", "cat server.key", "ls", "openssl genrsa 2048"):
        redacted = redact_output(command, text)[0]
        assert not any(line in redacted for line in key.split("\n"))


def test_service_account_in_json_is_redacted() -> None:
    text = json.dumps(
        {"type": "service_account", "private_key_id": "a" * 40, "private_key": "x1" * 30}, indent=2
    )

    assert "x1x1" not in redact_output("cat credentials.json", text)[0]
    assert "x1x1" not in redact_file_text("conf/service-account.json", text)[0]


@given(st.text(max_size=300), st.text(max_size=300))
def test_redaction_is_idempotent_and_bounded(line: str, text: str) -> None:
    for redacted, source in (
        (redact_command(line)[0], line),
        (redact_output(line, text)[0], text),
        (redact_output("env", text)[0], text),
        (redact_file_text("id_rsa", text)[0], text),
    ):
        assert len(redacted) <= MAX_GROWTH * (len(source) + 1)
    assert redact_command(redact_command(line)[0]) == (redact_command(line)[0], 0)
    assert redact_output("env", redact_output("env", text)[0])[1] == 0
    assert redact_output("gh auth token", redact_output("gh auth token", text)[0])[1] == 0


@pytest.mark.parametrize(
    "text", ["A_TOKEN=x1y2 ", "curl -u a:", "://", "password ", "+++ b/.env\nA=1\n", '"a": "', "- "]
)
def test_redaction_is_linear(text: str) -> None:
    check_linear(lambda count: text * count, lambda output: redact_output("env", output), 500)
    check_linear(lambda count: text * count, lambda output: redact_output("npm test", output), 500)
