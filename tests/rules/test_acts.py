"""Processes that act: the commands that they give while they run, and what they wait for (chapter 10)."""

from __future__ import annotations

import pytest

from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    job_state,
    mpi_pool,
    run_to,
    run_to_end,
    task_history,
    task_row,
    task_state,
    times,
    together,
)

HOUR = {"until": "PT1H"}


def sweep(count=3, seconds=60, prefix="t"):
    task = {"id": prefix + "{0}", "commandLine": "work", "simulate": {"duration": seconds}}
    ranges = [{"start": 1, "end": count}]
    return {"taskFactory": {"type": "parametricSweep", "parameterSets": ranges, "repeatTask": task}}


def acting(*does, until=None, command="manage", **simulate):
    """A command line that does this."""
    given = {"does": list(does)} | ({} if until is None else {"until": until}) | simulate
    return {"commandLine": command, "simulate": given}


def a_manager(*does, until="othersCompleted", **more):
    simulate = more.pop("simulate", {})
    return {"id": "boss"} | acting(*does, until=until, **simulate) | more


def adding(after=10, **tasks):
    return {"after": after, "addTasks": tasks or sweep()}


def ended(sim, task="t1"):
    return times(sim, "TaskStateChanged", taskId=task, to="completed")


# -- commands --------------------------------------------------------------------------------------------------------


def test_jm_3_a_manager_adds_tasks_and_ends_its_job_when_they_are_completed(start):
    sim = start(a_job(tasks=[], jobManagerTask=a_manager(adding())), pool=a_pool(nodes=2), **HOUR)
    run_to_end(sim)
    assert times(sim, "CommandAccepted", command="addTasks") == [READY_S + 10]
    assert ended(sim, "boss") == ended(sim, "t3") == [READY_S + 11 + 3 * 61]
    assert events(sim, "JobStateChanged", to="completed")[0]["reason"] == "JMComplete"
    assert not sim.refusals


def test_js_12_a_manager_in_every_job_of_a_schedule_adds_its_tasks(start):
    specification = {"poolInfo": {"poolId": "p"}, "jobManagerTask": a_manager(adding())}
    schedule = {"id": "s", "schedule": {"recurrenceInterval": "PT15M"}, "jobSpecification": specification}
    sim = start(jobSchedules=[schedule], pool=a_pool(nodes=2), until="PT50M")
    run_to_end(sim)
    added = [event["body"]["jobId"] for event in events(sim, "CommandAccepted", command="addTasks")]
    assert added == ["s:job-1", "s:job-2", "s:job-3", "s:job-4"]
    reasons = [event["reason"] for event in events(sim, "JobStateChanged", to="completed")]
    assert reasons == ["JMComplete"] * 4


def test_jm_11_time_counts_from_the_start_of_the_process(start):
    task = a_task() | acting({"after": 7.5, "updateJob": {"priority": 7}}, duration=60)
    sim = start(a_job(tasks=[a_task("t0", 30), task]), **HOUR)
    run_to_end(sim)
    (running,) = times(sim, "TaskStateChanged", taskId="t1", to="running")
    (event,) = events(sim, "CommandAccepted", command="updateJob")
    assert event["t"] == running + 7.5
    assert (event["jobId"], event["taskId"]) == ("j", "t1")
    assert event["body"] == {"jobId": "j", "priority": 7}


def test_jm_11_a_command_without_time_is_given_at_the_start(start):
    sim = start(a_job(tasks=[a_task() | acting({"updateJob": {"priority": 7}}, duration=60)]), **HOUR)
    run_to_end(sim)
    assert times(sim, "CommandAccepted", command="updateJob") == [READY_S]


def test_jm_11_a_condition_is_about_its_own_job_and_may_wait_a_while(start):
    command = {"when": {"tasks": {"completed": 2}}, "after": 5, "addTasks": {"tasks": [a_task("late", 10)]}}
    sim = start(a_job(tasks=2, jobManagerTask=a_manager(command)), pool=a_pool(nodes=2), **HOUR)
    run_to_end(sim)
    assert times(sim, "CommandAccepted", command="addTasks") == [ended(sim, "t2")[0] + 5]


