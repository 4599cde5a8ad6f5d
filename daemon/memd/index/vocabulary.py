"""The words of an index, for questions whose words are in none of its texts."""

from __future__ import annotations

import apsw
import numpy as np

from memd.index.database import Database
from memd.text.language.stems import ALGORITHMS, MARK, language_mark
from memd.text.query.typos import Vocabulary, errors_allowed, similar_words

TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2"))
"""The tokenizer of `chunks_fts` (`memd.index.schema`): its name and arguments."""

_RESPELLINGS = ("", "e", "y", "s", "ed", "ing", "al", "ion")
"""Endings that bring some word down to a stem: what is asked for is stemmed again, and few stems stay as they are
(agree -> agre -> agr)."""


def load_vocabulary(db: Database) -> Vocabulary:
    """Return the words of an index as FTS5 keeps them: in lower case, without accents, stemmed.

    Words of CJK, which are single letters there, and stems of other languages are left out.
    """
    refusing = db.pragma("query_only")
    if refusing:
        # The table describes what is there and is made in the connection's own memory, never in the file.
        db.pragma("query_only", 0)
    try:
        db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, chunks_fts, row)")
        # One row instead of many: see `memd.index.keyword.find_keyword`.
        row = db.execute(
            "SELECT group_concat(term, char(10)), group_concat(doc, ' ') FROM temp.words"
            " WHERE length(term) BETWEEN 3 AND 40 AND substr(term, -1) <> ?",
            (MARK,),
        ).fetchone()
    finally:
        if refusing:
            db.pragma("query_only", 1)
    words, counts = row if row is not None and row[0] is not None else ("", "")
    return Vocabulary(str(words), np.array(str(counts).split(), np.int32))


def stemmed_languages(db: Database) -> tuple[str, ...]:
    """Return the languages that texts of an index are stemmed in."""
    one = "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT 1"
    return tuple(
        each for each in ALGORITHMS if db.execute(one, (f'"{language_mark(each)}"',)).get is not None
    )


def near_words(db: Database, vocabulary: Vocabulary, word: str, limit: int = 3) -> list[str]:
    """Return words of an index that one of a question, in none of its texts, may have been meant as."""
    errors = errors_allowed(word.lower())
    stem = stem_of(db, word)
    if errors == 0 or stem is None or stem in vocabulary:
        return []
    found = similar_words(stem, vocabulary, limit, errors)
    return [spelling for each in found if (spelling := _respelled(db, each)) is not None]


def stem_of(db: Database, word: str) -> str | None:
    """Return what FTS5 makes of a word, or None where it sees more or less than one."""
    name, arguments = TOKENIZER
    tokenize = db.fts5_tokenizer(name, list(arguments))
    tokens = [
        *tokenize(
            word.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
        )
    ]
    return str(tokens[0]) if len(tokens) == 1 else None


def _respelled(db: Database, stem: str) -> str | None:
    """Return a spelling that FTS5 stems to a stem."""
    return next((stem + end for end in _RESPELLINGS if stem_of(db, stem + end) == stem), None)
