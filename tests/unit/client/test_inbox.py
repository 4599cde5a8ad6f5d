"""What has arrived is taken in order, bounded, and with one outcome."""

from __future__ import annotations

import pytest

from memd_client.errors import AgentUnknownError, ConnectionLostError, RequestCancelledError
from memd_client.inbox import MAX_STEPS, Inbox, lost, reason_again
from memd_client.messages import Progress
from memd_client.session import Failure, ProgressArrival, Reply


def told(done: int) -> ProgressArrival:
    return ProgressArrival(1, Progress(1, "text", done, 0))


def test_steps_come_out_as_they_came_in_and_the_outcome_last() -> None:
    inbox = Inbox()
    for arrival in (told(1), told(2), Reply(1, {"a": 1})):
        inbox.take_in(arrival)
    assert inbox.has_news
    assert [step.done for step in iter(inbox.next_step, None) if isinstance(step, Progress)] == [1, 2]
    assert inbox.result() == {"a": 1}


def test_without_an_outcome_there_is_no_result() -> None:
    inbox = Inbox()
    assert not inbox.has_news
    with pytest.raises(ConnectionLostError):
        inbox.result()


def test_the_first_outcome_counts() -> None:
    inbox = Inbox()
    inbox.take_in(Failure(1, AgentUnknownError("nobody")))
    inbox.take_in(Reply(1, {}))
    inbox.stop()
    with pytest.raises(AgentUnknownError, match="nobody"):
        inbox.result()


def test_a_request_given_up_says_so() -> None:
    inbox = Inbox()
    inbox.stop()
    inbox.take_in(Reply(1, {}))
    with pytest.raises(RequestCancelledError):
        inbox.result()


def test_too_many_steps_cost_the_oldest() -> None:
    inbox = Inbox()
    for done in range(MAX_STEPS + 2):
        inbox.take_in(told(done))
    first = inbox.next_step()
    assert isinstance(first, Progress)
    assert (first.done, inbox.dropped, len(inbox.steps)) == (2, 2, MAX_STEPS - 1)


def test_each_waiter_gets_an_instance_of_the_reason() -> None:
    broken = ConnectionLostError(lost(BrokenPipeError(32, "Broken pipe")), hint="a hint")
    first, second = reason_again(broken, True), reason_again(broken, False)
    assert (type(first), str(first), first.hint) == (ConnectionLostError, str(broken), "a hint")
    assert "Broken pipe" in str(first)
    assert first is not broken
    assert (first.data, second.data, broken.data) == ({}, {"sent": False}, {})
    assert lost(KeyboardInterrupt()).endswith("KeyboardInterrupt")
