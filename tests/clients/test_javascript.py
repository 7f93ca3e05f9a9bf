"""The JavaScript library beyond its example: paging, filters, files, conditions and errors."""

from __future__ import annotations

import json

from tests.clients import environments
from tests.clients.served import needs

PROGRAM = """
import batch from "@azure/batch";
const { AZURE_BATCH_ACCOUNT, AZURE_BATCH_ACCESS_KEY, AZURE_BATCH_ENDPOINT } = process.env;
const credentials = new batch.BatchSharedKeyCredentials(AZURE_BATCH_ACCOUNT, AZURE_BATCH_ACCESS_KEY);
const client = new batch.BatchServiceClient(credentials, AZURE_BATCH_ENDPOINT);
const found = {};
await client.pool.add({
  id: "p", vmSize: "standard_d2s_v3", targetDedicatedNodes: 1,
  virtualMachineConfiguration: {
    imageReference: { publisher: "canonical", offer: "0001-com-ubuntu-server-jammy", sku: "22_04-lts" },
    nodeAgentSKUId: "batch.node.ubuntu 22.04",
  },
});
await client.job.add({ id: "j", poolInfo: { poolId: "p" }, constraints: { maxWallClockTime: "P1D" } });
await client.task.addCollection("j", [1, 2, 3].map((n) => ({ id: `t${n}`, commandLine: `/bin/sh -c 'echo ${n}'` })));
while ((await client.job.getTaskCounts("j")).taskCounts.completed < 3);

let page = await client.task.list("j", { taskListOptions: { maxResults: 2, filter: "state eq 'completed'" } });
found.pages = [page.length];
while (page.odatanextLink) {
  page = await client.task.listNext(page.odatanextLink);
  found.pages.push(page.length);
}
const file = await client.file.getFromTask("j", "t2", "stdout.txt");
found.output = await new Promise((resolve) => {
  let text = "";
  file.readableStreamBody.on("data", (part) => (text += part)).on("end", () => resolve(text));
});
found.poolExists = (await client.pool.exists("p")).body;
await client.job.patch("j", { priority: 7 }, { jobPatchOptions: { ifMatch: (await client.job.get("j")).eTag } });
found.priority = (await client.job.get("j")).priority;
found.codes = [];
for (const ask of [() => client.pool.get("nobody"), () => client.job.add({ id: "j", poolInfo: { poolId: "p" } })]) {
  try { await ask(); } catch (error) { found.codes.push([error.statusCode, error.body.code]); }
}
console.log(JSON.stringify(found));
"""


@needs("javascript")
def test_the_library_pages_filters_downloads_and_tells_errors(served):
    (served.directory / "program.mjs").write_text(PROGRAM, encoding="utf-8")
    (served.directory / "node_modules").symlink_to(environments.place_of("javascript") / "node_modules")
    assert json.loads(served.run("node", "program.mjs")) == {
        "pages": [2, 1],
        "output": "2\n",
        "poolExists": True,
        "priority": 7,
        "codes": [[404, "PoolNotFound"], [409, "JobExists"]],
    }
