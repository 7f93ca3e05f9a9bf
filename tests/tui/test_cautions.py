"""Cautions in forms: what the service accepts in a new job, though it is probably not meant."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_pool, do, run_to, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.actions.forms import Form, new_job, new_schedule
from tui.viewmodels.actions.on_jobs import CREATE_JOB, CREATE_SCHEDULE, JOB
from tui.viewmodels.session import Session

(ADD_TASKS,) = (each for each in JOB if each.command == "addTasks")
NEVER_RUNS = "the release task never runs unless a user ends the job; choose terminatejob above (JOB-7)"


def warned(document, action_type, job_id="", **typed):
    """Return the warnings of a form after these fields were filled in, by the label of the field."""
    form = Form(action_type, ({"jobId": job_id} if job_id else {},), document)
    result = form.read_fields(form.defaults | typed)
    assert not result.mistakes
    return {each.label: each.message for each in result.warnings}


def warned_of_job(session, **typed):
    return warned(new_job(session), CREATE_JOB, **typed)


@pytest.fixture
def session():
    sim = simulation(a_job(tasks=1), pool=a_pool(nodes=1))
    run_to(sim, seconds=READY_S)
    return Session(sim)


@pytest.mark.parametrize(
    "typed",
    [
        {},
        {"onAllTasksComplete": "terminatejob"},
        {"constraints.maxWallClockTime": "1h"},
    ],
)
def test_a_release_task_that_nothing_runs_is_said_beside_its_command_line(session, typed):
    release = {"jobReleaseTask.commandLine": "clean-up"}
    assert warned_of_job(session, **release, **typed) == ({} if typed else {"Command line": NEVER_RUNS})
    assert warned_of_job(session, **typed) == {}


def test_what_the_service_refuses_of_a_whole_task_stands_at_its_first_field(session):
    form = Form(CREATE_JOB, ({},), new_job(session))
    typed = {"jobReleaseTask.commandLine": "clean-up", "onAllTasksComplete": "terminatejob"}
    (refusal,) = form.read_fields(form.defaults | typed).refusals
    assert (refusal.name, refusal.label) == ("jobReleaseTask.commandLine", "Command line")
    assert "needs a jobPreparationTask" in refusal.message


def test_a_schedule_is_warned_of_its_jobs(session):
    document = new_schedule(session)
    release = {"jobReleaseTask": {"commandLine": "clean-up"}}
    start = {**document.start, "jobSpecification": {"poolInfo": {"poolId": "p"}, **release}}
    said = warned(document._replace(start=start), CREATE_SCHEDULE)
    assert NEVER_RUNS in said.values()


def test_a_job_manager_that_ends_its_job_lets_release_run(session):
    document = new_job(session)
    release = {"jobReleaseTask": {"commandLine": "clean-up"}}
    for ends in (True, False):
        manager = {"jobManagerTask": {"id": "m", "commandLine": "manage", "killJobOnCompletion": ends}}
        found = document.cautions({**document.start, **release, **manager})
        assert [said for _, said in found] == ([] if ends else [NEVER_RUNS])


def test_a_pool_without_nodes_is_not_proposed_while_another_has_some(session):
    sim = session.simulation
    do(sim, "createPool", id="idle", vmSize="standard_d2s_v3", targetDedicatedNodes=0)
    session.update()
    session.focus_pool("idle")
    assert new_job(session).start["poolInfo"] == {"poolId": "p"}
    do(sim, "createPool", id="new", vmSize="standard_d2s_v3", targetDedicatedNodes=2)
    session.update()
    assert new_job(session).start["poolInfo"] == {"poolId": "new"}
    session.focus_pool("p")
    assert new_job(session).start["poolInfo"] == {"poolId": "p"}
    assert new_schedule(session).start["jobSpecification"]["poolInfo"] == {"poolId": "p"}


def test_an_auto_pool_is_not_proposed():
    sim = Simulation(load_scenario("one-pool-per-scheduled-job"))
    sim.run_until(60_000)
    session = Session(sim)
    assert session.pool_id.startswith("fresh_")
    assert "poolInfo" not in new_job(session).start


def test_the_form_shows_a_caution_below_the_field_and_in_the_preview():
    app = Dashboard(simulation(a_job(), pool=a_pool(nodes=0)), plays=False)
    app.session.simulation.run_until(60_000)
    shown = []
    to_release = [*["down"] * 4, *"get", *["down"] * 6, *"rm"]
    drive(app, "4", "ctrl+n", *to_release, lambda app: shown.append(text_of(app)), size=(160, 60))
    assert contains(shown[0], "! the release task never runs", "Command line: the release task never runs")
