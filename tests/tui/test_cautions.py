"""Cautions in forms: what the service accepts in a new job, though it is probably not meant."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from tests.builders import READY_S, a_job, a_pool, do, run_to, simulation
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.viewmodels.actions.forms import Form, new_job, new_schedule, new_tasks
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


def test_a_schedule_whose_jobs_nobody_gives_tasks_is_said_beside_the_job_manager(session):
    document = new_schedule(session)
    said = [text for _, text in document.cautions(document.start)]
    assert said == ["its jobs have no tasks unless others add them: a job manager task does (JM-3)"]
    manager = {"jobManagerTask": {"id": "m", "commandLine": "manage"}}
    managed = {**document.start, "jobSpecification": {**document.start["jobSpecification"], **manager}}
    assert document.cautions(managed) == []


def test_a_job_manager_that_ends_its_job_lets_release_run(session):
    document = new_job(session)
    release = {"jobReleaseTask": {"commandLine": "clean-up"}}
    for ends in (True, False):
        manager = {"jobManagerTask": {"id": "m", "commandLine": "manage", "killJobOnCompletion": ends}}
        found = document.cautions({**document.start, **release, **manager})
        assert [said for _, said in found] == ([] if ends else [NEVER_RUNS])


def test_a_pool_that_does_not_exist_is_said_beside_its_field(session):
    said = warned_of_job(session, **{"poolInfo.poolId": "nope"})
    assert said == {"Pool": "no task runs until somebody creates pool nope (POOL-18)"}


def test_a_pool_that_gets_no_nodes_is_said_beside_its_field(session):
    do(session.simulation, "createPool", id="idle", vmSize="standard_d2s_v3", targetDedicatedNodes=0)
    assert warned_of_job(session, **{"poolInfo.poolId": "idle"}) == {
        "Pool": "no task runs there: pool idle has no nodes, and its target is 0"
    }
    assert warned_of_job(session, **{"poolInfo.poolId": "p"}) == {}


def test_tasks_that_are_added_to_a_job_on_such_a_pool_are_cautioned_about():
    sim = simulation(a_job("waits"), pool=a_pool(nodes=0))
    run_to(sim, seconds=5)
    session = Session(sim)
    said = warned(new_tasks(session, "waits"), ADD_TASKS, job_id="waits")
    assert list(said.values()) == ["no task runs there: pool p has no nodes, and its target is 0"]
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=1)
    session.update()
    assert warned(new_tasks(session, "waits"), ADD_TASKS, job_id="waits") == {}


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
    drive(app, "4", "ctrl+n", lambda app: shown.append(text_of(app)), size=(160, 50))
    assert contains(shown[0], "! no task runs there: pool p has no nodes")
    assert contains(shown[0], "Pool: no task runs there: pool p has no nodes")
