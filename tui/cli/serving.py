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
from engine.pacing import Turns
from engine.rest import server as http
from engine.rest.server import application, certificate_for
from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY, Credentials, Service
from engine.rest.session import PacedClock, Present, begin, saved, session_text
from tui.cli.arguments import forget_terminal, print_warnings
from tui.saving.targets import FileLines, TargetError
from tui.viewmodels.frame import LONGEST, ClientRequest, client_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from socket import socket

    from engine import Simulation
    from engine.rest.messages import Answer, Request
    from engine.rest.server import Files


__all__ = ["DEFAULT_ACCOUNT", "DEFAULT_KEY", "Options", "serve"]


class Options(NamedTuple):
    """The options of the command."""

    scenario: str | None
    host: str
    port: int | None
    account: str
    key: str
    any_key: bool
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
    logging.getLogger("uvicorn").addHandler(errors)
    with ExitStack() as stack:
        simulation = begin_session(options)
        stack.enter_context(runtime.gc_relaxed())  # a full collection of a million tasks takes longer than a request
        if not options.quiet:
            print_warnings(simulation.scenario.warnings)
        target = None if options.save is None else stack.enter_context(FileLines(Path(options.save)))
        report = None if options.requests is None else stack.enter_context(request_log(options.requests))
        listener = stack.enter_context(listen(options))
        files = certificate_of(options, stack)
        clock = PacedClock(simulation, options.speed) if options.step_ms is None else None
        service = Service(simulation, credentials_of(options), step_ms=options.step_ms)
        url = url_of(options, listener.getsockname()[1])
        app, certificate = application(service, clock, report), None if files is None else files.certificate
        server = http.Server(app, lambda: _announce(url, options, files), certificate)
        if clock is not None:
            clock.on_failure = server.end
        caught = http.run(server, listener)
        if caught == HANG_UP:
            forget_terminal()
        if target is not None:
            target.write(saved(simulation).splitlines())
            target.keep()
            if not options.quiet:
                file = options.save
                click.echo(f"The session is saved in {file}; batchdeck run {file} replays it.", err=True)
        if clock is not None and clock.failure is not None:
            raise clock.failure
    return 0 if caught is None else SIGNAL_STATUS + caught


def begin_session(options: Options, *, can_go_back: bool = False) -> Simulation:
    """Begin the session on which clients act. Raises ScenarioError.

    Its calendar begins now. Only with a step it begins at a fixed time: the log is a function of the requests.
    """
    now = datetime.now(UTC) if options.step_ms is None else None
    return begin(options.scenario, now, options.seed, can_go_back=can_go_back)


def certificate_of(options: Options, stack: ExitStack) -> Files | None:
    """Return the files of a certificate until the end of ``stack``, or None without TLS."""
    return stack.enter_context(certificate_for(options.host)) if options.tls else None


def credentials_of(options: Options) -> Credentials:
    """Return the name and key that clients need."""
    return Credentials(options.account, options.key, options.any_key)


def listen(options: Options) -> socket:
    """Return a listening socket. Raises click.UsageError if the address or port cannot be had."""
    try:
        return http.listen(options.host, options.port)
    except OSError as error:
        place = options.host if options.port is None else f"port {options.port} of {options.host}"
        raise click.UsageError(f"cannot listen on {place}: {error.strerror or error}") from None


def url_of(options: Options, port: int) -> str:
    """Return the endpoint."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"{'https' if options.tls else 'http'}://{host}:{port}"


def exports(url: str, options: Options, files: Files | None) -> tuple[str, ...]:
    """Return the lines for a shell with which clients find the account, and trust its certificate."""
    return (
        f"export AZURE_BATCH_ACCOUNT={options.account}",
        f"export AZURE_BATCH_ACCESS_KEY={options.key}",
        f"export AZURE_BATCH_ENDPOINT={url}",
        *(() if files is None else (f"export REQUESTS_CA_BUNDLE={files.authority}",)),
    )


def _announce(url: str, options: Options, files: Files | None) -> None:
    """Say that the server accepts connections, and how clients reach it."""
    lines = [f"listening on {url}"]
    if options.host not in http.LOOPBACK:
        who = f"Whoever can reach {options.host} and has the key"
        lines.append(f"{who} can act on this simulation, without encryption.")
    if not options.quiet:
        lines += ["", *exports(url, options, files)]
        lines += ["", "Any other key will do as well."] if options.any_key else []
    click.echo("\n".join(lines), err=True)


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
        """Prepare to serve, see ``tui.app.dashboard``."""
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