def test_jm_13_the_next_tasks_may_be_added_when_the_first_are_completed(start):
    command = {"when": {"tasks": {"completed": 2}}, "after": 5, "addTasks": {"tasks": [a_task("late", 10)]}}
    sim = start(a_job(tasks=2, jobManagerTask=a_manager(command)), pool=a_pool(nodes=3), **HOUR)
    run_to_end(sim)
    assert ended(sim, "boss") == ended(sim, "late") == [READY_S + 61 + 5 + 1 + 11]


def test_jm_13_a_condition_that_has_not_come_true_keeps_no_process(start):
    command = {"when": {"tasks": {"failed": 1}}, "addTasks": {"tasks": [a_task("late", 10)]}}
    sim = start(a_job(tasks=2, jobManagerTask=a_manager(command)), pool=a_pool(nodes=3), **HOUR)
    run_to_end(sim)
    assert ended(sim, "boss") == ended(sim, "t2")
    assert not sim.world.acting


def test_jm_11_what_an_ended_process_had_to_do_is_void(start):
    task = a_task() | acting({"after": 11, "updateJob": {"priority": 7}}, duration=10)
    sim = start(a_job(tasks=[task]), **HOUR)
    run_to_end(sim)
    assert ended(sim) == [READY_S + 11]
    assert not times(sim, "CommandAccepted", command="updateJob")


def test_jm_11_each_start_gives_the_commands_anew_and_an_interrupted_one_no_more(start):
    task = a_task("t1", 600) | acting(
        {"after": 20, "updateJob": {"priority": 1}}, {"after": 200, "updateJob": {"priority": 2}}, duration=600
    )
    sim = start(a_job(tasks=[task]), **HOUR)
    run_to(sim, seconds=READY_S + 100)
    do(sim, "rebootNode", poolId="p", node=0)
    run_to_end(sim)
    first, second = times(sim, "TaskStateChanged", taskId="t1", to="running")
    given = [(event["t"], event["body"]["priority"]) for event in events(sim, "CommandAccepted", command="updateJob")]
    assert given == [(first + 20, 1), (second + 20, 1), (second + 200, 2)]


def test_jm_11_a_refusal_is_logged_and_fails_nothing(start):
    manager = a_manager(
        adding(), constraints={"maxTaskRetryCount": 1}, simulate={"attempts": [{"exitCode": 1}]}, runExclusive=False
    )
    sim = start(a_job(tasks=[], jobManagerTask=manager), **HOUR, pool=a_pool(nodes=2))
    run_to_end(sim)
    sim.finish()
    (refused,) = events(sim, "CommandRefused")
    assert (refused["code"], refused["taskId"], refused["command"]) == ("TaskExists", "boss", "addTasks")
    assert not sim.refusals


def test_jm_11_an_attempt_may_do_nothing_or_something_else(start):
    attempts = [{"exitCode": 1, "does": []}, {"does": [{"updateJob": {"priority": 9}}]}]
    task = a_task(constraints={"maxTaskRetryCount": 2}) | acting(
        {"updateJob": {"priority": 1}}, duration=10, attempts=[*attempts[:1], {"exitCode": 1} | attempts[1]]
    )
    sim = start(a_job(tasks=[task]), **HOUR)
    run_to_end(sim)
    given = [event["body"]["priority"] for event in events(sim, "CommandAccepted", command="updateJob")]
    assert given == [9, 1]


