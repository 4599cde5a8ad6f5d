"""What the index keeps for texts beside the texts themselves."""

from __future__ import annotations

from collections.abc import Sequence

from memd.text.language.stems import language_mark, languages_of_text, speaking_for_languages, stem_words
from memd.text.query.identifiers import index_names, may_be_named


def extra_words(texts: Sequence[str]) -> list[str]:
    """Return what else the index keeps for each of some texts, beside what `index_text` returns.

    Texts of one file share most of their words, and most words say nothing here: which do is found out once for all.
    """
    words_of = [text.split() for text in texts]
    distinct = set[str]().union(*words_of)
    named = may_be_named(distinct)
    speaking = speaking_for_languages(distinct)
    extras = []
    for text, words in zip(texts, words_of, strict=True):
        names = dict.fromkeys([word for word in words if word in named] if named else ())
        # Telephone numbers are of several words, which need not be names.
        extra = index_names(text, names) if names or "+" in text else []
        if not text.isascii() or (speaking and not speaking.isdisjoint(words)):
            languages = languages_of_text(set(text.lower().split()), text)
            if languages:
                extra += map(language_mark, languages)
                extra += stem_words(text.lower(), languages)
        extras.append(" ".join(extra))
    return extras
