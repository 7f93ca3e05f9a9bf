"""What azure-batch 7 does, with the account's key and with a service principal: it asks for API version 2019-08-01."""

import os
import time

import azure.batch.models as bm
from azure.batch import BatchServiceClient
from azure.batch.batch_auth import SharedKeyCredentials
from azure.common.credentials import ServicePrincipalCredentials

IMAGE = bm.ImageReference(publisher="Canonical", offer="0001-com-ubuntu-server-jammy", sku="22_04-lts")
MACHINE = bm.VirtualMachineConfiguration(image_reference=IMAGE, node_agent_sku_id="batch.node.ubuntu 22.04")


def play(credentials, name):
    client = BatchServiceClient(credentials, batch_url=os.environ["AZURE_BATCH_ENDPOINT"])
    pool = bm.PoolAddParameter(
        id=name, vm_size="standard_d1_v2", target_dedicated_nodes=1, virtual_machine_configuration=MACHINE,
        max_tasks_per_node=2,
    )  # fmt: skip
    client.pool.add(pool)
    client.job.add(bm.JobAddParameter(id=name, pool_info=bm.PoolInformation(pool_id=name)))
    tasks = [
        bm.TaskAddParameter(id=f"t{i}", command_line=f"/bin/sh -c 'echo {i}'", user_identity=bm.UserIdentity())
        for i in range(120)
    ]
    client.task.add_collection(name, tasks)
    while any(task.state != bm.TaskState.completed for task in client.task.list(name)):
        time.sleep(0.2)
    text = b"".join(client.file.get_from_task(name, "t7", "stdout.txt")).decode().strip()
    counts = client.job.get_task_counts(name)
    print(name, text, counts.completed, counts.succeeded, client.pool.get(name).max_tasks_per_node)
    client.job.delete(name)
    client.pool.delete(name)


principal = ServicePrincipalCredentials(
    client_id="11111111-1111-1111-1111-111111111111", secret="any", tenant="22222222-2222-2222-2222-222222222222",
    resource="https://batch.core.windows.net/",
)  # fmt: skip
play(SharedKeyCredentials(os.environ["AZURE_BATCH_ACCOUNT"], os.environ["AZURE_BATCH_ACCESS_KEY"]), "key")
play(principal, "principal")
