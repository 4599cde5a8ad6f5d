"""Prompts: what a person typed is searched for, what a program printed is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.lifecycle.hooks.prompts import MAX_PROMPT_CHARS, MAX_QUERY_CHARS, asks, read_prompt

LOG = "\n".join(f"2026-11-20T03:12:{second:02d}Z WARN proxy: backend not healthy" for second in range(5))
MESSAGE = "OSError: gone"
TRACE = (
    f'Traceback (most recent call last):\n  File "a.py", line 8, in load\n    rows = fetch(day)\n{MESSAGE}'
)


@pytest.mark.parametrize("prompt", ["", "  \n ", "?!", "…"])
def test_a_prompt_without_words_is_empty(prompt: str) -> None:
    assert read_prompt(prompt).silence == "empty"


@pytest.mark.parametrize(
    "prompt",
    [
        "/compact",
        "/review src/a.rs",
        "!git status",
        "<command-name>/clear</command-name>",
        "<system-reminder>\nThe plan changed.\n</system-reminder>",
        "[Request interrupted by user]",
        "This session is being continued from a previous conversation that ran out of context.",
        "<memd-memory>\n- Staging listens on 8443\n</memd-memory>",
        "<hook_context>&lt;memd-memory&gt;Staging listens on 8443&lt;/memd-memory&gt;</hook_context>\n\n",
    ],
)
def test_text_of_a_program_is_a_machine_prompt(prompt: str) -> None:
    assert read_prompt(prompt).silence == "machine"


@pytest.mark.parametrize(
    "prompt",
    [
        "yes",
        "ok go on",
        "Continue.",
        "ja, mach weiter",
        "sí, sigue",
        "はい、お願いします",
        "好的，继续",
        "네",
        "2",
        "d'accord",
    ],
)
def test_an_acknowledgement_asks_for_nothing(prompt: str) -> None:
    assert read_prompt(prompt).silence == "acknowledgement"


@pytest.mark.parametrize(
    "prompt",
    [
        LOG,
        "```\nanything in a fence\n```",
        '{"status": "pending", "id": 7}',
        "https://example.org/pull/8",
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two",
        "word " * MAX_PROMPT_CHARS,
    ],
)
def test_pasted_output_is_not_searched_for(prompt: str) -> None:
    assert read_prompt(prompt).silence == "pasted"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TRACE, MESSAGE),
        (
            "thread 'main' panicked at src/watch.rs:212:31:\nalready borrowed: BorrowMutError",
            "thread 'main' panicked at src/watch.rs:212:31: already borrowed: BorrowMutError",
        ),
        ("Error: read ECONNRESET\n    at TLSWrap.onStreamRead (node:internal:217)", "Error: read ECONNRESET"),
        (
            "org.acme.ProxyException: no session\n\tat org.acme.Proxy.open(Proxy.java:176)",
            "org.acme.ProxyException: no session",
        ),
    ],
)
def test_the_message_of_a_pasted_error_is_the_query(error: str, message: str) -> None:
    assert read_prompt(error).query == message
    assert read_prompt(f"what is this\n\n{error}").query.endswith(message)


@pytest.mark.parametrize(
    "query", ["staging port", "which port?", "wo liegt das Zertifikat", "how did we fix it"]
)
def test_a_question_or_a_few_words_ask(query: str) -> None:
    assert asks(query)


@pytest.mark.parametrize(
    "query",
    [
        "sort imports",
        "please add a test",
        "bitte füge ein Feld hinzu",
        "the menu stays open on small screens",
    ],
)
def test_a_request_does_not_ask(query: str) -> None:
    assert not asks(query)


def test_a_short_question_in_japanese_is_no_acknowledgement() -> None:
    assert read_prompt("ログの保存期間は？").query == "ログの保存期間は？"


@pytest.mark.parametrize("output", [LOG, f"```\n{LOG}\n```"])
@pytest.mark.parametrize("order", ["{0}\n\n{1}", "{1}\n\n{0}"])
def test_the_request_around_pasted_output_is_the_query(output: str, order: str) -> None:
    asked = "why does the proxy lose its backend every night?"

    assert read_prompt(order.format(asked, output)).query == asked


@pytest.mark.parametrize(
    "prompt",
    [
        "which port does staging use?",
        "add the retry to the upload job like we did before",
        "error handling: use the helper of the upload job.",
        "/etc/hosts has a wrong entry for staging",
        "pnpm seed:demo refuses to run",
        "Wann wird die Rechnungsnummer vergeben?",
        "本番サーバーの再起動は何曜日？",
        "yes, and which port does staging use",
    ],
)
def test_a_typed_request_is_the_query(prompt: str) -> None:
    assert read_prompt(prompt).query == prompt


def test_text_of_hooks_before_a_prompt_is_not_part_of_the_query() -> None:
    context = "<hook_context>&lt;memd-memory&gt;Reviews are on Thursdays&lt;/memd-memory&gt;</hook_context>"
    prompt = f"{context}\n{context}\n\nwhich port does staging use?"

    assert read_prompt(prompt).query == "which port does staging use?"


def test_a_list_typed_by_a_person_stays() -> None:
    assert (
        "which port" in read_prompt("Two things:\n- rename the flag\n- tell me which port staging uses").query
    )


def test_a_long_prompt_is_cut_to_its_start_and_its_questions() -> None:
    story = "The upload job was slow again this morning. " + "We looked at many other things meanwhile. " * 30
    query = read_prompt(f"{story}\nHow often does it retry?").query

    assert query.startswith("The upload job was slow")
    assert "How often does it retry?" in query
    assert len(query) <= MAX_QUERY_CHARS


def test_memory_injected_earlier_is_not_searched_for() -> None:
    prompt = "<memd-memory>\n- The seed needs ALLOW_SEED\n</memd-memory>\nwhich port does staging use?"

    assert read_prompt(prompt).query == "which port does staging use?"


@given(st.text(max_size=3_000))
def test_every_prompt_has_a_query_or_a_reason(prompt: str) -> None:
    asked = read_prompt(prompt)

    assert bool(asked.query) != bool(asked.silence)
    assert len(asked.query) <= MAX_QUERY_CHARS
