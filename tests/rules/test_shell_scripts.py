"""Scripts of processes on nodes: how long they take, what time it is in them, and how they end (TASK-22 to 25)."""

from __future__ import annotations

import pytest

from tests.builders import a_job, a_pool, a_shell, events, file, mpi_pool, prep, run_to_end, times

JOB = "workitems/j/job-1"


def script(task_id, text, **more):
    return {"id": task_id} | a_shell(text) | more


def seconds(sim, task="t1"):
    """How long a task ran, the second of its start included."""
    (begin,) = times(sim, "TaskStateChanged", taskId=task, to="running")
    (end,) = times(sim, "TaskStateChanged", taskId=task, to="completed")
    return end - begin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo a", 1),
        ("sleep 30", 30),
        ("for i in 1 2 3; do sleep 10; done", 30),
        ("false && sleep 30", 1),
        ("[ -f none ] || sleep 30; exit; sleep 60", 30),
        ("n=5; sleep $n; sleep $((n * 2))", 15),
        ("f() { sleep 4; }; f; f", 8),
        ("sleep 30 & sleep 20; wait", 30),
        ("sleep 30 & sleep 20", 20),
        ("sleep 5 | sleep 3", 5),
        ("set -e; cat none; sleep 30", 1),
        ("while true; do sleep 1; break; done", 1),
        ("echo sleep", 1),
        ('echo "sleep 7" > s; . ./s', 7),
        ('sh -c "sleep 8; exit 0"', 8),
    ],
)
def test_task_24_a_script_takes_the_time_that_it_sleeps(start, text, expected):
    sim = start(a_job(tasks=[script("t1", text)]))
    run_to_end(sim)
    assert seconds(sim) == expected + 1


def test_task_24_what_lies_on_the_node_decides_how_long_a_script_sleeps(start):
    fetch = "if [ ! -f $AZ_BATCH_NODE_SHARED_DIR/x ]; then sleep 40; touch $AZ_BATCH_NODE_SHARED_DIR/x; fi"
    sim = start(a_job(tasks=[script("t1", fetch), script("t2", fetch)], prep=a_shell("for i in 1 2; do sleep 5; done")))
    run_to_end(sim)
    assert (seconds(sim, "t1"), seconds(sim, "t2")) == (41, 2)
    assert prep(sim).end_ms - prep(sim).start_ms == 11_000


def test_task_24_the_time_is_kept_from_the_start_of_the_process(start):
    """Another task makes the file while this one sleeps; its end has been known since its start."""
    wait = "[ -f $AZ_BATCH_NODE_SHARED_DIR/x ] || sleep 60; ls $AZ_BATCH_NODE_SHARED_DIR"
    tasks = [script("t1", wait), script("t2", "touch $AZ_BATCH_NODE_SHARED_DIR/x")]
    sim = start(a_job(tasks=tasks), pool=a_pool(taskSlotsPerNode=2))
    run_to_end(sim)
    assert seconds(sim, "t1") == 61
    assert file(sim, f"{JOB}/t1/stdout.txt") == "x\n"
    assert not sim.world.nodes[0].setups


