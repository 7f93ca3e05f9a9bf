"""Pools and jobs of Terraform's provider in the words of Batch."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

Body = dict[str, Any]

# Where a pool or job of Terraform's provider is called otherwise than its words in camel case.
_NAMES = {
    "storage_image_reference": "imageReference",
    "node_agent_sku_id": "nodeAgentSkuId",
    "max_tasks_per_node": "taskSlotsPerNode",
    "task_retry_maximum": "maxTaskRetryCount",
    "common_environment_properties": "environmentSettings",
    "resource_file": "resourceFiles",
    "container": "containerSettings",
}
_JOB = {"task_retry_maximum", "common_environment_properties", "display_name", "priority"}
_START_TASK = {
    *("command_line", "task_retry_maximum", "wait_for_success", "common_environment_properties", "user_identity"),
    *("auto_user", "elevation_level", "scope", "user_name", "resource_file", "http_url", "file_path", "file_mode"),
    *("blob_prefix", "storage_container_url", "auto_storage_container_name", "container", "image_name", "run_options"),
}


def _camel(values: object, kept: Iterable[str] = ()) -> Any:  # noqa: ANN401 - any JSON
    """Return values of Terraform in the words of Batch; a list of one block is that block, but for lists of files."""
    wanted = set(kept)
    if isinstance(values, list):
        return [_camel(one, wanted) for one in values]
    if not isinstance(values, dict):
        return values
    found: Body = {}
    for name, value in values.items():
        if (wanted and name not in wanted) or value in (None, "", [], {}):
            continue
        word = _NAMES.get(name) or re.sub(r"_(\w)", lambda letter: letter[1].upper(), name)
        if name == "common_environment_properties":
            found[word] = [{"name": key, "value": text} for key, text in value.items()]
        elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and name != "resource_file":
            found[word] = _camel(value[0], wanted)
        else:
            found[word] = _camel(value, wanted)
    return found


def pool_of(values: Body) -> Body:
    """Return a pool of Terraform's provider as a resource."""
    image = _camel(values.get("storage_image_reference") or [{}])
    machine = {"imageReference": image[0] if image else {}, "nodeAgentSkuId": values.get("node_agent_sku_id")}
    scale: Body = {}
    for block in _blocks(values.get("fixed_scale")):
        scale["fixedScale"] = _camel(block, ("target_dedicated_nodes", "target_low_priority_nodes", "resize_timeout"))
    for block in _blocks(values.get("auto_scale")):
        scale = {"autoScale": _camel(block, ("formula", "evaluation_interval"))}
    properties = {
        "vmSize": values.get("vm_size"),
        "displayName": values.get("display_name"),
        "taskSlotsPerNode": values.get("max_tasks_per_node"),
        "interNodeCommunication": values.get("inter_node_communication"),
        "deploymentConfiguration": {"virtualMachineConfiguration": machine},
        "scaleSettings": scale,
        "metadata": [{"name": name, "value": value} for name, value in (values.get("metadata") or {}).items()],
    }
    for block in _blocks(values.get("start_task")):
        properties["startTask"] = _camel(block, _START_TASK)
    kept = {name: value for name, value in properties.items() if value not in (None, "", [], {})}
    return {"name": values.get("name"), "properties": kept}


def job_of(values: Body) -> Body:
    """Return a job of Terraform's provider."""
    pool_id = str(values.get("batch_pool_id", "")).rpartition("/")[2]
    return {**_camel(values, _JOB), "id": values.get("name"), "poolInfo": {"poolId": pool_id}}


def _blocks(value: object) -> list[Body]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
