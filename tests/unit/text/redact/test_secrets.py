"""Secrets are redacted, ordinary text stays."""

from __future__ import annotations

import hashlib
import re
import uuid
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.text.redact.secrets import SECRET_KINDS, redact
from tests.support.growth import check_linear

HEX = hashlib.sha256(b"x").hexdigest()
MIXED = "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hI5kL7nO9"
BODY = (
    "MIIEowIBAAKCAQEAu1SU1LfVLPHCozMxH2Mo4lgOEePzNm0tRgeLezV6ffAt0gun\nVTLw7onLRnrq0/IzW7yWR7QkrmBL7jTKEn5u"
)

SECRETS = {
    "openai-key": ["sk-" + MIXED, "sk-proj-" + MIXED + "_" + MIXED, "sk-svcacct-" + MIXED, "sk-or-v1-" + HEX],
    "anthropic-key": ["sk-ant-api03-" + MIXED + "-" + MIXED + "AA"],
    "github-token": [prefix + MIXED[:36] for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")]
    + ["github_pat_" + MIXED[:22] + "_" + MIXED],
    "gitlab-token": ["glpat-" + MIXED[:20], "glrt-" + MIXED[:20]],
    "aws-key-id": ["AKIAIOSFODNN7EXAMPLE", "ASIAIOSFODNN7EXAMPLE"],
    "google-key": ["AIzaSy" + MIXED[:33]],
    "google-token": ["ya29." + MIXED, "GOCSPX-" + MIXED[:28], "1//0" + MIXED],
    "slack-token": [
        "xoxb-123456789012-123456789012-" + MIXED[:24],
        "xoxp-1-2-3-" + HEX[:32],
        "xapp-1-A1-2-" + HEX,
    ],
    "stripe-key": [prefix + MIXED[:24] for prefix in ("sk_live_", "rk_live_", "sk_test_", "whsec_")],
    "sendgrid-key": ["SG." + MIXED[:22] + "." + MIXED + "a"],
    "twilio-key": ["SK" + HEX[:32], "AC" + HEX[:32]],
    "npm-token": ["npm_" + MIXED[:36]],
    "pypi-token": ["pypi-AgEIcHlwaS5vcmc" + MIXED * 3],
    "huggingface-token": ["hf_" + MIXED[:34]],
    "digitalocean-token": ["dop_v1_" + HEX],
    "telegram-token": ["123456789:AA" + MIXED[:33]],
    "discord-token": ["MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ." + MIXED[:27]],
    "azure-secret": ["abc8Q~" + MIXED[:34]],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + MIXED],
    "vault-token": ["hvs." + MIXED],
    "private-key": [
        f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}=\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN OPENSSH PRIVATE KEY----- {BODY} -----END OPENSSH PRIVATE KEY-----".replace("\n", " "),
        f"-----BEGIN PRIVATE KEY-----\\n{BODY}\\n-----END PRIVATE KEY-----\\n".replace("\n", "\\n")[:-2],
        f"-----BEGIN PGP PRIVATE KEY BLOCK----- Version: 1 {BODY} =abcd -----END PGP PRIVATE KEY BLOCK-----",
        f"-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{HEX}\n\n{BODY}",
        f"-----BEGIN PRIVATE KEY----- {BODY}".replace("\n", " "),
        f"Private-Lines: 14 {BODY}".replace("\n", " "),
    ],
}
"""Text that each kind redacts completely."""