@pytest.mark.parametrize("hook", ["prep", "release"])
def test_jm_11_preparation_and_release_tasks_act_on_each_node(start, hook):
    line = acting({"after": 1, "updatePool": {"poolId": "p", "metadata": []}}, duration=5, command="hook")
    hooks = {"prep": a_line(5)} | {hook: line}
    sim = start(a_job(tasks=2, onAllTasksComplete="terminatejob", **hooks), pool=a_pool(nodes=2), **HOUR)
    run_to_end(sim)
    name = "JobPreparationTaskStateChanged" if hook == "prep" else "JobReleaseTaskStateChanged"
    given = events(sim, "CommandAccepted", command="updatePool")
    assert [event["t"] for event in given] == [when + 1 for when in times(sim, name, to="running")]
    assert {event["jobId"] for event in given} == {"j"}
    assert len({event["nodeId"] for event in given}) == 2


def test_jm_11_a_preparation_may_add_tasks_and_a_release_is_told_that_the_job_ends(start):
    prep = acting({"after": 1, "addTasks": {"tasks": [a_task("more", 5)]}}, duration=5)
    release = acting({"after": 1, "addTasks": {"tasks": [a_task("late", 5)]}}, duration=5)
    job = a_job(tasks=[a_task("t1", 5)], prep=prep, release=release, onAllTasksComplete="terminatejob")
    sim = start(job, **HOUR)
    run_to_end(sim)
    assert ended(sim, "more")
    (refused,) = events(sim, "CommandRefused")
    assert refused["code"] == "JobBeingTerminated"
    assert job_state(sim) == "completed"


def test_jm_11_a_start_task_acts_on_the_job_that_it_names(start):
    line = acting({"after": 2, "addTasks": {"jobId": "j", "tasks": [a_task("booted", 5)]}}, duration=5)
    sim = start(a_job(tasks=[]), pool=a_pool(startTask=line | {"waitForSuccess": True}), **HOUR)
    run_to_end(sim)
    (event,) = events(sim, "CommandAccepted", command="addTasks")
    assert event["t"] == READY_S + 2
    assert "nodeId" in event
    assert ended(sim, "booted")


def test_jm_11_coordination_commands_act_on_each_node_and_the_application_after_them(start):
    coordinate = {
        "commandLine": "mpd",
        "simulate": {"duration": 9, "does": [{"after": 1, "updateJob": {"priority": 1}}]},
    }
    task = together(instances=2, coordinate=coordinate)
    task["simulate"]["does"] = [{"after": 3, "updateJob": {"priority": 2}}]
    sim = start(a_job(tasks=[task]), pool=mpi_pool(2), **HOUR)
    run_to_end(sim)
    given = [(event["t"], event["body"]["priority"]) for event in events(sim, "CommandAccepted", command="updateJob")]
    assert given == [(READY_S + 1, 1), (READY_S + 1, 1), (READY_S + 10 + 3, 2)]


def test_jm_11_tasks_that_a_process_adds_may_act_themselves(start):
    grandchild = a_task("grandchild", 5)
    child = a_task("child") | acting({"after": 1, "addTasks": {"tasks": [grandchild]}}, duration=5)
    sim = start(a_job(tasks=[a_task() | acting({"addTasks": {"tasks": [child]}}, duration=5)]), **HOUR)
    run_to_end(sim)
    assert task_state(sim, "grandchild") == "completed"


def test_jm_11_tasks_of_a_factory_act_with_their_own_numbers(start):
    task = {"id": "t{0}"} | acting({"addTasks": {"tasks": [{"id": "child-{0}", "commandLine": "work"}]}}, duration=5)
    factory = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": 3}], "repeatTask": task}
    sim = start(a_job(tasks=[], taskFactory=factory), expect=[{"jobId": "j", "taskId": "child-3", "result": "success"}])
    run_to_end(sim)
    sim.finish()
    assert [outcome.met for outcome in sim.expectations] == [True]


def test_jm_11_defaults_of_all_tasks_may_act(start):
    simulate = {"tasks": {"duration": 5, "does": [{"addTasks": {"tasks": [{"id": "one", "commandLine": "work"}]}}]}}
    sim = start(a_job(tasks=[{"id": "t1", "commandLine": "work"}]), simulate=simulate, **HOUR)
    run_to_end(sim)
    assert task_state(sim, "one") == "completed"
    assert len(events(sim, "CommandRefused", code="TaskExists")) == 1  # the new task does the same


