"""Requests in the server, through the ASGI application without a socket.

Beside each stands the same exchange with a bare Starlette application that has a canned answer of the same bytes. All
times are processor time; where more is running than there are processors, which slow each other down, the fastest
counts.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from email.utils import formatdate
from itertools import count, cycle
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from engine import Simulation, load_scenario
from engine.base import runtime
from engine.base.values import HOUR_MS
from engine.rest.messages import Request
from engine.rest.server import application
from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY, Service, signature
from tests.bench.one import peak_bytes
from tests.bench.results import Result

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from starlette.requests import Request as WireRequest
    from starlette.types import ASGIApp

    from tests.bench.results import Sheet

HOST = "127.0.0.1:8100"


def scenario(tasks: int) -> str:
    """A sweep of so many tasks on fifty nodes, and a job to which clients add tasks."""
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 50, "taskSlotsPerNode": 2}
    task = {"id": "t{0}", "commandLine": "price {0}"}
    sweep = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": tasks}], "repeatTask": task}
    jobs = [{"id": "j", "poolInfo": {"poolId": "p"}, "taskFactory": sweep}, {"id": "k", "poolInfo": {"poolId": "p"}}]
    return json.dumps({"scenario": "endpoint", "until": "P30D", "pools": [pool], "jobs": jobs})


def signed(method: str, path: str, query: str = "", body: bytes = b"") -> Request:
    """A request as a client signs it."""
    headers = {"host": HOST, "ocp-date": formatdate(usegmt=True)}
    if body:
        headers |= {"content-length": str(len(body)), "content-type": "application/json; odata=minimalmetadata"}
    request = Request(method, path, f"api-version=2025-06-01{query}", headers, body)
    proof = signature(request, DEFAULT_ACCOUNT, DEFAULT_KEY)
    return Request(
        method, path, request.query_string, headers | {"authorization": f"SharedKey {DEFAULT_ACCOUNT}:{proof}"}, body
    )


async def ask(app: ASGIApp, request: Request) -> tuple[int, bytes]:
    """Send a request to an application in this process; return status and body of the answer."""
    scope = {
        "type": "http",
        "method": request.method,
        "scheme": "http",
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query_string.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in request.headers.items()],
        "server": ("127.0.0.1", 8100),
        "http_version": "1.1",
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def bare(status: int, body: bytes) -> Starlette:
    """An application that reads a request and gives always the same answer."""

    async def answer(request: WireRequest) -> Response:
        await request.body()
        return Response(body, status, media_type="application/json")

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])


class Case(NamedTuple):
    """What is asked for, and how long it may take; without a budget it is only told."""

    what: str
    budget_ms: float | None
    requests: Iterator[Request]
    rounds: int


async def costs_ms(app: ASGIApp, requests: Iterator[Request], rounds: int) -> tuple[list[float], int, bytes]:
    """The processor time of each request, and the last answer."""
    costs = []
    status, body = await ask(app, next(requests))
    for _ in range(rounds):
        request = next(requests)
        began_s = time.process_time()
        status, body = await ask(app, request)
        costs.append((time.process_time() - began_s) * 1000)
    return costs, status, body


def collections() -> Iterator[Request]:
    """Collections of a hundred tasks with new ids."""
    settings = {"constraints": {"maxTaskRetryCount": 3}, "environmentSettings": [{"name": "A", "value": "1"}]}
    for number in count():
        tasks = [{"id": f"x{number}-{each}", "commandLine": f"price {each}"} | settings for each in range(100)]
        yield signed("POST", "/jobs/k/addtaskcollection", body=json.dumps({"value": tasks}).encode())


def page(job: str, last: int, more: str = "") -> Iterator[Request]:
    """The page of a job's tasks that follows the task in row ``last``, again and again."""
    token = base64.urlsafe_b64encode(json.dumps(last).encode()).decode()
    return cycle([signed("GET", f"/jobs/{job}/tasks", f"&%24skiptoken={quote(token)}{more}")])


