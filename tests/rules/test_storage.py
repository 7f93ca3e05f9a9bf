"""Resource files, mounts and disks of nodes (TASK-6, FILE-13, VM-4, NODE-15)."""

from __future__ import annotations

import pytest

from engine.base.paths import RESERVED_DISK_BYTES
from engine.rules.processes import node_disk
from engine.views.rest.nodes import files_of
from tests.builders import (
    READY_S,
    REBOOTED_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    file,
    job_state,
    node,
    node_row,
    node_state,
    node_states,
    prep,
    prep_events,
    release,
    release_events,
    run,
    run_to,
    run_to_end,
    task_extra,
    task_row,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE

GIB = 1024**3
DISK = 16 * GIB  # of a standard_d2s_v3
JOB = "workitems/j/job-1"
WINDOWS = {
    "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
    "nodeAgentSKUId": "batch.node.windows amd64",
}


def blob(name, path=None):
    return {"httpUrl": f"https://acc/in/{name}", "filePath": path or name}


def container(name="in", **more):
    return {"storageContainerUrl": f"https://acc/{name}"} | more


def sizes(**by_name):
    return {"storage": {f"https://acc/in/{name}": {"size": size} for name, size in by_name.items()}}


def lasted(sim, task="t1"):
    row = task_row(sim, task)
    return (sim.world.tasks.ended[row] - sim.world.tasks.started[row]) / 1000


def used(sim):
    return sim.world.disks[node_row(sim)].used_bytes


# -- resource files --------------------------------------------------------------------------------------------------


def test_task_6_files_are_in_the_working_directory_before_the_command_starts(start):
    task = a_task(resourceFiles=[blob("a.csv"), blob("b.csv", "sub/b.csv")]) | a_shell("ls; ls sub")
    sim = start(a_job(tasks=[task]))
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "a.csv\nsub\nb.csv\n"


def test_task_6_a_container_goes_to_a_directory(start):
    files = [container(filePath="market"), {"autoStorageContainerName": "models"}]
    storage = {"storage": {"https://acc/in": {"size": 5}, "models": {"size": 7}}}
    sim = start(a_job(tasks=[a_task(resourceFiles=files) | a_shell("ls; ls market")]), simulate=storage)
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stdout.txt") == "market\nmodels\nin\n"


def test_task_6_and_time_10_downloads_take_their_time_one_after_the_other(start):
    task = a_task(seconds=10, resourceFiles=[blob("a"), blob("b"), container("other")])
    sim = start(a_job(tasks=[task]), simulate=sizes(a="1 GB", b="500 MB"))
    run_to_end(sim)
    assert lasted(sim) == 20 + 10 + 1 + 10


def test_task_7_a_task_is_running_while_it_downloads(start):
    sim = start(a_job(tasks=[a_task(resourceFiles=[blob("a")])]), simulate=sizes(a="1 GB"))
    run_to(sim, seconds=READY_S + 10)
    assert (task_state(sim), node_state(sim)) == ("running", "running")


def test_task_6_start_preparation_and_release_tasks_download_too(start):
    files = {"resourceFiles": [blob("a")]}
    hooks = {"prep": a_line(5, **files), "release": a_line(5, **files)}
    pool = a_pool(startTask=a_line(5, **files))
    sim = start(a_job(onAllTasksComplete="terminatejob", **hooks), pool=pool, simulate=sizes(a="1 GB"))
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="idle")[0] == READY_S + 26
    assert [(view.end_ms - view.start_ms) / 1000 for view in (prep(sim), release(sim))] == [26, 26]


@pytest.mark.parametrize(
    ("source", "code"), [(blob("a"), "BlobDownloadTimedOut"), (container(), "ResourceContainerListTimedOut")]
)
def test_retry_1_an_outage_has_a_code_for_blobs_and_one_for_containers(start, source, code):
    sim = start(a_job(tasks=[a_task(resourceFiles=[source])]), timeline=[{"at": 1, "storageOutage": {}}])
    run_to_end(sim)
    assert (task_extra(sim).failure.code, task_extra(sim).failure.category) == (code, "ServerError")


