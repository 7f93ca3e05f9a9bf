"""What azure-batch-extensions does with the JSON of a job that has a task factory."""

import logging
import os
import time

from azext.batch import BatchExtensionsClient
from azure.batch.batch_auth import SharedKeyCredentials

POOL = {
    "id": "p",
    "vmSize": "standard_d2s_v3",
    "targetDedicatedNodes": 1,
    "virtualMachineConfiguration": {
        "imageReference": {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"},
        "nodeAgentSKUId": "batch.node.ubuntu 22.04",
    },
}
JOB = {
    "id": "j",
    "poolInfo": {"poolId": "p"},
    "onAllTasksComplete": "terminatejob",
    "taskFactory": {
        "type": "parametricSweep",
        "parameterSets": [{"start": 1, "end": 20, "step": 1}],
        "repeatTask": {"commandLine": "/bin/sh -c 'echo {0}'"},
    },
}

logging.disable(logging.WARNING)
key = SharedKeyCredentials(os.environ["AZURE_BATCH_ACCOUNT"], os.environ["AZURE_BATCH_ACCESS_KEY"])
client = BatchExtensionsClient(key, batch_url=os.environ["AZURE_BATCH_ENDPOINT"])
client.pool.add(client.pool.poolparameter_from_json(POOL))
client.job.add(client.job.jobparameter_from_json(JOB))
while client.job.get("j").state != "completed":
    time.sleep(0.2)
tasks = list(client.task.list("j"))
print(len(tasks), {task.execution_info.exit_code for task in tasks})
