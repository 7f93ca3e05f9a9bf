"""An endpoint that fails its clients as a scenario says (GEN-22)."""

from __future__ import annotations

import asyncio
import tracemalloc
from itertools import count

from engine.rest.messages import Request
from engine.rest.server import application
from engine.rest.service import Credentials, Service, ServiceFaults
from engine.specs.common import SimulateService
from tests import builders

QUERY = "api-version=2025-06-01"


def service(step_ms=None, wall_s=lambda: 0.0, seed=0, **settings):
    sim = builders.simulation(until="P30D", pools=[], seed=seed, simulate={"service": settings})
    return Service(sim, Credentials(any_key=True), step_ms=step_ms, wall_s=wall_s)


def ask(one, method="GET", path="/pools", body=b""):
    return one.answer(Request(method, path, QUERY, {}, body))


def statuses(one, times, **more):
    return [ask(one, **more).status for _ in range(times)]


def test_gen_22_nothing_fails_unless_the_scenario_says_so():
    assert set(statuses(service(), 500)) == {200}


def test_a_share_of_the_requests_fails_and_says_when_to_repeat_them():
    one = service(errorRate=0.2)
    found = [ask(one) for _ in range(500)]
    failed = [answer for answer in found if answer.status != 200]
    assert 70 <= len(failed) <= 130
    assert {(answer.status, answer.code, answer.headers["Retry-After"]) for answer in failed} == {
        (500, "InternalError", "1")
    }
    assert b"errorRate" in failed[0].body


def test_the_same_seed_fails_the_same_requests_whatever_others_are_made_between():
    alone, disturbed, other = service(errorRate=0.5), service(errorRate=0.5), service(errorRate=0.5, seed=1)
    wanted = statuses(alone, 64)
    seen = []
    for _ in range(64):
        ask(disturbed, path="/jobs")
        seen += statuses(disturbed, 1)
    assert seen == wanted
    assert statuses(other, 64) != wanted


def test_a_request_that_fails_has_no_effect():
    one = service(errorRate=1)
    assert ask(one, "POST", "/jobs", b'{"id": "j", "poolInfo": {"poolId": "p"}}').status == 500
    assert len(one.simulation.log) == 0
    assert one.simulation.journal.by_hand() == []


def test_requests_beyond_the_throttle_are_refused_until_time_has_passed():
    now_s = [0.0]
    one = service(wall_s=lambda: now_s[0], throttle=2)
    assert statuses(one, 4) == [200, 200, 503, 503]
    busy = ask(one)
    assert (busy.code, busy.headers["Retry-After"]) == ("ServerBusy", "1")
    now_s[0] = 0.5
    assert statuses(one, 2) == [200, 503]
    now_s[0] = 60.0
    assert statuses(one, 3) == [200, 200, 503]


def test_a_throttle_below_one_request_a_second_lets_requests_through():
    now_s = [0.0]
    one = service(wall_s=lambda: now_s[0], throttle=0.1)
    assert statuses(one, 2) == [200, 503]
    now_s[0] = 10.0
    assert statuses(one, 2) == [200, 503]


def test_where_requests_move_time_the_throttle_counts_simulated_seconds():
    def wall_s():
        raise AssertionError("the wall clock is read")

    one = service(step_ms=1000, wall_s=wall_s, throttle=1)
    assert statuses(one, 9) == [200] * 9
    body = b'{"id": "j", "poolInfo": {"poolId": "p"}}'
    assert [ask(one, "POST", "/jobs", body).status != 503 for _ in range(4)] == [True, False, True, False]


def test_requests_without_a_valid_key_do_not_count():
    sim = builders.simulation(until="P30D", pools=[], simulate={"service": {"throttle": 1}})
    one = Service(sim, wall_s=lambda: 0.0)
    assert statuses(one, 3) == [401, 401, 401]


def test_answers_are_late_by_what_is_drawn_for_them():
    one = service(latency={"uniform": [0.1, 0.3]})
    delays = [ask(one).delay_s for _ in range(50)]
    assert all(0.1 <= delay_s <= 0.3 for delay_s in delays)
    assert len(set(delays)) > 20
    assert delays == [ask(again).delay_s for again in [service(latency={"uniform": [0.1, 0.3]})] for _ in range(50)]
    assert ask(one, path="/jobs/none").delay_s >= 0.1


def test_the_application_waits_while_it_serves_others(monkeypatch):
    waiting, all_wait = [], asyncio.Event()

    async def sleep_together(seconds):
        waiting.append(seconds)
        if len(waiting) == 3:
            all_wait.set()
        await asyncio.wait_for(all_wait.wait(), 20)

    served = application(service(latency=0.2))
    path = {
        "path": "/pools",
        "raw_path": b"/pools",
        "query_string": QUERY.encode(),
        "headers": [(b"host", b"localhost")],
    }
    scope = {"type": "http", "method": "GET", "scheme": "http", "server": ("127.0.0.1", 80), "root_path": ""} | path

    async def ask_once(found):
        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            found.append(message.get("status"))

        await served(dict(scope), receive, send)

    async def ask_thrice():
        found = []
        await asyncio.gather(*(ask_once(found) for _ in range(3)))
        return found

    monkeypatch.setattr(asyncio, "sleep", sleep_together)
    assert asyncio.run(ask_thrice()).count(200) == 3
    assert waiting == [0.2] * 3


def test_the_throttle_takes_no_memory_for_each_request():
    clock_s = count()
    faults = ServiceFaults(SimulateService(throttle=5), 0, lambda: next(clock_s))
    for number in range(5):
        faults.check(f"operation {number}")
    tracemalloc.start()
    try:
        for number in range(5000):
            faults.check(f"operation {number % 5}")
        assert tracemalloc.get_traced_memory()[0] < 2000
    finally:
        tracemalloc.stop()
