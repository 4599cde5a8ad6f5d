"""Whether a later statement gives another value than an earlier one. Pure functions, no model.

A later statement `replaces` an earlier one if nothing but the value differs, or if it reports a change and differs in
the value alone, apart from words around the statement ("landlord agreed: ..."). It `updates` one if both have a value
for what a query asks about.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from memd.text.statements import Statement, Token, Value, is_asking, is_listed, kind_of, read_statement
from memd.text.tokens import has_cjk

MAX_TOKENS = 60
"""Longest statements that are compared."""

MAX_OTHERS = 2
"""Groups of words besides the value that a statement may have of its own."""

MIN_ASKED_IF_NEW, MIN_ASKED = 0.2, 0.4
"""Share of a query's words that both statements have, if the later one says that its value is new, and if not."""

MANY_ASKED = 3
"""Number of a query's words that are enough whatever their weight, if the later value is new."""


class _Group(NamedTuple):
    """Adjacent words that only one of two statements has, or a number or date: its kind, forms, and place."""

    kind: str
    forms: tuple[str, ...]
    first: int
    end: int

    @property
    def is_state(self) -> bool:
        """Whether it is a verb such as `runs`, which says nothing about the subject."""
        return self.kind == "word" and all(is_listed("state", form) for form in self.forms)


class _Side(NamedTuple):
    """One of two statements: its words that the other lacks, divided into its values and the others."""

    statement: Statement
    values: tuple[_Group, ...]
    others: tuple[_Group, ...]


def replaces(older: Statement, newer: Statement, *, only_if_changed: bool = False) -> bool:
    """Return whether a later statement is an earlier one with another value.

    With `only_if_changed`, it is only if the later one says that something changed.
    """
    is_changed = newer.is_changed
    if max(len(older.tokens), len(newer.tokens)) > MAX_TOKENS or (only_if_changed and not is_changed):
        return False
    if older.is_question or newer.is_question or newer.is_proposal or newer.is_further or _is_task(newer):
        return False
    statements = (older, newer)
    if not is_changed and any(statement.is_occasional or statement.is_event for statement in statements):
        return False
    gone = _left_behind(newer) & older.words if is_changed else frozenset[str]()
    shared = (older.words & newer.words) - gone
    if not shared:
        return False
    # The language of a short statement is a guess, so grammar of either one is no other word.
    known = shared.union(
        token.form for statement in statements for token in statement.tokens if token.kind == "grammar"
    )
    old, new = (
        _groups(older, known),
        [group for group in _groups(newer, known) if not gone.issuperset(group.forms)],
    )
    values = {group.forms for group in old} & {group.forms for group in new}
    old, new = ([group for group in groups if group.forms not in values] for groups in (old, new))
    if not old and not new:
        return older.is_negated != newer.is_negated and len(shared) >= 2
    one, other = _divide(older, newer, old, new)
    return bool(one.values and other.values) and (
        _may_be_changed(one, other, shared) if is_changed else _differs_in_value(one, other)
    )


def _is_task(statement: Statement) -> bool:
    """Return whether a statement asks to do something: `now fix the parser`."""
    for token, following in pairwise(statement.tokens):
        if is_listed("event", token.form):
            return not following.begins
        if token.kind != "change":
            break
    return False


def _left_behind(statement: Statement) -> frozenset[str]:
    """Return the words that a statement names as the earlier value: those after `from` or `instead of`."""
    tokens, left = statement.tokens, set[str]()
    for at, token in enumerate(tokens):
        if is_listed("from", token.form):
            left.update(word.form for word in takewhile(_is_content, tokens[at + 1 :]))
    return frozenset(left)


def _is_content(token: Token) -> bool:
    return token.kind in ("number", "date") or (token.kind == "word" and not is_listed("light", token.form))


def _groups(statement: Statement, shared: Collection[str]) -> list[_Group]:
    """Return the groups of a statement's tokens: numbers and dates with their units, and words that are not shared."""
    groups: list[_Group] = []
    for at, token in enumerate(statement.tokens):
        is_value = token.kind != "word"
        if not _is_content(token) or (not is_value and token.form in shared):
            continue
        last = groups[-1] if groups else None
        kind = kind_of(token)[0] if is_value else "word"
        if last is not None and last.end == at and not token.begins and (not is_value or last.kind != "word"):
            groups[-1] = _Group(
                "date" if kind == "date" else last.kind, (*last.forms, token.form), last.first, at + 1
            )
        else:
            groups.append(_Group(kind, (token.form,), at, at + 1))
    return groups


