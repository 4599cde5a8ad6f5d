"""Every provider with every fault: keyword search answers in time with the reason.

No wrong vector is stored, and vector search recovers automatically. All providers meet a fault
concurrently, each with a separate memory; a cell of the matrix is the outcome of one provider.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import cache

import pytest
import trio

from memd_client.messages import SearchReply
from tests.support.provider_errors import DialectName
from tests.support.provider_faults import STATUS_FAULTS, VECTOR_FAULTS, WIRE_FAULTS, Fault, FaultKind
from tests.support.provider_server import KEY, ProviderServer, serve_provider
from tests.support.remote_memory import NORMAL_TIMEOUTS, SHORT_TIMEOUTS, RemoteMemory, remote_memory
from tests.support.state_homes import StateHome

DIALECTS: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "ollama", "compatible")
DIMS = 48
UNWATCHED = {"agents": {"defaults": {"memorySearch": {"sync": {"watch": False}}}}}
DEADLINE_MS = 3000
SILENT: tuple[FaultKind, ...] = ("hang", "drip")
"""Short deadlines for faults that make every wait run to its end."""

NOTES = {
    "memory/2026-01-05.md": "The invoice for the hosting company is due on the last Friday of the month.\n",
    "memory/2026-01-06.md": "Our cat was ill and the vet gave her new medicine.\n",
    "memory/2026-01-07.md": "The web server returns error 502 when the upstream pool is empty.\n",
    "memory/2026-01-08.md": "Martine wants the report to use shades of blue.\n",
}
NEW_NOTE = ("memory/2026-02-01.md", "A zeppelin was seen above the harbour on Sunday.\n")

LONGER_THAN_ANY_WINDOW_S = 31 * 60

EXPECTED: dict[FaultKind, set[str]] = {
    "unauthorized": {"provider_auth"},
    "forbidden": {"provider_auth"},
    "model_missing": {"provider_model_unknown"},
    "rate_limited": {"provider_rate_limited"},
    "quota": {"provider_quota_exhausted"},
    "server_error": {"provider_failed"},
    "overloaded": {"provider_failed"},
    "hang": {"provider_unreachable"},
    "drip": {"provider_unreachable"},
    "reset": {"provider_unreachable"},
    "hangup": {"provider_unreachable"},
    "cut_short": {"provider_unreachable"},
    "truncated": {"provider_reply_invalid"},
    "giant": {"provider_reply_invalid"},
    "html": {"provider_reply_invalid"},
    "empty": {"provider_reply_invalid"},
    "too_few": {"provider_reply_invalid"},
    "too_many": {"provider_reply_invalid"},
    "doubled_index": {"provider_reply_invalid"},
    "wrong_dims": {"dimensions_changed"},
    "ragged": {"provider_reply_invalid", "dimensions_changed"},  # of several chunks, and of one
    "nan": {"provider_reply_invalid"},
    "null": {"provider_reply_invalid"},
    "zero": {"provider_reply_invalid"},
}
"""Faults that make a reply wrong."""

ELSEWHERE: dict[tuple[DialectName, FaultKind], set[str]] = {
    ("ollama", "quota"): {"provider_rate_limited"},  # it has no accounts; a limit of an hour is a pause
}

HARMLESS: tuple[FaultKind, ...] = ("shuffled",)
"""Faults that are unusual and valid: the reply names its order."""

NO_SUCH: dict[FaultKind, tuple[DialectName, ...]] = {
    "doubled_index": ("gemini", "ollama"),
    "shuffled": ("gemini", "ollama"),
}
"""Providers whose replies have no positions to get wrong."""

KINDS: tuple[FaultKind, ...] = (
    *(kind for kind in STATUS_FAULTS if kind != "text_refused"),
    *WIRE_FAULTS,
    *VECTOR_FAULTS,
)
CELLS = [
    pytest.param(dialect, kind, id=f"{dialect}-{kind}", marks=pytest.mark.long if at % 3 else ())
    for at, kind in enumerate(KINDS)
    for dialect in DIALECTS
    if dialect not in NO_SUCH.get(kind, ())
]

Outcome = Exception | None


def paths(reply: SearchReply) -> list[str]:
    """Return the hits' paths, best first."""
    return [hit.path for hit in reply.hits]


def assert_keyword_reply(reply: SearchReply, path: str, codes: set[str]) -> None:
    """Check a keyword reply: best path, reason code, hint, and no foreign text."""
    assert paths(reply)[:1] == [path]
    assert reply.mode == "keyword"
    assert reply.degraded is not None
    assert reply.degraded.code in codes, reply.degraded
    assert reply.degraded.reason
    assert reply.degraded.hint
    told = repr(reply.degraded)
    assert not [text for text in (KEY, "medicine", "upstream", "zeppelin") if text in told], told
    assert reply.degraded.since_ms > 0


