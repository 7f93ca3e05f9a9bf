"""The HTTP server for clients of Azure Batch: alone for ``serve``, beside the dashboard for ``open --serve``.

``serve`` ends with a signal. Beside the dashboard the server runs on its event loop and ends with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
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
from engine.base.hosts import LOOPBACK, address_of
from engine.base.values import visible
from engine.pacing import Turns
from engine.rest import server as http
from engine.rest.hosts import Hosts, authority
from engine.rest.identity import LOGIN, Front, Identity, Nothing
from engine.rest.management import AUDIENCES, Management, Uploads
from engine.rest.proxy import DEFAULT_PORT as PROXY_PORT
from engine.rest.proxy import Azure, ByName, Proxy, azure_name
from engine.rest.running import Plain, over_tls, run, serve_with
from engine.rest.server import application
from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY, Credentials, Service
from engine.rest.session import PacedClock, Present, begin, saved, session_text
from engine.scenario.record import with_prices
from tui import interrupts
from tui.cli.arguments import DONE, echo, print_warnings
from tui.cli.executing import executing
from tui.saving.targets import FileLines, reason_of, reported
from tui.viewmodels.frame import LONGEST, ClientRequest, client_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp

    from engine import Simulation
    from engine.rest.messages import Answer, Answering, Request
    from engine.rest.proxy import Storage
    from engine.rest.running import Companion
    from engine.rest.server import Report
    from tui.cli.executing import ClientsAndPrograms
    from tui.viewmodels.frame import Served


__all__ = ["DEFAULT_ACCOUNT", "DEFAULT_KEY", "Credentials", "Options", "serve"]


class Options(NamedTuple):
    """The options of the command: as they were ``given``, and what follows from them.

    ``host`` is the address to listen on, ``names`` are those that clients may use. ``program`` is run with the server.
    """

    scenario: str | None
    given: ClientsAndPrograms
    host: str
    credentials: Credentials
    speed: float
    step_ms: int | None
    seed: int | None
    quiet: bool
    names: tuple[str, ...] = ()
    keep_files_s: float = 0.0
    storage: Storage | None = None
    program: tuple[str, ...] = ()


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
        save, storage = options.given["save"], options.given["storage"]
        target = None if save is None else stack.enter_context(FileLines(Path(save)))
        endpoint = Endpoint(options, stack)
        variables = endpoint.task_variables
        stack.enter_context(executing(simulation, options.given, variables, storage=storage, quiet=options.quiet))
        clock = PacedClock(simulation, options.speed) if options.step_ms is None else None
        service = endpoint.service(simulation)
        app = application(endpoint.answering(service, stack), clock, endpoint.report, hosts=endpoint.hosts)
        server = endpoint.server(app, lambda: _announce(endpoint))
        program = None if not options.program else Program(options.program, endpoint.variables, server)
        if program is not None:
            endpoint.companions.append(program)
        if clock is not None:
            clock.on_failure = server.end
        stack.enter_context(interrupts.held)  # a second signal must not cost the session
        caught = run(server, endpoint.listener, endpoint.companions)
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
    if caught is not None:
        return interrupts.STATUS + caught
    return DONE if program is None else program.status


class _Visible(logging.Formatter):
    """Formats what the server reports, with control characters in it as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def begin_session(options: Options, *, can_go_back: bool = False) -> Simulation:
    """Begin the session on which clients act. Raises ScenarioError.

    Its calendar begins now. Only with a step it begins at a fixed time: the log is a function of the requests.
    """
    now = datetime.now(UTC) if options.step_ms is None else None
    executes = options.given["execute"]
    return begin(options.scenario, now, options.seed, can_go_back=can_go_back, executes=executes)


