from __future__ import annotations

import pytest

from engine.base.paths import (
    START_TASK,
    InstalledPackage,
    MultiInstanceFacts,
    NodeFacts,
    NodeRoot,
    TaskFacts,
    TaskKind,
    settings_of,
    subtask_directory,
    task_directory,
    variables,
)
from engine.base.terms import OsFamily

ON_EVERY_TASK = {
    "AZ_BATCH_ACCOUNT_NAME",
    "AZ_BATCH_ACCOUNT_URL",
    "AZ_BATCH_NODE_ID",
    "AZ_BATCH_NODE_IS_DEDICATED",
    "AZ_BATCH_NODE_MOUNTS_DIR",
    "AZ_BATCH_NODE_ROOT_DIR",
    "AZ_BATCH_NODE_SHARED_DIR",
    "AZ_BATCH_NODE_STARTUP_DIR",
    "AZ_BATCH_POOL_ID",
    "AZ_BATCH_TASK_DIR",
    "AZ_BATCH_TASK_RESERVED_EPHEMERAL_DISK_SPACE_BYTES",
    "AZ_BATCH_TASK_WORKING_DIR",
}
OF_A_JOB = {"AZ_BATCH_JOB_ID", "AZ_BATCH_TASK_ID"}
OF_A_PREPARED_JOB = {"AZ_BATCH_JOB_PREP_DIR", "AZ_BATCH_JOB_PREP_WORKING_DIR"}
OF_SEVERAL_INSTANCES = {
    "AZ_BATCH_HOST_LIST",
    "AZ_BATCH_IS_CURRENT_NODE_MASTER",
    "AZ_BATCH_MASTER_NODE",
    "AZ_BATCH_NODE_LIST",
    "AZ_BATCH_TASK_SHARED_DIR",
    "CCP_NODES",
}


def a_node(os=OsFamily.WINDOWS, **changes):
    facts = {
        "account_name": "contoso",
        "account_url": "https://contoso.westeurope.batch.azure.com",
        "pool_id": "shared",
        "node_id": "tvm-1",
        "root": NodeRoot.of(os),
    }
    return NodeFacts(**(facts | changes))


def a_task(kind=TaskKind.TASK, task_id="deal-1", **changes):
    prep = task_directory("Risk", "jobpreparation")
    facts = {"directory": task_directory("Risk", task_id), "job_id": "Risk", "task_id": task_id, "prep_directory": prep}
    return TaskFacts(kind, **(facts | changes))


two_nodes = MultiInstanceFacts(
    nodes=(("10.0.0.4", 2), ("10.0.0.5", 2)), ip="10.0.0.5", directory=task_directory("Risk", "deal-1")
)


@pytest.mark.parametrize(
    ("task", "more"),
    [
        (START_TASK, set()),
        (a_task(TaskKind.PREP, "jobpreparation"), OF_A_JOB),
        (a_task(TaskKind.RELEASE, "jobrelease"), OF_A_JOB | OF_A_PREPARED_JOB),
        (a_task(TaskKind.MANAGER), OF_A_JOB | OF_A_PREPARED_JOB),
        (a_task(TaskKind.TASK), OF_A_JOB | OF_A_PREPARED_JOB),
        (a_task(TaskKind.TASK, prep_directory=None), OF_A_JOB),
        (a_task(TaskKind.PRIMARY), OF_A_JOB | OF_A_PREPARED_JOB | OF_SEVERAL_INSTANCES),
        (a_task(TaskKind.SUBTASK), OF_A_JOB | OF_A_PREPARED_JOB | OF_SEVERAL_INSTANCES),
    ],
)
def test_env_2_which_task_sees_which_variables(task, more):
    assert of_batch(variables(a_node(), task, multi_instance=two_nodes)) == ON_EVERY_TASK | more
    on_linux = of_batch(variables(a_node(OsFamily.LINUX), task, multi_instance=two_nodes))
    assert on_linux == ON_EVERY_TASK | more | {"AZ_BATCH_CERTIFICATES_DIR"}


def of_batch(names):
    return {name for name in names if name.startswith(("AZ_BATCH_", "CCP_"))}


def test_env_4_linux_says_where_home_is_and_who_runs_the_process():
    shown = variables(a_node(OsFamily.LINUX), a_task(user="_azbatch"))
    working = shown["AZ_BATCH_TASK_WORKING_DIR"]
    assert {name: value for name, value in shown.items() if not name.startswith("AZ_")} == {
        "HOME": working,
        "HOSTNAME": "tvm-1",
        "PATH": f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/mnt/batch/tasks/shared:{working}",
        "TMPDIR": "/tmp",
        "USER": "_azbatch",
    }


def test_env_4_windows_says_where_the_profile_is_and_how_many_processors_there_are():
    shown = variables(a_node(cores=4), a_task(user="PoolAdmin"))
    assert shown["USERPROFILE"] == r"C:\Users\PoolAdmin"
    assert shown["TEMP"] == shown["TMP"] == r"C:\Users\PoolAdmin\AppData\Local\Temp"
    assert (shown["COMPUTERNAME"], shown["NUMBER_OF_PROCESSORS"], shown["USERNAME"]) == ("tvm-1", "4", "PoolAdmin")


