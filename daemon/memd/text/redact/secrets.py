"""Keys, tokens and passwords out of a text before it is indexed: what isn't in the index can't leak from it.

A table of our own, not a library. The ones there are (detect-secrets was looked at) scan files or repositories,
find lines to report instead of the places to cut, and bring an HTTP client, a YAML parser and plug-ins along;
what is needed here is one pure function over a string whose rules stand on a few screens.

Rules of the table: a row has the shape its vendor documents, tried only where its anchor stands, so a text
without secrets costs some substring searches. A try gives up within a bounded number of characters or takes all
it has seen: the whole is linear in the text, whoever wrote it. What merely looks random (hashes, UUIDs, base64)
stays, unless a name before it says that it is a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memd.text.redact.named_secrets import MARK, is_mixed, is_written_out, redact_named

_SHORTEST = 10
"""No text shorter than this, with what names it, holds a secret."""

_MOST_PASSES = 8
"""Where one secret was cut out, another one may stand free: the rules are tried again until nothing is found."""

_SHORTEST_RUN = 15
"""Most secrets are a run of at least so many characters without a space, and most lines of talk have none."""

_LOOK_BACK = 32
"""Characters before an anchor that may belong to the secret."""


def _anything(secret: str) -> bool:
    """Return that a shape alone tells a secret."""
    return True


def _is_dense(secret: str) -> bool:
    """Return whether a part of a hyphened word is too long for a word: keys are, names of packages aren't."""
    return any(len(part) >= 16 for part in re.split("[-_]", secret))


@dataclass(frozen=True, slots=True)
class Secret:
    """One row: how a kind of secret is told.

    Attributes:
        name: What is written in its place.
        anchors: Literals of which one stands in every such secret.
        shape: What it looks like from the anchor on; the group `secret`, where there is one, is what is cut out.
        plausible: Says of what was found whether it is one.
        before: What it looks like up to the anchor, where that belongs to it; ends with `$`.
    """

    name: str
    anchors: tuple[str, ...]
    shape: re.Pattern[str]
    plausible: Callable[[str], bool] = _anything
    before: re.Pattern[str] | None = None


def _row(
    name: str,
    anchors: str,
    rest: str,
    plausible: Callable[[str], bool] = _anything,
    *,
    before: str = "",
    apart_from: str = "A-Za-z0-9",
) -> Secret:
    """Return a row for secrets that begin with one of some literals."""
    words = tuple(anchors.split())
    first = "|".join(map(re.escape, words))
    apart = f"(?<![{apart_from}])" if apart_from else ""
    if before:
        return Secret(
            name, words, re.compile(f"(?:{first}){rest}"), plausible, re.compile(f"{apart}{before}$")
        )
    return Secret(name, words, re.compile(f"{apart}(?:{first}){rest}"), plausible)


_W = "[A-Za-z0-9_-]"
_AN = "[A-Za-z0-9]"

APART = (
    _row(
        "url-password",
        "://",
        r"[^\s/:@\"'<>]{0,128}:(?P<secret>[^\s/@\"'<>]{2,256})@",
        is_written_out,
        apart_from="",
    ),
    _row(
        "authorization",
        "uthorization",
        r"""\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:(?i:bearer|basic|token|bot|apikey)\s{1,3})(?P<secret>[^\s"'<>,;\\]{8,})""",
        is_written_out,
        apart_from="",
    ),
    _row(
        "bearer-token", "earer Basic", r"\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,})", is_mixed, apart_from=""
    ),
)
"""Rows whose secrets may be short, or stand apart from their anchor."""

