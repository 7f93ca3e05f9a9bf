"""What Airflow's operator does in its deferrable form: the trigger waits, as the triggerer of Airflow lets it."""

import asyncio
import json
import os

account = {
    "conn_type": "azure_batch",
    "login": os.environ["AZURE_BATCH_ACCOUNT"],
    "password": os.environ["AZURE_BATCH_ACCESS_KEY"],
    "extra": {"account_url": os.environ["AZURE_BATCH_ENDPOINT"]},
}
os.environ["AIRFLOW_CONN_AZURE_BATCH_DEFAULT"] = json.dumps(account)

from airflow.providers.microsoft.azure.operators.batch import AzureBatchOperator  # noqa: E402
from airflow.sdk import DAG  # noqa: E402
from airflow.sdk.exceptions import TaskDeferred  # noqa: E402

with DAG(dag_id="risk", schedule=None):
    price = AzureBatchOperator(
        task_id="price",
        batch_pool_id="shared",
        batch_pool_vm_size="standard_d2s_v3",
        target_dedicated_nodes=1,
        vm_publisher="canonical",
        vm_offer="0001-com-ubuntu-server-jammy",
        vm_sku="22_04-lts",
        vm_version="latest",
        vm_node_agent_sku_id="batch.node.ubuntu 22.04",
        batch_job_id="risk",
        batch_task_id="deal-1",
        batch_task_command_line="/bin/sh -c 'sleep 600; echo price 1'",
        should_delete_job=True,
        should_delete_pool=True,
        deferrable=True,
        poll_interval=1,
    )


async def first_event(trigger):
    async for event in trigger.run():
        return event
    return None


try:
    price.execute({})
except TaskDeferred as deferred:
    event = asyncio.run(first_event(deferred.trigger))
    getattr(price, deferred.method_name)({}, event.payload)
    print("deferred and ended:", event.payload["status"])
