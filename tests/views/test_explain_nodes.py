"""Explanations of nodes that are idle, busy or out of order, and of preparation there."""

from engine import Simulation, load_scenario
from engine.base.terms import NodeState
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.nodes import why_node, why_preparation
from engine.views.diagnosis.pools import why_pool
from tests.builders import (
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    job_state,
    node,
    node_row,
    node_rows,
    node_state,
    run,
    run_to,
    simulation,
    some_tasks,
    wait_for,
)
from tests.views.explaining import why_node_says, why_preparation_says, why_task_says
from tests.views.test_explain_tasks import broken_pool


def test_a_node_for_each_reason():
    sim = broken_pool()
    assert why_node_says(sim, 0) == [
        "Why is n0 of pool p idle?",
        "✓ state       idle since 08:01:01 [NODE-8]",
        "✓ scheduling  enabled [NODE-7]",
        "✓ slots       1 of 1 free; no tasks running [SCHED-10]",
        "✗ job j       ineligible until its disk is new: preparation failed here [PREP-9]",
    ]
    assert why_node_says(sim, 1) == [
        "Why is n1 of pool p rebooting?",
        "· state       rebooting since 08:01:10 [NODE-8]",
        "✓ scheduling  enabled [NODE-7]",
        "Next: n1 is no longer rebooting at 08:02:10 [NOP-3]",
    ]
    assert why_node_says(sim, 2) == [
        "Why is n2 of pool p offline?",
        "✗ state       offline since 08:01:10 [NODE-8]",
        "✗ scheduling  disabled [NODE-7]",
        "Next: nothing by itself, a user has to act [NOP-6]",
    ]
    assert why_node_says(sim, 3) == [
        "Why is n3 of pool p unusable?",
        "✗ state       unusable since 08:01:10 [NODE-8]",
        "✓ scheduling  enabled [NODE-7]",
        "✗ error       DiskFull: The node has not enough free disk space. [NODE-12]",
        "Batch does not recover it. [NODE-11]",
        "Next: nothing by itself, a user has to act [NODE-13]",
    ]
    assert why_node_says(sim, 4)[-1] == "Next: n4 is no longer unknown at 08:03:10 [NODE-9]"
    assert why_node_says(sim, 5) == [
        "Why is n5 of pool p running?",
        "✓ state       running since 08:00:50 [NODE-8]",
        "✓ scheduling  enabled [NODE-7]",
        "✗ operation   reboot when its tasks have ended [NOP-3]",
        "· slots       0 of 1 free; 1 task running [SCHED-10]",
        "· job j       7 tasks waiting, each needs 1 or more slots [SCHED-10]",
        "Next: a task ends on n5 at 08:02:02 [TASK-7]",
    ]


def first(sim, command):
    """Go to the first fault of this kind that comes by chance, and return its node's index."""
    wait_for(sim, lambda: events(sim, "FaultInjected", command=command))
    (fault,) = events(sim, "FaultInjected", command=command)
    return [sim.world.nodes[row].id for row in node_rows(sim)].index(fault["nodeId"])


def test_node_18_a_node_that_has_failed_by_chance():
    sim = simulation(pool=a_pool(nodes=3), simulate={"nodes": {"failureRate": 2}}, until="PT4H")
    index = first(sim, "failNode")
    assert why_node_says(sim, index)[3] == "✗ cause       failed by chance (failureRate) [NODE-18]"
    assert "Batch recovers it by itself. [NODE-14]" in why_node_says(sim, index)
    wait_for(sim, lambda: node_state(sim, index=index) != "unusable")
    assert not any("by chance" in line for line in why_node_says(sim, index))
    do(sim, "failNode", poolId="p", node=index)
    assert not any("by chance" in line for line in why_node_says(sim, index))


