"""Bodies that the tests of the libraries send."""

from __future__ import annotations

SCENARIO = """\
scenario: account
account:
  applications:
    - {id: pricer, versions: ["1.0", "1.1"], defaultVersion: "1.0", displayName: The pricer}
    - {id: loader, versions: ["7"]}
"""

MACHINE = {
    "imageReference": {"publisher": "canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"},
    "nodeAgentSKUId": "batch.node.ubuntu 22.04",
}
WINDOWS = {
    "imageReference": {"publisher": "microsoftwindowsserver", "offer": "windowsserver", "sku": "2022-datacenter"},
    "nodeAgentSKUId": "batch.node.windows amd64",
}
FORMULA = "$TargetDedicatedNodes = 2; $NodeDeallocationOption = taskcompletion;"


def pool(name, nodes=0, **more):
    """Return a pool of Linux machines."""
    machine = {"vmSize": "standard_d2s_v3", "virtualMachineConfiguration": MACHINE}
    return {"id": name, **machine, "targetDedicatedNodes": nodes, **more}


def job(name, pool_id="shared", **more):
    """Return a job on a pool."""
    return {"id": name, "poolInfo": {"poolId": pool_id}, **more}


def task(name, script="true", **more):
    """Return a task that runs a script of the shell."""
    return {"id": name, "commandLine": f'/bin/sh -c "{script}"', **more}
