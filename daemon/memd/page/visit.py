"""One connection to the page: the checks of its requests, and their replies."""

from __future__ import annotations

from http import HTTPStatus

import trio

from memd.page import answers
from memd.page.access import PAGE, Head, cookie_of, why_foreign, why_no_call
from memd.page.answers import PageReply
from memd.page.gateway import event_lines
from memd.page.http import BadRequestError, HttpConnection, PeerGoneError
from memd.page.opening import Opening, PageSession
from memd.system.log import log
from memd.system.units import size
from memd_client.errors import DaemonBusyError, MemdError

API = "/api/"
STATIC = "/static/"


class Visit:
    """One connection.

    `trusted` once it has shown a session: until then it gives way to others.
    """

    def __init__(self, stream: trio.SocketStream, opening: Opening) -> None:
        self._stream = stream
        self._opening = opening
        self._limits = opening.limits
        self._http = HttpConnection(stream, opening.limits)
        self.scope = trio.CancelScope()
        self.trusted = False

    def __repr__(self) -> str:
        return f"<Visit {'trusted' if self.trusted else 'unknown'}>"

    async def run(self) -> None:
        """PageReply requests until the other end leaves, is refused, or `scope` is cancelled.

        *When it fails*: nothing that the other end sends comes out of here.
        """
        with self.scope:
            async with self._stream:
                try:
                    while await self._answer_next():
                        pass
                except PeerGoneError:
                    log.debug("page.peer_gone")

    async def refuse_busy(self) -> None:
        """Reply that the server has reached its limit of connections."""
        with self.scope:
            async with self._stream:
                try:
                    await self._http.send(answers.refused(HTTPStatus.SERVICE_UNAVAILABLE), last=True)
                except PeerGoneError:
                    log.debug("page.peer_gone")

    async def _answer_next(self) -> bool:
        """Reply to one request; return whether another may follow."""
        try:
            head = await self._http.receive_head(
                self._limits.idle_s if self.trusted else self._limits.request_s
            )
            if head is None:
                return False
            reason = why_foreign(head, self._opening.port)
            if reason is not None:
                log.info("page.refused", reason=reason)
                return await self._http.send(answers.refused(), last=True)
            session = self._opening.session_of(cookie_of(head, self._opening.cookie))
            if head.token is not None:
                return await self._http.send(self._enter(head.token, session), last=True)
            if session is None:
                log.info("page.refused", reason="no_session")
                return await self._http.send(answers.refused(), last=True)
            self.trusted = True
            return await self._serve(head, session)
        except BadRequestError as error:
            return await self._http.send(PageReply(error.status), last=True)

    def _enter(self, token: str, session: PageSession | None) -> PageReply:
        """Return the reply to a link: the page, once."""
        opened = self._opening.enter(token)
        if opened is not None:
            return answers.enter(self._opening.cookie_header(opened))
        if session is not None:  # the browser used this link before and reloads it
            return answers.enter(None)
        log.info("page.refused", reason="dead_link")
        return answers.dead_link()

    async def _serve(self, head: Head, session: PageSession) -> bool:
        """Reply to a request of a session."""
        if head.method == "GET" and head.path == f"{API}events":
            await self._http.receive_body()
            await self._send_events(session)
            return False
        if head.method == "POST" and head.path.startswith(API):
            if why_no_call(head) is not None:
                return await self._http.send(answers.refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE), last=True)
            body = await self._http.receive_body()
            request = head.path.removeprefix(API)
            return await self._send_reply(
                await self._http.while_there(lambda: self._ask(session, request, body))
            )
        if head.method != "GET":
            return await self._http.send(answers.refused(HTTPStatus.METHOD_NOT_ALLOWED), last=True)
        await self._http.receive_body()
        if head.path == f"{API}session":
            return await self._http.send(await self._http.while_there(lambda: self._session_answer(session)))
        return await self._http.send(self._file(head))

    def _file(self, head: Head) -> PageReply:
        """Return the page, one of its files, or 404."""
        known = head.headers.get("if-none-match")
        if head.path == PAGE:
            return self._opening.assets.index(known)
        if head.path.startswith(STATIC):
            return self._opening.assets.static(head.path.removeprefix(STATIC), known)
        return answers.refused(HTTPStatus.NOT_FOUND)

    async def _ask(self, session: PageSession, request: str, body: bytes) -> PageReply:
        """Return the daemon's reply."""
        try:
            return answers.result(await self._opening.gateway.ask(session.agent, request, body))
        except MemdError as error:
            return answers.failure(error)

    async def _send_reply(self, reply: PageReply) -> bool:
        """Send a reply, unless unread replies have reached the limit."""
        with self._opening.reserve(len(reply.body)) as has_room:
            busy = DaemonBusyError(f"{size(self._limits.answers_bytes)} of answers wait for browsers already")
            return await self._http.send(reply if has_room else answers.failure(busy))

    async def _session_answer(self, session: PageSession) -> PageReply:
        """Return the agents that the page shows."""
        try:
            agents = [session.agent] if session.agent else await self._opening.gateway.agents()
        except MemdError as error:
            return answers.failure(error)
        document = {"agent": session.agent, "agents": agents, "version": self._opening.version}
        return answers.document(document)

    async def _send_events(self, session: PageSession) -> None:
        """Send events until the other end disconnects."""
        await self._http.begin_stream(answers.EVENTS)

        async def send() -> None:
            await self._http.send_piece(b"retry: 2000\n\n")
            async with self._opening.gateway.events(session.agent) as events:
                while True:
                    piece = b":\n\n"
                    with trio.move_on_after(self._limits.heartbeat_s):
                        piece = event_lines(await events.receive())
                    await self._http.send_piece(piece)

        with self._opening.watched():
            try:
                await self._http.while_there(send)
            except* (trio.EndOfChannel, PeerGoneError, MemdError):
                log.debug("page.peer_gone")