def cases(tasks: int, rounds: int) -> list[Case]:
    """Everything that is measured; the collections come first, since a page of their tasks is asked for."""

    def again(path: str, query: str = "") -> Iterator[Request]:
        return cycle([signed("GET", path, query)])

    few = max(5, rounds // 10)
    return [
        Case("collection of 100 tasks", 10, collections(), few),
        Case("task that has ended", 1, again("/jobs/j/tasks/t5"), rounds),
        Case("task that waits, in the middle of the job", 1, again(f"/jobs/j/tasks/t{tasks // 2}"), rounds),
        Case("page of 1,000 ended tasks", 30, page("j", -1), few),
        Case("page of 1,000 waiting tasks near the end", 30, page("j", tasks - 1001), few),
        Case("page of tasks from collections", 30, page("k", -1), few),
        Case("page of a filter that nothing passes", None, page("j", -1, "&%24filter=id%20eq%20%27-%27"), few),
        Case("pool", 1, again("/pools/p"), rounds),
        Case("page of 50 busy nodes", None, again("/pools/p/nodes"), few),
    ]


async def _requests(sheet: Sheet, app: ASGIApp, wanted: list[Case]) -> None:
    """Add the cost of each case in ms, and as a multiple of the bare application's."""
    for case in wanted:
        costs, status, body = await costs_ms(app, case.requests, case.rounds)
        if status != 200:
            raise SystemExit(f"{case.what}: {status} {body[:300]!r}")
        floor, _, _ = await costs_ms(bare(status, body), case.requests, case.rounds)
        is_quiet = os.getloadavg()[0] <= (os.cpu_count() or 1)
        counts = tuple(costs) if is_quiet else (min(costs),)
        sheet.add(Result(case.what, "", counts, case.budget_ms, "ms", remark=f"{len(body):,} bytes"))
        sheet.add(Result(f"{case.what}, over bare", "bare Starlette", (median(costs) / median(floor),)))


async def walk(app: ASGIApp) -> tuple[list[float], int]:
    """Follow the links from the first page of a job's tasks to the last; return the cost of each page, and bytes.

    The bytes are those by which the largest size of the process has grown after the first tenth of the pages.
    """
    costs: list[float] = []
    sizes: list[int] = []
    request: Request | None = signed("GET", "/jobs/j/tasks")
    while request is not None:
        began_s = time.process_time()
        status, body = await ask(app, request)
        costs.append((time.process_time() - began_s) * 1000)
        sizes.append(peak_bytes())
        if status != 200:
            raise SystemExit(f"a page: {status} {body[:300]!r}")
        # The link is behind the tasks: a page is not parsed for it.
        link = (
            json.loads("{" + body[body.rindex(b"]") + 2 :].decode()).get("odata.nextLink")
            if body[-2:] != b"]}"
            else None
        )
        request = None if link is None else _following(link)
    return costs, sizes[-1] - sizes[len(sizes) // 10]


def _following(link: str) -> Request:
    parts = urlsplit(link)
    return signed("GET", parts.path, parts.query.removeprefix("api-version=2025-06-01"))


async def _run(sheet: Sheet, service: Service, tasks: int, rounds: int) -> None:
    """Measure all cases, and the walk through all pages."""
    app = application(service)
    await _requests(sheet, app, cases(tasks, rounds))
    costs, grown = await walk(app)
    third = max(1, len(costs) // 3)
    waiting = costs[third:]  # those of tasks that have ended are longer
    last, first = median(waiting[-third:]), median(waiting[:third])
    remark = f"{len(costs):,} pages of {tasks:,} tasks; {first:.1f} ms after the first third, {last:.1f} at the end"
    sheet.add(Result("page at the end of a walk through all", "page near its begin", (last / first,), remark=remark))
    sheet.add(Result("growth of the process during the walk", "", (grown / 1e6,), unit="MB"))


def measure(sheet: Sheet, arguments: argparse.Namespace) -> None:
    """Measure an account three hours after its start."""
    simulation = Simulation(load_scenario("endpoint", text=scenario(arguments.tasks)), can_go_back=False)
    simulation.run_until(3 * HOUR_MS)
    service = Service(simulation)
    with runtime.gc_relaxed():  # as the server does
        asyncio.run(_run(sheet, service, arguments.tasks, arguments.requests))
