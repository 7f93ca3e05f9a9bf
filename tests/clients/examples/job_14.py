"""A job with preparation and release through azure-batch 14: pip install azure-batch==14.2.0.

batchdeck serve          in another terminal; it prints three lines that begin with `export`
python job_14.py
"""

import os
import time

from azure.batch import BatchServiceClient, models
from azure.batch.batch_auth import SharedKeyCredentials

POLL_S = 0.5

credentials = SharedKeyCredentials(os.environ["AZURE_BATCH_ACCOUNT"], os.environ["AZURE_BATCH_ACCESS_KEY"])
client = BatchServiceClient(credentials, batch_url=os.environ["AZURE_BATCH_ENDPOINT"])

image = models.ImageReference(publisher="canonical", offer="0001-com-ubuntu-server-jammy", sku="22_04-lts")
machine = models.VirtualMachineConfiguration(image_reference=image, node_agent_sku_id="batch.node.ubuntu 22.04")
client.pool.add(
    models.PoolAddParameter(
        id="shared", vm_size="standard_d2s_v3", target_dedicated_nodes=2, virtual_machine_configuration=machine
    )
)
client.job.add(
    models.JobAddParameter(
        id="risk",
        pool_info=models.PoolInformation(pool_id="shared"),
        job_preparation_task=models.JobPreparationTask(command_line="/bin/sh -c 'echo market data of today'"),
        job_release_task=models.JobReleaseTask(command_line="/bin/sh -c 'rm -rf market-data'"),
    )
)
deals = [
    models.TaskAddParameter(id=f"deal-{deal}", command_line=f"/bin/sh -c 'echo price {deal}'") for deal in range(1, 5)
]
client.task.add_collection("risk", deals)

while client.job.get_task_counts("risk").task_counts.completed < len(deals):
    time.sleep(POLL_S)
for task in client.task.list("risk"):
    said = b"".join(client.file.get_from_task("risk", task.id, "stdout.txt")).decode().strip()
    print(f"{task.id} ended with {task.execution_info.exit_code}: {said}")

client.job.terminate("risk", terminate_reason="done")
while client.job.get("risk").state != models.JobState.completed:
    time.sleep(POLL_S)
for node in client.job.list_preparation_and_release_task_status("risk"):
    prepared, released = node.job_preparation_task_execution_info, node.job_release_task_execution_info
    print(f"{node.node_id[:16]}: prepared with {prepared.result.value}, released with {released.result.value}")

client.job.delete("risk")
client.pool.delete("shared")
