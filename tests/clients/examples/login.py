"""A pool of the management plane, by a login.

pip install azure-identity==1.27.0 azure-mgmt-batch==19.0.0 azure-batch==15.1.0
batchdeck serve --proxy --run -- python login.py
"""

import os

from azure.batch import BatchClient
from azure.identity import ClientSecretCredential, DefaultAzureCredential
from azure.mgmt.batch import BatchManagementClient, models

GROUP, ACCOUNT = "any-group", os.environ["AZURE_BATCH_ACCOUNT"]

managed = DefaultAzureCredential()  # the identity that a machine in Azure would have
plane = BatchManagementClient(managed, "11111111-2222-4333-8444-555555555555")
image = models.ImageReference(publisher="canonical", offer="0001-com-ubuntu-server-jammy", sku="22_04-lts")
machine = models.VirtualMachineConfiguration(image_reference=image, node_agent_sku_id="batch.node.ubuntu 22.04")
properties = models.PoolProperties(
    vm_size="standard_d2s_v3",
    deployment_configuration=models.DeploymentConfiguration(virtual_machine_configuration=machine),
    scale_settings=models.ScaleSettings(fixed_scale=models.FixedScaleSettings(target_dedicated_nodes=2)),
)
made = plane.pool.create(GROUP, ACCOUNT, "shared", models.Pool(properties=properties))
print(f"{made.name} is {made.properties.allocation_state.lower()}")

principal = ClientSecretCredential("contoso.onmicrosoft.com", "my-app", "any secret")
client = BatchClient(os.environ["AZURE_BATCH_ENDPOINT"], principal)
print([(pool.id, pool.target_dedicated_nodes) for pool in client.list_pools()])

plane.pool.begin_delete(GROUP, ACCOUNT, "shared").result()
print([pool.name for pool in plane.pool.list_by_batch_account(GROUP, ACCOUNT)])
