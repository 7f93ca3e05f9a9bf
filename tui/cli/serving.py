"""The HTTP server for clients of Azure Batch: alone for ``serve``, beside the dashboard for ``open --serve``.

``serve`` ends with a signal. Beside the dashboard the server runs on its event loop and ends with it.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from engine.base import runtime
from engine.base.runtime import HANG_UP, SIGNAL_STATUS
from engine.base.values import visible
from engine.pacing import Turns
from engine.rest import server as http
from engine.rest.server import application, certificate_for
from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY, Credentials, Service
from engine.rest.session import PacedClock, Present, begin, saved, session_text
from tui.cli.arguments import echo, forget_terminal, print_warnings
from tui.saving.targets import FileLines, TargetError
from tui.viewmodels.frame import LONGEST, ClientRequest, client_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.applications import Starlette

    from engine import Simulation
    from engine.rest.messages import Answer, Request


__all__ = ["DEFAULT_ACCOUNT", "DEFAULT_KEY", "Credentials", "Options", "serve"]


class Options(NamedTuple):
    """The options of the command."""

    scenario: str | None
    host: str
    port: int | None
    credentials: Credentials
    speed: float
    step_ms: int | None
    seed: int | None
    save: str | None
    requests: str | None
    tls: bool
    quiet: bool


def serve(options: Options) -> int:
    """Serve until a signal comes; return the exit status.

    Raises:
        ScenarioError: The scenario has mistakes.
        TargetError: A file cannot be written.
        click.UsageError: The address or port cannot be had.
    """
    errors = logging.StreamHandler()
    errors.setLevel(logging.ERROR)
    errors.setFormatter(_Visible())
    logging.getLogger("uvicorn").addHandler(errors)
    with ExitStack() as stack:
        simulation = begin_session(options)
        stack.enter_context(runtime.gc_relaxed())  # a full collection of a million tasks takes longer than a request
        if not options.quiet:
            print_warnings(simulation.scenario.warnings)
        target = None if options.save is None else stack.enter_context(FileLines(Path(options.save)))
        endpoint = Endpoint(options, stack)
        clock = PacedClock(simulation, options.speed) if options.step_ms is None else None
        service = Service(simulation, options.credentials, step_ms=options.step_ms)
        server = endpoint.server(application(service, clock, endpoint.log), lambda: _announce(endpoint))
        if clock is not None:
            clock.on_failure = server.end
        caught = http.run(server, endpoint.listener)
        if caught == HANG_UP:
            forget_terminal()
        if target is not None:
            target.write(saved(simulation).splitlines())
            target.keep()
            if not options.quiet:
                file = options.save
                echo(f"The session is saved in {file}; batchdeck run {file} replays it.", err=True)
        if clock is not None and clock.failure is not None:
            raise clock.failure
    return 0 if caught is None else SIGNAL_STATUS + caught


class _Visible(logging.Formatter):
    """Formats what the server reports, with control characters in it as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def begin_session(options: Options, *, can_go_back: bool = False) -> Simulation:
    """Begin the session on which clients act. Raises ScenarioError.

    Its calendar begins now. Only with a step it begins at a fixed time: the log is a function of the requests.
    """
    now = datetime.now(UTC) if options.step_ms is None else None
    return begin(options.scenario, now, options.seed, can_go_back=can_go_back)


class Endpoint:
    """The address that clients reach: a listening socket, its URL, the certificate for TLS, and the log of requests."""

    def __init__(self, options: Options, stack: ExitStack) -> None:
        """Listen, and open the files that were asked for until the end of ``stack``.

        Raises:
            click.UsageError: The address or port cannot be had.
            TargetError: A file cannot be written.
        """
        self.options = options
        self.log = None if options.requests is None else stack.enter_context(request_log(options.requests))
        try:
            self.listener = stack.enter_context(http.listen(options.host, options.port))
        except OSError as error:
            place = options.host if options.port is None else f"port {options.port} of {options.host}"
            raise click.UsageError(f"cannot listen on {place}: {error.strerror or error}") from None
        self._files = stack.enter_context(certificate_for(options.host)) if options.tls else None
        host = f"[{options.host}]" if ":" in options.host else options.host
        self.url = f"{'https' if options.tls else 'http'}://{host}:{self.listener.getsockname()[1]}"

    @property
    def exports(self) -> tuple[str, ...]:
        """The lines for a shell with which clients find the account, and trust its certificate."""
        return (
            f"export AZURE_BATCH_ACCOUNT={self.options.credentials.account}",
            f"export AZURE_BATCH_ACCESS_KEY={self.options.credentials.key}",
            f"export AZURE_BATCH_ENDPOINT={self.url}",
            *(() if self._files is None else (f"export REQUESTS_CA_BUNDLE={self._files.authority}",)),
        )

    def server(self, app: Starlette, on_start: Callable[[], None]) -> http.Server:
        """Return a server of the application, which calls ``on_start`` once it accepts connections."""
        return http.Server(app, on_start, None if self._files is None else self._files.certificate)


def _announce(endpoint: Endpoint) -> None:
    """Say that the server accepts connections, and how clients reach it."""
    options, lines = endpoint.options, [f"listening on {endpoint.url}"]
    if options.host not in http.LOOPBACK:
        who = f"Whoever can reach {options.host} and has the key"
        lines.append(f"{who} can act on this simulation, without encryption.")
    if not options.quiet:
        lines += ["", *endpoint.exports]
        lines += ["", "Any other key will do as well."] if options.credentials.any_key else []
    echo("\n".join(lines), err=True)


@contextmanager
def request_log(name: str) -> Iterator[Callable[[Request, Answer, float], None]]:
    """Yield a function that writes a line for each request: method, path, status, code, milliseconds."""
    path = Path(name)
    try:
        stream = path.open("w", encoding="utf-8", buffering=1)
    except OSError as error:
        raise TargetError(path, error.strerror or str(error), before_run=True) from None
    with stream:

        def report(request: Request, answer: Answer, seconds: float) -> None:
            stream.write(f"{request.method} {request.path} {answer.status} {answer.code or '-'} {seconds * 1000:.3f}\n")

        yield report


class DashboardHost(Endpoint):
    """Serves clients on the event loop of the dashboard."""

    def __init__(self, simulation: Simulation, options: Options, stack: ExitStack) -> None:
        super().__init__(options, stack)
        self._simulation = simulation
        self._present: Present | None = None
        self._server: http.Server | None = None
        self._on_request: Callable[[ClientRequest], None] = lambda _: None
        self.save_to = options.save

    def attach(
        self,
        newest_ms: Callable[[], int],
        speed: Callable[[], float],
        on_request: Callable[[ClientRequest], None],
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        """Prepare to serve, see ``tui.app.process.Host``."""
        self._on_request = on_request
        self._present = Present(self._simulation, newest_ms, speed)
        options, present = self.options, self._present
        service = Service(self._simulation, options.credentials, step_ms=options.step_ms, present=present)
        self._server = self.server(application(service, report=self._report, turns=Turns(pause)), lambda: None)

    async def serve(self) -> None:
        """Serve until ``end`` is called."""
        assert self._server is not None
        await self._server.serve([self.listener])

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
        if self.log is not None:
            self.log(request, answer, seconds)
        who = client_name(request.headers.get("user-agent", ""), "a client")
        when_ms = max(self._simulation.now_ms, self._simulation.present_ms)
        path = request.path[:LONGEST]
        self._on_request(ClientRequest(who, request.method, path, answer.status, answer.code, seconds * 1000, when_ms))
