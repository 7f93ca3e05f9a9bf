"""A DAG whose task runs on a pool, with preparation and release: pip install apache-airflow-providers-microsoft-azure.

    batchdeck serve          in another terminal; it prints three lines that begin with `export`
    python airflow_dag.py    runs the operator once, without a scheduler; Airflow's own logs tell how far it is

Airflow has the account as a connection. This one comes from the environment.
"""

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
from azure.batch import models  # noqa: E402

with DAG(dag_id="risk", schedule=None) as dag:
    price = AzureBatchOperator(
        task_id="price",
        batch_pool_id="shared",
        batch_pool_vm_size="standard_d2s_v3",
        target_dedicated_nodes=2,
        vm_publisher="canonical",
        vm_offer="0001-com-ubuntu-server-jammy",
        vm_sku="22_04-lts",
        vm_version="latest",
        vm_node_agent_sku_id="batch.node.ubuntu 22.04",
        batch_job_id="risk",
        batch_job_preparation_task=models.BatchJobPreparationTask(command_line="/bin/sh -c 'echo market data'"),
        batch_job_release_task=models.BatchJobReleaseTask(command_line="/bin/sh -c 'rm -rf market-data'"),
        batch_task_id="deal-1",
        batch_task_command_line="/bin/sh -c 'echo price 1'",
        should_delete_job=True,
        should_delete_pool=True,
    )

if __name__ == "__main__":
    price.execute({})
    print("the operator has ended without an error")
