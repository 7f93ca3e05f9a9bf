"""Critical paths: the chain that decides when a task begins, and when a job ends."""

from __future__ import annotations

from engine.views.resources.statistics import critical_path, deciding_parent, deciding_task
from engine.views.resources.tasks import dependencies_of
from tests.builders import READY_S, a_job, a_pool, a_task, run_to, simulation
from tests.work import steps_of


def a_run(*tasks, seconds, slots=4):
    sim = simulation(a_job(tasks=list(tasks), usesTaskDependencies=True), pool=a_pool(taskSlotsPerNode=slots))
    run_to(sim, seconds=seconds)
    return sim


def names(sim, links):
    return [sim.world.tasks.task_id(each.task) for each in links]


DIAMOND = (
    a_task("short", 10),
    a_task("long", 50),
    a_task("both", 20, dependsOn={"taskIds": ["short", "long"]}),
    a_task("end", 10, dependsOn={"taskIds": ["both"]}),
)


def test_dep_2_the_parent_that_ended_last_decides():
    sim = a_run(*DIAMOND, seconds=READY_S + 200)
    assert names(sim, critical_path(sim, 3)) == ["long", "both", "end"]
    first, middle, last = critical_path(sim, 3)
    assert first.ready_ms == 0 or first.ready_ms == sim.world.tasks.block_of(0).created_ms
    assert middle.ready_ms == first.end_ms
    assert last.start_ms >= middle.end_ms
    assert deciding_task(sim, "j") == 3


def test_dep_2_a_parent_that_is_not_done_decides_before_one_that_is():
    sim = a_run(*DIAMOND, seconds=READY_S + 20)
    assert deciding_parent(sim, 2) == 1
    assert names(sim, critical_path(sim, 3)) == ["long", "both", "end"]
    assert [each.end_ms for each in critical_path(sim, 3)] == [None, None, None]


def test_dep_3_a_range_is_decided_by_the_last_of_its_tasks():
    numbered = [a_task(str(number), 10 + number % 7) for number in range(1, 21)]
    sim = a_run(
        *numbered, a_task("end", 5, dependsOn={"taskIdRanges": [{"start": 1, "end": 20}]}), seconds=READY_S + 400
    )
    tasks = sim.world.tasks
    assert deciding_parent(sim, 20) == max(range(20), key=lambda task: (tasks.ended[task], -task))


def test_a_task_that_failed_holds_up_what_depends_on_it():
    sim = a_run(a_task("bad", 5, 1), a_task("slow", 500), a_task("end", dependsOn={"taskIds": ["bad", "slow"]}),
                seconds=READY_S + 60)  # fmt: skip
    assert deciding_parent(sim, 2) == 0


def test_a_missing_parent_and_a_circle_end_the_chain():
    sim = a_run(a_task("a", dependsOn={"taskIds": ["b"]}), a_task("b", dependsOn={"taskIds": ["a", "nobody"]}),
                seconds=READY_S)  # fmt: skip
    assert names(sim, critical_path(sim, 0)) == ["b", "a"]


def test_without_dependencies_a_path_is_one_task():
    sim = simulation(a_job(tasks=3))
    run_to(sim, seconds=READY_S + 500)
    assert [each.task for each in critical_path(sim, 1)] == [1]
    assert deciding_parent(sim, 1) is None
    assert deciding_task(sim, "nobody") is None


def test_a_range_over_many_tasks_is_decided_without_a_step_for_each():
    numbered = [a_task(str(number), 1) for number in range(1, 6_001)]
    ends = [a_task(f"end-{number}", 1, dependsOn={"taskIdRanges": [{"start": 1, "end": 6_000}]}) for number in range(9)]
    sim = a_run(*numbered, *ends, seconds=READY_S, slots=4)
    assert deciding_parent(sim, 6_000) is not None
    assert len(dependencies_of(sim, 5).children) == 9
    assert steps_of(lambda: deciding_parent(sim, 6_000)) < 15_000
    assert steps_of(lambda: dependencies_of(sim, 5)) < 1_000
    assert steps_of(lambda: dependencies_of(sim, 6_000)) < 1_000
