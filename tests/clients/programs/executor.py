"""What Covalent's executor does with a function: it stores it, runs a container, and fetches the result.

Nothing runs the container here, so its result is put into storage beforehand.
"""

import asyncio
import os

import cloudpickle
from covalent_azurebatch_plugin.azurebatch import AzureBatchExecutor

TENANT, CLIENT = "22222222-2222-2222-2222-222222222222", "11111111-1111-1111-1111-111111111111"
executor = AzureBatchExecutor(
    tenant_id=TENANT,
    client_id=CLIENT,
    client_secret="any",
    batch_account_url=os.environ["AZURE_BATCH_ENDPOINT"],
    batch_account_domain="batch.core.windows.net",
    storage_account_name="store",
    storage_account_domain="blob.core.windows.net",
    base_image_uri="covalent.azurecr.io/covalent-executor-base:latest",
    pool_id="containers",
    retries=1,
    time_limit=600,
    cache_dir=os.getcwd(),
    poll_freq=4,
)
store = executor._get_blob_service_client().create_container("covalent-assets")
store.upload_blob("result-d-0.pkl", cloudpickle.dumps(("it came back", None)))
print(asyncio.run(executor.run(lambda x: x, [1], {}, {"dispatch_id": "d", "node_id": 0})))
