#!/bin/sh
# A job with preparation and release through the Azure CLI:  pip install azure-cli
#
#   batchdeck serve          in another terminal; it prints three lines that begin with `export`, which az reads
#   sh az.sh
set -eu

# az takes jobs with preparation tasks from a file.
job=$(mktemp)
trap 'rm -f "$job"' EXIT
cat > "$job" <<'END'
{
  "id": "risk",
  "poolInfo": {"poolId": "shared"},
  "jobPreparationTask": {"commandLine": "/bin/sh -c 'echo market data of today'"},
  "jobReleaseTask": {"commandLine": "/bin/sh -c 'rm -rf market-data'"}
}
END

az batch pool create --id shared --vm-size standard_d2s_v3 --target-dedicated-nodes 2 \
    --image canonical:0001-com-ubuntu-server-jammy:22_04-lts --node-agent-sku-id 'batch.node.ubuntu 22.04'
az batch job create --json-file "$job"
for deal in 1 2 3 4; do
    az batch task create --job-id risk --task-id "deal-$deal" --command-line "/bin/sh -c 'echo price $deal'" --output none
done

until [ "$(az batch job task-counts show --job-id risk --query taskCounts.completed)" = 4 ]; do sleep 1; done
az batch task list --job-id risk --query '[].{task: id, state: state, exitCode: executionInfo.exitCode}' --output table

az batch job stop --job-id risk --terminate-reason done
until [ "$(az batch job show --job-id risk --query state --output tsv)" = completed ]; do sleep 1; done
az batch job prep-release-status list --job-id risk --output table --query \
    '[].{node: nodeId, preparation: jobPreparationTaskExecutionInfo.result, release: jobReleaseTaskExecutionInfo.result}'

az batch job delete --job-id risk --yes
az batch pool delete --pool-id shared --yes
