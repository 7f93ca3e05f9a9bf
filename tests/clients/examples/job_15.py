"""A job with preparation and release through azure-batch 15: pip install azure-batch==15.1.0.

batchdeck serve          in another terminal; it prints three lines that begin with `export`
python job_15.py
"""

import os
import time

from azure.batch import BatchClient, models
from azure.core.credentials import AzureNamedKeyCredential

POLL_S = 0.5

credential = AzureNamedKeyCredential(os.environ["AZURE_BATCH_ACCOUNT"], os.environ["AZURE_BATCH_ACCESS_KEY"])
client = BatchClient(os.environ["AZURE_BATCH_ENDPOINT"], credential)

image = models.BatchVmImageReference(publisher="canonical", offer="0001-com-ubuntu-server-jammy", sku="22_04-lts")
machine = models.VirtualMachineConfiguration(image_reference=image, node_agent_sku_id="batch.node.ubuntu 22.04")
client.create_pool(
    models.BatchPoolCreateOptions(
        id="shared", vm_size="standard_d2s_v3", target_dedicated_nodes=2, virtual_machine_configuration=machine
    )
)
client.create_job(
    models.BatchJobCreateOptions(
        id="risk",
        pool_info=models.BatchPoolInfo(pool_id="shared"),
        job_preparation_task=models.BatchJobPreparationTask(command_line="/bin/sh -c 'echo market data of today'"),
        job_release_task=models.BatchJobReleaseTask(command_line="/bin/sh -c 'rm -rf market-data'"),
    )
)
deals = [
    models.BatchTaskCreateOptions(id=f"deal-{deal}", command_line=f"/bin/sh -c 'echo price {deal}'")
    for deal in range(1, 5)
]
client.create_tasks("risk", deals)

while client.get_job_task_counts("risk").task_counts.completed < len(deals):
    time.sleep(POLL_S)
for task in client.list_tasks("risk"):
    said = b"".join(client.download_task_file("risk", task.id, "stdout.txt")).decode().strip()
    print(f"{task.id} ended with {task.execution_info.exit_code}: {said}")

client.begin_terminate_job("risk", {"terminateReason": "done"}, polling_interval=POLL_S).result()
for node in client.list_job_preparation_and_release_task_status("risk"):
    prepared, released = node.job_preparation_task_execution_info, node.job_release_task_execution_info
    print(f"{node.node_id[:16]}: prepared with {prepared.result.value}, released with {released.result.value}")

client.begin_delete_job("risk", polling_interval=POLL_S).result()
client.begin_delete_pool("shared", polling_interval=POLL_S).result()
