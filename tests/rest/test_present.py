"""Clients act on the present while the screen shows the past."""

from __future__ import annotations

import json

import pytest

from engine import BatchError, Simulation, load_scenario
from engine.rest.messages import Request
from engine.rest.service import Credentials, Service
from engine.rest.session import Present, saved
from tests.builders import a_job, a_pool, a_task, scenario

QUERY = "api-version=2025-06-01"
MINUTE_MS = 60_000


class Screen:
    """A run on a screen, with clients: ``wall_s`` is the wall clock, sixty simulated seconds pass in each second."""

    def __init__(self):
        jobs = [a_job(tasks=[a_task(f"t{number}", 120) for number in range(4)])]
        self.shown = Simulation(scenario(*jobs, pool=a_pool(nodes=2), until="P30D"))
        self.shown.awaits_commands = True
        self.wall_s = 0.0
        self.newest_ms = 0
        self.present = Present(self.shown, lambda: self.newest_ms, lambda: 60.0, lambda: self.wall_s)
        self.service = Service(self.shown, Credentials(any_key=True), present=self.present)
        self.go(5 * MINUTE_MS)

    def go(self, when_ms):
        self.shown.seek(when_ms)
        self.newest_ms = max(self.newest_ms, self.shown.now_ms)

    def ask(self, method, path, body=None):
        content = b"" if body is None else json.dumps(body).encode()
        answer = self.service.answer(Request(method, path, QUERY, {}, content))
        return answer.status, answer.code

    def reason(self, path):
        """Return why a request finds nothing."""
        answer = self.service.answer(Request("GET", path, QUERY, {}, b""))
        assert answer.status == 404
        return {each["key"]: each["value"] for each in json.loads(answer.body)["values"]}.get("Reason", "")

    def add_job(self, job_id):
        return self.ask("POST", "/jobs", {"id": job_id, "poolInfo": {"poolId": "p"}})

    def pass_wall_time(self, seconds):
        self.present.advance()
        self.wall_s += seconds
        self.present.advance()


@pytest.fixture
def screen():
    return Screen()


def test_in_the_present_clients_act_on_the_run_on_the_screen(screen):
    assert screen.add_job("new") == (201, "")
    assert screen.service.simulation is screen.shown
    assert screen.shown.world.jobs.find("new") is not None


def test_in_the_past_clients_go_on_in_the_present_and_the_screen_stays(screen):
    screen.add_job("before")
    screen.go(MINUTE_MS)
    assert screen.ask("GET", "/jobs/before") == (200, "")
    assert screen.add_job("new") == (201, "")
    assert screen.ask("GET", "/jobs/new") == (200, "")
    assert screen.shown.now_ms == MINUTE_MS
    assert screen.shown.is_past
    assert screen.shown.world.jobs.find("new") is None


def test_back_in_the_present_the_run_on_the_screen_has_what_clients_did(screen):
    screen.go(MINUTE_MS)
    screen.add_job("new")
    screen.pass_wall_time(2)
    other = screen.service.simulation
    assert other is not screen.shown
    assert other.now_ms == 7 * MINUTE_MS + 1
    screen.shown.seek(other.now_ms)
    assert not screen.shown.is_past
    assert list(screen.shown.json_lines()) == list(other.json_lines())
    assert screen.ask("GET", "/jobs/new") == (200, "")
    assert screen.service.simulation is screen.shown


def test_the_screen_rejoins_a_present_that_has_gone_on_since_it_was_asked_for(screen):
    screen.go(MINUTE_MS)
    screen.pass_wall_time(1)
    screen.shown.seek(5 * MINUTE_MS)
    assert screen.shown.is_past
    screen.present.rejoin()
    assert not screen.shown.is_past
    assert screen.shown.now_ms == 6 * MINUTE_MS


def test_actions_by_hand_in_the_past_are_refused_until_a_branch_is_taken(screen):
    screen.go(MINUTE_MS)
    screen.add_job("new")
    screen.shown.seek(5 * MINUTE_MS)  # everything that is recorded here is shown, but clients have gone further
    assert screen.shown.is_past
    from engine.specs.commands import COMMANDS

    with pytest.raises(BatchError, match="OperationInvalidForCurrentState"):
        screen.shown.submit(COMMANDS["terminateJob"].from_wire({"jobId": "j"}))


def test_after_a_branch_clients_act_on_the_run_that_branched(screen):
    screen.add_job("before")
    screen.go(MINUTE_MS)
    screen.add_job("new")
    screen.shown.branch()
    assert screen.ask("GET", "/jobs/before") == (404, "JobNotFound")
    assert screen.add_job("after") == (201, "")
    assert screen.service.simulation is screen.shown
    assert screen.shown.now_ms == MINUTE_MS + 1


def test_after_a_branch_clients_are_told_that_it_has_undone_what_they_look_for(screen):
    screen.add_job("before")
    screen.go(MINUTE_MS)
    screen.add_job("new")
    screen.ask("POST", "/jobs/new/tasks", {"id": "task", "commandLine": "work"})
    screen.shown.branch()
    undone = "the dashboard has branched the run at 2026-01-05T08:01:00Z, which undid its creation"
    assert screen.reason("/jobs/before") == undone
    assert screen.reason("/JOBS/New/tasks") == undone
    assert screen.reason("/jobs/nobody") == ""
    screen.add_job("new")
    assert screen.reason("/jobs/new/tasks/task") == undone
    assert screen.reason("/jobs/new/tasks/other") == ""
    assert [len(each.inputs) for each in screen.shown.undone] == [3]


def test_a_trial_undoes_nothing_that_clients_have_to_know(screen):
    from engine.specs.commands import COMMANDS

    with screen.shown.trial():
        screen.shown.submit(COMMANDS["terminateJob"].from_wire({"jobId": "j"}))
    assert screen.shown.undone == []


def test_a_session_that_is_saved_in_the_past_has_everything_that_clients_did(screen):
    screen.go(MINUTE_MS)
    screen.add_job("new")
    screen.pass_wall_time(1)
    lines = list(screen.service.simulation.json_lines())
    replay = Simulation(load_scenario("saved", text=saved(screen.shown)))
    replay.run_until(replay.end_ms)
    assert list(replay.json_lines()) == lines


def test_while_the_present_is_being_prepared_clients_are_told_to_come_again(screen, monkeypatch):
    monkeypatch.setattr("engine.rest.session.SLICE_S", -1.0)
    monkeypatch.setattr("engine.rest.session.ENTRIES_BETWEEN_CLOCK_READS", 1)
    screen.go(MINUTE_MS)
    statuses = []
    while not statuses or statuses[-1] != 201:
        statuses.append(screen.add_job("new")[0])
        assert len(statuses) < 100
    assert statuses[0] == 503
    assert set(statuses[:-1]) == {503}


def test_time_that_has_passed_without_events_has_passed_for_clients_too(screen):
    screen.go(9 * MINUTE_MS)
    screen.go(60 * MINUTE_MS)  # nothing is left to happen
    screen.shown.seek(20 * MINUTE_MS)
    assert screen.shown.is_past
    assert screen.ask("GET", "/jobs/j") == (200, "")
    assert screen.service.simulation.now_ms == 60 * MINUTE_MS
