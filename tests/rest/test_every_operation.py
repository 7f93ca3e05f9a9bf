"""A tour of one account in which each operation of the service answers with success."""

from __future__ import annotations

from engine.rest.service import ROUTES
from tests.builders import a_job, a_line, a_pool, run
from tests.rest.test_account import CERTIFICATE, PRICER, THUMBPRINT
from tests.rest.test_files import WINDOWS
from tests.rest.test_nodes import MONITOR
from tests.rest.wire import Account

NAMES = {
    "poolId": "p",
    "jobId": "j",
    "taskId": "a",
    "jobScheduleId": "s",
    "userName": "ann",
    "applicationId": "pricer",
    "extensionName": "Monitor",
    "thumbprint": THUMBPRINT,
    "thumbprintAlgorithm": "sha1",
    "filePath": "stdout.txt",
}
FORMULA = {"autoScaleFormula": "$TargetDedicatedNodes = 3;"}
SCHEDULE = {"schedule": {"recurrenceInterval": "PT10M"}, "jobSpecification": {"poolInfo": {"poolId": "p"}}}
PROPERTIES = {"startTask": None, "metadata": [], "applicationPackageReferences": []}
CLOUD = {"osFamily": "6", "osVersion": "*"}
JOB = {name: value for name, value in a_job("j", 0, prep=a_line(5), release=a_line(5)).items() if name != "tasks"}
ON_A_NODE = {"filePath": "workitems/j/job-1/a/stdout.txt"}
# An operation with its body and what it names instead of NAMES, or the minutes that pass before the next one.
TOUR = [
    ("list_supported_images",),
    ("list_node_agent_skus",),
    ("get_lifetime_pool_stats",),
    ("get_lifetime_job_stats",),
    ("list_applications",),
    ("get_application",),
    ("add_certificate", CERTIFICATE),
    ("list_certificates",),
    ("get_certificate",),
    ("create_pool", a_pool("p", 3, virtualMachineConfiguration=WINDOWS | {"extensions": [MONITOR]})),
    ("create_pool", {"id": "c", "vmSize": "small", "targetDedicatedNodes": 1, "cloudServiceConfiguration": CLOUD}),
    ("create_pool", a_pool("held", 1, certificateReferences=[
        {"thumbprint": THUMBPRINT, "thumbprintAlgorithm": "sha1", "storeLocation": "localmachine"}
    ])),
    ("pool_exists",),
    ("list_pools",),
    ("get_pool",),
    20,
    ("list_nodes",),
    ("get_node",),
    ("list_pool_node_counts",),
    ("create_job", JOB),
    ("list_jobs",),
    ("get_job",),
    ("create_task", {"id": "a"} | a_line(30)),
    ("create_task_collection", {"value": [{"id": "b"} | a_line(30), {"id": "long"} | a_line(9999)]}),
    5,
    ("list_tasks",),
    ("get_task",),
    ("get_job_task_counts",),
    ("list_subtasks",),
    ("list_job_preparation_and_release_task_status",),
    ("list_task_files",),
    ("download_task_file",),
    ("get_task_file_properties",),
    ("list_node_files", None, {"nodeId": "where the task ran"}),
    ("download_node_file", None, ON_A_NODE | {"nodeId": "where the task ran"}),
    ("get_node_file_properties", None, ON_A_NODE | {"nodeId": "where the task ran"}),
    ("delete_node_file", None, ON_A_NODE | {"nodeId": "where the task ran"}),
    ("delete_task_file", None, {"filePath": "stderr.txt"}),
    ("replace_task", {"constraints": {"maxTaskRetryCount": 1}}, {"taskId": "long"}),
    ("terminate_task", None, {"taskId": "long"}),
    ("reactivate_task", None, {"taskId": "long"}),
    ("delete_task",),
    ("update_job", {"priority": 7}),
    ("replace_job", {"poolInfo": {"poolId": "p"}, "priority": 8}),
    ("disable_job", {"disableTasks": "requeue"}),
    5,
    ("enable_job",),
    ("terminate_job", {"terminateReason": "enough"}),
    5,
    ("delete_job",),
    ("create_job_schedule", {"id": "s"} | SCHEDULE),
    ("job_schedule_exists",),
    ("list_job_schedules",),
    ("get_job_schedule",),
    ("update_job_schedule", {"metadata": [{"name": "a", "value": "b"}]}),
    ("replace_job_schedule", SCHEDULE),
    ("list_jobs_from_schedule",),
    ("disable_job_schedule",),
    ("enable_job_schedule",),
    ("terminate_job_schedule",),
    5,
    ("delete_job_schedule",),
    ("list_node_extensions",),
    ("get_node_extension",),
    ("get_node_remote_login_settings",),
    ("get_remote_desktop_file",),
    ("upload_node_logs", {"containerUrl": "https://a.blob.core.windows.net/c?s", "startTime": "2026-01-05T08:00:00Z"}),
    ("create_node_user", {"name": "ann", "password": "s3cret!"}),
    ("replace_node_user", {"password": "other!"}),
    ("delete_node_user",),
    ("disable_node_scheduling", {"nodeDisableSchedulingOption": "requeue"}),
    ("enable_node_scheduling",),
    ("reboot_node", {"nodeRebootOption": "requeue"}),
    20,
    ("reimage_node", {}),
    20,
    ("deallocate_node", {}),
    20,
    ("start_node",),
    20,
    ("update_pool", {"metadata": [{"name": "a", "value": "b"}]}),
    ("replace_pool_properties", PROPERTIES),
    ("enable_pool_auto_scale", FORMULA),
    20,
    ("evaluate_pool_auto_scale", FORMULA),
    ("disable_pool_auto_scale",),
    20,
    ("resize_pool", {"targetDedicatedNodes": 9}),
    ("stop_pool_resize",),
    20,
    ("remove_nodes", {"nodeList": ["a node"]}),
    20,
    ("upgrade_pool_os", {"targetOSVersion": "WA-GUEST-OS-6.70_202401-01"}, {"poolId": "c"}),
    ("delete_certificate",),
    5,
    ("cancel_certificate_deletion",),
    ("list_pool_usage_metrics",),
    ("delete_pool",),
]  # fmt: skip
OF = {route.operation: route for route in ROUTES}


def test_the_tour_comes_to_each_operation():
    assert {stop[0] for stop in TOUR if not isinstance(stop, int)} == set(OF)


def test_each_operation_answers_with_the_status_and_body_of_the_schema(account):
    batch = account(account={"applications": [PRICER]}, pools=[])
    Account.seen.clear()
    for stop in TOUR:
        if isinstance(stop, int):
            run(batch.simulation, minutes=stop)
            continue
        operation, body, names = (*stop, *(None, {})[len(stop) - 1 :])
        reply = ask(batch, operation, body, NAMES | names)
        assert reply.status == OF[operation].status, (operation, reply.content)
    assert Account.seen == set(OF)


def ask(batch, operation, body, names):
    route = OF[operation]
    if "nodeId" in names:
        names = names | {"nodeId": batch.get("/jobs/j/tasks/a").json["nodeInfo"]["nodeId"]}
    elif "{nodeId}" in route.path or operation == "remove_nodes":
        names = names | {"nodeId": batch.get("/pools/p/nodes").ids[0]}
    if operation == "remove_nodes":
        body = {"nodeList": [names["nodeId"]]}
    return batch.request(route.method, route.path.format_map(names), body)
