"""The routing table: every operation of API 2025-06-01, and those that only older clients know (GEN-11, GEN-18)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Route(NamedTuple):
    """An operation: its method, its path with the names of parameters in braces, its id, and the status of success."""

    method: str
    path: str
    operation: str
    status: int


_HOOKS = "jobpreparationandreleasetaskstatus"

CURRENT = (
    Route("GET", "/applications", "list_applications", 200),
    Route("GET", "/applications/{applicationId}", "get_application", 200),
    Route("POST", "/jobs", "create_job", 201),
    Route("GET", "/jobs", "list_jobs", 200),
    Route("DELETE", "/jobs/{jobId}", "delete_job", 202),
    Route("GET", "/jobs/{jobId}", "get_job", 200),
    Route("PATCH", "/jobs/{jobId}", "update_job", 200),
    Route("PUT", "/jobs/{jobId}", "replace_job", 200),
    Route("POST", "/jobs/{jobId}/addtaskcollection", "create_task_collection", 200),
    Route("POST", "/jobs/{jobId}/disable", "disable_job", 202),
    Route("POST", "/jobs/{jobId}/enable", "enable_job", 202),
    Route("GET", f"/jobs/{{jobId}}/{_HOOKS}", "list_job_preparation_and_release_task_status", 200),
    Route("GET", "/jobs/{jobId}/taskcounts", "get_job_task_counts", 200),
    Route("POST", "/jobs/{jobId}/tasks", "create_task", 201),
    Route("GET", "/jobs/{jobId}/tasks", "list_tasks", 200),
    Route("DELETE", "/jobs/{jobId}/tasks/{taskId}", "delete_task", 200),
    Route("GET", "/jobs/{jobId}/tasks/{taskId}", "get_task", 200),
    Route("PUT", "/jobs/{jobId}/tasks/{taskId}", "replace_task", 200),
    Route("GET", "/jobs/{jobId}/tasks/{taskId}/files", "list_task_files", 200),
    Route("DELETE", "/jobs/{jobId}/tasks/{taskId}/files/{filePath}", "delete_task_file", 200),
    Route("GET", "/jobs/{jobId}/tasks/{taskId}/files/{filePath}", "download_task_file", 200),
    Route("HEAD", "/jobs/{jobId}/tasks/{taskId}/files/{filePath}", "get_task_file_properties", 200),
    Route("POST", "/jobs/{jobId}/tasks/{taskId}/reactivate", "reactivate_task", 204),
    Route("GET", "/jobs/{jobId}/tasks/{taskId}/subtasksinfo", "list_subtasks", 200),
    Route("POST", "/jobs/{jobId}/tasks/{taskId}/terminate", "terminate_task", 204),
    Route("POST", "/jobs/{jobId}/terminate", "terminate_job", 202),
    Route("POST", "/jobschedules", "create_job_schedule", 201),
    Route("GET", "/jobschedules", "list_job_schedules", 200),
    Route("HEAD", "/jobschedules/{jobScheduleId}", "job_schedule_exists", 200),
    Route("DELETE", "/jobschedules/{jobScheduleId}", "delete_job_schedule", 202),
    Route("GET", "/jobschedules/{jobScheduleId}", "get_job_schedule", 200),
    Route("PATCH", "/jobschedules/{jobScheduleId}", "update_job_schedule", 200),
    Route("PUT", "/jobschedules/{jobScheduleId}", "replace_job_schedule", 200),
    Route("POST", "/jobschedules/{jobScheduleId}/disable", "disable_job_schedule", 204),
    Route("POST", "/jobschedules/{jobScheduleId}/enable", "enable_job_schedule", 204),
    Route("GET", "/jobschedules/{jobScheduleId}/jobs", "list_jobs_from_schedule", 200),
    Route("POST", "/jobschedules/{jobScheduleId}/terminate", "terminate_job_schedule", 202),
    Route("GET", "/nodecounts", "list_pool_node_counts", 200),
    Route("POST", "/pools", "create_pool", 201),
    Route("GET", "/pools", "list_pools", 200),
    Route("DELETE", "/pools/{poolId}", "delete_pool", 202),
    Route("HEAD", "/pools/{poolId}", "pool_exists", 200),
    Route("GET", "/pools/{poolId}", "get_pool", 200),
    Route("PATCH", "/pools/{poolId}", "update_pool", 200),
    Route("POST", "/pools/{poolId}/disableautoscale", "disable_pool_auto_scale", 200),
    Route("POST", "/pools/{poolId}/enableautoscale", "enable_pool_auto_scale", 200),
    Route("POST", "/pools/{poolId}/evaluateautoscale", "evaluate_pool_auto_scale", 200),
    Route("GET", "/pools/{poolId}/nodes", "list_nodes", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}", "get_node", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/deallocate", "deallocate_node", 202),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/disablescheduling", "disable_node_scheduling", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/enablescheduling", "enable_node_scheduling", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/extensions", "list_node_extensions", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/extensions/{extensionName}", "get_node_extension", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/files", "list_node_files", 200),
    Route("DELETE", "/pools/{poolId}/nodes/{nodeId}/files/{filePath}", "delete_node_file", 200),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/files/{filePath}", "download_node_file", 200),
    Route("HEAD", "/pools/{poolId}/nodes/{nodeId}/files/{filePath}", "get_node_file_properties", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/reboot", "reboot_node", 202),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/reimage", "reimage_node", 202),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/remoteloginsettings", "get_node_remote_login_settings", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/start", "start_node", 202),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/uploadbatchservicelogs", "upload_node_logs", 200),
    Route("POST", "/pools/{poolId}/nodes/{nodeId}/users", "create_node_user", 201),
    Route("DELETE", "/pools/{poolId}/nodes/{nodeId}/users/{userName}", "delete_node_user", 200),
    Route("PUT", "/pools/{poolId}/nodes/{nodeId}/users/{userName}", "replace_node_user", 200),
    Route("POST", "/pools/{poolId}/removenodes", "remove_nodes", 202),
    Route("POST", "/pools/{poolId}/resize", "resize_pool", 202),
    Route("POST", "/pools/{poolId}/stopresize", "stop_pool_resize", 202),
    Route("POST", "/pools/{poolId}/updateproperties", "replace_pool_properties", 204),
    Route("GET", "/poolusagemetrics", "list_pool_usage_metrics", 200),
    Route("GET", "/supportedimages", "list_supported_images", 200),
)
"""The operations of API version 2025-06-01, by their ids in its schema."""

_CERTIFICATE = "/certificates(thumbprintAlgorithm={thumbprintAlgorithm},thumbprint={thumbprint})"

OLDER = (
    Route("POST", "/certificates", "add_certificate", 201),
    Route("GET", "/certificates", "list_certificates", 200),
    Route("GET", _CERTIFICATE, "get_certificate", 200),
    Route("DELETE", _CERTIFICATE, "delete_certificate", 202),
    Route("POST", f"{_CERTIFICATE}/canceldelete", "cancel_certificate_deletion", 204),
    Route("GET", "/pools/{poolId}/nodes/{nodeId}/rdp", "get_remote_desktop_file", 200),
    Route("POST", "/pools/{poolId}/upgradeos", "upgrade_pool_os", 202),
)
"""The operations that later API versions have dropped (GEN-15)."""

ROUTES = CURRENT + OLDER


class Match(NamedTuple):
    """A route and the values of its path parameters, decoded."""

    route: Route
    names: Mapping[str, str]


_PARAMETER = re.compile(r"\\\{(\w+)\\\}")
_LONGEST_PATH = 8192


def _pattern(path: str) -> re.Pattern[str]:
    """Return the pattern of a path that is still percent-encoded.

    A parameter is one segment. Only the path of a file may contain slashes: some clients do not encode them.
    """

    def group(parameter: re.Match[str]) -> str:
        name = parameter[1]
        characters = "." if name == "filePath" else "[^/,)]" if name.startswith("thumbprint") else "[^/]"
        return f"(?P<{name}>{characters}+)"

    return re.compile(_PARAMETER.sub(group, re.escape(path)) + "/?", re.IGNORECASE | re.DOTALL)


def _collection(path: str) -> str:
    """Return the first segment of a path in lower case, without the parameters of a certificate."""
    return path.split("/", 2)[1].partition("(")[0].lower() if path.startswith("/") else ""


def _by_collection(routes: Iterable[Route]) -> dict[str, list[tuple[re.Pattern[str], Route]]]:
    table: dict[str, list[tuple[re.Pattern[str], Route]]] = {}
    for route in routes:
        table.setdefault(_collection(route.path), []).append((_pattern(route.path), route))
    return table


_TABLE = _by_collection(ROUTES)


def find(method: str, path: str) -> Match:
    """Return the route of a request and its path parameters.

    Args:
        method: The HTTP method.
        path: The path as it stood in the request line, percent-encoded, so that an encoded slash is not a separator.
            An endpoint that a client has with a slash at the end brings in a second one at the beginning.

    Raises:
        BatchError: ResourceNotFound if no operation has this path, UnsupportedHttpVerb if none has it with this method.
    """
    if len(path) > _LONGEST_PATH:
        raise BatchError("InvalidUri", "the path is too long")
    path = "/" + path.lstrip("/")
    allowed: list[str] = []
    for pattern, route in _TABLE.get(_collection(path), ()):
        found = pattern.fullmatch(path)
        if found is None:
            continue
        if route.method == method:
            return Match(route, {name: _decoded(value) for name, value in found.groupdict().items()})
        allowed.append(route.method)
    if allowed:
        raise BatchError("UnsupportedHttpVerb", f"allowed here: {', '.join(sorted(set(allowed)))}")
    raise BatchError("ResourceNotFound", "there is no such path")


def _decoded(value: str) -> str:
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise BatchError("InvalidUri", "the path is not UTF-8") from None