async def until_hybrid(memory: RemoteMemory, about: str) -> None:
    """Search until a reply is hybrid; an index call may take the recovery trial."""
    with trio.fail_after(120):
        for number in range(10_000):
            reply = await memory.search(f"{about} again {number}", DEADLINE_MS)
            if reply.mode == "hybrid":
                assert reply.degraded is None, reply.degraded
                return
            await trio.sleep(0.02)


async def recover(memory: RemoteMemory, about: str) -> None:
    """Clear the fault, pass the longest back-off window, and wait for vector search."""
    memory.server.fault = None
    memory.clock.move(LONGER_THAN_ANY_WINDOW_S)
    await until_hybrid(memory, about)


async def meet_fault(memory: RemoteMemory, kind: FaultKind) -> None:
    """Search and then index a new note during a fault, and check all replies."""
    server = memory.server
    codes = ELSEWHERE.get((server.dialect, kind), EXPECTED.get(kind, set()))
    # given a memory with all its vectors
    await memory.index()
    assert (await memory.search("invoice hosting", DEADLINE_MS)).mode == "hybrid"
    assert await memory.check_stored() == len(NOTES)
    # when searches meet the fault
    server.fault = Fault(kind)
    for query, path in (("cat medicine", "memory/2026-01-06.md"), ("upstream pool", "memory/2026-01-07.md")):
        reply = await memory.search(query, DEADLINE_MS)
        if kind in HARMLESS:
            assert (reply.mode, reply.degraded, paths(reply)[:1]) == ("hybrid", None, [path])
        else:
            assert_keyword_reply(reply, path, codes)
    assert server.fault is not None
    assert server.fault.met > 0
    # then no wrong vector is stored, and vector search recovers automatically
    assert await memory.check_stored() == len(NOTES)
    await recover(memory, "the invoice")
    # when a new note meets it
    server.fault = Fault(kind)
    memory.home.note(*NEW_NOTE)
    await memory.index()
    assert server.fault is not None
    assert server.fault.met > 0
    if kind not in HARMLESS:
        assert_keyword_reply(await memory.search("zeppelin harbour", DEADLINE_MS), NEW_NOTE[0], codes)
        assert await memory.check_stored() == len(NOTES)
    # then keyword search finds it, and vector search too once the fault is gone
    await recover(memory, "the zeppelin")
    await memory.index()
    assert await memory.check_stored() == len(NOTES) + 1
    reply = await memory.search("a zeppelin over the harbour", DEADLINE_MS)
    assert (reply.mode, reply.degraded, paths(reply)[0]) == ("hybrid", None, NEW_NOTE[0])
    assert reply.pending is None or reply.pending.chunks == 0
    assert server.complaints == []
    if kind != "hang":  # calls that timed out are answered in the end, with the connection closed
        assert [count for text, count in server.texts_embedded.items() if "was seen" in text] == [1]


async def meet_fault_in_all(servers: list[ProviderServer], kind: FaultKind) -> dict[DialectName, Outcome]:
    """Run a fault on all providers concurrently."""
    outcomes: dict[DialectName, Outcome] = {}

    async def live(server: ProviderServer) -> None:
        outcomes[server.dialect] = None
        try:
            with StateHome(UNWATCHED) as home:
                for note in NOTES.items():
                    home.note(*note)
                async with remote_memory(
                    home, server, SHORT_TIMEOUTS if kind in SILENT else NORMAL_TIMEOUTS
                ) as memory:
                    await meet_fault(memory, kind)
        except Exception as error:  # noqa: BLE001 - it is raised again in its own cell
            outcomes[server.dialect] = error

    async with trio.open_nursery() as nursery:
        for server in servers:
            nursery.start_soon(live, server)
    return outcomes