def _divide(
    older: Statement, newer: Statement, old: Sequence[_Group], new: Sequence[_Group]
) -> tuple[_Side, _Side]:
    """Return both statements with their values: numbers and dates of the same kinds, else words in the same place."""
    kinds = {group.kind for group in old if group.kind != "word"}
    if kinds:
        old_values = [group for group in old if group.kind in kinds]
        values = [group for group in new if group.kind in kinds]
        is_clear = len({group.kind for group in values}) == len(values) and _is_one_value(older, old_values)
        return (
            _side(older, old, old_values if is_clear else ()),
            _side(newer, new, values),
        )
    candidates = [group for group in old if not group.is_state]
    value = candidates[-1] if candidates else None
    place = None if value is None else _find_value(older, value, newer, new)
    return (
        _side(older, old, () if value is None else (value,)),
        _side(newer, new, () if place is None else (place,)),
    )


def _is_one_value(statement: Statement, groups: Sequence[_Group]) -> bool:
    """Return whether values are parts of one, such as a day and a time, with nothing but grammar between them."""
    between = [statement.tokens[one.end : other.first] for one, other in pairwise(groups)]
    return len({group.kind for group in groups}) == len(groups) and all(
        token.kind == "grammar" for tokens in between for token in tokens
    )


def _side(statement: Statement, groups: Sequence[_Group], values: Collection[_Group]) -> _Side:
    others = (group for group in groups if group not in values and not group.is_state)
    return _Side(statement, tuple(values), tuple(others))


def _find_value(older: Statement, value: _Group, newer: Statement, groups: Sequence[_Group]) -> _Group | None:
    """Return the words of a later statement that are in the place of a value: after the change or the same word."""
    words = [group for group in groups if group.kind == "word" and not group.is_state]
    change = next((at for at, token in enumerate(newer.tokens) if token.kind == "change"), None)
    if change is not None and newer.is_changed:
        before_it = [group for group in words if group.first < change]
        after = [group for group in words if group.first > change]
        ends_clause = change + 1 == len(newer.tokens) or newer.tokens[change + 1].begins
        if before_it and (ends_clause or not after):  # `we use ovh now`
            return before_it[-1]
        if not after:
            return None
        if all(token.kind != "word" for token in newer.tokens[change + 1 : after[0].first]):
            return after[0]
        before = _grammar_before(older, value)
        return next((group for group in after if before & _grammar_before(newer, group)), after[0])
    anchors = [token.form for token in older.tokens[: value.first] if token.form in newer.words]
    at = next((at for at, token in enumerate(newer.tokens) if anchors and token.form == anchors[-1]), -1)
    return next((group for group in words if group.first > at), None)


def _grammar_before(statement: Statement, group: _Group) -> frozenset[str]:
    """Return the grammar directly before a group: `to` and `the` of `moved to the mill`."""
    words = set[str]()
    for at in range(group.first, 0, -1):
        if statement.tokens[at].begins or statement.tokens[at - 1].kind != "grammar":
            break
        words.add(statement.tokens[at - 1].form)
    return frozenset(words)


def _is_topic(statement: Statement, group: _Group) -> bool:
    return any(is_listed("topic", form) for form in _grammar_before(statement, group))


def _ends_clause(statement: Statement, value: _Group) -> bool:
    """Return whether words are the last ones of their clause, apart from a part that grammar begins."""
    if value.kind != "word" or value.end == len(statement.tokens):
        return True
    after = statement.tokens[value.end]
    is_part = _is_content(after) and not has_cjk(after.form)
    return after.begins or not (is_part or is_listed("copula", after.form))


def _are_values(*sides: _Side) -> bool:
    return all(
        side.values[0].kind != "word"
        or (_ends_clause(side.statement, side.values[0]) and not _is_topic(side.statement, side.values[0]))
        for side in sides
    )


def _differs_in_value(old: _Side, new: _Side) -> bool:
    """Return whether two statements say the same of one subject, except the value."""
    older, newer = old.statement, new.statement
    if old.others or older.is_negated != newer.is_negated or not _are_values(old, new):
        return False
    if any(group.first < new.values[-1].first or _is_topic(newer, group) for group in new.others):
        return False
    one, other = (_grammar_before(side.statement, side.values[0]) for side in (old, new))
    return (one == other or old.values[0].kind != "word") and _is_state(older) and _is_state(newer)


