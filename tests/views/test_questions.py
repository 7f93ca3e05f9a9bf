"""Every question has an answer that cites rules, and names the next event that can change it."""

from __future__ import annotations

import re

import pytest

from engine import Simulation
from engine.views.diagnosis import candidates
from engine.views.diagnosis.questions import expected, explain, open_jobs
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    node_row,
    run,
    run_to,
    run_to_end,
    simulation,
    some_tasks,
    task_row,
)

RULE = re.compile(r"\[[A-Z]+-\d+\]$")
NOTHING = "Next: nothing by itself, a user has to act"
FORMULA = "$TargetDedicatedNodes = 2;"


def answers(about):
    """Return all answers as text; check that each sentence but the question cites a rule."""
    for one in about:
        question, *sentences = one.lines()
        assert question.endswith("?")
        assert all(RULE.search(sentence) for sentence in sentences), sentences
    return {one.question: one.lines()[1:] for one in about}


def of_task(sim, task="t1", job="j"):
    return answers(explain(sim, "task", task_row(sim, task, job)))


def of_node(sim, index=0, job="j"):
    return answers(explain(sim, "node", node_row(sim, index), job))


def of_job(sim, job="j"):
    return answers(explain(sim, "job", job))


def of_pool(sim, pool="p"):
    return answers(explain(sim, "pool", pool))


def test_why_is_this_task_waiting():
    sim = simulation(a_job(tasks=2), a_job("k", tasks=1), pool=a_pool(nodes=2))
    run_to(sim, seconds=60)
    lines = of_task(sim, "t2")["Why is task t2 of job j waiting?"]
    assert "✗ a node with 1 free slot  0 of 2 eligible [SCHED-8]" in lines
    assert "     1 node without a free slot: other jobs use them; soonest n1 at 08:01:51 [SCHED-10]" in lines
    assert "     1 node without a free slot; soonest n0 at 08:01:51 [SCHED-10]" in lines
    assert "It has been active since 08:00:00. [TASK-7]" in lines
    assert lines[-1].startswith("Next: task t1 of job ")


def test_why_did_it_go_to_this_node():
    sim = simulation(a_job(tasks=3, prep=a_line(10)), pool=a_pool(nodes=1, taskSlotsPerNode=2))
    run_to(sim, seconds=55)
    first = of_task(sim, "t1")["Why did task t1 of job j go to n0?"]
    assert first[:2] == [
        "✓ slots     it takes 1 of 2 [SCHED-10]",
        "· prepared  not yet: the task waits there [PREP-6]",
    ]
    assert first[-1] == "Next: preparation ends on n0 at 08:01:01 [PREP-7]"
    run_to(sim, seconds=70)
    waited = of_task(sim, "t1")["Why did task t1 of job j go to n0?"]
    assert waited[1] == "· prepared  the task waited there until it was [PREP-7]"
    run_to(sim, seconds=150)
    later = of_task(sim, "t3")["Why did task t3 of job j go to n0?"]
    assert later[1] == "✓ prepared  since 08:01:01 [SCHED-9]"
    assert later[2].startswith("Spread prefers most free slots")
    assert later[-1].startswith("Next: it ends at ")


def test_why_did_it_go_to_the_node_that_it_asked_for():
    sim = simulation(a_job(tasks=0), pool=a_pool(nodes=2, taskSchedulingPolicy={"nodeFillType": "pack"}))
    run_to(sim, seconds=60)
    node_id = sim.world.nodes[node_row(sim, 1)].id
    tasks = [a_task(task_id, affinityInfo={"affinityId": node_id}) for task_id in ("a", "b")]
    do(sim, "addTasks", jobId="j", tasks=tasks)
    run(sim, seconds=3)
    assert "✓ affinity  this node [SCHED-13]" in of_task(sim, "a")["Why did task a of job j go to n1?"]
    elsewhere = of_task(sim, "b")["Why did task b of job j go to n0?"]
    assert "✗ affinity  another node, which had no room [SCHED-13]" in elsewhere
    assert elsewhere[-2].startswith("Pack prefers ")


def test_why_did_it_fail_and_why_is_it_retried():
    task = a_task("t1", 30, exit_code=7, constraints={"maxTaskRetryCount": 1})
    sim = simulation(a_job(tasks=[task]), pool=a_pool(nodes=1))
    run_to(sim, seconds=90)
    again = of_task(sim)["Why does task t1 of job j run again?"]
    assert again[0].startswith("✓ retries      1 of 1 used after failures, the last at 08:01:2")
    assert again[0].endswith("[RETRY-3]")
    assert again[-1].startswith("Next: it ends at 08:01:5")
    run_to(sim, minutes=3)
    lines = of_task(sim)["Why did task t1 of job j fail?"]
    assert lines[1:3] == ["✗ exit code     7 [RETRY-2]", "✗ retries left  1 of 1 used [RETRY-3]"]


