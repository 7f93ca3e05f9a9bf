"""Real programs on two nodes: a shared file from preparation to release, files of all kinds, a job manager."""

import hashlib
import os
import sys
import time
from pathlib import Path

from azure.batch import BatchClient, models
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError

POLL_S = 0.2
SHARED = "$AZ_BATCH_NODE_SHARED_DIR/job_prep_and_release.txt"
credential = AzureNamedKeyCredential(os.environ["AZURE_BATCH_ACCOUNT"], os.environ["AZURE_BATCH_ACCESS_KEY"])
client = BatchClient(os.environ["AZURE_BATCH_ENDPOINT"], credential)


def sh(script):
    return f"/bin/bash -c '{script}'"


def add_job(job, **more):
    client.create_job({"id": job, "poolInfo": {"poolId": "pool"}} | more)


def add_tasks(job, scripts):
    tasks = [models.BatchTaskCreateOptions(id=name, command_line=sh(script)) for name, script in scripts.items()]
    client.create_tasks(job, tasks)


def wait(job, number):
    while client.get_job_task_counts(job).task_counts.completed < number:
        time.sleep(POLL_S)


def refusal(call, *arguments):
    """Return the status with which a call is refused."""
    try:
        call(*arguments)
    except HttpResponseError as error:
        return error.status_code
    return None


image = models.BatchVmImageReference(publisher="canonical", offer="0001-com-ubuntu-server-jammy", sku="22_04-lts")
machine = models.VirtualMachineConfiguration(image_reference=image, node_agent_sku_id="batch.node.ubuntu 22.04")
client.create_pool(
    models.BatchPoolCreateOptions(
        id="pool", vm_size="standard_d2s_v3", target_dedicated_nodes=2, virtual_machine_configuration=machine
    )
)
while [node.state for node in client.list_nodes("pool")] != ["idle", "idle"]:
    time.sleep(POLL_S)
nodes = [node.id for node in client.list_nodes("pool")]

# The JobPrepRelease sample.
add_job(
    "sample",
    jobPreparationTask={"commandLine": sh(f"echo $AZ_BATCH_NODE_ID tasks: > {SHARED}")},
    jobReleaseTask={"commandLine": sh(f"rm {SHARED}")},
)
add_tasks("sample", {f"task{n:03}": f'echo "  $AZ_BATCH_TASK_ID" >> {SHARED}; sleep 1' for n in range(1, 9)})
wait("sample", 8)
found = []
for node in nodes:
    lines = b"".join(client.download_node_file("pool", node, "shared/job_prep_and_release.txt")).decode().splitlines()
    assert lines[0] == f"{node} tasks:", lines
    found += lines[1:]
assert sorted(found) == [f"  task{n:03}" for n in range(1, 9)], found
client.begin_terminate_job("sample", {"terminateReason": "done"}, polling_interval=POLL_S).result()
for node in nodes:
    assert refusal(client.download_node_file, "pool", node, "shared/job_prep_and_release.txt") == 404
for each in client.list_job_preparation_and_release_task_status("sample"):
    assert each.job_preparation_task_execution_info.exit_code == each.job_release_task_execution_info.exit_code == 0
print("sample")

# Files.
WRITE = (
    r'printf "\x00\xff\x01" > bytes; head -c 3000000 /dev/urandom > big; md5sum big; mkdir d; echo deep > d/f; false'
)
add_job("files")
add_tasks("files", {"t": f"echo wrong >&2; {WRITE}"})
wait("files", 1)


def read(path, **more):
    return b"".join(client.download_task_file("files", "t", path, **more))


sizes = {
    file.name: file.properties and file.properties.content_length
    for file in client.list_task_files("files", "t", recursive=True)
}
assert sizes == {
    "stderr.txt": 6,
    "stdout.txt": 38,
    "wd": None,
    "wd/big": 3_000_000,
    "wd/bytes": 3,
    "wd/d": None,
    "wd/d/f": 5,
}
assert (read("stderr.txt"), read("wd/bytes"), read("wd/bytes", ocp_range="bytes=1-1")) == (
    b"wrong\n",
    b"\0\xff\1",
    b"\xff",
)
assert hashlib.md5(read("wd/big")).hexdigest() == read("stdout.txt").decode().split()[0]
task = client.get_task("files", "t")
assert task.execution_info.exit_code == 1
client.delete_task_file("files", "t", "wd/bytes")
client.delete_node_file("pool", task.node_info.node_id, "workitems/files/job-1/t/wd/d", recursive=True)
assert [refusal(read, path) for path in ("wd/bytes", "wd/d/f")] == [404, 404]
print("files")

# A job manager that adds tasks to its own job, and to no other.
add_job("other")
manager = {"id": "manager", "commandLine": f"{sys.executable} {Path(__file__).with_name('manager_15.py')}"}
manager |= {"authenticationTokenSettings": {"access": ["job"]}, "killJobOnCompletion": False}
add_job("managed", onAllTasksComplete="terminatejob", jobManagerTask=manager)
while client.get_job("managed").state != "completed":
    time.sleep(POLL_S)
print(*b"".join(client.download_task_file("managed", "manager", "stdout.txt")).decode().split())