def test_retry_1_an_outage_that_begins_after_the_start_does_no_harm(start):
    sim = start(a_job(tasks=[a_task(resourceFiles=[blob("a")])]), simulate=sizes(a="1 GB"))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "storageOutage", **{"for": "PT1H"})
    run_to_end(sim)
    assert task_extra(sim).failure is None


# -- how full the disk is --------------------------------------------------------------------------------------------


def test_vm_4_files_packages_and_outputs_take_room(start):
    account = {"applications": [{"id": "pricer", "versions": ["1"], "defaultVersion": "1", "size": 1000}]}
    task = a_task(resourceFiles=[blob("a")], applicationPackageReferences=[{"applicationId": "pricer"}])
    job = a_job(tasks=[task | a_shell("echo 1234 > out.txt; cp a b; mv b c")])
    sim = start(job, account=account, simulate=sizes(a=100))
    run_to_end(sim)
    assert used(sim) == 1000 + 2 * 100 + 5
    assert node_disk.free_bytes(sim.world, node_row(sim)) == DISK - used(sim)
    assert {entry.path: entry.size for entry in files_of(sim.world, node_row(sim), sim.now_ms)}[f"{JOB}/t1/wd/c"] == 100


def test_vm_4_what_a_program_writes_takes_room_and_is_uploaded(start):
    files = {"result.bin": "2 GB", "logs/run.log": 500, "../../../../../shared/cache": "1 GB"}
    output = {"filePattern": "**/*", "destination": {"container": {"containerUrl": "https://acc/out"}}}
    sim = start(a_job(tasks=[a_task(simulate={"writes": files}, outputFiles=[output])]))
    run_to_end(sim)
    assert used(sim) == pytest.approx(3_000_000_500, abs=1000)  # and what was said of the uploads
    assert file(sim, "shared/cache") == ""
    lines = file(sim, f"{JOB}/t1/fileuploadout.txt").splitlines()
    assert [line.split(" -> ")[1] for line in lines] == [
        "https://acc/out/logs/run.log, 500 bytes",
        "https://acc/out/result.bin, 2000000000 bytes",
    ]


def test_vm_4_what_a_program_writes_may_differ_by_attempt_and_fill_the_disk(start):
    simulate = {"writes": {"small": 5}, "attempts": [{"exitCode": 1, "writes": {"large": "20 GiB"}}]}
    task = a_task(simulate=simulate, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(tasks=[task]))
    run_to(sim, minutes=30)
    assert (node_state(sim), node(sim).errors[0].code) == ("unusable", "DiskFull")
    assert task_state(sim) == "active"
    do(sim, "reimageNode", **ON_NODE)
    run_to_end(sim)
    assert (task_extra(sim).failure, used(sim)) == (None, 5)


def test_vm_4_nobody_writes_where_his_user_may_not(start):
    prep = a_line(5, userIdentity={"autoUser": {"elevationLevel": "admin"}})
    writes = {"../../jobpreparation/wd/x": 5}
    sim = start(a_job(tasks=[a_task(simulate={"writes": writes})], prep=prep))
    run_to_end(sim)
    assert file(sim, f"{JOB}/jobpreparation/wd/x") is None


def test_vm_4_a_size_without_a_temporary_disk_has_thirty_gib(start):
    sim = start(pool=a_pool(vmSize="standard_d2s_v5"))
    run_to_end(sim)
    assert node_disk.free_bytes(sim.world, node_row(sim)) == 30 * GIB


def test_vm_4_what_is_deleted_gives_its_room_back(start):
    sim = start(a_job(tasks=[a_task(resourceFiles=[blob("a")]) | a_shell("rm a")]), simulate=sizes(a="1 GB"))
    run_to_end(sim)
    assert used(sim) == 0