def test_jm_11_a_process_may_fail_its_own_node(start):
    task = a_task() | acting({"after": 5, "failNode": {"poolId": "p", "node": 0, "for": "PT1M"}}, duration=60)
    sim = start(a_job(tasks=[task]), until="PT5M")
    run_to_end(sim)
    assert times(sim, "FaultInjected")[0] == READY_S + 5
    assert task_history(sim)[:4] == ["active", "running", "active", "running"]


# -- ends ------------------------------------------------------------------------------------------------------------


def test_jm_12_a_process_ends_when_a_condition_holds(start):
    task = a_task() | {"simulate": {"until": {"taskId": "other", "state": "completed"}, "exitCode": 3}}
    sim = start(a_job(tasks=[task, a_task("other", 30)]), pool=a_pool(nodes=2), **HOUR)
    run_to_end(sim)
    assert ended(sim) == ended(sim, "other")
    assert events(sim, "TaskStateChanged", taskId="t1", to="completed")[0]["exitCode"] == 3


def test_jm_12_a_condition_that_holds_already_leaves_it_the_time_to_start(start):
    task = a_task() | {"simulate": {"until": {"state": "active"}}}
    sim = start(a_job(tasks=[task]), **HOUR)
    run_to_end(sim)
    assert ended(sim) == [READY_S + 1]


def test_jm_12_without_other_tasks_it_waits(start):
    sim = start(a_job(tasks=[], jobManagerTask=a_manager()), until="PT10M")
    run_to_end(sim)
    assert task_state(sim, "boss") == "running"
    do(sim, "addTasks", jobId="j", tasks=[a_task("t1", 5)])
    run_to(sim, minutes=10)
    assert task_state(sim, "t1") == "active"  # its node is the manager's own


def test_jm_12_a_condition_that_never_holds_lets_the_run_end(start):
    task = a_task() | {"simulate": {"until": {"taskId": "t1", "state": "completed"}}}
    sim = start(a_job(tasks=[task]), until="PT10M")
    sim.run_until(sim.end_ms)
    sim.finish()
    assert sim.now_ms == 600_000
    assert task_state(sim) == "running"


def test_jm_12_a_time_limit_ends_it(start):
    task = a_task(constraints={"maxWallClockTime": "PT2M"}) | {"simulate": {"until": "othersCompleted"}}
    sim = start(a_job(tasks=[task]), **HOUR)
    run_to_end(sim)
    assert ended(sim) == [READY_S + 120]
    assert events(sim, "TaskStateChanged", to="completed")[0]["failureInfo"]["code"] == "TaskEnded"


def test_jm_12_a_new_time_limit_ends_it(start):
    sim = start(a_job(tasks=[a_task() | {"simulate": {"until": "othersCompleted"}}]), **HOUR)
    run_to(sim, seconds=READY_S + 10)
    do(sim, "updateTask", jobId="j", taskId="t1", constraints={"maxWallClockTime": "PT2M"})
    run_to_end(sim)
    assert ended(sim) == [READY_S + 120]


@pytest.mark.parametrize("command", ["terminateTask", "terminateJob", "deleteTask"])
def test_jm_12_it_can_be_terminated_with_its_task_or_job(start, command):
    sim = start(a_job(tasks=[a_task() | {"simulate": {"until": "othersCompleted"}}]), **HOUR)
    run_to(sim, seconds=READY_S + 10)
    do(sim, command, jobId="j", **({} if command == "terminateJob" else {"taskId": "t1"}))
    run_to_end(sim)
    assert "completed" in task_history(sim)
    assert not sim.world.acting