def test_spot_10_a_node_that_is_evicted_by_chance():
    spot = {"evictionRate": 2, "notice": "PT1M"}
    sim = simulation(pool=a_pool(nodes=0, targetLowPriorityNodes=3), simulate={"spot": spot}, until="PT4H")
    index = first(sim, "evictNode")
    line = next(line for line in why_node_says(sim, index) if "reclaimed" in line)
    assert line.endswith(", by chance (evictionRate) [SPOT-7]")
    run(sim, minutes=1)
    assert "✗ cause       evicted by chance (evictionRate) [SPOT-10]" in why_node_says(sim, index)


def test_spot_7_a_node_whose_vm_will_be_taken_back():
    sim = simulation(pool=a_pool(nodes=0, targetLowPriorityNodes=1))
    run_to(sim, seconds=70)
    do(sim, "evictNode", poolId="p", node=0)
    assert why_node_says(sim, 0) == [
        "Why is n0 of pool p idle?",
        "✓ state       idle since 08:00:50 [NODE-8]",
        "✓ scheduling  enabled [NODE-7]",
        "✗ eviction    its VM is reclaimed at 08:01:40 [SPOT-7]",
        "✓ slots       1 of 1 free; no tasks running [SCHED-10]",
        "No job uses the pool. [NODE-9]",
        "Next: n0 is preempted at 08:01:40 [SPOT-3]",
    ]


def test_an_idle_node_by_job():
    limited = a_job(tasks=3, maxParallelTasks=1)
    sim = simulation(limited, a_job("k", tasks=0), pool=a_pool(nodes=2))
    run_to(sim, seconds=55)
    assert why_node_says(sim, 1) == [
        "Why is n1 of pool p idle?",
        "✓ state       idle since 08:00:50 [NODE-8]",
        "✓ scheduling  enabled [NODE-7]",
        "✓ slots       1 of 1 free; no tasks running [SCHED-10]",
        "· job j       at its limit of 1 parallel task [JOB-2]",
        "· job k       no task waits: 0 active, 0 preparing or running [SCHED-7]",
        "Next: task t1 of job j ends on n0 at 08:01:51 [TASK-7]",
    ]


def test_dep_4_an_idle_node_tells_tasks_that_wait_for_others_from_those_that_are_new():
    tasks = [a_task("first", 5, 1), a_task("second", dependsOn={"taskIds": ["first"]})]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    run_to(sim, seconds=90)
    assert "· job j       1 task waiting for others [DEP-4]" in why_node_says(sim)
    do(sim, "addTasks", jobId="j", tasks=[a_task("new")])
    said = "· job j       1 task waiting for others, 1 task not known to the scheduler yet [DEP-4]"
    assert said in why_node_says(sim)


def test_the_start_task():
    sim = simulation(pool=a_pool(startTask=a_line(20, exit_code=2, maxTaskRetryCount=1)))
    run_to(sim, seconds=60)
    assert why_node_says(sim)[-2:] == [
        "· start task  running since 08:00:50, retry count 0 [START-4]",
        "Next: n0 is no longer waitingforstarttask at 08:01:11 [START-4]",
    ]
    run_to(sim, minutes=3)
    assert why_node_says(sim) == [
        "Why is n0 of pool p starttaskfailed?",
        "✗ state       starttaskfailed since 08:01:32 [NODE-8]",
        "✓ scheduling  enabled [NODE-7]",
        "✗ start task  failed with exit code 2, retry count 1 [START-4]",
        "Next: nothing by itself, a user has to act [START-6]",
    ]


def test_a_node_that_is_gone():
    sim = simulation()
    run_to(sim, minutes=1)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=0)
    run(sim, minutes=1)
    assert why_node_says(sim) == ["Where is n0?", "It left pool p at 08:01:20. [RSZ-7]"]


def test_prep_9_barred():
    assert why_preparation_says(broken_pool(), 0) == [
        "Why is n0 ineligible for job j?",
        "✗ preparation           failed with exit code 3 at 08:01:01, FailureExitCode [PREP-5]",
        "✗ next task of the job  is not assigned here [PREP-9]",
        "The job's first task on the node was assigned. [PREP-3]",
        "It is not retried: its maxTaskRetryCount is 0. [PREP-12]",
        "The job gets no task here until the node has a new disk. [PREP-9]",
        "A reboot does not make it run again; a reimage does. [PREP-17]",
        "Next: nothing by itself, a user has to act [PREP-9]",
    ]