@cache
def outcomes_of(kind: FaultKind) -> dict[DialectName, Outcome]:
    """Return the outcome of each provider that can have the fault."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serve_provider(dialect, dims=DIMS))
            for dialect in DIALECTS
            if dialect not in NO_SUCH.get(kind, ())
        ]
        return trio.run(meet_fault_in_all, servers, kind)


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    yield
    outcomes_of.cache_clear()


@pytest.mark.parametrize(("dialect", "kind"), CELLS)
def test_fault_keeps_keyword_search_stores_no_wrong_vector_and_recovers(
    dialect: DialectName, kind: FaultKind
) -> None:
    outcome = outcomes_of(kind)[dialect]
    if outcome is not None:
        raise outcome


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_refused_chunk_is_listed_and_found_by_keyword_search_alone(
    dialect: DialectName,
) -> None:
    async with memory_of(dialect) as memory:
        # given a provider that refuses one chunk of several
        memory.server.fault = Fault("text_refused", marker="zeppelin")
        await memory.index()
        # then only that chunk has no vector; it is listed, and found next to vector hits
        assert await memory.check_stored() == len(NOTES)
        reply = await memory.search("Sunday harbour", DEADLINE_MS)
        assert (reply.mode, reply.degraded, paths(reply)[0]) == ("hybrid", None, NEW_NOTE[0])
        assert paths(await memory.search("the ill cat", DEADLINE_MS))[0] == "memory/2026-01-06.md"
        [refused] = (await memory.agent.status(deep=False)).rejected
        assert (refused.path, refused.start_line) == (NEW_NOTE[0], 1)
        assert "zeppelin" not in refused.reason
        # and it is not sent again
        seen = memory.server.calls
        await memory.index()
        assert memory.server.calls == seen


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_refused_query_falls_back_to_keyword_search_and_opens_no_circuit_breaker(
    dialect: DialectName,
) -> None:
    async with memory_of(dialect) as memory:
        await memory.index()
        memory.server.fault = Fault("text_refused", marker="vet")
        assert_keyword_reply(
            await memory.search("vet medicine", DEADLINE_MS), "memory/2026-01-06.md", {"text_refused"}
        )
        # vector search answers the next query
        reply = await memory.search("the upstream pool", DEADLINE_MS)
        assert (reply.mode, reply.degraded) == ("hybrid", None)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_retry_after_applies_to_queries_and_chunks_alike(dialect: DialectName) -> None:
    async with memory_of(dialect) as memory:
        await memory.index()
        memory.server.fault = Fault("rate_limited", retry_after=40)
        memory.home.note("memory/2026-03-01.md", "The museum is closed on Mondays.\n")
        seen = memory.server.calls
        for number in range(5):
            reply = await memory.search(f"cat medicine {number}", DEADLINE_MS)
            assert_keyword_reply(reply, "memory/2026-01-06.md", {"provider_rate_limited"})
            await memory.index()
            if number == 0:  # the query and the chunk may both be sent before the first answer
                assert memory.server.calls - seen in (1, 2)
                seen = memory.server.calls
        assert memory.server.calls == seen
        memory.server.fault = None
        memory.clock.move(39)
        await memory.index()
        assert (await memory.search("cat medicine", DEADLINE_MS)).mode == "keyword"
        assert memory.server.calls == seen
        memory.clock.move(1)
        await until_hybrid(memory, "cat medicine")
        await memory.index()
        assert await memory.check_stored() == len(NOTES) + 2


async def test_model_with_other_dimensions_after_a_restart_is_reported_and_stores_no_vector() -> None:
    with serve_provider("compatible", dims=DIMS) as server, StateHome(UNWATCHED) as home:
        for note in NOTES.items():
            home.note(*note)
        async with remote_memory(home, server) as memory:
            await memory.index()
        # given a provider whose model changed its dimensions since the daemon was stopped
        server.dims = DIMS // 2
        async with remote_memory(home, server) as memory:
            home.note(*NEW_NOTE)
            seen = server.calls
            # when a new note and queries come
            for number in range(5):
                await memory.index()
                reply = await memory.search(f"Sunday harbour {number}", DEADLINE_MS)
                assert_keyword_reply(reply, NEW_NOTE[0], {"dimensions_changed"})
            # then each costs at most one call
            assert server.calls - seen <= 10
            sizes = await memory.index_file.read(
                lambda db: db.execute("SELECT dims, count(*) FROM embedding_cache GROUP BY dims").fetchall()
            )
            assert sizes == [(DIMS, len(NOTES))]
            # and `index --force` embeds everything in the new dimensions
            memory.clock.move(60)
            await memory.index(force=True)
            assert (await memory.search("the harbour", DEADLINE_MS)).mode == "hybrid"
            assert await memory.check_stored() == len(NOTES) + 1


@asynccontextmanager
async def memory_of(dialect: DialectName) -> AsyncIterator[RemoteMemory]:
    """Yield a memory of the notes, the new one included, with a separate provider."""
    with serve_provider(dialect, dims=DIMS) as server, StateHome(UNWATCHED) as home:
        for note in (*NOTES.items(), NEW_NOTE):
            home.note(*note)
        async with remote_memory(home, server) as memory:
            yield memory
