// What @azure/arm-batch does on the management plane, with two logins of @azure/identity.
import { BatchManagementClient } from "@azure/arm-batch";
import { ClientSecretCredential, DefaultAzureCredential } from "@azure/identity";

const [tenant, client] = ["22222222-2222-2222-2222-222222222222", "11111111-1111-1111-1111-111111111111"];
const imageReference = { publisher: "Canonical", offer: "0001-com-ubuntu-server-jammy", sku: "22_04-lts" };
const virtualMachineConfiguration = { imageReference, nodeAgentSkuId: "batch.node.ubuntu 22.04" };
const pool = {
  vmSize: "STANDARD_D2S_V3",
  deploymentConfiguration: { virtualMachineConfiguration },
  scaleSettings: { fixedScale: { targetDedicatedNodes: 1 } },
};

for (const credential of [new ClientSecretCredential(tenant, client, "any"), new DefaultAzureCredential()]) {
  const plane = new BatchManagementClient(credential, "00000000-0000-0000-0000-000000000001");
  const accounts = [];
  for await (const account of plane.batchAccountOperations.list()) accounts.push(account);
  const group = accounts[0].id.split("/")[4];
  const name = accounts[0].name;
  const made = await plane.poolOperations.create(group, name, "made", pool);
  await plane.poolOperations.beginDeleteAndWait(group, name, "made", { updateIntervalInMs: 200 });
  await plane.applicationOperations.create(group, name, "app");
  const { accountQuota } = await plane.location.getQuotas(accounts[0].location);
  console.log(group, made.name, made.provisioningState, accountQuota);
}
