"""``python -m tests.bench.flood [--clients N] [--keys N]``: what clients do to the dashboard that serves them.

Clients in processes of their own send requests as fast as they are answered to a dashboard whose time goes by. The time
from a key to the screen is told by the clock, beside what it is without clients: with them it has to stay below the
budget. Exit status 1 if it does not.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base import gc_pause
from engine.rest.session import begin
from tests.bench.dashboard import show
from tests.bench.stage import percentile
from tests.bench.terminal import Terminal
from tui.app.dashboard import Dashboard
from tui.cli.hosting import DashboardHost
from tui.cli.serving import Options
from tui.settings.values import Settings, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BUDGET_MS = 200
ROW = "{:<34} {:>8} {:>8} {:>8} {:>12}"
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

    def _report(self, *answered) -> None:
        self.answered += 1
        super()._report(*answered)


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


async def measure(app: Dashboard, host: CountingHost, arguments: argparse.Namespace) -> bool:
    """Print a line for each kind of request; return whether all keys have shown in time."""
    terminal, screen = app._driver, app.screen_stack[0]
    assert isinstance(terminal, Terminal)
    port = int(host.url.rpartition(":")[2])
    app.session.simulation.run_until(1_800_000)
    screen.playback.play()
    print(
        ROW.format("key to screen, in ms, while clients", "median", "95 %", "longest", "requests/s"),
        file=sys.__stdout__,
        flush=True,
    )
    holds = True
    for kind, clients in (("none", 0), *((kind, arguments.clients) for kind in ("read", "list", "add"))):
        with flooding(port, clients, kind):
            await asyncio.sleep(1)
            began_s, before = time.perf_counter(), host.answered
            seen = []
            for key, _ in zip(cycle("42"), range(arguments.keys), strict=False):
                seen.append((await terminal.press(key, opened(screen), 0.05)).clock_s * 1000)
                await asyncio.sleep(0.05)
            rate = (host.answered - before) / (time.perf_counter() - began_s)
        seen.sort()
        holds = holds and percentile(seen, 95) <= BUDGET_MS
        times = (f"{ms:.0f}" for ms in (percentile(seen, 50), percentile(seen, 95), seen[-1]))
        print(ROW.format(f"{clients} clients: {kind}", *times, f"{rate:,.0f}"), file=sys.__stdout__, flush=True)
    return holds


def opened(screen) -> Callable[[], str | None]:
    """The title of another view than the present one, as soon as it is there."""
    before = screen.view.id

    return lambda: None if screen.view.id == before else screen.view.title


def main() -> int:
    """Measure, print, and say whether every key has shown in time."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.flood", description=__doc__)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--keys", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        file = Path(directory) / "flood.yaml"
        file.write_text(SCENARIO, encoding="utf-8")
        options = Options(
            scenario=None, host="127.0.0.1", port=0, account="localbatch", key="", any_key=True, speed=60, step_ms=None,
            seed=None, save=None, requests=None, tls=False, quiet=True,
        )  # fmt: skip
        simulation = begin(str(file), None, can_go_back=True)
        host = CountingHost(simulation, options, stack)
        settings = Settings()
        settings.use("speed", 60.0, Source.COMMAND_LINE)
        app = Dashboard(simulation, settings, plays=False, host=host)
        found: list[bool] = []

        async def act() -> None:
            found.append(await measure(app, host, arguments))

        with gc_pause.relaxed(gc_pause.FOR_FRAMES):
            asyncio.run(show(app, (120, 40), act))
    return 0 if found and found[0] else 1


if __name__ == "__main__":
    sys.exit(main())