IN_PART = [
    ("postgres://user:hunter2@db:5432/x", "postgres://user:[redacted:url-password]@db:5432/x"),
    ("redis://:s3cr3t@localhost", "redis://:[redacted:url-password]@localhost"),
    ("Authorization: Bearer abcdefgh", "Authorization: Bearer [redacted:authorization]"),
    ("authorization=Basic dXNlcjpwYXNz", "authorization=Basic [redacted:authorization]"),
    ("'Authorization': 'token aaaabbbb'", "'Authorization': 'token [redacted:authorization]'"),
    (f"curl -H 'bearer {MIXED}'", "curl -H 'bearer [redacted:bearer-token]'"),
    (
        "https://hooks.slack.com/services/T0000/B0000/XXXXxxxx1111",
        "https://hooks.slack.com/[redacted:slack-webhook]",
    ),
    (
        f"https://discord.com/api/webhooks/123456789012345678/{MIXED}",
        "https://discord.com/api/webhooks/[redacted:discord-webhook]",
    ),
    (f"AccountKey={MIXED}==;EndpointSuffix=x", "AccountKey=[redacted:azure-key];EndpointSuffix=x"),
    (f"https://x.blob/y?sv=1&sig={MIXED}%3D&se=2", "https://x.blob/y?sv=1&sig=[redacted:azure-key]&se=2"),
    (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "aws_secret_access_key = [redacted:secret]",
    ),
    ("api_key=abc123def456", "api_key=[redacted:secret]"),
    ("API-Key: abc123def456,", "API-Key: [redacted:secret],"),
    ('{"apiKey": "abc123def456"}', '{"apiKey": "[redacted:secret]"}'),
    ('{\\"apiKey\\": \\"abc123def456\\"}', '{\\"apiKey\\": \\"[redacted:secret]\\"}'),
    ("GITHUB_TOKEN=abc123def456 make", "GITHUB_TOKEN=[redacted:secret] make"),
    ("deploy --token abc123def456 now", "deploy --token [redacted:secret] now"),
    ("?token=abc123def456&page=2", "?token=[redacted:secret]&page=2"),
    (f"client_secret: {HEX}", "client_secret: [redacted:secret]"),
    ("my API key is abc123def456.", "my API key is [redacted:secret]."),
    ("password: hunter2", "password: [redacted:password]"),
    ("DB_PASSWORD='P@ss(w0rd)'", "DB_PASSWORD='[redacted:password]'"),
    ("pwd=123456", "pwd=[redacted:password]"),
    ("the password is Tr0ub4dor&3!", "the password is [redacted:password]!"),
    ("密码是 abc12345。", "密码是 [redacted:password]。"),
    ("密码：abc12345", "密码：[redacted:password]"),
    ("パスワードはabc12345", "パスワードは[redacted:password]"),
    ("token: " + "a1b2c3d4" * 100 + " end", "token: [redacted:secret] end"),
    ("İ password: hunter2", "İ password: [redacted:password]"),
]

ORDINARY = [
    f"commit {HEX[:40]}",
    f"sha256:{HEX}",
    f"git show {HEX[:7]}",
    str(uuid.UUID(HEX[:32])),
    b64encode(b"Dear reader, this is but prose, written down in base64 for once.").decode(),
    "data:image/png;base64," + b64encode(bytes(range(200))).decode(),
    "the token budget is 4096, and max_tokens: 8192 is the limit",
    "token_count=123456789012",
    "password: see the vault",
    "password: ********",
    "password: <your password>",
    "password=${DB_PASSWORD}",
    "password=$DB_PASSWORD",
    "password: required|string",
    "password=getpass.getpass()",
    'password = os.environ["DB_PASSWORD_1"]',
    "password: 1Password",
    "passwords: two of them",
    "api_key=YOUR_API_KEY_1",
    "api_key: process.env.API_KEY_2",
    "the API key is stored in the keyring",
    "the token is expired",
    "secret: db-credentials-2",
    "token: /run/secrets/token1",
    "token: 2026-01-05T10:00:00Z",
    "secret: kube-system/registry-v2",
    "key: agent:main:telegram:group:12345678",
    "session key: abc123def456ghi789",
    "primary key = order_id_123456",
    "monkey: abc123def456",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "bearer of bad news from 2026",
    "Basic authentication-requires-a-header",
    "sk-fading-circle sk-learn-contrib-compatible",
    "hf_transfer npm_config_registry npm_package_version",
    "https://example.com:8080/@scope/package",
    "http://localhost:3000/a:b@c",
    "git@github.com:owner/repo.git ssh://git@host/x",
    "-----BEGIN PUBLIC KEY----- MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK -----END PUBLIC KEY-----",
    "it starts with -----BEGIN PRIVATE KEY----- and so on",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJfakekeyfakekeyfakekeyfakekeyfakekey me@host",
    "1.2.3.4:8080 v1.2.3-rc.4 2026.01.05",
    "AKIA and ASIA are prefixes, AC and SK too",
    "MEMORY.memory.configuration-of-the-daemon-in-short",
    "我的密码忘了，怎么办",
    "",
]