class Endpoint:
    """The addresses that clients reach: listening sockets, URLs, the certificate for TLS, and the log of requests."""

    def __init__(self, options: Options, stack: ExitStack) -> None:
        """Listen, and open the files that were asked for until the end of ``stack``.

        Raises:
            click.UsageError: The address or port cannot be had.
            TargetError: A file cannot be written.
        """
        self.options = options
        given = self.given = options.given
        requests, port = given["requests"], given["port"]
        self.log = None if requests is None else stack.enter_context(closing(RequestLog(requests)))
        self.report: Report | None = self.log
        self.turns: Turns | None = None
        try:
            self.listener = stack.enter_context(http.listen(options.host, port))
        except (OSError, ValueError) as error:  # a name that cannot be looked up may be either
            place = options.host if port is None else f"port {port} of {options.host}"
            reason = reason_of(error) if isinstance(error, OSError) else error
            raise click.UsageError(f"cannot listen on {place}: {reason}") from None
        has_tls = given["tls"] or given["proxy"] is not None
        try:
            self._authority = stack.enter_context(authority()) if has_tls else None
            self._certificate = self._authority.certificate(options.names) if self._authority and given["tls"] else None
        except ValueError as error:
            raise click.UsageError(f"no certificate can name {', '.join(options.names)}: {error}") from None
        host = f"[{options.host}]" if ":" in options.host else options.host
        self.url = f"{'https' if given['tls'] else 'http'}://{host}:{self.listener.getsockname()[1]}"
        self.hosts = Hosts(options.names)
        self._job_tokens: dict[str, str] = {}
        self.credentials = options.credentials._replace(job_tokens=self._job_tokens)
        self.companions: list[Companion] = []
        self.variables = {
            "AZURE_BATCH_ACCOUNT": options.credentials.account,
            "AZURE_BATCH_ACCESS_KEY": options.credentials.key,
            "AZURE_BATCH_ENDPOINT": self.url,
        }
        self.identity: Identity | None = None
        self._proxy: Proxy | None = None
        if self._authority is not None:
            self.variables |= dict.fromkeys(("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), self._authority.file)
            self._issue_tokens(stack)

    def _issue_tokens(self, stack: ExitStack) -> None:
        """Let clients log in: service principals at this address, managed identities on loopback without TLS."""
        self.identity = identity = Identity(self.given["client_secret"])
        self.credentials = self.credentials._replace(token_fault=identity.fault)
        listener = stack.enter_context(http.listen(LOOPBACK, 0))
        self.companions.append(Plain(application(Front([identity.managed], Nothing()), report=self.log), listener))
        managed_url = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        self.variables |= identity.variables(self.url if self.given["tls"] else LOGIN, managed_url)

    def service(self, simulation: Simulation, present: Present | None = None) -> Service:
        """Return the account on a simulation."""
        options = self.options
        return Service(
            simulation,
            self.credentials,
            step_ms=options.step_ms,
            present=present,
            keep_files_s=options.keep_files_s,
            on_shift=self.on_shift,
        )

    def answering(self, service: Service, stack: ExitStack) -> Answering:
        """Return what answers at this address: the account, and the logins; open the proxy if there is to be one."""
        if self.identity is None:
            return service
        plane = Management(service, partial(self.identity.fault, audiences=AUDIENCES))
        account = Uploads(service)
        front = Front([self.identity.login, plane.door], account)
        if self.given["proxy"] is not None and self._authority is not None:
            listener = stack.enter_context(http.listen(LOOPBACK, self.given["proxy"] or None, PROXY_PORT))
            inner = stack.enter_context(http.listen(LOOPBACK, 0))
            login = Front([self.identity.login], Nothing())
            names: dict[Azure, Answering] = {Azure.BATCH: account, Azure.LOGIN: login, Azure.MANAGEMENT: plane}
            hosts = Hosts(more=azure_name)
            app = application(ByName(names, Nothing()), report=self.report, turns=self.turns, hosts=hosts)
            port, own_port = inner.getsockname()[1], self.listener.getsockname()[1]
            self._proxy = Proxy(listener, self._authority, port, own_port, self.options.storage)
            self.companions += [Plain(over_tls(app), inner), self._proxy]
            self.variables |= self._proxy.variables
            self.variables["AZURE_BATCH_ENDPOINT"] = service.azure_url
        return front

    def task_variables(self, job_id: str, has_token: bool) -> dict[str, str]:
        """Return what a task of a job needs to call this server, and only for that job: address, trust, a token."""
        trust = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
        found = {name: self.variables[name] for name in trust if name in self.variables}
        found["AZ_BATCH_ACCOUNT_URL"] = self.url
        if has_token and self._proxy is not None:  # others may want what the proxy refuses, such as packages
            found |= self._proxy.variables  # clients send a token over TLS only
            found["AZ_BATCH_ACCOUNT_URL"] = self.variables["AZURE_BATCH_ENDPOINT"]
        if has_token:
            token = secrets.token_urlsafe(_TOKEN_BYTES)
            self._job_tokens[token] = job_id.lower()
            found["AZ_BATCH_AUTHENTICATION_TOKEN"] = token
        return found

    @property
    def exports(self) -> tuple[str, ...]:
        """The lines for a shell with which clients find the account, and trust its certificate."""
        return tuple(f"export {name}={shlex.quote(value)}" for name, value in self.variables.items())

    @property
    def on_shift(self) -> Callable[[str], object] | None:
        """What is told that times of clients are read by the clock here; None where they are simulated times."""
        if self.given["own_clock"] or self.options.step_ms is not None:
            return None
        return (lambda _: None) if self.options.quiet else self.say

    say: Callable[[str], object] = staticmethod(partial(echo, err=True))
    """Tells a person something while clients are served."""

    @property
    def places(self) -> tuple[str, ...]:
        """The lines that say where clients are answered, and what they have to trust."""
        proxy = [] if self._proxy is None else [f"proxy on http://{LOOPBACK}:{self._proxy.port}"]
        trusted = [] if self._authority is None else [f"authority {self._authority.file}"]
        return (f"listening on {self.url}", *proxy, *trusted)

    @property
    def warning(self) -> str:
        """A sentence about who can act on the run without being given the key, or from elsewhere; "" if nobody can."""
        address = ip_address(address_of(self.listener.getsockname()[0].partition("%")[0]))
        credentials = self.options.credentials
        if address.is_loopback:
            each = "Every program on this machine can act on this simulation, without a key."
            return each if credentials.any_key else ""
        has_key = credentials.key != DEFAULT_KEY and not credentials.any_key
        is_own = has_key and (self.identity is None or self.given["client_secret"] is not None)
        place = f"any address of this machine ({address})" if address.is_unspecified else self.options.host
        who = f"Whoever can reach {place}" + (" and has the key" if is_own else "")
        public = "by a login with any secret" if has_key else "with the default key, which is public,"
        ways = [] if is_own else ["without a key" if credentials.any_key else public]
        ways += [] if self.given["tls"] else ["without encryption"]
        return f"{who} can act on this simulation{', ' if ways else ''}{' and '.join(ways).removesuffix(',')}."

    def server(self, app: ASGIApp, on_start: Callable[[], None]) -> http.Server:
        """Return a server of the application, which calls ``on_start`` once it accepts connections."""
        return http.Server(app, on_start, self._certificate)


def _announce(endpoint: Endpoint) -> None:
    """Say that the server accepts connections, and how clients reach it."""
    lines = [*endpoint.places, *filter(None, [endpoint.warning])]
    if not endpoint.options.quiet:
        lines += ["", *endpoint.exports]
    echo("\n".join(lines), err=True)


class Program:
    """A program that is run with the server and its environment; the server ends with it."""

    status = DONE
    """Its exit status; 127 if it cannot be found, 128 and the number of the signal that ended it."""

    def __init__(self, command: tuple[str, ...], variables: Mapping[str, str], server: http.Server) -> None:
        self._command = command
        self._variables = variables
        self._server = server
        self._ends = asyncio.Event()

    async def run(self) -> None:
        """Run the program once the server accepts connections, until it or the server ends."""
        while not self._server.started:
            if self._ends.is_set():
                return  # the server has never accepted any
            await asyncio.sleep(_SOON_S)
        environment = {**os.environ, **self._variables}
        try:
            process = await asyncio.create_subprocess_exec(*self._command, env=environment)
        except OSError as error:
            is_missing = isinstance(error, FileNotFoundError)
            reason = "there is no such program" if is_missing else reason_of(error)
            echo(f"cannot run {visible(self._command[0])}: {reason}", err=True)
            self.status = _NOT_FOUND if is_missing else _NOT_EXECUTABLE
        else:
            waiting = asyncio.ensure_future(self._ends.wait())
            ended = asyncio.ensure_future(process.wait())
            await asyncio.wait([ended, waiting], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            await _end(process)
            code = await ended
            self.status = code if code >= 0 else interrupts.STATUS - code
        self._server.end()

    def end(self) -> None:
        """Let ``run`` end the program."""
        self._ends.set()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a program if it runs: what reads the terminal has had the same signal, and some time to end by itself."""
    for act in (process.terminate, process.kill):
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.wait()), _PATIENCE_S)
        if process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            act()


_SOON_S = 0.01
_TOKEN_BYTES = 32
_PATIENCE_S = 3.0
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
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
        self._stack = stack
        self._present: Present | None = None
        self._server: http.Server | None = None
        self._on_request: Callable[[ClientRequest], None] = lambda _: None
        self.save_to = options.given["save"]

    def attach(self, served: Served) -> None:
        """Prepare to serve, see ``tui.app.process.Host``."""
        self._on_request = served.on_request
        self.say = served.warn
        if self.log is not None:
            self.log.on_failure = served.warn
        self._present = Present(self._simulation, served.newest_ms, served.speed)
        self.report, self.turns = self._report, Turns(served.pause)
        service = self.service(self._simulation, self._present)
        app = application(self.answering(service, self._stack), report=self.report, turns=self.turns, hosts=self.hosts)
        self._server = self.server(app, lambda: None)

    async def serve(self) -> None:
        """Serve until ``end`` is called."""
        assert self._server is not None
        await serve_with(self._server, self.listener, self.companions)

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
