"""The HTTP server for clients of Azure Batch: alone for ``serve``, beside the dashboard for ``open --serve``.

``serve`` ends with a signal. Beside the dashboard the server runs on its event loop and ends with it.
"""

from __future__ import annotations

import logging
import shlex
import string
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import click

from engine.base import runtime
from engine.base.values import visible
from engine.pacing import Turns
from engine.rest import server as http
from engine.rest.hosts import LOOPBACK, Hosts, address_of, certificate_for
from engine.rest.identity import Front, Identity, Nothing
from engine.rest.server import application
from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY, Credentials, Service
from engine.rest.session import PacedClock, Present, begin, saved, session_text
from engine.scenario.record import with_prices
from tui import interrupts
from tui.cli.arguments import DONE, echo, print_warnings
from tui.saving.targets import FileLines, reason_of, reported
from tui.viewmodels.frame import LONGEST, ClientRequest, client_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from starlette.types import ASGIApp

    from engine import Simulation
    from engine.rest.messages import Answer, Answering, Request
    from tui.viewmodels.frame import Served


__all__ = ["DEFAULT_ACCOUNT", "DEFAULT_KEY", "Credentials", "Options", "serve"]


class Options(NamedTuple):
    """The options of the command. ``host`` is the address to listen on, ``names`` are those that clients may use."""

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
    names: tuple[str, ...] = ()
    client_secret: str | None = None


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
    simulation = begin_session(options)
    with ExitStack() as stack:
        stack.enter_context(interrupts.unwinding)
        stack.enter_context(runtime.gc_relaxed())  # a full collection of a million tasks takes longer than a request
        if not options.quiet:
            print_warnings(simulation.scenario.warnings)
        target = None if options.save is None else stack.enter_context(FileLines(Path(options.save)))
        endpoint = Endpoint(options, stack)
        clock = PacedClock(simulation, options.speed) if options.step_ms is None else None
        service = Service(simulation, endpoint.credentials, step_ms=options.step_ms)
        app = application(endpoint.doors(service), clock, endpoint.log, hosts=endpoint.hosts)
        server = endpoint.server(app, lambda: _announce(endpoint))
        if clock is not None:
            clock.on_failure = server.end
        stack.enter_context(interrupts.held)  # a second signal must not cost the session
        caught = http.run(server, endpoint.listener, endpoint.beside)
        if caught is not None:
            interrupts.ended_by(caught)
        if target is not None:
            text = with_prices(saved(simulation), simulation.scenario.prices, target.path.parent)
            target.write(text.splitlines())
            target.keep()
            if not options.quiet:
                file = str(target.path)
                echo(f"The session is saved in {file}; batchdeck run {shlex.quote(file)} replays it.", err=True)
        if clock is not None and clock.failure is not None:
            raise clock.failure
    return DONE if caught is None else interrupts.STATUS + caught


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
    """The addresses that clients reach: listening sockets, URLs, the certificate for TLS, and the log of requests."""

    def __init__(self, options: Options, stack: ExitStack) -> None:
        """Listen, and open the files that were asked for until the end of ``stack``.

        Raises:
            click.UsageError: The address or port cannot be had.
            TargetError: A file cannot be written.
        """
        self.options = options
        self.log = None if options.requests is None else stack.enter_context(closing(RequestLog(options.requests)))
        try:
            self.listener = stack.enter_context(http.listen(options.host, options.port))
        except (OSError, ValueError) as error:  # a name that cannot be looked up may be either
            place = options.host if options.port is None else f"port {options.port} of {options.host}"
            reason = reason_of(error) if isinstance(error, OSError) else error
            raise click.UsageError(f"cannot listen on {place}: {reason}") from None
        try:
            self._files = stack.enter_context(certificate_for(options.names)) if options.tls else None
        except ValueError as error:
            raise click.UsageError(f"no certificate can name {', '.join(options.names)}: {error}") from None
        host = f"[{options.host}]" if ":" in options.host else options.host
        self.url = f"{'https' if options.tls else 'http'}://{host}:{self.listener.getsockname()[1]}"
        self.hosts = Hosts(options.names)
        self.credentials = options.credentials
        self.identity: Identity | None = None
        self.beside: dict[socket, ASGIApp] = {}
        if options.tls:
            self._issue_tokens(stack)

    def _issue_tokens(self, stack: ExitStack) -> None:
        """Let clients log in: service principals at this address, managed identities on loopback without TLS."""
        self.identity = identity = Identity(self.options.client_secret)
        self.credentials = self.credentials._replace(token_fault=identity.fault)
        listener = stack.enter_context(http.listen(LOOPBACK, 0))
        self.beside[listener] = application(Front([identity.managed], Nothing()), report=self.log)
        self._managed_url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"

    def doors(self, service: Service) -> Answering:
        """Return the account with what clients find beside it at the same address."""
        if self.identity is None:
            return service
        return Front([self.identity.login], service)

    @property
    def exports(self) -> tuple[str, ...]:
        """The lines for a shell with which clients find the account, and trust its certificate."""
        variables = {
            "AZURE_BATCH_ACCOUNT": self.options.credentials.account,
            "AZURE_BATCH_ACCESS_KEY": self.options.credentials.key,
            "AZURE_BATCH_ENDPOINT": self.url,
        }
        if self._files is not None:
            variables["REQUESTS_CA_BUNDLE"] = variables["SSL_CERT_FILE"] = self._files.authority
        if self.identity is not None:
            variables |= self.identity.variables(self.url, self._managed_url)
        return tuple(f"export {name}={shlex.quote(value)}" for name, value in variables.items())

    @property
    def warning(self) -> str:
        """A sentence about who can act on the run without being given the key, or from elsewhere; "" if nobody can."""
        address = ip_address(address_of(self.listener.getsockname()[0].partition("%")[0]))
        credentials = self.options.credentials
        if address.is_loopback:
            each = "Every program on this machine can act on this simulation, without a key."
            return each if credentials.any_key else ""
        has_key = credentials.key != DEFAULT_KEY and not credentials.any_key
        is_own = has_key and (self.identity is None or self.options.client_secret is not None)
        place = f"any address of this machine ({address})" if address.is_unspecified else self.options.host
        who = f"Whoever can reach {place}" + (" and has the key" if is_own else "")
        public = "by a login with any secret" if has_key else "with the default key, which is public,"
        ways = [] if is_own else ["without a key" if credentials.any_key else public]
        ways += [] if self.options.tls else ["without encryption"]
        return f"{who} can act on this simulation{', ' if ways else ''}{' and '.join(ways).removesuffix(',')}."

    def server(self, app: ASGIApp, on_start: Callable[[], None]) -> http.Server:
        """Return a server of the application, which calls ``on_start`` once it accepts connections."""
        return http.Server(app, on_start, None if self._files is None else self._files.certificate)


