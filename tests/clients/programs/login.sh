# What people do with the Azure CLI: they log in, find their account, and work with it.
set -e
az login --service-principal -u 11111111-1111-1111-1111-111111111111 -p any -t 22222222-2222-2222-2222-222222222222 -o none
name=$(az batch account list --query '[0].name' -o tsv)
group=$(az batch account list --query '[0].resourceGroup' -o tsv)
az batch account login -n "$name" -g "$group"
az batch pool create --id p --vm-size standard_d2s_v3 --target-dedicated-nodes 1 \
  --image canonical:ubuntu-24_04-lts:server --node-agent-sku-id "batch.node.ubuntu 24.04"
az batch job create --id j --pool-id p
az batch task create --job-id j --task-id t --command-line "/bin/sh -c 'echo hello'" -o none
while [ "$(az batch task show --job-id j --task-id t --query state -o tsv)" != completed ]; do :; done
az batch task file download --job-id j --task-id t --file-path stdout.txt --destination ./said.txt
az batch application package create -n "$name" -g "$group" --application-name app --version-name 1 \
  --package-file ./said.txt -o none
az batch application package list -n "$name" -g "$group" --application-name app --query '[].state' -o tsv
az batch account login -n "$name" -g "$group" --shared-key-auth
az batch pool list --query '[].id' -o tsv
az batch job delete --job-id j --yes
az batch pool delete --pool-id p --yes