def test_vm_4_a_download_that_does_not_fit_fails_the_task_and_fills_the_node(start):
    tasks = [a_task(resourceFiles=[blob("a")], constraints={"maxTaskRetryCount": 2}), a_task("t2", 1000)]
    sim = start(a_job(tasks=tasks), pool=a_pool(taskSlotsPerNode=2), simulate=sizes(a="20 GiB"))
    run_to(sim, minutes=20)
    extra = task_extra(sim)
    assert (task_state(sim), extra.failure.code, extra.exit_code, extra.attempts) == ("completed", "DiskFull", None, 1)
    assert lasted(sim) == pytest.approx(1 + DISK / 50e6, abs=0.01)
    assert (node_state(sim), node(sim).errors[0].code) == ("unusable", "DiskFull")
    assert task_state(sim, "t2") == "active"  # NODE-13: the service runs it again elsewhere


def test_vm_4_a_file_that_is_downloaded_again_takes_its_own_place(start):
    retried = {"resourceFiles": [blob("a")], "constraints": {"maxTaskRetryCount": 1}}
    sim = start(a_job(tasks=[a_task(exit_code=1, **retried)]), simulate=sizes(a="9 GiB"))
    run_to_end(sim)
    assert (task_extra(sim).attempts, task_extra(sim).failure.code, node_state(sim)) == (2, "FailureExitCode", "idle")
    assert used(sim) == 9 * GIB


def test_node_15_after_the_data_is_deleted_and_a_reboot_the_node_is_of_use_again(start):
    sim = start(a_job(tasks=[a_task(resourceFiles=[blob("a")])]), simulate=sizes(a="20 GiB"))
    run_to(sim, minutes=30)
    do(sim, "rebootNode", **ON_NODE)
    run(sim, minutes=5)
    assert (node_state(sim), node(sim).errors[0].code) == ("unusable", "DiskFull")
    do(sim, "deleteTask", jobId="j", taskId="t1")
    rebooted = sim.now_ms / 1000
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert node_states(sim)[-1] == "idle"
    assert times(sim, "NodeStateChanged", to="idle")[-1] == pytest.approx(rebooted + REBOOTED_S, abs=0.01)


def test_node_15_what_a_command_writes_can_fill_the_disk_too(start):
    task = a_task(resourceFiles=[blob("a")]) | a_shell("cp a b")
    sim = start(a_job(tasks=[task, a_task("t2")]), simulate=sizes(a="9 GiB"))
    run_to(sim, minutes=30)
    assert (task_extra(sim).failure, node_state(sim)) == (None, "unusable")
    assert (node(sim).errors[0].code, task_state(sim, "t2")) == ("DiskFull", "active")


def test_node_11_preparation_that_fills_the_disk_fails_for_good(start):
    job = a_job(prep=a_line(5, resourceFiles=[blob("a")], constraints={"maxTaskRetryCount": 3}))
    sim = start(job, simulate=sizes(a="17 GiB"))
    run_to(sim, minutes=30)
    assert (prep(sim).failure.code, prep(sim).retry_count) == ("DiskFull", 0)
    assert (node_state(sim), task_state(sim)) == ("unusable", "active")
    assert [to for _, to, _ in prep_events(sim)] == ["running", "completed"]


def test_node_11_a_release_that_fills_the_disk_is_over_once_and_so_is_its_job(start):
    job = a_job(prep=a_line(5), release=a_line(5, simulate={"writes": {"x": "20 GiB"}}))
    sim = start(job | {"onAllTasksComplete": "terminatejob"})
    run_to_end(sim)
    assert (node_state(sim), job_state(sim), release(sim).exit_code) == ("unusable", "completed", 1)
    assert [to for _, to, _ in release_events(sim)] == ["running", "completed"]


