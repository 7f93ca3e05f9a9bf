"""The clock of a server: simulated time on the event loop that also serves requests."""

from __future__ import annotations

import asyncio

from engine.rest.session import PacedClock
from tests.builders import a_job, simulation


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
