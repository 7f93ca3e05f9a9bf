// What the package azure-batch 9 does, which came before @azure/batch.
const { ServiceClient, SharedKeyCredentials } = require("azure-batch");

const { AZURE_BATCH_ACCOUNT, AZURE_BATCH_ACCESS_KEY, AZURE_BATCH_ENDPOINT } = process.env;
const client = new ServiceClient(new SharedKeyCredentials(AZURE_BATCH_ACCOUNT, AZURE_BATCH_ACCESS_KEY), AZURE_BATCH_ENDPOINT);

async function main() {
  const imageReference = { publisher: "Canonical", offer: "0001-com-ubuntu-server-jammy", sku: "22_04-lts" };
  const virtualMachineConfiguration = { imageReference, nodeAgentSKUId: "batch.node.ubuntu 22.04" };
  await client.pool.add({ id: "p", vmSize: "standard_d2s_v3", targetDedicatedNodes: 1, virtualMachineConfiguration });
  await client.job.add({ id: "j", poolInfo: { poolId: "p" } });
  const tasks = [1, 2, 3].map((number) => ({ id: `t${number}`, commandLine: `/bin/sh -c 'echo ${number}'` }));
  await client.task.addCollection("j", tasks);
  for (;;) {
    const found = await client.task.list("j");
    if (found.every((task) => task.state === "completed")) {
      console.log(found.map((task) => task.executionInfo.exitCode).join(" "));
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  console.log((await client.job.getTaskCounts("j")).succeeded);
  await client.job.deleteMethod("j");
  await client.pool.deleteMethod("p");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
