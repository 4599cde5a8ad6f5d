"""Questions from a user's past: from topics of conversations, without secrets, code and everyday words."""

from __future__ import annotations

from memd.evaluation.history import PastConversation, PastQuestion, choose_questions


def talk(path: str, *texts: str, source: str = "codex") -> PastConversation:
    """Return a conversation in which the user begins."""
    speakers = ("user", "assistant")
    return PastConversation(path, source, [(speakers[at % 2], text) for at, text in enumerate(texts)])


def chosen(*conversations: PastConversation) -> list[PastQuestion]:
    """Return the questions."""
    return list(choose_questions(conversations))


CORMORANT = talk(
    "codex/1",
    "How deep does the cormorant dive for herring?",
    "The cormorant dives 30 metres; herring stay above.",
    "And the cormorant eats herring only?",
)


def test_the_users_own_question_about_the_topic_is_asked_again() -> None:
    assert chosen(CORMORANT) == [
        PastQuestion(
            "How deep does the cormorant dive for herring?", ("cormorant", "herring"), "codex/1", "codex"
        )
    ]


def test_a_topic_without_a_question_is_asked_in_plain_words() -> None:
    (question,) = chosen(talk("codex/1", "Move the heron gallery.", "The heron gallery is moved.", "Thanks!"))

    assert question.text == "what did we say about gallery and heron?"


def test_words_of_many_conversations_are_no_topic() -> None:
    others = [
        talk(f"codex/{at}", "The cormorant and herring.", "Yes, cormorant, herring.") for at in range(2, 12)
    ]

    assert chosen(CORMORANT, *others) == []


def test_what_one_side_says_alone_is_no_topic() -> None:
    assert (
        chosen(
            talk("codex/1", "Continue.", "The cormorant, a herring.", "Go on.", "The cormorant, a herring.")
        )
        == []
    )


def test_code_keys_and_everyday_words_are_no_topic() -> None:
    noise = "`cormorant herring` src/cormorant/herring.py cormorant_id herringCount sk-cormorant9 because"
    block = "```\ncormorant herring\n``` [redacted:herring]"

    assert chosen(talk("codex/1", noise, noise, block, block)) == []


def test_programs_take_turns() -> None:
    second = talk("codex/2", "Is the heron gallery open? heron gallery", "The heron gallery opens.")
    third = talk(
        "claude-code/3", "Does the pelican pouch hold water?", "The pelican pouch does.", source="claude-code"
    )

    assert [question.source for question in chosen(CORMORANT, second, third)] == [
        "codex",
        "claude-code",
        "codex",
    ]