def _announce(endpoint: Endpoint) -> None:
    """Say that the server accepts connections, and how clients reach it."""
    lines = [f"listening on {endpoint.url}", *filter(None, [endpoint.warning])]
    if not endpoint.options.quiet:
        lines += ["", *endpoint.exports]
    echo("\n".join(lines), err=True)


_PRINTED = string.ascii_letters + string.digits + string.punctuation


class RequestLog:
    """A file with a line for each request: method, path, status, code, milliseconds.

    A file that can no longer be written is given up: what a client has done has happened, and its answer says so.
    """

    def __init__(self, name: str) -> None:
        """Open the file. Raises TargetError."""
        self.on_failure: Callable[[str], object] = partial(echo, err=True)
        self._path = Path(name)
        with reported(self._path, before_run=True):
            self._stream = self._path.open("wb", buffering=0)  # what is kept for later would fail again

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):
            self._stream.close()

    def __call__(self, request: Request, answer: Answer, seconds: float) -> None:
        """Write the line of a request, or give the file up and say so once."""
        if self._stream.closed:
            return
        asked = f"{_word(request.method)} {_word(request.path)}"
        line = f"{asked} {answer.status} {answer.code or '-'} {seconds * 1000:.3f}\n".encode()
        try:
            if self._stream.write(line) == len(line):
                return
            reason = "there is no space for a whole line"
        except OSError as error:
            reason = reason_of(error)
        self.close()
        self.on_failure(f"cannot write {self._path}: {reason}; from now on requests are not listed there.")


def _word(text: str) -> str:
    """Return a text as one word: what is no printable character of ASCII, or a blank, is percent-encoded."""
    return quote(text, safe=_PRINTED, errors="replace") or "-"


class DashboardHost(Endpoint):
    """Serves clients on the event loop of the dashboard."""

    def __init__(self, simulation: Simulation, options: Options, stack: ExitStack) -> None:
        super().__init__(options, stack)
        self._simulation = simulation
        self._present: Present | None = None
        self._server: http.Server | None = None
        self._on_request: Callable[[ClientRequest], None] = lambda _: None
        self.save_to = options.save

    def attach(self, served: Served) -> None:
        """Prepare to serve, see ``tui.app.process.Host``."""
        self._on_request = served.on_request
        if self.log is not None:
            self.log.on_failure = served.warn
        self._present = Present(self._simulation, served.newest_ms, served.speed)
        options, present = self.options, self._present
        service = Service(self._simulation, self.credentials, step_ms=options.step_ms, present=present)
        app = application(self.doors(service), report=self._report, turns=Turns(served.pause), hosts=self.hosts)
        self._server = self.server(app, lambda: None)

    async def serve(self) -> None:
        """Serve until ``end`` is called."""
        assert self._server is not None
        await http.serve_with(self._server, self.listener, self.beside)

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
