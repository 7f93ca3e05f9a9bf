"""Views that keep what nothing has changed say the same as new ones, at every moment of a run and after jumps."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.estimates import Forecaster
from engine.views.diagnosis.model import Items
from engine.views.log.reader import FirstStarts
from engine.views.resources.instances import pages_of
from engine.views.resources.jobs import JobsProgress, job_ids
from engine.views.resources.tasks import TaskPage
from tests.builders import READY_S, a_job, a_pool, a_task, do, run_to
from tests.builders import simulation as a_simulation

_SCENARIOS = (
    "every-way-to-end-a-job",
    "job-prep-release-sample",
    "node-removed-during-release",
    "nodes-fail-and-recover",
    "offline-and-unusable-at-the-end",
    "preparation-retries",
    "reboot-during-preparation",
    "reimage-clears-the-bar",
    "release-times-out",
    "retries-and-exit-conditions",
    "retries-of-flaky-tasks",
    "shared-pool-two-jobs",
    "spot-evictions",
    "terminate-then-delete",
)


class _Views:
    """All that is said about a run."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._attention, self._progress = Attention(simulation), JobsProgress(simulation)
        self._starts = FirstStarts(simulation)
        self._of_job: dict[str, tuple] = {}

    def said(self) -> object:
        concerns = [
            (concern._replace(items=Items()), concern.severity, *map(list, concern.items))
            for concern in self._attention.concerns()
        ]
        return concerns, [self._said_of(job_id) for job_id in job_ids(self._simulation)]

    def _said_of(self, job_id: str) -> object:
        if job_id not in self._of_job:
            tasks, pages = TaskPage(self._simulation, job_id), pages_of(self._simulation, job_id)
            self._of_job[job_id] = pages, Forecaster(self._simulation, tasks, *pages, self._starts)
        pages, forecaster = self._of_job[job_id]
        of_pages = [
            (page.codes(), page.counts(), page.nodes_without_record(), page.last_end_ms(), page.count())
            for page in pages
        ]
        return job_id, of_pages, self._progress.of(job_id), forecaster.estimate()


@pytest.mark.parametrize("name", _SCENARIOS)
def test_views_that_are_kept_say_what_new_ones_say(name):
    simulation = Simulation(load_scenario(name))
    kept = _Views(simulation)
    marks = []
    while simulation.advance(simulation.end_ms, 1):
        assert kept.said() == _Views(simulation).said(), simulation.now_ms
        marks.append(simulation.now_ms)
    for when_ms in marks[:: -max(1, len(marks) // 8)]:
        simulation.seek(when_ms)
        assert kept.said() == _Views(simulation).said(), when_ms
    simulation.branch()
    simulation.advance(simulation.end_ms, len(marks) // 2)
    assert kept.said() == _Views(simulation).said(), simulation.now_ms


def test_a_task_that_fails_again_after_it_was_reactivated_is_a_new_failure():
    simulation = a_simulation(a_job(tasks=[a_task("fails", 5, 1), a_task("works", 600)]), pool=a_pool(nodes=2))
    kept = _Views(simulation)
    run_to(simulation, seconds=READY_S + 10)
    before = kept.said()
    do(simulation, "reactivateTask", jobId="j", taskId="fails")
    run_to(simulation, seconds=READY_S + 20)
    assert before != kept.said() == _Views(simulation).said()


def test_what_several_retried_tasks_have_in_common_follows_from_their_latest_failures():
    tasks = [
        a_task("first", 5, 1, constraints={"maxTaskRetryCount": 1}),
        a_task("second", 7, 2, constraints={"maxTaskRetryCount": 3}),
        a_task("third", 11, 2, constraints={"maxTaskRetryCount": 3}),
    ]
    simulation = a_simulation(a_job(tasks=tasks), pool=a_pool(nodes=3))
    kept, causes = _Views(simulation), set()
    while simulation.advance(simulation.end_ms, 1) and simulation.now_ms < (READY_S + 120) * 1000:
        assert kept.said() == _Views(simulation).said(), simulation.now_ms
        of_many = [each for each in Attention(simulation).concerns() if "are retried" in each.text]
        causes |= {each.text for each in of_many}
        log = simulation.log
        failed_ms = [
            log.when[at] for at, shape in enumerate(log.shape_of) if "exitCode" in dict(log.shapes[shape].fields)
        ]
        assert not of_many or of_many[0].since_ms in failed_ms[:-1]
    assert causes == {
        "3 tasks failed and are retried",
        "2 tasks failed and are retried",
        "2 tasks failed and are retried: exit code 2",
    }