def test_who_makes_a_task_run_again():
    sim = simulation(a_job(tasks=2), pool=a_pool(nodes=2))
    run_to(sim, seconds=60)
    do(sim, "rebootNode", poolId="p", node=0)
    do(sim, "failNode", poolId="p", node=1, state="unusable", **{"for": "PT1M"})
    requeued, lost = (of_task(sim, task)[f"Why does task {task} of job j run again?"] for task in ("t1", "t2"))
    assert requeued[0] == "✓ requeues     1 by commands on its node, pool or job, the last at 08:01:00 [RETRY-6]"
    assert lost[0] == "✓ service retries  1 by the service after it lost a node or VM [RETRY-7]"
    assert requeued[-1] == "Next: n0 is no longer rebooting at 08:02:00 [NOP-3]"


def test_why_is_this_node_idle_not_used_unusable():
    sim = simulation(a_job(tasks=2, maxParallelTasks=1), pool=a_pool(nodes=3))
    run_to(sim, seconds=60)
    do(sim, "disableNodeScheduling", poolId="p", node=1)
    do(sim, "failNode", poolId="p", node=2, state="unusable", code="DiskFull")
    idle = of_node(sim, 0)
    assert list(idle) == ["Why is n0 of pool p running?"]
    unused = of_node(sim, 1)["Why is n1 of pool p offline?"]
    assert unused[-2:] == ["✗ scheduling  disabled [NODE-7]", f"{NOTHING} [NOP-6]"]
    broken = of_node(sim, 2)["Why is n2 of pool p unusable?"]
    assert any("DiskFull" in line and line.endswith("[NODE-12]") for line in broken)
    assert broken[-1] == f"{NOTHING} [NODE-13]"
    do(sim, "enableNodeScheduling", poolId="p", node=1)
    run(sim, seconds=1)
    waits = of_node(sim, 1)["Why is n1 of pool p idle?"]
    assert "· job j       at its limit of 1 parallel task [JOB-2]" in waits
    assert waits[-1] == "Next: task t1 of job j ends on n0 at 08:01:51 [TASK-7]"


def test_why_did_preparation_run_again_here():
    sim = simulation(a_job(tasks=3, prep=a_line(10)))
    run_to(sim, seconds=70)
    do(sim, "rebootNode", poolId="p", node=0)
    run(sim, seconds=70)
    lines = of_node(sim)["Why is preparation of job j running again on n0?"]
    assert "The node rebooted after a success, and the job requires another run. [PREP-16]" in lines
    assert lines[-1].startswith("Next: preparation ends on n0 at 08:02:2")
    do(sim, "reimageNode", poolId="p", node=0)
    run(sim, seconds=130)
    lines = of_node(sim)["Why is preparation of job j running again on n0?"]
    assert "The node has a new disk. [PREP-18]" in lines


def test_why_is_preparation_not_running_here():
    sim = simulation(a_job(tasks=1, prep=a_line(10)), pool=a_pool(nodes=2))
    run_to(sim, seconds=70)
    do(sim, "rebootNode", poolId="p", node=1)
    lines = of_node(sim, 1)["Why has preparation of job j not run on n1?"]
    assert "✗ node takes tasks          rebooting, scheduling enabled [SCHED-8]" in lines
    assert "It runs only where a task of the job is assigned. [PREP-3]" in lines
    assert lines[-1] == "Next: n1 is no longer rebooting at 08:02:10 [NODE-9]"


def test_why_is_this_node_ineligible():
    sim = simulation(a_job(prep=a_line(10, exit_code=3)))
    run_to(sim, minutes=2)
    lines = of_node(sim)["Why is n0 ineligible for job j?"]
    assert "✗ preparation           failed with exit code 3 at 08:01:01, FailureExitCode [PREP-5]" in lines
    assert "A reboot does not make it run again; a reimage does. [PREP-17]" in lines
    assert lines[-1] == f"{NOTHING} [PREP-9]"


def test_why_has_the_job_not_started_not_ended():
    sim = simulation(a_job(onAllTasksComplete="terminatejob"))
    run_to(sim, seconds=5)
    lines = of_job(sim)["Why has job j not started?"]
    assert "✗ nodes that take tasks  0 of 0 in pool p [SCHED-8]" in lines
    assert lines[-1] == "Next: a new node joins pool p at 08:00:10 [RSZ-2]"
    run_to(sim, seconds=60)
    lines = of_job(sim)["Why has job j not ended?"]
    assert lines[-1] == "Next: task t1 of job j ends on n0 at 08:01:51 [TASK-7]"


def test_which_release_tasks_hold_a_job_that_is_terminating():
    sim = simulation(a_job(tasks=2, prep=a_line(10), release=a_line(100)), pool=a_pool(nodes=2))
    run_to(sim, seconds=70)
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=5)
    lines = of_job(sim)["Why is job j still terminating?"]
    assert "     2 release tasks running; soonest n0 at 08:02:51 [REL-6]" in lines
    assert "It waits for n0, n1. [REL-6]" in lines
    assert lines[-1] == "Next: release ends on n0 at 08:02:51 [REL-6]"