def test_env_4_settings_win_over_the_variables_of_the_system():
    shown = variables(a_node(OsFamily.LINUX), a_task(), job_settings={"HOME": "/job"}, task_settings={"PATH": "/x"})
    assert (shown["HOME"], shown["PATH"]) == ("/job", "/x")


def test_directories_are_native():
    seen = variables(a_node(), a_task(TaskKind.RELEASE, "jobrelease"))
    assert seen["AZ_BATCH_NODE_SHARED_DIR"] == r"D:\batch\tasks\shared"
    assert seen["AZ_BATCH_NODE_MOUNTS_DIR"] == r"D:\batch\tasks\fsmounts"
    assert seen["AZ_BATCH_TASK_WORKING_DIR"] == r"D:\batch\tasks\workitems\risk\job-1\jobrelease\wd"
    assert seen["AZ_BATCH_JOB_PREP_DIR"] == r"D:\batch\tasks\workitems\risk\job-1\jobpreparation"
    assert seen["AZ_BATCH_JOB_ID"] == "Risk"
    on_linux = variables(a_node(OsFamily.LINUX), START_TASK)
    assert on_linux["AZ_BATCH_TASK_DIR"] == "/mnt/batch/tasks/startup"
    assert on_linux["AZ_BATCH_TASK_WORKING_DIR"] == "/mnt/batch/tasks/startup/wd"
    assert on_linux["AZ_BATCH_CERTIFICATES_DIR"] == "/mnt/batch/tasks/startup/certs"


def test_env_1_service_over_task_over_job():
    seen = variables(
        a_node(),
        a_task(),
        job_settings={"LEVEL": "job", "ONLY_JOB": "1", "AZ_BATCH_NODE_ID": "mine"},
        task_settings={"LEVEL": "task", "AZ_BATCH_POOL_ID": "mine"},
    )
    assert seen["LEVEL"] == "task"
    assert seen["ONLY_JOB"] == "1"
    assert seen["AZ_BATCH_NODE_ID"] == "tvm-1"
    assert seen["AZ_BATCH_POOL_ID"] == "shared"


def test_env_1_on_windows_case_makes_no_other_name():
    settings = {"job_settings": {"Path": "job"}, "task_settings": {"PATH": "task"}}
    assert {
        name: value for name, value in variables(a_node(), a_task(), **settings).items() if name.upper() == "PATH"
    } == {"PATH": "task"}
    on_linux = variables(a_node(OsFamily.LINUX), a_task(), **settings)
    assert (on_linux["Path"], on_linux["PATH"]) == ("job", "task")


def test_a_setting_without_a_value_is_empty():
    assert settings_of([("A", None), ("B", "1"), ("B", "2")]) == {"A": "", "B": "2"}


def test_app_6_application_packages():
    packages = [InstalledPackage("Pricer-X", "1.2"), InstalledPackage("blender", "4.0", pinned=False)]
    windows = variables(a_node(), START_TASK, packages=packages)
    assert windows["AZ_BATCH_APP_PACKAGE_PRICER-X#1.2"] == r"D:\batch\tasks\applications\pricer-x\1.2"
    assert windows["AZ_BATCH_APP_PACKAGE_BLENDER"] == r"D:\batch\tasks\applications\blender\4.0"
    linux = variables(a_node(OsFamily.LINUX), START_TASK, packages=packages)
    assert linux["AZ_BATCH_APP_PACKAGE_Pricer_X_1_2"] == "/mnt/batch/tasks/applications/pricer-x/1.2"
    assert linux["AZ_BATCH_APP_PACKAGE_blender"] == "/mnt/batch/tasks/applications/blender/4.0"


def test_mi_9_the_nodes_of_a_multi_instance_task():
    subtask = a_task(TaskKind.SUBTASK, directory=subtask_directory(task_directory("Risk", "deal-1"), 1))
    seen = variables(a_node(OsFamily.LINUX), subtask, multi_instance=two_nodes)
    assert seen["CCP_NODES"] == "2 10.0.0.4 2 10.0.0.5 2"
    assert seen["AZ_BATCH_HOST_LIST"] == "10.0.0.4,10.0.0.5"
    assert seen["AZ_BATCH_NODE_LIST"] == "10.0.0.4;10.0.0.5"
    assert seen["AZ_BATCH_MASTER_NODE"] == "10.0.0.4:6000"
    assert seen["AZ_BATCH_IS_CURRENT_NODE_MASTER"] == "false"
    assert seen["AZ_BATCH_TASK_SHARED_DIR"] == "/mnt/batch/tasks/workitems/risk/job-1/deal-1"
    assert seen["AZ_BATCH_TASK_WORKING_DIR"] == "/mnt/batch/tasks/workitems/risk/job-1/deal-1/1/wd"


def test_the_token_and_the_kind_of_node():
    seen = variables(a_node(dedicated=False), a_task(authentication_token="secret"))
    assert seen["AZ_BATCH_AUTHENTICATION_TOKEN"] == "secret"
    assert seen["AZ_BATCH_NODE_IS_DEDICATED"] == "false"
    assert list(seen) == sorted(seen)
