"""Tests of model prefixes by name and by metadata."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.local.header import ModelHeader
from memd.embedding.local.reference import DEFAULT_LOCAL_MODEL, local_space
from memd.embedding.prefixes import BY_NAME, NONE, Prefixes, prefixes_of

REPRESENT = "Represent this sentence for searching relevant passages: "
INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
GEMMA = Prefixes("task: search result | query: ", "title: none | text: ")
NOMIC = Prefixes("search_query: ", "search_document: ")


@pytest.mark.parametrize(
    ("name", "query", "document"),
    [
        (DEFAULT_LOCAL_MODEL, GEMMA.query, GEMMA.document),
        ("embeddinggemma:300m", GEMMA.query, GEMMA.document),
        ("Embedding Gemma 300M", GEMMA.query, GEMMA.document),
        ("nomic-embed-text", NOMIC.query, NOMIC.document),
        ("nomic-embed-text:v1.5", NOMIC.query, NOMIC.document),
        ("nomic-embed-text-v2-moe", NOMIC.query, NOMIC.document),
        ("bge-small-en-v1.5-q8_0.gguf", REPRESENT, ""),
        ("bge-large", REPRESENT, ""),
        ("hf:CompendiumLabs/bge-base-en-v1.5-gguf/bge-base-en-v1.5-f16.gguf", REPRESENT, ""),
        ("bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("bge-m3", "", ""),
        ("intfloat/e5-small-v2", "query: ", "passage: "),
        ("multilingual_e5_large", "query: ", "passage: "),
        ("multilingual-e5-large-instruct", INSTRUCT + " ", ""),
        ("Qwen3 Embedding 0.6b", INSTRUCT, ""),
        ("qwen3-embedding:0.6b", INSTRUCT, ""),
        ("hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf", INSTRUCT, ""),
        ("snowflake-arctic-embed:33m", REPRESENT, ""),
        ("snowflake-arctic-embed-m-v1.5", REPRESENT, ""),
        ("snowflake-arctic-embed2:568m", "query: ", ""),
        ("snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("mxbai-embed-large-v1", REPRESENT, ""),
        ("minilm", "", ""),
        ("e5", "query: ", "passage: "),
        ("all-MiniLM-L6-v2", "", ""),
        ("text-embedding-3-small", "", ""),
        ("subge-small", "", ""),
        ("", "", ""),
    ],
)
def test_known_model_has_prefixes_under_all_its_names(name: str, query: str, document: str) -> None:
    assert prefixes_of(name) == Prefixes(query, document)


def test_renamed_file_is_recognized_by_its_metadata() -> None:
    assert prefixes_of("model.gguf", title="Nomic Embed Text v1.5", architecture="nomic-bert") == NOMIC
    assert prefixes_of("model.gguf", architecture="gemma-embedding") == GEMMA
    assert prefixes_of("model.gguf", architecture="bert") == NONE


def test_name_has_priority_over_the_architecture() -> None:
    arctic = prefixes_of("arctic.gguf", title="snowflake-arctic-embed-m-long", architecture="nomic-bert")
    assert arctic == Prefixes(REPRESENT)


def test_prefixes_of_the_file_are_part_of_the_space() -> None:
    header = ModelHeader("gemma-embedding", 2048, "m.gguf")
    known = local_space("/m.gguf", "f", header)
    assert (known.query_prefix, known.document_prefix) == (GEMMA.query, GEMMA.document)
    assert known.id != local_space("/m.gguf", "f").id


def test_vectors_without_prefixes_have_a_separate_space() -> None:
    plain = local_space(DEFAULT_LOCAL_MODEL, None, prefixed=False)
    assert (plain.query_prefix, plain.document_prefix) == ("", "")
    assert plain.id != local_space(DEFAULT_LOCAL_MODEL, None).id
    assert local_space("minilm", None).id == local_space("minilm", None, prefixed=False).id


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=20))
def test_prefixes_do_not_depend_on_the_spelling_of_a_name(name: str, title: str, architecture: str) -> None:
    known = prefixes_of(name, title=title, architecture=architecture)
    assert known == prefixes_of(name.replace("-", " "), title=title, architecture=architecture)
    assert known in {NONE, GEMMA, NOMIC, *(prefixes for _, prefixes in BY_NAME)}
