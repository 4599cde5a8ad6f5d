"""Tests of model references, and of the stability of vector space ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.embedding.local.reference import (
    DEFAULT_LOCAL_MODEL,
    hub_token,
    is_hub_offline,
    local_space,
    parse_reference,
    space_of,
)
from memd.embedding.secret import Secret
from memd.embedding.space import VectorSpace
from memd_client.errors import ConfigInvalidError

MODELS = Path("/models")

# never change these: indexes contain them
MINILM_ID = "4fb64fe972683489"
EMBEDDINGGEMMA_ID = "23803e716535ef62"
EMBEDDINGGEMMA_WITHOUT_PREFIXES_ID = "0e7892c5d59f6ca7"
OPENAI_ID = "823363ad75953787"


@pytest.mark.parametrize(
    ("text", "file", "url"),
    [
        ("minilm", "/models/minilm-l6-v2-f16.gguf", None),
        (
            "hf:owner/repo/sub/model.gguf",
            "/models/hf_owner_repo_sub_model.gguf",
            "https://huggingface.co/owner/repo/resolve/main/sub/model.gguf",
        ),
        (
            "hf:owner/repo/model.gguf#v2",
            "/models/hf_owner_repo_v2_model.gguf",
            "https://huggingface.co/owner/repo/resolve/v2/model.gguf",
        ),
        ("https://host/a/model.gguf?x=1", "/models/host_model.gguf", "https://host/a/model.gguf?x=1"),
        ("/abs/model.gguf", "/abs/model.gguf", None),
        (" /abs/with space.gguf ", "/abs/with space.gguf", None),
    ],
)
def test_reference_names_its_file_and_its_source(
    text: str, file: str, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    reference = parse_reference(text)
    assert str(reference.file(MODELS)) == file
    assert reference.url == url


def test_home_directory_is_expanded() -> None:
    assert parse_reference("~/m.gguf").file(MODELS) == Path.home() / "m.gguf"


def test_checksum_in_a_link_is_verified_and_not_sent() -> None:
    reference = parse_reference(f"https://host/m.gguf#sha256={'a' * 64}")
    assert (reference.url, reference.sha256) == ("https://host/m.gguf", "a" * 64)


def test_a_reference_is_shown_without_passwords_and_tokens() -> None:
    link = f"https://ann:secret@host:8443/a/m.gguf?sig=secret#sha256={'a' * 64}"
    shown = parse_reference(link).shown
    assert shown == f"https://host:8443/a/m.gguf#sha256={'a' * 64}"
    assert parse_reference(shown).file(MODELS) == parse_reference(link).file(MODELS)
    assert parse_reference("hf:o/r/m.gguf#v2").shown == "hf:o/r/m.gguf#v2"


def test_hub_token_is_found_in_both_variables_and_never_shown() -> None:
    assert hub_token({}) is None
    assert hub_token({"HF_TOKEN": " "}) is None
    found = hub_token({"HF_TOKEN": "hf_new\n", "HUGGING_FACE_HUB_TOKEN": "hf_old"})
    assert found is not None
    assert found.reveal() == "hf_new"
    assert "hf_new" not in repr(found)
    assert hub_token({"HUGGING_FACE_HUB_TOKEN": "hf_old"}) == Secret("hf_old")


@pytest.mark.parametrize(
    ("value", "offline"), [("1", True), ("TRUE", True), ("0", False), ("", False), ("no", False)]
)
def test_hub_offline_variable_is_recognized(value: str, offline: bool) -> None:
    assert is_hub_offline({"HF_HUB_OFFLINE": value}) is offline


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hf:owner/repo",
        "hf:owner/../../etc/x.gguf",
        "hf:owner/repo:Q4_K_M",
        "http://host/m.gguf",
        "https://host/page.html",
        "ftp://host/m.gguf",
        "s3://bucket/m.gguf",
    ],
)
def test_invalid_reference_error_lists_the_valid_forms(text: str) -> None:
    with pytest.raises(ConfigInvalidError) as caught:
        parse_reference(text)
    assert "minilm" in caught.value.hint


def test_no_reference_leaves_the_models_directory() -> None:
    for text in ("hf:a/b/c/d.gguf", "https://h/x/y.gguf", "minilm"):
        assert parse_reference(text).file(MODELS).parent == MODELS


def test_space_ids_are_the_same_in_every_release() -> None:
    assert local_space("minilm", None).id == MINILM_ID
    assert local_space(DEFAULT_LOCAL_MODEL, None).id == EMBEDDINGGEMMA_ID
    plain = local_space(DEFAULT_LOCAL_MODEL, None, prefixed=False)
    assert plain.id == EMBEDDINGGEMMA_WITHOUT_PREFIXES_ID
    assert VectorSpace("openai", "text-embedding-3-small").id == OPENAI_ID


def test_vectors_of_another_program_share_the_space() -> None:
    assert space_of("local", "minilm") == local_space("minilm", None).id
    assert space_of("local", DEFAULT_LOCAL_MODEL) == EMBEDDINGGEMMA_WITHOUT_PREFIXES_ID
    assert space_of("openai", "m") == VectorSpace("openai", "m").id


def test_space_of_a_file_depends_on_name_and_content_only() -> None:
    assert local_space("/a/m.gguf", "f1").id == local_space("/b/m.gguf", "f1").id
    assert local_space("/a/m.gguf", "f1").id != local_space("/a/m.gguf", "f2").id
    assert local_space("/a/m.gguf", "f1").id != local_space("/a/n.gguf", "f1").id


def test_space_depends_on_everything_that_changes_vectors() -> None:
    spaces = [
        VectorSpace("p", "m"),
        VectorSpace("q", "m"),
        VectorSpace("p", "n"),
        VectorSpace("p", "m", query_prefix="query: "),
        VectorSpace("p", "m", document_prefix="query: "),
        VectorSpace("p", "m", dims=256),
    ]
    assert len({space.id for space in spaces}) == len(spaces)
