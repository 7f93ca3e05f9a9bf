"""The clock of a server: simulated time on the event loop that also serves requests."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import pytest

from engine.rest.messages import Request
from engine.rest.service import Credentials, Service
from engine.rest.session import PacedClock, shifted
from tests.builders import a_job, simulation
from tests.rest.wire import DATE_S


async def until(holds):
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.005)


def test_time_goes_on_when_nothing_happens_any_more():
    sim = simulation(until="P30D", pools=[])
    clock = PacedClock(sim, speed=3600)

    async def play():
        async with clock.running():
            await until(lambda: sim.now_ms > 600_000)
        return sim.now_ms

    stopped_ms = asyncio.run(play())
    assert sim.now_ms == stopped_ms
    assert clock.failure is None


def test_a_simulation_that_fails_is_reported_once_and_ends_the_clock(monkeypatch):
    sim = simulation(a_job(), until="P30D")
    clock, told = PacedClock(sim), []
    clock.on_failure = lambda: told.append(True)

    def fail(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(sim, "advance", fail)

    async def play():
        async with clock.running():
            await until(lambda: told)

    asyncio.run(play())
    assert isinstance(clock.failure, RuntimeError)
    assert told == [True]


def test_a_command_after_the_end_of_the_run_is_refused(account):
    batch = account(a_job(), until="PT1H")
    batch.simulation.run_until(3_600_000)
    refused = batch.post("/jobs/j/terminate")
    assert (refused.status, refused.code) == (409, "OperationInvalidForCurrentState")
    assert batch.get("/jobs/j").status == 200


# -- times of clients, who read a clock of their own -----------------------------------------------------------------

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("sent", "meant", "kinds"),
    [
        ('{"startTime": "2026-01-05T08:00:00Z"}', '{"startTime": "2026-01-05T09:00:00Z"}', {"startTime"}),
        ('{"a": [{"doNotRunUntil":"2026-01-05T08:00:00.5+00:00"}]}', '"2026-01-05T09:00:00Z"', {"doNotRunUntil"}),
        (r'{"endTime": "2026-01-05T08:00:00\u002B00:00"}', '"2026-01-05T09:00:00Z"', {"endTime"}),
        ('{"httpUrl": "https://s/c?sv=1&se=2026-01-05T08%3A00%3A00Z&sig=x"}', "&se=2026-01-05T09%3A00%3A00Z&", {"se="}),
        (r'{"httpUrl": "https://s/c?sv=1\u0026se=2026-01-05\u0026sig=x"}', r"\u0026se=2026-01-05T01%3A00", {"se="}),
        ('{"commandLine": "get \'https://s/c?se=2026-01-05T08:00:00Z\'"}', "se=2026-01-05T09%3A00%3A00Z'", {"se="}),
        ('{"httpUrl": "https://s/c?se=soon%3A&sig=x"}', "?se=soon%3A&sig=x", set()),
        ('{"startTime": null, "endTime": "soon", "x": "9999-12-31T23:59:59Z"}', '"soon", "x": "9999', set()),
        ('{"endTime": "9999-12-31T23:59:59Z"}', '"9999-12-31T23:59:59Z"', set()),
        (r'{"commandLine": "echo \"startTime\": \"2026-01-05T08:00:00Z\""}', "2026-01-05T08:00:00Z", set()),
    ],
)
def test_times_of_clients_are_as_far_from_the_present_as_they_mean(sent, meant, kinds):
    moved, found = shifted(sent.encode(), HOUR)
    assert meant in moved.decode()
    assert json.loads(moved).keys() == json.loads(sent).keys()
    assert found == kinds


def test_it_is_said_once_which_times_are_read_by_the_clock_of_clients():
    sim, said = simulation(until="P30D", pools=[]), []
    batch = Service(sim, Credentials(any_key=True), utc_s=lambda: DATE_S - 1800, on_shift=said.append)
    for job_id in "ab":
        body = {"id": job_id, "schedule": {"doNotRunUntil": "2026-01-05T08:00:00Z"}, "jobSpecification": {}}
        body["jobSpecification"]["poolInfo"] = {"poolId": "p"}
        request = Request("POST", "/jobschedules", "api-version=2025-06-01", {}, json.dumps(body).encode())
        assert batch.answer(request).status == 201
    assert len(said) == 1
    assert said[0].startswith("doNotRunUntil of clients is read by the clock here; simulated time is PT30M ahead")
    assert sim.world.job_schedules.find("a").spec.schedule.do_not_run_until.isoformat() == "2026-01-05T08:30:00+00:00"
