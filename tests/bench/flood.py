"""Keys of a dashboard while clients in processes of their own send it requests as fast as they are answered.

The time from a key to the screen is told by the clock, beside what it is without clients.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base import runtime
from engine.rest.session import begin
from tests.bench.results import Result
from tests.bench.stage import percentile, show
from tests.bench.terminal import Terminal
from tui.app.dashboard import Dashboard
from tui.cli.executing import ClientsAndPrograms
from tui.cli.serving import Credentials, DashboardHost, Options
from tui.saving.settings import Settings, Source

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from tests.bench.results import Sheet

_MOST_MS = 200  # for 95 keys of 100
CLIENT = """
import http.client, itertools, json, sys
port, number, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
connection = http.client.HTTPConnection("127.0.0.1", port)
tasks = lambda n: {"value": [{"id": f"c{number}-{n}-{each}", "commandLine": "work"} for each in range(100)]}
asks = {
    "read": lambda n: ("GET", "/jobs/job/tasks/t5", None),
    "list": lambda n: ("GET", "/jobs/job/tasks", None),
    "add": lambda n: ("POST", "/jobs/job/addtaskcollection", json.dumps(tasks(n))),
}
for n in itertools.count():
    method, path, body = asks[kind](n)
    connection.request(method, path + "?api-version=2025-06-01", body)
    connection.getresponse().read()
"""
SCENARIO = """
scenario: flood
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 200}]
jobs:
  - id: job
    poolInfo: {poolId: p}
    taskFactory: {type: parametricSweep, parameterSets: [{start: 1, end: 20000}],
                  repeatTask: {id: "t{0}", commandLine: work, simulate: {duration: PT5M}}}
"""


class CountingHost(DashboardHost):
    """The host of the dashboard, with the number of requests that it has answered."""

    answered = 0

    def attach(self, served) -> None:
        def count(request) -> None:
            self.answered += 1
            served.on_request(request)

        super().attach(served._replace(on_request=count))


@contextmanager
def flooding(port: int, clients: int, kind: str) -> Iterator[None]:
    """So many clients send as fast as they can."""
    command = [sys.executable, "-c", CLIENT, str(port)]
    started = [subprocess.Popen([*command, str(each), kind], stderr=subprocess.DEVNULL) for each in range(clients)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


async def _keys(sheet: Sheet, app: Dashboard, host: CountingHost, arguments: argparse.Namespace) -> None:
    """Add the time that 95 of 100 keys take at most, for each kind of request."""
    terminal, screen = app._driver, app.screen_stack[0]
    assert isinstance(terminal, Terminal)
    port = int(host.url.rpartition(":")[2])
    app.session.simulation.run_until(1_800_000)
    screen.playback.play()
    for kind, clients in (("nothing", 0), *((kind, arguments.clients) for kind in ("read", "list", "add"))):
        with flooding(port, clients, kind):
            await asyncio.sleep(1)
            began_s, before = time.perf_counter(), host.answered
            seen = []
            for key, _ in zip(cycle("42"), range(arguments.keys), strict=False):
                seen.append((await terminal.press(key, opened(screen), 0.05)).clock_s * 1000)
                await asyncio.sleep(0.05)
            rate = (host.answered - before) / (time.perf_counter() - began_s)
        what = f"key to screen while {clients} clients {kind}" if clients else "key to screen without clients"
        remark = f"median {percentile(seen, 50):.0f}, longest {max(seen):.0f} ms; {rate:,.0f} requests a second"
        sheet.add(Result(what, "", (percentile(seen, 95),), _MOST_MS, "ms", remark=remark))


def opened(screen) -> Callable[[], str | None]:
    """The title of another view than the present one, as soon as it is there."""
    before = screen.view.id

    return lambda: None if screen.view.id == before else screen.view.title


def measure(sheet: Sheet, arguments: argparse.Namespace) -> None:
    """Measure keys on a dashboard that serves clients."""
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        file = Path(directory) / "flood.yaml"
        file.write_text(SCENARIO, encoding="utf-8")
        options = Options(
            scenario=None, given=dict.fromkeys(ClientsAndPrograms.__annotations__) | {"port": 0},
            host="127.0.0.1", credentials=Credentials(any_key=True), speed=60, step_ms=None, seed=None, quiet=True,
        )  # fmt: skip
        simulation = begin(str(file), None, can_go_back=True)
        host = CountingHost(simulation, options, stack)
        settings = Settings()
        settings.use("speed", 60.0, Source.COMMAND_LINE)
        app = Dashboard(simulation, settings, plays=False, host=host)
        with runtime.gc_relaxed(runtime.FOR_FRAMES):
            asyncio.run(show(app, (120, 40), lambda: _keys(sheet, app, host, arguments)))
