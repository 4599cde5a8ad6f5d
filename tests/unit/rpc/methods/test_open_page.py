"""show: the page is opened for an agent there is, or for all."""

from __future__ import annotations

import pytest

from memd.rpc.methods import open_page
from memd_client.errors import PageUnavailableError
from memd_client.messages import OpenPageParams, OpenPageReply
from tests.unit.rpc.methods.calling import call_of, run


@pytest.mark.parametrize(("named", "meant"), [(None, None), ("other", "other")])
def test_the_page_is_opened_for_whom_the_request_names(named: str | None, meant: str | None) -> None:
    call = call_of()

    async def opened(agent: str | None) -> OpenPageReply:
        return OpenPageReply("http://127.0.0.1:1/", agent, 60)

    call.daemon.open_page = opened

    assert run(open_page.handle(call, OpenPageParams(named))).agent == meant


def test_a_daemon_without_a_page_says_so() -> None:
    with pytest.raises(PageUnavailableError):
        run(open_page.handle(call_of(), OpenPageParams()))