def test_why_is_the_pool_resizing_or_not():
    sim = simulation(a_job(tasks=1))
    run_to(sim, seconds=70)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    lines = of_pool(sim)["Why is pool p resizing?"]
    assert "     1 dedicated node requested, not allocated yet; soonest one at 08:01:20 [RSZ-2]" in lines
    assert lines[-1] == "Next: a dedicated node is allocated at 08:01:20 [RSZ-2]"
    short = simulation(pool=a_pool(nodes=3), account={"quotas": {"dedicatedCores": 4}})
    run_to(short, seconds=70)
    lines = of_pool(short)["Why is pool p below its target?"]
    assert any("AccountCoreQuotaReached" in line and line.endswith("[ACC-8]") for line in lines)
    assert lines[-1] == f"{NOTHING} [RSZ-14]"


def test_why_did_autoscale_choose_this_target():
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "enableAutoScale": True, "autoScaleFormula": FORMULA}
    sim = simulation(pool=pool)
    run_to(sim, seconds=5)
    lines = of_pool(sim)["Why does autoscale set 2 dedicated nodes for p?"]
    assert any(line.startswith("✓ targets") and line.endswith("[AS-84]") for line in lines)
    assert lines[-1] == "Next: the pool's formula is evaluated at 08:15:00 [AS-84]"


def test_why_is_there_a_gap_in_the_past_of_a_node():
    sim = simulation(a_job(tasks=1), a_job("k", tasks=[a_task("late", 60)], at="PT4M"))
    run_to(sim, minutes=6)
    sim.seek(180_000)
    lines = of_node(sim)["Why is n0 of pool p idle?"]
    assert "· job j       no task waits: 0 active, 0 preparing or running [SCHED-7]" in lines


def test_why_are_the_approximate_counts_different_from_the_exact_ones():
    sim = simulation(a_job(tasks=3, prep=a_line(10)), pool=a_pool(nodes=2))
    run_to(sim, seconds=55)
    lines = of_job(sim)["Why do the approximate task counts of job j differ from the exact ones?"]
    assert lines == [
        "· running, approximate  2 [TASK-16]",
        "✓ running, exact        0, and 2 preparing [TASK-16]",
        "The service counts 2 preparing tasks as running. [TASK-16]",
        "Next: preparation ends on n0 at 08:01:01 [PREP-7]",
    ]
    run_to(sim, seconds=70)
    assert list(of_job(sim)) == ["Why has job j not ended?", "Why is task t3 of job j waiting?"]


# -- what is to come


@pytest.mark.parametrize(
    ("kind", "key", "said"),
    [
        ("task", 1, ("it starts on n2", 110_002, "SCHED-7")),
        ("node", 1, ("it is idle", 125_001, "NODE-9")),
        ("job", "j", ("it is terminating", 171_002, "JOB-15")),
        ("pool", "p", ("it is steady", 70_002, "RSZ-2")),
    ],
)
def test_when_what_is_waited_for_comes_about(kind, key, said):
    sim: Simulation = simulation(a_job(tasks=2, onAllTasksComplete="terminatejob"), pool=a_pool(nodes=2))
    run_to(sim, seconds=60)
    do(sim, "rebootNode", poolId="p", node=1)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=3)
    before = list(sim.json_lines())
    found = expected(sim, kind, key)
    assert found is not None
    assert list(sim.json_lines()) == before
    sim.run_until(found.when_ms)
    assert (found.text, found.when_ms, found.rule) == said


def test_what_never_comes_about_and_what_is_not_waited_for():
    sim = simulation(a_job(prep=a_line(10, exit_code=1)))
    run_to(sim, minutes=2)
    assert expected(sim, "task", 0).text == "no change until the end of the run"
    assert expected(sim, "node", node_row(sim)) is None
    assert expected(sim, "job schedule", "s") is None
    run_to(sim, minutes=3)
    sim.seek(60_000)
    assert expected(sim, "task", 0) is None


def test_what_lies_too_far_off_is_not_looked_for():
    sim = simulation(a_job(tasks=[*some_tasks(4_000, 60), a_task("last")]))
    run_to(sim, seconds=60)
    assert expected(sim, "task", task_row(sim, "last")).text == "no change in the next 5,000 events"


def test_the_nodes_for_a_job_and_its_waiting_task_are_looked_at_once(monkeypatch):
    sim, looked_at = simulation(a_job(tasks=5), pool=a_pool(nodes=1)), []
    run_to(sim, seconds=READY_S + 5)
    known = candidates.candidates
    monkeypatch.setattr(candidates, "candidates", lambda *of: looked_at.append(of) or known(*of))
    job, task = explain(sim, "job", "j")[:2]
    assert len(looked_at) == 1
    assert job.next_change == task.next_change
    assert task == explain(sim, "task", task_row(sim, "t2"))[0]


def test_what_would_happen_after_the_end_of_the_run_is_told_so():
    sim = simulation(a_job(tasks=[a_task("t", 3600)]), pool=a_pool(nodes=1), until="PT10M")
    run_to_end(sim)
    ((_, _, following),) = open_jobs(sim)
    assert following.endswith(", after the end of the run")
