"""Serving clients beside the dashboard, as ``open --serve`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.pacing.yielding import Turns
from engine.rest import server as http
from engine.rest.application import application
from engine.rest.present import Present
from engine.rest.service import Service
from engine.rest.session import session_text
from tui.cli.serving import certificate_of, credentials_of, exports, listen, request_log, url_of
from tui.viewmodels.frame.requests import LONGEST, ClientRequest, client_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import ExitStack

    from engine import Simulation
    from engine.rest.protocol.answers import Answer
    from engine.rest.protocol.requests import Request
    from tui.cli.serving import Options


class DashboardHost:
    """Serves clients on the event loop of the dashboard."""

    def __init__(self, simulation: Simulation, options: Options, stack: ExitStack) -> None:
        """Listen, and open the files that were asked for until the end of ``stack``.

        Raises:
            click.UsageError: The address or port cannot be had.
            TargetError: A file cannot be written.
        """
        self._simulation = simulation
        self._options = options
        self._log = None if options.requests is None else stack.enter_context(request_log(options.requests))
        self._listener = stack.enter_context(listen(options))
        self._files = certificate_of(options, stack)
        self._present: Present | None = None
        self._server: http.Server | None = None
        self._on_request: Callable[[ClientRequest], None] = lambda _: None
        self.url = url_of(options, self._listener.getsockname()[1])
        self.exports = exports(self.url, options, self._files)
        self.save_to = options.save

    def attach(
        self,
        newest_ms: Callable[[], int],
        speed: Callable[[], float],
        on_request: Callable[[ClientRequest], None],
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        """Prepare to serve, see ``tui.app.host``."""
        self._on_request = on_request
        self._present = Present(self._simulation, newest_ms, speed)
        options = self._options
        service = Service(self._simulation, credentials_of(options), step_ms=options.step_ms, present=self._present)
        certificate = None if self._files is None else self._files.certificate
        app = application(service, report=self._report, turns=Turns(pause))
        self._server = http.Server(app, lambda: None, certificate)

    async def serve(self) -> None:
        """Serve until ``end`` is called."""
        assert self._server is not None
        await self._server.serve([self._listener])

    def end(self) -> None:
        """Let ``serve`` return."""
        if self._server is not None:
            self._server.end()

    def advance(self) -> None:
        """Keep the present going while the screen shows the past."""
        if self._present is not None:
            self._present.advance()

    def rejoin(self) -> None:
        """Bring the run on the screen to the present, if all that it has recorded is shown."""
        if self._present is not None:
            self._present.rejoin()

    def session_text(self, simulation: Simulation) -> str:
        """Return the session as a scenario."""
        return session_text(simulation)

    def _report(self, request: Request, answer: Answer, seconds: float) -> None:
        if self._log is not None:
            self._log(request, answer, seconds)
        who = client_name(request.headers.get("user-agent", ""), "a client")
        when_ms = max(self._simulation.now_ms, self._simulation.present_ms)
        path = request.path[:LONGEST]
        self._on_request(ClientRequest(who, request.method, path, answer.status, answer.code, seconds * 1000, when_ms))