def test_prep_12_a_failure_without_an_exit_code_is_not_said_to_have_used_its_retries():
    sim = Simulation(load_scenario("preparation-retries"))
    run_to(sim, minutes=10)
    said = why_preparation(sim.world, sim.world.jobs.find("missing"), 0).lines()
    assert "It is not retried: only a nonzero exit code is. [PREP-12]" in said


def test_prep_16_again_after_a_reboot():
    sim = broken_pool()
    assert why_preparation_says(sim, 1)[:3] == [
        "Why did preparation of job j run on n1?",
        "✓ preparation           succeeded with exit code 0 at 08:01:01 [PREP-5]",
        "✓ next task of the job  starts the preparation and waits for it [PREP-16]",
    ]
    run_to(sim, seconds=145)
    assert why_preparation_says(sim, 1) == [
        "Why is preparation of job j running again on n1?",
        "· preparation           running since 08:02:15, run 2 [PREP-5]",
        "✓ next task of the job  waits for the preparation [PREP-6]",
        "The node rebooted after a success, and the job requires another run. [PREP-16]",
        "1 task of the job waits for it here. [PREP-6]",
        "Next: preparation ends on n1 at 08:02:26 [PREP-5]",
    ]


def test_no_task_comes_any_more_where_the_job_has_ended():
    sim = broken_pool()
    do(sim, "terminateJob", jobId="j")
    assert not any("next task of the job" in each for number in (0, 1) for each in why_preparation_says(sim, number))


def test_prep_16_not_again_if_the_job_says_so():
    sim = simulation(a_job(prep=a_line(10, rerunOnNodeRebootAfterSuccess=False)))
    run_to(sim, seconds=70)
    do(sim, "rebootNode", poolId="p", nodeId=node(sim).id)
    assert why_preparation_says(sim)[2:] == [
        "✓ next task of the job  runs at once [PREP-7]",
        "The job's first task on the node was assigned. [PREP-3]",
        "By the job's settings it stays valid after a reboot. [PREP-16]",
    ]


def test_prep_23_a_preparation_that_the_end_of_its_job_stopped_says_so():
    sim = Simulation(load_scenario("job-ends-while-preparing"))
    sim.run_until(sim.end_ms)
    assert why_preparation(sim.world, sim.world.jobs.find("what-if"), node_row(sim, 1, "shared")).lines() == [
        "Why did preparation of job what-if fail on n1?",
        "✗ preparation  failed with exit code -1073741510 (stopped by the service) at 08:05:00, TaskEnded [PREP-5]",
        "The job's first task on the node was assigned. [PREP-3]",
        "It was stopped: the job was ended at 08:05:00. [PREP-23]",
    ]


def test_prep_13_a_failure_without_influence():
    sim = simulation(a_job(prep=a_line(10, exit_code=1, waitForSuccess=False)))
    run_to(sim, seconds=55)
    assert "Tasks do not wait for it. [PREP-13]" in why_preparation_says(sim)
    run_to(sim, seconds=70)
    assert why_preparation_says(sim)[1:] == [
        "✗ preparation           failed with exit code 1 at 08:01:01, FailureExitCode [PREP-5]",
        "✓ next task of the job  runs at once [PREP-13]",
        "The job's first task on the node was assigned. [PREP-3]",
        "The failure has no effect: the job does not wait for success. [PREP-13]",
    ]