def test_task_24_a_seek_finds_the_same_times(start):
    text = "[ -f $AZ_BATCH_NODE_SHARED_DIR/x ] || sleep 40; date; touch $AZ_BATCH_NODE_SHARED_DIR/x"
    sim = start(a_job(tasks=[script(f"t{number}", text) for number in range(1, 6)]))
    run_to_end(sim)
    lines, end_ms = list(sim.json_lines()), sim.now_ms
    for when_ms in (end_ms // 2, end_ms // 3, end_ms - 1_500):
        sim.seek(when_ms)
        sim.branch()
        run_to_end(sim)
        assert list(sim.json_lines()) == lines


def test_task_24_simulate_says_more_than_the_script(start):
    loop = script("t1", "for i in 1 2 3; do sleep 10; done", simulate={"duration": 5})
    sim = start(a_job(tasks=[loop]))
    run_to_end(sim)
    assert seconds(sim) == 6


def test_task_24_date_shows_simulated_time(start):
    text = "date +%Y-%m-%dT%H:%M:%SZ; sleep 60; date +%H:%M:%S; date -u; date +%s"
    sim = start(a_job(tasks=[script("t1", text)]), startTime="2026-03-01T09:00:00Z")
    run_to_end(sim)
    (begin,) = times(sim, "TaskStateChanged", taskId="t1", to="running")
    first, second, whole, unix = file(sim, f"{JOB}/t1/stdout.txt").splitlines()
    minutes, rest = divmod(begin + 1, 60)
    assert first == f"2026-03-01T09:{minutes:02.0f}:{rest:02.0f}Z"
    assert second == f"09:{minutes + 1:02.0f}:{rest:02.0f}"
    assert whole == f"Sun Mar  1 {second} UTC 2026"
    assert int(unix) == 1772355600 + begin + 61


def test_task_24_a_start_task_sleeps_too(start):
    sim = start(a_job(), pool=a_pool(startTask=a_shell("for i in 1 2; do sleep 20; done") | {"waitForSuccess": True}))
    run_to_end(sim)
    begin, end = times(sim, "StartTaskStateChanged")
    assert end - begin == 41


def test_task_24_commands_on_several_nodes_count_each_sleep_once(start):
    settings = {"numberOfInstances": 2, "coordinationCommandLine": '/bin/sh -c "for i in 1 2; do sleep 3; done"'}
    sim = start(
        a_job(tasks=[script("t1", "for i in 1 2; do sleep 10; done", multiInstanceSettings=settings)]),
        pool=mpi_pool(nodes=2),
    )
    run_to_end(sim)
    assert seconds(sim) == 4 + 11


def test_task_23_a_process_ends_with_1_at_its_bounds(start):
    sim = start(a_job(tasks=[script("t1", "while true; do :; done")]))
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stderr.txt") == "sh: stopped after 100,000 steps\n"
    assert [event["exitCode"] for event in events(sim, "TaskStateChanged", to="completed")] == [1]
    assert seconds(sim) == 2


def test_task_25_a_syntax_error_fails_the_process_with_2(start):
    sim = start(a_job(tasks=[script("t1", "if true; then echo a")]))
    run_to_end(sim)
    assert "Syntax error" in file(sim, f"{JOB}/t1/stderr.txt")
    assert [event["exitCode"] for event in events(sim, "TaskStateChanged", to="completed")] == [2]


def test_task_25_an_unreadable_script_is_a_program(start):
    bash = {"commandLine": '/bin/bash -c "[[ -f x ]] && echo a > x"'}
    sim = start(a_job(tasks=[{"id": "t1"} | bash]))
    run_to_end(sim)
    assert seconds(sim) == 61
    assert file(sim, f"{JOB}/t1/wd/x") is None


def test_task_22_a_preparation_task_does_what_people_write(start):
    text = (
        "set -e; cd $AZ_BATCH_NODE_SHARED_DIR; "
        "if [ ! -d data ]; then mkdir data; fi; "
        'for part in $(seq 1 3); do fetch part-$part && echo "part $part" >> data/all; done; '
        "[ $(wc -l < data/all) -eq 3 ] || exit 4; grep -c part data/all"
    )
    sim = start(a_job(prep=a_shell(text)))
    run_to_end(sim)
    assert file(sim, "shared/data/all") == "part 1\npart 2\npart 3\n"
    assert file(sim, f"{JOB}/jobpreparation/stdout.txt") == "3\n"


def test_task_12_the_limit_of_a_task_that_sleeps(start):
    sim = start(
        a_job(tasks=[script("t1", "for i in 1 2 3; do sleep 10; done", constraints={"maxWallClockTime": "PT15S"})])
    )
    run_to_end(sim)
    assert seconds(sim) == 15