@pytest.mark.parametrize(
    ("name", "secret"), [(name, one) for name, every in SECRETS.items() for one in every]
)
@pytest.mark.parametrize("around", ["{}", "it is {}, keep it", "X='{}'", "see ({}).", "键{}。", "a\n{}\nb"])
def test_a_secret_is_redacted_completely(name: str, secret: str, around: str) -> None:
    assert redact(around.format(secret)) == (around.format(f"[redacted:{name}]"), 1)


@pytest.mark.parametrize(("text", "redacted"), IN_PART)
def test_the_name_before_a_secret_stays(text: str, redacted: str) -> None:
    assert redact(text) == (redacted, 1)
    assert redact(f"say: {text}")[0] == f"say: {redacted}"


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_not_redacted(text: str) -> None:
    assert redact(text) == (text, 0)


def test_every_secret_of_a_text_is_counted() -> None:
    text = f"{SECRETS['openai-key'][0]} and {SECRETS['jwt'][0]} and password: hunter2 and hunter2"
    redacted, count = redact(text)
    assert (redacted, count) == (
        "[redacted:openai-key] and [redacted:jwt] and password: [redacted:password] and hunter2",
        3,
    )


def test_two_keys_are_two_secrets() -> None:
    key = SECRETS["private-key"][1]
    assert redact(f"{key} then {key}") == ("[redacted:private-key] then [redacted:private-key]", 2)


def test_an_incomplete_private_key_ends_before_other_text() -> None:
    cut = SECRETS["private-key"][5]
    assert redact(f"{cut} and then he said yes") == ("[redacted:private-key] and then he said yes", 1)


PIECES = st.sampled_from(
    [secret for every in SECRETS.values() for secret in every]
    + [text for text, _ in IN_PART]
    + [
        "password",
        "token",
        "=",
        ": ",
        " ",
        "\n",
        "-",
        "_",
        ".",
        "@",
        "://",
        "'",
        "a",
        "Z9",
        "[redacted:",
        "]",
    ]
    + ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "sk-", "eyJ", "AKIA", "密码是", MIXED[:20]]
)


@settings(deadline=None, max_examples=500)
@given(st.lists(PIECES, max_size=10).map("".join))
def test_redaction_is_idempotent(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, 0)


@settings(deadline=None)
@given(st.text())
def test_redaction_only_replaces_spans_with_marks(text: str) -> None:
    redacted, count = redact(text)
    assert redacted.count("[redacted:") >= count
    assert count > 0 or redacted == text


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from("the of and memory agent deploy Friday 12 2026-01-05 v1.2 über 服务器 a.py".split())
    )
)
def test_prose_is_unchanged(words: list[str]) -> None:
    assert redact(" ".join(words)) == (" ".join(words), 0)


HARM = [
    *sorted({anchor for row in SECRET_KINDS for anchor in row.anchors}),
    *("x", "a1", "sk-a-", "eyJaaaaaaaa.", "Maaaaaaaaaaaaaaaaaaaaaaaa.", "aaa8Q~", "1234567:AA", "://a:b"),
    *(
        "token=",
        "password: ",
        "password=a1@",
        "api_key is ",
        "key",
        "-----BEGIN PRIVATE KEY----- ",
        " ",
        "\n",
    ),
    *("-----BEGIN PRIVATE KEY-----" + "A" * 30 + " ", "-----END PRIVATE KEY-----", "=", "[redacted:"),
]


@pytest.mark.parametrize("piece", HARM)
def test_work_on_a_hostile_line_is_linear(piece: str) -> None:
    check_linear(lambda size: piece * (size // len(piece)), redact, 20_000)


def test_secret_names_are_words_and_every_kind_is_used() -> None:
    for row in SECRET_KINDS:
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", row.name)
    tried = {
        *SECRETS,
        *(name for _, text in IN_PART for name in re.findall(r"\[redacted:([a-z0-9-]+)\]", text)),
    }
    assert tried >= {"openai-key", "url-password", "bearer-token", "secret", "password"}
