"""Chapters 20 and 21 as processes on a node meet them: where they write, what they see, what stays (FILE-*, ENV-*)."""

from __future__ import annotations

import pytest

from tests.builders import (
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    evict,
    file,
    job_state,
    node,
    run,
    run_to,
    run_to_end,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE

JOB = "workitems/j/job-1"
START = a_shell("echo started > here.txt")
WINDOWS = {
    "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
    "nodeAgentSKUId": "batch.node.windows amd64",
}


def a_shell_task(task_id, script, **more):
    return a_task(task_id) | a_shell(script) | more


def a_cmd(script, **more):
    return {"commandLine": f"cmd /c {script}"} | more


def disk(sim, index=0):
    return sim.world.disks[index]


def lines(text):
    """Return the variables that were set, from the output of ``TELL``."""
    return {name: value for name, value in (line.split("=", 1) for line in text.splitlines()) if value}


# -- directories -----------------------------------------------------------------------------------------------------


def test_file_1_each_process_has_its_own_directory(start):
    sim = start(
        a_job(
            tasks=[a_shell_task("t1", "echo task > out.txt")],
            prep=a_shell("echo prep > out.txt"),
            release=a_shell("echo release > out.txt"),
            onAllTasksComplete="terminatejob",
        ),
        pool=a_pool(startTask=a_shell("echo start > out.txt")),
    )
    run_to_end(sim)
    assert file(sim, "startup/wd/out.txt") == "start\n"
    assert file(sim, f"{JOB}/jobpreparation/wd/out.txt") == "prep\n"
    assert file(sim, f"{JOB}/t1/wd/out.txt") == "task\n"
    assert file(sim, f"{JOB}/jobrelease/wd/out.txt") == "release\n"


def test_file_2_directories_carry_the_ids_given_in_the_job(start):
    hooks = {"prep": a_shell("echo p", id="Fetch"), "release": a_shell("echo r", id="Clean")}
    sim = start(a_job(onAllTasksComplete="terminatejob", **hooks))
    run_to_end(sim)
    assert (file(sim, f"{JOB}/Fetch/stdout.txt"), file(sim, f"{JOB}/Clean/stdout.txt")) == ("p\n", "r\n")


def test_file_3_job_directories_are_lower_case_task_directories_are_not(start):
    sim = start(a_job("Nightly-Risk", tasks=[a_shell_task("Deal_7", "pwd")]))
    run_to_end(sim)
    path = "workitems/nightly-risk/job-1/Deal_7"
    assert file(sim, f"{path}/stdout.txt") == f"/mnt/batch/tasks/{path}/wd\n"


def test_file_4_output_and_errors_are_kept_apart(start):
    sim = start(a_job(tasks=[a_shell_task("t1", "echo out; echo err >&2")]))
    run_to_end(sim)
    assert (file(sim, f"{JOB}/t1/stdout.txt"), file(sim, f"{JOB}/t1/stderr.txt")) == ("out\n", "err\n")


def test_file_4_what_an_unknown_program_says(start):
    sim = start(a_job(tasks=[a_task("t1", simulate={"stdout": "priced\n", "stderr": "slow\n"})]))
    run_to_end(sim)
    assert (file(sim, f"{JOB}/t1/stdout.txt"), file(sim, f"{JOB}/t1/stderr.txt")) == ("priced\n", "slow\n")


def test_retry_12_a_new_attempt_truncates_the_output_and_keeps_the_working_directory(start):
    task = a_shell_task(
        "t1",
        "echo again; echo line >> log.txt",
        constraints={"maxTaskRetryCount": 1},
        simulate={"attempts": [{"exitCode": 1}]},
    )
    sim = start(a_job(tasks=[task]))
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "again\n"
    assert file(sim, f"{JOB}/t1/wd/log.txt") == "line\nline\n"


def test_file_5_a_process_starts_in_its_working_directory(start):
    prep = a_shell("echo prepared > here.txt")
    sim = start(a_job(tasks=[a_shell_task("t1", "echo worked > here.txt")], prep=prep), pool=a_pool(startTask=START))
    run_to_end(sim)
    assert file(sim, "startup/wd/here.txt") == "started\n"
    assert file(sim, f"{JOB}/jobpreparation/wd/here.txt") == "prepared\n"
    assert file(sim, f"{JOB}/t1/wd/here.txt") == "worked\n"


def test_file_8_shared_is_for_everybody_and_cleaned_by_nobody(start):
    first = a_job(tasks=[a_shell_task("t1", "echo left > $AZ_BATCH_NODE_SHARED_DIR/left.txt")])
    second = a_job("k", tasks=[a_shell_task("t1", "cat $AZ_BATCH_NODE_SHARED_DIR/left.txt")], at="PT5M")
    sim = start(first, second)
    run_to(sim, minutes=4)
    do(sim, "deleteJob", jobId="j")
    run_to_end(sim)
    assert job_state(sim) is None
    assert file(sim, "workitems/k/job-1/t1/stdout.txt") == "left\n"
    assert file(sim, "shared/left.txt") == "left\n"


@pytest.mark.parametrize(("operation", "kept"), [("rebootNode", True), ("reimageNode", False)])
def test_file_9_a_reboot_keeps_files_a_reimage_destroys_them(start, operation, kept):
    sim = start(a_job(tasks=[a_shell_task("t1", "echo x > $AZ_BATCH_NODE_SHARED_DIR/x")]))
    run_to(sim, minutes=4)
    do(sim, operation, **ON_NODE)
    run_to_end(sim)
    assert (file(sim, "shared/x") is not None) is kept
    assert disk(sim).exists(JOB) is kept


def test_file_9_a_fault_keeps_files_a_preemption_destroys_them(start):
    sim = start(
        a_job(tasks=[a_shell_task(f"t{n}", "echo x > $AZ_BATCH_NODE_SHARED_DIR/x") for n in (1, 2)]),
        pool=a_pool(targetLowPriorityNodes=1),
    )
    run_to(sim, minutes=4)
    spot = next(index for index in (0, 1) if not node(sim, index).dedicated)
    do(sim, "failNode", poolId="p", node=1 - spot, **{"for": "PT1M"})
    evict(sim, spot)
    assert (file(sim, "shared/x", 1 - spot), file(sim, "shared/x", spot)) == ("x\n", None)


def test_task_14_deleting_a_task_removes_its_directory(start):
    sim = start(a_job(tasks=[a_shell_task("t1", "echo x"), a_shell_task("t2", "echo y")]))
    run_to_end(sim)
    do(sim, "deleteTask", jobId="j", taskId="t1")
    assert task_state(sim) is None
    assert (disk(sim).exists(f"{JOB}/t1"), disk(sim).exists(f"{JOB}/t2")) == (False, True)


def test_a_process_that_is_stopped_has_written_nothing(start):
    # DECISION: files and output appear when a process ends by itself.
    task = a_shell_task("t1", "echo x > $AZ_BATCH_NODE_SHARED_DIR/x", simulate={"duration": 600})
    sim = start(a_job(tasks=[task]))
    run_to(sim, minutes=3)
    do(sim, "terminateTask", jobId="j", taskId="t1")
    run_to_end(sim)
    assert file(sim, "shared/x") is None
    assert file(sim, f"{JOB}/t1/stdout.txt") == ""


# -- environment -----------------------------------------------------------------------------------------------------

JOB_ONLY = {"AZ_BATCH_JOB_ID", "AZ_BATCH_TASK_ID"}
PREP_ONLY = {"AZ_BATCH_JOB_PREP_DIR", "AZ_BATCH_JOB_PREP_WORKING_DIR"}
ALL = {
    "AZ_BATCH_ACCOUNT_NAME",
    "AZ_BATCH_ACCOUNT_URL",
    "AZ_BATCH_NODE_ID",
    "AZ_BATCH_NODE_IS_DEDICATED",
    "AZ_BATCH_NODE_ROOT_DIR",
    "AZ_BATCH_NODE_SHARED_DIR",
    "AZ_BATCH_NODE_STARTUP_DIR",
    "AZ_BATCH_NODE_MOUNTS_DIR",
    "AZ_BATCH_POOL_ID",
    "AZ_BATCH_TASK_DIR",
    "AZ_BATCH_TASK_WORKING_DIR",
    "AZ_BATCH_TASK_RESERVED_EPHEMERAL_DISK_SPACE_BYTES",
    "AZ_BATCH_CERTIFICATES_DIR",
}


TELL = "; ".join(f"echo {name}=${name}" for name in sorted(ALL | JOB_ONLY | PREP_ONLY))


@pytest.fixture
def seen(start):
    """The environments of all four kinds of process on one node, by the directory that shows them."""
    sim = start(
        a_job(
            tasks=[a_shell_task("t1", TELL)],
            prep=a_shell(TELL),
            release=a_shell(TELL),
            onAllTasksComplete="terminatejob",
        ),
        pool=a_pool(startTask=a_shell(TELL)),
        account={"name": "contoso", "location": "westeurope"},
    )
    run_to_end(sim)
    found = {
        "start": file(sim, "startup/stdout.txt"),
        "prep": file(sim, f"{JOB}/jobpreparation/stdout.txt"),
        "task": file(sim, f"{JOB}/t1/stdout.txt"),
        "release": file(sim, f"{JOB}/jobrelease/stdout.txt"),
    }
    return sim, {name: lines(text) for name, text in found.items()}


def test_env_2_all_means_every_kind_of_process(seen):
    _, environments = seen
    for environment in environments.values():
        assert environment.keys() >= ALL


def test_env_2_the_start_task_knows_no_job(seen):
    _, environments = seen
    assert not environments["start"].keys() & (JOB_ONLY | PREP_ONLY)
    for name in ("prep", "task", "release"):
        assert environments[name]["AZ_BATCH_JOB_ID"] == "j"


def test_env_2_the_preparations_directory_is_known_to_those_after_it(seen):
    _, environments = seen
    assert not environments["prep"].keys() & PREP_ONLY
    for name in ("task", "release"):
        assert environments[name]["AZ_BATCH_JOB_PREP_DIR"] == f"/mnt/batch/tasks/{JOB}/jobpreparation"


def test_env_2_each_has_its_own_id_and_directory(seen):
    _, environments = seen
    ids = {name: environment.get("AZ_BATCH_TASK_ID") for name, environment in environments.items()}
    assert ids == {"start": None, "prep": "jobpreparation", "task": "t1", "release": "jobrelease"}
    assert environments["start"]["AZ_BATCH_TASK_DIR"] == "/mnt/batch/tasks/startup"
    assert environments["release"]["AZ_BATCH_TASK_WORKING_DIR"] == f"/mnt/batch/tasks/{JOB}/jobrelease/wd"


def test_env_2_the_node_the_pool_and_the_account(seen):
    sim, environments = seen
    for environment in environments.values():
        assert environment["AZ_BATCH_NODE_ID"] == node(sim).id
        assert environment["AZ_BATCH_POOL_ID"] == "p"
        assert environment["AZ_BATCH_NODE_IS_DEDICATED"] == "true"
        assert environment["AZ_BATCH_ACCOUNT_URL"] == "https://contoso.westeurope.batch.azure.com"


def test_env_2_a_job_without_preparation_has_no_directory_of_it(start):
    sim = start(a_job(tasks=[a_shell_task("t1", TELL)]))
    run_to_end(sim)
    assert not lines(file(sim, f"{JOB}/t1/stdout.txt")).keys() & PREP_ONLY


def test_env_2_a_spot_node_is_not_dedicated(start):
    sim = start(
        a_job(tasks=[a_shell_task("t1", "echo $AZ_BATCH_NODE_IS_DEDICATED")]),
        pool=a_pool(targetDedicatedNodes=0, targetLowPriorityNodes=1),
    )
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "false\n"


def settings(**values):
    return [{"name": name, "value": value} for name, value in values.items()]


def test_env_1_the_task_wins_over_the_job_and_the_service_over_both(start):
    common = settings(A="job", B="job", AZ_BATCH_POOL_ID="job")
    own = settings(B="task", AZ_BATCH_TASK_ID="task")
    script = "echo $A $B $AZ_BATCH_POOL_ID $AZ_BATCH_TASK_ID"
    sim = start(a_job(tasks=[a_shell_task("t1", script, environmentSettings=own)], commonEnvironmentSettings=common))
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "job task p t1\n"


def test_job_4_common_settings_reach_preparation_and_release(start):
    sim = start(
        a_job(
            prep=a_shell("echo $MARKET $OWN", environmentSettings=settings(OWN="prep")),
            release=a_shell("echo $MARKET $OWN"),
            commonEnvironmentSettings=settings(MARKET="eu", OWN="job"),
            onAllTasksComplete="terminatejob",
        )
    )
    run_to_end(sim)
    assert file(sim, f"{JOB}/jobpreparation/stdout.txt") == "eu prep\n"
    assert file(sim, f"{JOB}/jobrelease/stdout.txt") == "eu job\n"


def test_job_4_common_settings_do_not_reach_the_start_task(start):
    body = a_shell("echo [$MARKET] $OWN", environmentSettings=settings(OWN="start"))
    sim = start(a_job(commonEnvironmentSettings=settings(MARKET="eu")), pool=a_pool(startTask=body))
    run_to_end(sim)
    assert file(sim, "startup/stdout.txt") == "[] start\n"


def test_env_3_variables_are_expanded_by_a_shell_only(start):
    plain = a_task("plain") | {"commandLine": "echo $AZ_BATCH_TASK_ID"}
    sim = start(a_job(tasks=[plain, a_shell_task("shell", "echo $AZ_BATCH_TASK_ID")]))
    run_to_end(sim)
    assert file(sim, f"{JOB}/plain/stdout.txt") == "$AZ_BATCH_TASK_ID\n"
    assert file(sim, f"{JOB}/shell/stdout.txt") == "shell\n"


def test_env_3_on_windows_in_percent_signs_with_backslashes(start):
    target = r"%AZ_BATCH_NODE_SHARED_DIR%\ids.txt"
    hooks = {
        "prep": a_cmd(f"echo %AZ_BATCH_NODE_ID% tasks: >{target}"),
        "release": a_cmd(f"del {target}"),
    }
    tasks = [a_task(f"t{n}") | a_cmd(f"echo %AZ_BATCH_TASK_ID% >> {target}") for n in (1, 2)]
    sim = start(a_job(tasks=tasks, **hooks), pool=a_pool(virtualMachineConfiguration=WINDOWS))
    run_to(sim, minutes=10)
    text = file(sim, "shared/ids.txt")
    assert [line.rstrip() for line in text.splitlines()] == [f"{node(sim).id} tasks:", "t1", "t2"]
    do(sim, "terminateJob", jobId="j")
    run(sim, minutes=1)
    assert job_state(sim) == "completed"
    assert file(sim, "shared/ids.txt") is None


def test_file_1_the_root_without_a_temporary_disk(start):
    sim = start(
        a_job(tasks=[a_shell_task("t1", "echo $AZ_BATCH_NODE_ROOT_DIR")]), pool=a_pool(vmSize="standard_d2s_v5")
    )
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "/opt/batch/data/tasks\n"


def test_task_4_redirection_of_an_unknown_program_under_a_shell(start):
    line = {"commandLine": '/bin/sh -c "fetch > $AZ_BATCH_NODE_SHARED_DIR/market.csv"'}
    body = a_line(5, simulate={"stdout": "a,b\n"}) | line
    sim = start(a_job(prep=body))
    run_to_end(sim)
    assert file(sim, "shared/market.csv") == "a,b\n"


# -- the world around a command line ---------------------------------------------------------------------------------


def test_env_4_and_file_15_a_process_sees_user_and_machine(start):
    script = "cd ~; echo $USER $TMPDIR; pwd; . /etc/os-release; echo $ID; grep -c processor /proc/cpuinfo"
    tasks = [
        a_shell_task("own", script),
        a_shell_task("admin", "echo $USER", userIdentity={"autoUser": {"elevationLevel": "admin"}}),
        a_shell_task("task", "echo $USER", userIdentity={"autoUser": {"scope": "task"}}),
    ]
    sim = start(a_job(tasks=tasks), pools=[a_pool(vmSize="standard_d4s_v3")])
    run_to_end(sim)
    working = "/mnt/batch/tasks/workitems/j/job-1/own/wd"
    assert disk(sim).read(f"{JOB}/own/stdout.txt") == f"_azbatch /tmp\n{working}\nubuntu\n4\n"
    assert disk(sim).read(f"{JOB}/admin/stdout.txt") == "_azbatchsudo\n"
    assert disk(sim).read(f"{JOB}/task/stdout.txt") == "_azbatchtask_1\n"


def test_env_4_windows_names_user_and_processors(start):
    task = a_task("t") | a_cmd("echo %USERNAME% %NUMBER_OF_PROCESSORS% %TEMP%")
    sim = start(a_job(tasks=[task]), pools=[a_pool(virtualMachineConfiguration=WINDOWS, vmSize="standard_d4s_v3")])
    run_to_end(sim)
    temporary = r"C:\Users\TaskNonAdmin\AppData\Local\Temp"
    assert disk(sim).read(f"{JOB}/t/stdout.txt") == f"TaskNonAdmin 4 {temporary}\n"


@pytest.mark.parametrize(
    ("script", "lasts_ms"),
    [("cat /etc/hosts > h", 1_000), ("cat /etc/fstab > h", 60_000), ("timeout 5 sleep 90 || true", 5_000)],
)
def test_file_15_a_line_with_an_unknown_file_takes_the_time_of_an_unknown_program(start, script, lasts_ms):
    sim = start(a_job(tasks=[{"id": "t"} | a_shell(script)]))
    run_to_end(sim)
    begun, ended = (times(sim, "TaskStateChanged", to=state)[0] for state in ("running", "completed"))
    assert 1000 * (ended - begun) == lasts_ms + 1_000
    assert events(sim, "TaskStateChanged", to="completed")[0]["exitCode"] == 0


@pytest.mark.parametrize(("install", "code"), [("install > $AZ_BATCH_NODE_SHARED_DIR/log", 0), ("true", 127)])
def test_file_15_an_unknown_start_task_may_have_installed_anything(start, install, code):
    task = {"id": "t"} | a_shell("bash $AZ_BATCH_NODE_SHARED_DIR/tool.sh")
    sim = start(a_job(tasks=[task]), pools=[a_pool(startTask=a_shell(install), vmSize="standard_d2s_v3")])
    run_to_end(sim)
    assert events(sim, "TaskStateChanged", to="completed")[0]["exitCode"] == code