TABLE = (
    *APART,
    _row("anthropic-key", "sk-ant-", f"{_W}{{16,}}"),
    _row("openai-key", "sk-", f"{_W}{{20,}}", _is_dense),
    _row("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_AN}{{30,}}"),
    _row("github-token", "github_pat_", "[A-Za-z0-9_]{22,}"),
    _row(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- gloas- glsoat- glagent-",
        "[.A-Za-z0-9_-]{20,}",
    ),
    _row("aws-key-id", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _row("google-key", "AIza", f"{_W}{{35,}}"),
    _row("google-token", "ya29. GOCSPX-", f"{_W}{{20,}}"),
    _row("google-token", "1//0", f"{_W}{{30,}}"),
    _row(
        "slack-token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-",
        "[.A-Za-z0-9%-]{10,}",
    ),
    _row(
        "slack-webhook",
        "hooks.slack.com/",
        f"(?P<secret>(?:services|workflows|triggers)/{_W}+/[A-Za-z0-9/_-]{{10,}})",
    ),
    _row("discord-webhook", "/api/webhooks/", rf"(?P<secret>\d{{10,25}}/{_W}{{30,}})", apart_from=""),
    _row("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", "[A-Za-z0-9+/=]{10,}"),
    _row("sendgrid-key", "SG.", rf"{_W}{{16,40}}\.{_W}{{16,}}"),
    _row("twilio-key", "SK AC", "[0-9a-f]{32}(?![A-Za-z0-9])"),
    _row("npm-token", "npm_", f"{_AN}{{30,}}"),
    _row("pypi-token", "pypi-AgE", f"{_W}{{16,}}"),
    _row("huggingface-token", "hf_ api_org_", f"{_AN}{{30,}}"),
    _row("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "[a-f0-9]{40,}"),
    _row("telegram-token", ":AA", f"{_W}{{33}}(?!{_W})", before=r"\d{6,12}"),
    _row(
        "discord-token",
        ".",
        rf"{_W}{{6,7}}\.{_W}{{27,}}",
        is_mixed,
        before=f"[MNO]{_W}{{22,28}}",
        apart_from="A-Za-z0-9._-",
    ),
    _row(
        "azure-secret",
        "7Q~ 8Q~",
        "[A-Za-z0-9_.~-]{31,}",
        before="[A-Za-z0-9_.~-]{3}",
        apart_from="A-Za-z0-9_.~-",
    ),
    _row(
        "azure-key",
        "AccountKey= SharedAccessKey= &sig= ?sig=",
        "(?P<secret>[A-Za-z0-9+/%]{30,}={0,2})",
        apart_from="",
    ),
    _row("jwt", "eyJ", rf"{_W}{{8,}}\.{_W}{{8,}}\.[A-Za-z0-9_.-]{{8,}}", apart_from="A-Za-z0-9._-"),
    _row("vault-token", "hvs. hvb. hvr.", f"{_W}{{20,}}"),
    _row("shopify-token", "shpat_ shpca_ shppa_ shpss_", "[a-fA-F0-9]{32,}"),
    _row("groq-key", "gsk_", f"{_AN}{{30,}}"),
    _row("xai-key", "xai-", f"{_W}{{40,}}", _is_dense),
    _row("perplexity-key", "pplx-", f"{_AN}{{30,}}"),
    _row("replicate-token", "r8_", f"{_AN}{{30,}}"),
    _row("tavily-key", "tvly-", f"{_W}{{20,}}", _is_dense),
    _row("notion-token", "ntn_ secret_", f"{_AN}{{40,}}"),
    _row("linear-key", "lin_api_ lin_oauth_", f"{_AN}{{30,}}"),
    _row("figma-token", "figd_", f"{_W}{{30,}}"),
    _row("databricks-token", "dapi", "[a-f0-9]{32}(?![A-Za-z0-9])"),
    _row("grafana-token", "glsa_ glc_", "[A-Za-z0-9_+/=]{30,}"),
    _row("sentry-token", "sntrys_ sntryu_", "[A-Za-z0-9_+/=-]{30,}"),
    _row("rubygems-key", "rubygems_", "[a-f0-9]{40,}"),
    _row("netlify-token", "nfp_", f"{_AN}{{30,}}"),
    _row("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa.", "[.A-Za-z0-9_-]{30,}"),
    _row("tailscale-key", "tskey-", f"{_W}{{20,}}"),
    _row("supabase-token", "sbp_", "[a-f0-9]{40,}"),
    _row("postman-key", "PMAK-", "[a-f0-9-]{40,}"),
    _row("mailgun-key", "key-", "[0-9a-f]{32}(?![A-Za-z0-9])"),
    _row("1password-token", "ops_eyJ", "[A-Za-z0-9_=-]{30,}"),
    _row("age-key", "AGE-SECRET-KEY-1", "[A-Z0-9]{50,}"),
)

_ANCHORED = tuple((anchor, row) for row in TABLE for anchor in row.anchors)
_ANCHORED_APART = tuple((anchor, row) for row in APART for anchor in row.anchors)

_KEY_BEGIN = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,4}"
)
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(
    r"(?:(?:\s|\\[nr])*+(?:[A-Za-z0-9+/=]{24,}+|(?:Proc-Type|DEK-Info|Version|Comment): ?\S++))*+"
)
_KEY_TAIL = re.compile(r"(?:\s|\\[nr])*+(?=[A-Za-z+/]{0,80}[0-9=])[A-Za-z0-9+/=]{1,80}+")