def test_node_11_a_preparation_that_succeeds_and_fills_the_disk_starts_no_task_for_long(start):
    sim = start(a_job(prep=a_line(5, simulate={"writes": {"x": DISK - RESERVED_DISK_BYTES // 2}})))
    run_to(sim, minutes=10)
    assert [to for _, to, _ in prep_events(sim)] == ["running", "completed"]
    assert (prep(sim).result.value, node_state(sim), task_state(sim)) == ("success", "unusable", "active")


def test_node_11_a_start_task_that_fills_the_disk(start):
    pool = a_pool(startTask=a_line(5, resourceFiles=[blob("a")]))
    sim = start(pool=pool, simulate=sizes(a="17 GiB"))
    run_to(sim, minutes=30)
    assert node(sim).errors[0].code == "DiskFull"
    assert node_states(sim)[-2:] == ["starttaskfailed", "unusable"]


def test_file_7_what_nobody_keeps_any_more_makes_room_first(start):
    short = {"retentionTime": "PT1M"}
    first = a_task("t1", 10, resourceFiles=[blob("a")], constraints=short)
    second = a_task("t2", 10, resourceFiles=[blob("a")])
    sim = start(a_job(tasks=[first]), a_job("k", tasks=[second], at="PT20M"), simulate=sizes(a="9 GiB"))
    run_to_end(sim)
    assert task_extra(sim, "t2", "k").failure is None
    assert not sim.world.disks[node_row(sim)].exists(f"{JOB}/t1")


@pytest.mark.parametrize("size", ["9 GiB", DISK - 7 * GIB - RESERVED_DISK_BYTES // 2])
def test_file_7_what_nobody_keeps_makes_room_for_what_a_program_writes(start, size):
    first = a_task("t1", 10, simulate={"writes": {"x": "7 GiB", "y": 5}}, constraints={"retentionTime": "PT1M"})
    second = a_task("t2", 10, simulate={"writes": {"x": size}})
    sim = start(a_job(tasks=[first]), a_job("k", tasks=[second], at="PT20M"))
    run_to_end(sim)
    assert (task_extra(sim, "t2", "k").failure, node_state(sim)) == (None, "idle")
    assert not sim.world.disks[node_row(sim)].exists(f"{JOB}/t1")


def test_file_7_what_nobody_keeps_makes_room_for_what_a_command_writes(start):
    copy = {"commandLine": "/bin/sh -c 'cp a b'", "resourceFiles": [blob("a")]}
    first = {"id": "t1", "constraints": {"retentionTime": "PT1M"}} | copy
    sim = start(a_job(tasks=[first]), a_job("k", tasks=[{"id": "t2"} | copy], at="PT20M"), simulate=sizes(a="5 GiB"))
    run_to_end(sim)
    assert (task_extra(sim, "t2", "k").failure, used(sim)) == (None, 10 * GIB)


@pytest.mark.parametrize(
    ("retries", "kept"), [(0, {"first": 10 * GIB, "second": DISK - 10 * GIB}), (1, {"first": 10 * GIB})]
)
def test_vm_4_a_program_that_writes_more_than_the_disk_holds_fails(start, retries, kept):
    writes = {"first": "10 GiB", "second": "10 GiB", "third": 5}
    task = a_task("t1", 600, simulate={"writes": writes}, constraints={"maxTaskRetryCount": retries})
    sim = start(a_job(tasks=[task, a_task("t2")]))
    run_to(sim, minutes=30)
    assert (node_state(sim), node(sim).errors[0].code, task_state(sim, "t2")) == ("unusable", "DiskFull", "active")
    files = sim.world.disks[node_row(sim)]
    assert {name: files.size(f"{JOB}/t1/wd/{name}") for name in kept} == kept
    assert not files.exists(f"{JOB}/t1/wd/third")
    assert file(sim, f"{JOB}/t1/stderr.txt") == "second: No space left on device\n"
    if not retries:
        assert (task_extra(sim).failure.code, task_extra(sim).exit_code) == ("FailureExitCode", 1)
    else:
        assert (task_state(sim), task_extra(sim).retry_count) == ("active", 1)


def test_vm_4_a_command_that_finds_no_room_fails_and_one_that_moves_needs_none(start):
    line = "mv a b && cp b c; echo $? > code"
    task = {"id": "t1", "commandLine": f"/bin/sh -c '{line}'", "resourceFiles": [blob("a")]}
    sim = start(a_job(tasks=[task]), simulate=sizes(a="9 GiB"))
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/wd/code") == "1\n"
    assert "wd/c: No space left on device" in file(sim, f"{JOB}/t1/stderr.txt")
    assert (node_state(sim), node(sim).errors[0].code) == ("unusable", "DiskFull")


def test_vm_4_on_windows_the_words_are_others(start):
    pool = a_pool(virtualMachineConfiguration=WINDOWS)
    sim = start(a_job(tasks=[a_task(simulate={"writes": {"x": "20 GB"}})]), pool=pool)
    run_to_end(sim)
    assert file(sim, f"{JOB}/t1/stderr.txt") == "There is not enough space on the disk.\n"


def test_vm_4_how_full_a_disk_is_goes_back_in_time_too(start):
    sim = start(a_job(tasks=[a_task(resourceFiles=[blob("a")])]), simulate=sizes(a="20 GiB"))
    run_to(sim, minutes=30)
    recorded = list(sim.json_lines())
    sim.seek((READY_S + 20) * 1000)
    assert used(sim) == DISK
    sim.seek(1000 * 60 * 30)
    assert list(sim.json_lines()) == recorded


# -- mounts ----------------------------------------------------------------------------------------------------------


SHARE = {
    "azureFileShareConfiguration": {
        "accountName": "acc",
        "azureFileUrl": "https://acc.file.core.windows.net/models",
        "accountKey": "k",
        "relativeMountPath": "models",
    }
}
BLOBS = {
    "azureBlobFileSystemConfiguration": {"accountName": "acc", "containerName": "data", "relativeMountPath": "data"}
}
NFS = {"nfsMountConfiguration": {"source": "nfs.contoso:/tools", "relativeMountPath": "tools"}}
CIFS = {"cifsMountConfiguration": {"username": "u", "source": "//old", "relativeMountPath": "old", "password": "s"}}


def test_file_13_file_systems_are_mounted_before_the_start_task(start):
    pool = a_pool(mountConfiguration=[SHARE, BLOBS, NFS, CIFS], startTask=a_shell("ls $AZ_BATCH_NODE_MOUNTS_DIR"))
    sim = start(pool=pool)
    run_to_end(sim)
    assert file(sim, "startup/stdout.txt") == "data\nmodels\nold\ntools\n"


@pytest.mark.parametrize(
    ("mount", "source"),
    [
        (SHARE, "https://acc.file.core.windows.net/models"),
        (BLOBS, "https://acc.blob.core.windows.net/data"),
        (NFS, "nfs.contoso:/tools"),
        (CIFS, "//old"),
    ],
)
def test_file_13_a_file_system_that_is_missing_makes_the_node_unusable(start, mount, source):
    simulate = {"storage": {source: {"missing": True}}}
    sim = start(pool=a_pool(mountConfiguration=[mount]), simulate=simulate)
    run_to_end(sim)
    error = node(sim).errors[0]
    assert (node_state(sim), error.code, dict(error.details)["Source"]) == (
        "unusable",
        "MountConfigurationError",
        source,
    )


@pytest.mark.parametrize(("mount", "state"), [(SHARE, "unusable"), (NFS, "idle")])
def test_file_13_an_outage_of_storage_is_one_of_its_file_systems(start, mount, state):
    timeline = [{"at": 0, "storageOutage": {"for": "PT10M"}}]
    sim = start(pool=a_pool(mountConfiguration=[mount]), timeline=timeline)
    run_to(sim, minutes=5)
    assert node_state(sim) == state
    run_to(sim, minutes=11)
    if state == "unusable":
        do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert node_state(sim) == "idle"


def test_file_4_a_start_task_that_writes_nothing_has_its_two_files(start):
    sim = start(pool=a_pool(startTask=a_line(5)))
    run_to(sim, seconds=READY_S + 1)
    assert (file(sim, "startup/stdout.txt"), file(sim, "startup/stderr.txt")) == ("", "")
    run_to_end(sim)
    paths = {entry.path for entry in files_of(sim.world, node_row(sim), sim.now_ms)}
    assert {"startup/stdout.txt", "startup/stderr.txt", "startup/wd"} <= paths