def test_jm_12_it_is_lost_with_its_node_and_waits_again(start):
    sim = start(a_job(tasks=[a_task() | {"simulate": {"until": "othersCompleted"}}]), **HOUR)
    run_to(sim, seconds=READY_S + 10)
    do(sim, "rebootNode", poolId="p", node=0)
    run_to(sim, minutes=10)
    assert task_history(sim) == ["active", "running", "active", "running"]
    assert len(sim.world.acting) == 1


def test_jm_12_two_that_wait_for_each_other_wait_for_ever(start):
    tasks = [a_task(name) | {"simulate": {"until": "othersCompleted"}} for name in ("t1", "t2")]
    sim = start(a_job(tasks=tasks), pool=a_pool(nodes=2), **HOUR)
    run_to(sim, minutes=10)
    assert [task_state(sim, name) for name in ("t1", "t2")] == ["running", "running"]
    do(sim, "terminateTask", jobId="j", taskId="t1")
    run_to(sim, minutes=11)
    assert task_state(sim, "t2") == "completed"


def test_jm_12_a_deleted_task_is_no_other_task(start):
    sim = start(a_job(tasks=[a_task("t1", 30), a_task("t2", 900)], jobManagerTask=a_manager()), pool=a_pool(nodes=3))
    run_to(sim, minutes=5)
    do(sim, "deleteTask", jobId="j", taskId="t2")
    run_to(sim, minutes=6)
    assert ended(sim, "boss") == [300.001]


def test_jm_12_a_running_task_that_is_deleted_is_not_completed_in_between(start):
    """It was the only other one: then there is none, and the next one counts."""
    sim = start(a_job(tasks=[a_task("t1", 900)], jobManagerTask=a_manager()), pool=a_pool(nodes=3), **HOUR)
    run_to(sim, minutes=5)
    do(sim, "deleteTask", jobId="j", taskId="t1")
    run_to(sim, minutes=10)
    assert task_state(sim, "boss") == "running"
    do(sim, "addTasks", jobId="j", tasks=[a_task("t2", 30)])
    run_to_end(sim)
    assert ended(sim, "boss") == ended(sim, "t2")


def test_jm_12_preparation_release_and_start_tasks_wait_for_conditions(start):
    until = {"until": {"jobId": "k", "taskId": "sign", "state": "completed"}}
    hook = {"commandLine": "hook", "simulate": until}
    signal = a_job("k", [a_task("sign", 100)], pool="q")
    waiting = a_job(tasks=[a_task("t1", 5)], prep=hook, release=hook, onAllTasksComplete="terminatejob")
    pools = [a_pool(startTask=hook | {"waitForSuccess": True}), a_pool("q")]
    sim = start(waiting, signal, pools=pools, **HOUR)
    run_to_end(sim)
    sign = READY_S + 101
    assert times(sim, "StartTaskStateChanged", to="completed") == [sign]
    assert times(sim, "JobPreparationTaskStateChanged", to="completed") == [sign + 1]
    assert times(sim, "JobReleaseTaskStateChanged", to="completed") == [sign + 1 + 6 + 1]


def test_jm_12_coordination_commands_and_multi_instance_tasks_wait(start):
    coordinate = {"commandLine": "mpd", "simulate": {"until": {"taskId": "first", "state": "completed"}}}
    task = together(instances=2, coordinate=coordinate)
    task["simulate"] = {"until": {"taskId": "second", "state": "completed"}}
    job = a_job(tasks=[task, a_task("first", 60), a_task("second", 120)])
    sim = start(job, pool=mpi_pool(4), **HOUR)
    run_to_end(sim)
    assert ended(sim, "mpi") == ended(sim, "second") == [READY_S + 121]
    assert [event["result"] for event in events(sim, "SubtaskStateChanged", to="completed")] == ["success"]