def _is_state(statement: Statement) -> bool:
    """Return whether a statement is about a state that has one value at a time: `the port is ...`, `runs on ...`."""
    return statement.has_copula or any(is_listed("state", token.form) for token in statement.tokens)


def _may_be_changed(old: _Side, new: _Side, shared: Collection[str]) -> bool:
    """Return whether a statement that reports a change may be about the subject of an earlier one.

    Words that it has in addition may lead to the subject ("the vet switched the dog to ...") or follow the value
    ("since March"); in between they would name another subject.
    """
    if not _are_values(old, new) or max(len(old.others), len(new.others)) > MAX_OTHERS:
        return False
    tokens = new.statement.tokens
    subject = next(at for at, token in enumerate(tokens) if token.form in shared)
    end_of_old = old.values[-1].end
    has_old_tail = any(group.first >= end_of_old for group in old.others)
    for group in new.others:
        is_tail = group.first >= new.values[-1].end and not _is_topic(new.statement, group)
        is_lead = group.end <= subject and not _leads_into_subject(tokens[group.end : subject + 1])
        if has_old_tail or not (is_tail or is_lead):
            return False
    return True


def _leads_into_subject(following: Sequence[Token]) -> bool:
    """Return whether the tokens up to a subject tie it to the words before: `api metrics`, `metrics of the api`."""
    is_tied = len(following) == 1 or any(is_listed("topic", token.form) for token in following)
    return is_tied and not any(token.begins for token in following)


def weigh_asked(words: Sequence[str], weights: Sequence[float]) -> dict[str, float]:
    """Return a query's distinctive terms, in the form in which statements have them, with weights whose sum is 1."""
    asked: dict[str, float] = {}
    for word, weight in zip(words, weights, strict=True):
        tokens = read_statement(word).tokens if not is_asking(word) else ()
        forms = [token.form for token in tokens if token.kind == "word"]
        for form in forms:
            asked[form] = asked.get(form, 0.0) + weight / len(forms)
    whole = sum(asked.values()) or 1.0
    return {form: weight / whole for form, weight in asked.items()}


def updates(older: Statement, newer: Statement, asked: Mapping[str, float]) -> bool:
    """Return whether both statements have a value for what a query asks about, and the later one another.

    `asked` has the query's distinctive terms with their weights, which sum to 1.
    """
    common = older.words & newer.words & asked.keys()
    weight = sum(asked[word] for word in common)
    is_enough = weight >= MIN_ASKED_IF_NEW or len(common) >= MANY_ASKED
    values = {each.form for each in older.values}
    return any(
        _measures_same(old, new, asked)
        and (is_enough if new.is_new else _counts_asked(old, new, asked, weight))
        for new in newer.values
        if new.form not in values
        for old in older.values
        if old.kind == new.kind
    ) and not _is_of_another(older, newer, asked)


def _counts_asked(old: Value, new: Value, asked: Mapping[str, float], weight: float) -> bool:
    """Return whether two values count the same thing, which a query asks about, in the same context."""
    near = old.near & new.near & asked.keys()
    return bool(old.units & new.units & asked.keys()) and (weight >= MIN_ASKED or len(near) >= 2)


def _measures_same(old: Value, new: Value, asked: Mapping[str, float]) -> bool:
    """Return whether two values of the same kind measure the same, which a query asks about."""
    near, units = old.near & new.near & asked.keys(), old.units & new.units
    if units & asked.keys():
        return True
    if old.kind == "number" and not new.units and old.units:  # `3 mentees`, `mentees ... increased to 7`
        return new.is_new and bool(old.units & asked.keys()) and bool(new.near & asked.keys())
    if old.kind == "number" and bool(old.units) != bool(new.units):
        return False
    if old.kind == "number" and old.units and not units:
        return False
    return len(near) >= min(2, len(asked)) if old.kind == "number" else len(near) >= 1


def _is_of_another(older: Statement, newer: Statement, asked: Mapping[str, float]) -> bool:
    """Return whether the same asked word has another qualifier: `staging database` and `production database`."""
    for word in asked.keys() & older.before.keys() & newer.before.keys():
        old, new = older.before[word], newer.before[word]
        if old.isdisjoint(new) and (asked.keys().isdisjoint(old) or asked.keys().isdisjoint(new)):
            return True
    return False
