"""An account for tests: a server on a free port of this machine, in a thread beside the test.

>>> with local_account("pools.yaml", step="PT10S") as account:
...     client = BatchClient(account.endpoint, AzureNamedKeyCredential(account.name, account.key))
...     ...
...     assert account.simulation.world.jobs.find("risk") is not None
...     account.save("session.yaml")
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from engine.base.partial_files import PartialFile
from engine.rest.server import Server, application, listen
from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY, Credentials, Service
from engine.rest.session import KEEP_FILES_S, PacedClock, begin, saved
from engine.specs.base import parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from socket import socket

    from engine.run.simulation import Simulation

DEFAULT_STEP = "PT10S"

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class LocalAccount:
    """An account that clients reach at ``endpoint`` with ``name`` and ``key``.

    ``simulation`` is what happens behind it. Where only requests move time it stands still between them and can be read
    at any moment; otherwise read it through ``call``.
    """

    def __init__(
        self, simulation: Simulation, server: _Background, clock: PacedClock | None, name: str, key: str
    ) -> None:
        """Describe an account that is served by ``server``."""
        self.simulation = simulation
        self.endpoint = f"http://127.0.0.1:{server.port}"
        self.name = name
        self.key = key
        self._server = server
        self._clock = clock

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which ``az batch`` and other programs find the account."""
        return {
            "AZURE_BATCH_ACCOUNT": self.name,
            "AZURE_BATCH_ACCESS_KEY": self.key,
            "AZURE_BATCH_ENDPOINT": self.endpoint,
        }

    def call(
        self, function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Result:
        """Call a function between two requests, while no time passes, and return its result."""
        return self._server.call(lambda: function(*args, **kwargs))

    def advance(self, duration: str | float) -> None:
        """Let simulated time pass: an ISO 8601 duration or seconds. Raises ValueError if it is neither."""
        ms = parse_time(duration)

        def advance() -> None:
            self.simulation.run_until(self.simulation.now_ms + ms)
            if self._clock is not None:
                self._clock.pacer.speed = self._clock.pacer.speed  # goes on from here

        self.call(advance)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what clients did as a scenario that replays to the same log. The file is there whole or not at all."""
        text, target = self.call(saved, self.simulation), Path(path)
        file = PartialFile(target.parent, target.name)
        try:
            file.stream.write(text.encode())
            file.move(target)
        finally:
            file.discard()


class _Background:
    """A server in a thread of its own."""

    def __init__(self, server: Callable[[Callable[[], None]], Server]) -> None:
        """Listen on a free port. ``server`` makes the server from what it calls when it accepts connections."""
        self._listener: socket = listen("127.0.0.1", 0)
        self.port: int = self._listener.getsockname()[1]
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._server = server(lambda: self._started.set_result(asyncio.get_running_loop()))
        self._thread = Thread(target=self._run, name="batchdeck", daemon=True)

    def start(self) -> None:
        """Return when connections are accepted; raise what keeps the server from that."""
        self._thread.start()
        self._started.result()

    def call(self, function: Callable[[], Result]) -> Result:
        """Call a function in the server's thread, or here if that has ended."""
        if not self._thread.is_alive():
            return function()

        async def call() -> Result:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._started.result()).result()

    def stop(self) -> None:
        """End the server; return when it has ended."""
        self.call(self._server.end)
        self._thread.join()
        self._listener.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._server.serve([self._listener]))
        except BaseException as error:
            if self._started.done():
                raise
            self._started.set_exception(error)
        if not self._started.done():
            self._started.set_exception(RuntimeError("the server has ended before it accepted connections"))


@contextmanager
def local_account(
    scenario: str | os.PathLike[str] | None = None,
    *,
    step: str | float | None = None,
    speed: float | None = None,
    seed: int | None = None,
    name: str = DEFAULT_ACCOUNT,
    key: str = DEFAULT_KEY,
    any_key: bool = False,
    now: datetime | None = None,
) -> Iterator[LocalAccount]:
    """Serve an account for as long as the ``with`` block lasts.

    Args:
        scenario: What clients find: a file, or the name of a bundled scenario. Without one the account is empty.
        step: Time stands still, and each request that reads moves it by this duration afterwards (ISO 8601 or seconds).
            The log is then a function of the requests. This is the default, with ``DEFAULT_STEP``.
        speed: Let time pass by the wall clock instead, so many simulated seconds per real second.
        seed: The random seed, instead of the scenario's.
        name: The name of the account.
        key: Its key, in base 64.
        any_key: Accept any account, key, date and token, or none, for clients with tokens or a clock of their own.
        now: Where the simulated calendar begins, unless the scenario says so. By default it begins on 2026-01-05 at
            08:00 UTC, so that the log is always the same, and with ``speed`` at the real present. Give one if your
            program compares times of the service with its own clock.

    Raises:
        ScenarioError: The scenario has mistakes.
        ValueError: Both step and speed are given, or a value is wrong.
    """
    if step is not None and speed is not None:
        raise ValueError("give a step or a speed, not both")
    if speed is not None and speed <= 0:
        raise ValueError(f"a speed must be above 0, not {speed:g}")
    step_ms = parse_time(DEFAULT_STEP if step is None else step) if speed is None else None
    path = None if scenario is None else os.fspath(scenario)
    simulation = begin(path, now or (None if speed is None else datetime.now(UTC)), seed)
    clock = None if speed is None else PacedClock(simulation, speed)
    kept_s = 0.0 if speed is None else KEEP_FILES_S
    service = Service(simulation, Credentials(name, key, any_key), step_ms=step_ms, keep_files_s=kept_s)
    server = _Background(lambda on_start: Server(application(service, clock), on_start))
    server.start()
    try:
        yield LocalAccount(simulation, server, clock, name, key)
    finally:
        server.stop()
    if clock is not None and clock.failure is not None:
        raise clock.failure