def test_jm_12_in_an_attempt_its_own_end_wins(start):
    simulate = {"until": "othersCompleted", "attempts": [{"duration": 30, "exitCode": 1}]}
    task = a_task(constraints={"maxTaskRetryCount": 1}) | {"simulate": simulate}
    sim = start(a_job(tasks=[task, a_task("other", 100)]), pool=a_pool(nodes=2), **HOUR)
    run_to_end(sim)
    assert task_history(sim) == ["active", "running", "active", "running", "completed"]
    assert ended(sim) == [READY_S + 101]


def test_jm_13_a_process_has_not_waited_for_tasks_that_it_is_still_to_add(start):
    manager = a_manager(adding(10, tasks=[a_task("t1", 5)]), adding(200, tasks=[a_task("t2", 5)]))
    sim = start(a_job(tasks=[], jobManagerTask=manager), pool=a_pool(nodes=2), **HOUR)
    run_to_end(sim)
    assert ended(sim, "boss") == ended(sim, "t2") == [READY_S + 200 + 1 + 6]


def test_jm_13_a_manager_that_runs_again_is_told_that_its_tasks_exist(start):
    manager = a_manager(adding(), constraints={"maxTaskRetryCount": 1}, simulate={"attempts": [{"exitCode": 1}]})
    sim = start(a_job(tasks=[], jobManagerTask=manager), pool=a_pool(nodes=2), **HOUR)
    run_to_end(sim)
    first, second = ended(sim, "t3")[0], ended(sim, "boss")[0]
    assert times(sim, "CommandRefused", code="TaskExists") == [first + 10] == [second]


def test_jm_14_commands_of_one_moment_keep_their_order_behind_those_of_the_timeline(start):
    task = a_task() | acting(*({"after": 10, "updateJob": {"priority": number}} for number in (1, 2, 3)), duration=60)
    timeline = [{"at": READY_S + 10, "updateJob": {"jobId": "j", "priority": 0}}]
    sim = start(a_job(tasks=[task]), timeline=timeline, **HOUR)
    run_to_end(sim)
    assert [event["body"]["priority"] for event in events(sim, "CommandAccepted", command="updateJob")] == [0, 1, 2, 3]


def test_jm_14_two_that_restart_each_other_do_not_stop_the_clock(start):
    def restarting(own, other):
        commands = ("terminateTask", "reactivateTask")
        return a_task(own) | acting(*({name: {"taskId": other}} for name in commands), duration=60)

    sim = start(a_job(tasks=[restarting("t1", "t2"), restarting("t2", "t1")]), pool=a_pool(nodes=2), until="PT50.5S")
    run_to_end(sim)
    assert 500 < len(events(sim, "CommandAccepted", command="reactivateTask")) <= 2_000


def test_task_3_a_factory_adds_those_of_its_tasks_that_are_not_there(start):
    sim = start(
        a_job(tasks=[a_task("T2", 5)]),
        timeline=[{"at": 1, "refused": "TaskExists", "addTasks": {"jobId": "j"} | sweep()}],
    )
    run_to(sim, minutes=30)
    assert [task_state(sim, name) for name in ("t1", "t2", "t3")] == ["completed"] * 3
    assert task_row(sim, "t3") == task_row(sim, "t1") + 1
    assert [refusal.announced for refusal in sim.refusals] == [True]


def test_task_3_a_factory_of_which_every_task_is_there_leaves_only_its_refusal(start):
    again = {"addTasks": {"jobId": "j"} | sweep()}
    sim = start(a_job(tasks=[]), timeline=[{"at": 1} | again, {"at": 2, "refused": "TaskExists"} | again])
    run_to(sim, minutes=30)
    assert len(events(sim, "CommandAccepted", command="addTasks")) == 1
    assert sim.world.jobs[0].total == 3


@pytest.mark.parametrize("line", [a_line(5), a_line(5, command="other")])
def test_jm_11_a_plain_process_does_nothing(start, line):
    sim = start(a_job(tasks=[{"id": "t1"} | line]), **HOUR)
    run_to(sim, seconds=READY_S + 1)
    assert not sim.world.acting