_LONGEST_KEY = 32_768
"""Characters between the first and the last line of a private key that are believed to be one."""


def redact(text: str) -> tuple[str, int]:
    """Return a text without the secrets in it."""
    count = 0
    for _ in range(_MOST_PASSES):
        text, found = _redact_once(text)
        count += found
        if not found:
            break
    return text, count


def _redact_once(text: str) -> tuple[str, int]:
    """Return a text after every rule was tried once, and how many secrets were found."""
    if len(text) < _SHORTEST:
        return text, 0
    count = 0
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        text, count = _redact_private_keys(text)
    longest = max(map(len, text.split()), default=0)
    for anchor, row in _ANCHORED if longest >= _SHORTEST_RUN else _ANCHORED_APART:
        if anchor in text:
            text, found = _redact_anchored(text, anchor, row)
            count += found
    text, found = redact_named(text)
    return text, count + found


def _redact_anchored(text: str, anchor: str, row: Secret) -> tuple[str, int]:
    """Return a text without the secrets of one row at one of its anchors, and how many there were."""
    group = "secret" if "secret" in row.shape.groupindex else 0
    kept: list[str] = []
    done = count = 0
    at = text.find(anchor)
    while at >= 0:
        before = row.before.search(text[max(done, at - _LOOK_BACK) : at]) if row.before is not None else None
        match = row.shape.match(text, at) if row.before is None or before is not None else None
        if match is None:
            at = text.find(anchor, at + 1)
            continue
        start = match.start(group) - (len(before[0]) if before is not None else 0)
        if row.plausible(text[start : match.end(group)]):
            kept.append(f"{text[done:start]}{MARK}{row.name}]")
            done = match.end(group)
            count += 1
        at = text.find(anchor, match.end())
    return ("".join(kept) + text[done:] if count else text), count


def _redact_private_keys(text: str) -> tuple[str, int]:
    """Return a text without private keys, whole ones, flattened ones and ones cut off, and how many there were."""
    kept: list[str] = []
    done = count = 0
    end = _KEY_END.search(text)
    for begin in _KEY_BEGIN.finditer(text):
        if begin.start() < done:
            continue
        while end is not None and end.start() < begin.end():
            end = _KEY_END.search(text, end.end())
        if end is not None and 16 <= end.start() - begin.end() <= _LONGEST_KEY:
            stop = end.end()
        else:
            stop = _end_of_cut_key(text, begin.end())
        if stop > begin.end():
            kept.append(f"{text[done : begin.start()]}{MARK}private-key]")
            done = stop
            count += 1
    return "".join(kept) + text[done:], count


def _end_of_cut_key(text: str, start: int) -> int:
    """Return where the lines of a private key end that has no last line; `start` where there are none."""
    body = _KEY_BODY.match(text, start)
    if body is None or body.end() == start:
        return start
    tail = _KEY_TAIL.match(text, body.end())
    return tail.end() if tail is not None else body.end()
