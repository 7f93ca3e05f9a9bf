// A job with preparation and release through the JavaScript library:  npm install @azure/batch@10.2.0
//
//   batchdeck serve          in another terminal; it prints three lines that begin with `export`
//   node job.mjs
import { setTimeout as sleep } from "node:timers/promises";
import batch from "@azure/batch";

const { AZURE_BATCH_ACCOUNT, AZURE_BATCH_ACCESS_KEY, AZURE_BATCH_ENDPOINT } = process.env;
const credentials = new batch.BatchSharedKeyCredentials(AZURE_BATCH_ACCOUNT, AZURE_BATCH_ACCESS_KEY);
const client = new batch.BatchServiceClient(credentials, AZURE_BATCH_ENDPOINT);

// Ask again until the answer is the expected one.
async function until(expected, ask) {
  while ((await ask()) !== expected) await sleep(500);
}

await client.pool.add({
  id: "shared",
  vmSize: "standard_d2s_v3",
  targetDedicatedNodes: 2,
  virtualMachineConfiguration: {
    imageReference: { publisher: "canonical", offer: "0001-com-ubuntu-server-jammy", sku: "22_04-lts" },
    nodeAgentSKUId: "batch.node.ubuntu 22.04",
  },
});
await client.job.add({
  id: "risk",
  poolInfo: { poolId: "shared" },
  jobPreparationTask: { commandLine: "/bin/sh -c 'echo market data of today'" },
  jobReleaseTask: { commandLine: "/bin/sh -c 'rm -rf market-data'" },
});
const deals = [1, 2, 3, 4].map((deal) => ({ id: `deal-${deal}`, commandLine: `/bin/sh -c 'echo price ${deal}'` }));
await client.task.addCollection("risk", deals);

await until(4, async () => (await client.job.getTaskCounts("risk")).taskCounts.completed);
for (const task of await client.task.list("risk")) {
  console.log(`${task.id} ended with ${task.executionInfo.exitCode}`);
}

await client.job.terminate("risk", { terminateReason: "done" });
await until("completed", async () => (await client.job.get("risk")).state);
for (const node of await client.job.listPreparationAndReleaseTaskStatus("risk")) {
  const { jobPreparationTaskExecutionInfo: preparation, jobReleaseTaskExecutionInfo: release } = node;
  console.log(`${node.nodeId.slice(0, 16)}: prepared with ${preparation.result}, released with ${release.result}`);
}

await client.job.deleteMethod("risk");
await client.pool.deleteMethod("shared");
