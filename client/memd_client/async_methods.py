"""The methods of the asyncio and trio clients: one line a request. What they take and say stands in `requests`."""

from __future__ import annotations

from . import life_requests, requests
from .ask import named_after

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, Concatenate, ParamSpec, TypeVar

    from .ask import Ask

    P = ParamSpec("P")
    T = TypeVar("T")


def _sent(build: Callable[P, Ask[T]]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the coroutine function that sends what a function of `requests` builds and waits for the reply."""

    async def method(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        reply: T = await self.call(build(*args, **kwargs))
        return reply

    sent: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]] = named_after(build, method)
    return sent


class AsyncMethods:
    """A method for every request; `call` sends it."""

    hello = _sent(requests.hello)
    status = _sent(requests.status)
    metrics = _sent(requests.metrics)
    search = _sent(requests.search)
    search_agents = _sent(requests.search_agents)
    get = _sent(requests.get)
    files = _sent(requests.files)
    curated_entries = _sent(requests.curated_entries)
    index = _sent(requests.index)
    reset = _sent(requests.reset)
    vacuum = _sent(requests.vacuum)
    embed = _sent(requests.embed)
    model = _sent(requests.model)
    show = _sent(requests.show)
    tools = _sent(life_requests.tools)
    call_tool = _sent(life_requests.call_tool)
    prompt_section = _sent(life_requests.prompt_section)
    session_started = _sent(life_requests.session_started)
    session_ended = _sent(life_requests.session_ended)
    flush_check = _sent(life_requests.flush_check)
    flush_done = _sent(life_requests.flush_done)
    compaction_done = _sent(life_requests.compaction_done)
    append_note = _sent(life_requests.append_note)
    memory_store = _sent(life_requests.memory_store)
    memory_recall = _sent(life_requests.memory_recall)
    memory_edit = _sent(life_requests.memory_edit)
    memory_forget = _sent(life_requests.memory_forget)
    facts = _sent(life_requests.facts)
    recall_for = _sent(life_requests.recall_for)
    capture_from = _sent(life_requests.capture_from)