def test_prep_3_it_has_not_run_here():
    sim = simulation(a_job(prep=a_line(10)), pool=a_pool(nodes=2))
    run_to(sim, seconds=30)
    assert why_preparation_says(sim, 1) == [
        "Why has preparation of job j not run on n1?",
        "✓ job state                 active [SCHED-7]",
        "✓ job pool                  the node's [PREP-3]",
        "✗ node takes tasks          starting, scheduling enabled [SCHED-8]",
        "✓ free slots                1 of 1 [SCHED-10]",
        "✓ waiting tasks of the job  1 [PREP-3]",
        "It runs only where a task of the job is assigned. [PREP-3]",
        "Next: n1 is no longer starting at 08:00:50 [NODE-9]",
    ]
    run_to(sim, seconds=60)
    assert why_preparation_says(sim, 1)[3:6] == [
        "✓ node takes tasks          idle, scheduling enabled [SCHED-8]",
        "✓ free slots                1 of 1 [SCHED-10]",
        "✗ waiting tasks of the job  0 [PREP-3]",
    ]


def test_prep_3_a_job_that_has_ended_still_has_the_pool_of_its_nodes():
    job = a_job(prep=a_line(10), onAllTasksComplete="terminatejob")
    sim = simulation(job, pools=[a_pool(nodes=2), a_pool("q")])
    wait_for(sim, lambda: job_state(sim) == "completed")
    assert "✓ job pool                  the node's [PREP-3]" in why_preparation_says(sim, 1)
    of_other_pool = why_preparation(sim.world, sim.world.jobs.find("j"), node_row(sim, 0, "q")).lines()
    assert "✗ job pool                  not the node's [PREP-3]" in of_other_pool


def test_prep_1_no_preparation():
    sim = simulation(a_job())
    run_to(sim, seconds=60)
    assert why_preparation_says(sim) == [
        "Why has preparation of job j not run on n0?",
        "The job has no job preparation task. [PREP-1]",
    ]


def test_prep_9_a_job_that_has_ended_gives_no_advice_on_a_node_that_was_ineligible():
    sim = broken_pool()
    do(sim, "terminateJob", jobId="j")
    run(sim, minutes=5)
    assert job_state(sim) == "completed"
    assert why_preparation_says(sim, 0) == [
        "Why was n0 ineligible for job j?",
        "✗ preparation  failed with exit code 3 at 08:01:01, FailureExitCode [PREP-5]",
        "The job's first task on the node was assigned. [PREP-3]",
        "It is not retried: its maxTaskRetryCount is 0. [PREP-12]",
        "The job has ended: none of its tasks starts any more. [SCHED-7]",
    ]


def test_what_is_in_order_has_no_cross_in_the_answers_about_it():
    """A busy node, a boot, and a preparation and a resize that go on are no trouble."""
    job = a_job("j", tasks=some_tasks(3, seconds=60), prep=a_line(20))
    sim = simulation(job, pool=a_pool(nodes=1, taskSlotsPerNode=2))
    asked = set()
    while not sim.finished:
        sim.step()
        world = sim.world
        answers = [why_pool(world, world.pools[0])]
        if sim.log.count and world.nodes.state:
            answers += [why_node(world, 0), why_preparation(world, world.jobs[0], 0)]
        for one in answers[:2]:
            assert not [check for check in one.checks if check.ok is False], one.lines()
        if "has preparation" not in answers[-1].question:
            assert not [check for check in answers[-1].checks if check.ok is False], answers[-1].lines()
        asked |= {one.question for one in answers}
    assert asked >= {
        *(f"Why is n0 of pool p {state}?" for state in ("creating", "starting", "running", "idle")),
        "Why is preparation of job j running on n0?",
    }


def test_a_node_out_of_contact_for_long_becomes_unusable_and_its_tasks_are_requeued():
    sim = Simulation(load_scenario("nodes-fail-and-recover"))
    sim.run_until(9 * 60_000)
    expected = "Next: n1 becomes unusable at 08:10:00 [NODE-13]"
    assert why_node(sim.world, node_row(sim, 1, "shared")).lines()[-1] == expected
    assert why_task_says(sim, "book-2", "risk")[-1] == expected
    lost = next(one for one in Attention(sim).concerns() if one.state is NodeState.UNKNOWN)
    assert lost.effect == "tasks there run on, but are requeued after five minutes without contact"
