"""One way to speak with both Python libraries: azure-batch 15, and 14 with its other names and models.

Operations have the names of the routing table. Bodies are given in JSON, of which the library makes its own models, and
results are the library's own. This module runs in the environments of the libraries, and needs nothing else.
"""

from __future__ import annotations

import inspect
import re
import time
from functools import cache, partial
from importlib import metadata

VERSION = int(metadata.version("azure-batch").partition(".")[0])

LONGEST_WAIT_S = 30
"""The seconds after which a test stops to wait; reading moves the time of the service on."""


class Refused(Exception):
    """The service has refused a request."""

    def __init__(self, status, code="", message="", values=None):
        super().__init__(f"{status} {code}: {message} {values or ''}")
        self.status = status
        self.code = code
        self.message = message
        self.values = values or {}


def until(found, what="what was waited for"):
    """Call a function until its result is true, and return that."""
    end_s = time.monotonic() + LONGEST_WAIT_S
    while time.monotonic() < end_s:
        if result := found():
            return result
    raise AssertionError(f"{what} has not come")


def refused(call, *args, **kwargs):
    """Call an operation that must be refused; return the refusal."""
    try:
        result = call(*args, **kwargs)
    except Refused as refusal:
        return refusal
    raise AssertionError(f"not refused: {result!r}")


def either(thing, *names):
    """Return the property that has one of these names: azure-batch 15 calls some otherwise."""
    return next(getattr(thing, name) for name in names if hasattr(thing, name))


class Speaker:
    """Speaks with an account: each operation is a method.

    Positional arguments are those of the path. ``body`` is JSON; ``select``, ``expand`` and ``filter`` are text;
    ``if_match`` and ``if_none_match`` are entity tags. A list is returned whole.
    """

    def __getattr__(self, name):
        if name.startswith("__") or name not in operations():
            raise AttributeError(name)
        return partial(self.call, name)

    def call(self, name, *args, body=None, **options):
        """Call an operation and return its result."""
        try:
            return self.result_of(self.send(name, args, body, options))
        except self.errors as error:
            raise self.closed(error) from error

    def closed(self, error):
        """Close the response of an error, which the library leaves open where it is a file's; return the refusal."""
        refusal = self.refusal_of(error)
        if error.response is not None:
            error.response.close()
        return refusal

    def result_of(self, result):
        if inspect.isgenerator(result) or type(result).__name__ in ("StreamDownloadGenerator", "_iterator"):
            return b"".join(result)
        if hasattr(result, "by_page") or hasattr(result, "advance_page"):
            return list(result)
        return getattr(result, "value", result)  # the subtasks of azure-batch 14

    def exists(self, name, *args, **options):
        """Return whether a pool or job schedule exists; the two libraries say in different ways that it does not."""
        try:
            return self.call(name, *args, **options)
        except Refused as refusal:
            if refusal.status != 404:
                raise
            return False


class Speaker15(Speaker):
    """Speaks through azure-batch 15."""

    errors = ()

    def __init__(self, endpoint, account, key):
        from azure.batch import BatchClient, models
        from azure.core.credentials import AzureNamedKeyCredential
        from azure.core.exceptions import HttpResponseError

        self.models = models
        self.client = BatchClient(endpoint, AzureNamedKeyCredential(account, key), retry_total=0)
        self.errors = (HttpResponseError,)

    def send(self, name, args, body, options):
        from azure.core import MatchConditions

        if name.startswith("list_"):
            return self._method(name)(*args, **_lists(options))
        method = self._method(name)
        args = (*args, *self._model(method, body))
        for header, condition in (("if_match", "IfNotModified"), ("if_none_match", "IfModified")):
            if header in options:
                options["etag"] = options.pop(header)
                options["match_condition"] = MatchConditions[condition]
        if method.__name__.startswith("begin_"):
            method(*args, polling_interval=0, **options).result()
            return None
        return method(*args, **_lists(options))

    def begin(self, name, *args, body=None):
        """Call an operation without waiting for its end."""
        method = getattr(self.client, f"_{name}_internal")
        try:
            method(*args, *self._model(self._method(name), body))
        except self.errors as error:
            raise self.closed(error) from error

    def page_sizes(self, name, *args, **options):
        """Return the numbers of items on the pages of a list."""
        return [len(list(page)) for page in self._method(name)(*args, **_lists(options)).by_page()]

    def add_tasks(self, job_id, tasks, **options):
        """Add any number of tasks."""
        made = [self.models.BatchTaskCreateOptions(task) for task in tasks]
        return self.client.create_tasks(job_id, made, **options).result_values

    def file_properties(self, name, *args):
        """Return size, type and mode of a file."""
        found = self.call(name, *args)
        return found.content_length, found.content_type, found.file_mode

    def refusal_of(self, error):
        model = getattr(error, "model", None)
        if model is None or not model.code:
            return Refused(error.status_code)
        values = {each.key: each.value for each in model.error_values or ()}
        return Refused(error.status_code, model.code, model.message.value, values)

    def _method(self, name):
        return getattr(self.client, f"begin_{name}", None) or getattr(self.client, name)

    def _model(self, method, body):
        """Return a body as the arguments of a method: none or one."""
        from azure.batch.models import _models  # some have no public name

        parameters = inspect.signature(method).parameters
        if body is None:
            if "options" not in parameters:
                return ()
            body = {"nothing": None}  # the library itself fails without options, or with empty ones
        found = (re.search(r"(Batch\w+|Upload\w+)", str(each.annotation)) for each in parameters.values())
        return (next(getattr(_models, each[1])(body) for each in found if each is not None),)


def _lists(options):
    """Return options in which what is selected or expanded is a list, as azure-batch 15 has them."""
    named = {name: options[name].split(",") for name in ("select", "expand") if name in options}
    return {**options, **named}


# Of azure-batch 14: the group and method of each operation, with the model of its body. Where the parts of a body are
# arguments, they stand in place of the model, with the name of the argument and its type.
_OPERATIONS_14 = {
    "list_supported_images": ("account", "list_supported_images"),
    "list_pool_node_counts": ("account", "list_pool_node_counts"),
    "list_applications": ("application", "list"),
    "get_application": ("application", "get"),
    "add_certificate": ("certificate", "add", "CertificateAddParameter"),
    "list_certificates": ("certificate", "list"),
    "get_certificate": ("certificate", "get"),
    "delete_certificate": ("certificate", "delete"),
    "cancel_certificate_deletion": ("certificate", "cancel_deletion"),
    "create_pool": ("pool", "add", "PoolAddParameter"),
    "list_pools": ("pool", "list"),
    "get_pool": ("pool", "get"),
    "pool_exists": ("pool", "exists"),
    "delete_pool": ("pool", "delete"),
    "update_pool": ("pool", "patch", "PoolPatchParameter"),
    "replace_pool_properties": ("pool", "update_properties", "PoolUpdatePropertiesParameter"),
    "resize_pool": ("pool", "resize", "PoolResizeParameter"),
    "stop_pool_resize": ("pool", "stop_resize"),
    "enable_pool_auto_scale": ("pool", "enable_auto_scale", {
        "autoScaleFormula": ("auto_scale_formula", str),
        "autoScaleEvaluationInterval": ("auto_scale_evaluation_interval", "duration"),
    }),
    "disable_pool_auto_scale": ("pool", "disable_auto_scale"),
    "evaluate_pool_auto_scale": ("pool", "evaluate_auto_scale", {"autoScaleFormula": ("auto_scale_formula", str)}),
    "remove_nodes": ("pool", "remove_nodes", "NodeRemoveParameter"),
    "list_pool_usage_metrics": ("pool", "list_usage_metrics"),
    "list_nodes": ("compute_node", "list"),
    "get_node": ("compute_node", "get"),
    "reboot_node": ("compute_node", "reboot", {"nodeRebootOption": ("node_reboot_option", str)}),
    "reimage_node": ("compute_node", "reimage", {"nodeReimageOption": ("node_reimage_option", str)}),
    "disable_node_scheduling": ("compute_node", "disable_scheduling", {
        "nodeDisableSchedulingOption": ("node_disable_scheduling_option", str)
    }),
    "enable_node_scheduling": ("compute_node", "enable_scheduling"),
    "create_node_user": ("compute_node", "add_user", "ComputeNodeUser"),
    "replace_node_user": ("compute_node", "update_user", "NodeUpdateUserParameter"),
    "delete_node_user": ("compute_node", "delete_user"),
    "get_node_remote_login_settings": ("compute_node", "get_remote_login_settings"),
    "get_remote_desktop_file": ("compute_node", "get_remote_desktop"),
    "upload_node_logs": ("compute_node", "upload_batch_service_logs", "UploadBatchServiceLogsConfiguration"),
    "list_node_extensions": ("compute_node_extension", "list"),
    "get_node_extension": ("compute_node_extension", "get"),
    "list_node_files": ("file", "list_from_compute_node"),
    "download_node_file": ("file", "get_from_compute_node"),
    "get_node_file_properties": ("file", "get_properties_from_compute_node"),
    "delete_node_file": ("file", "delete_from_compute_node"),
    "list_task_files": ("file", "list_from_task"),
    "download_task_file": ("file", "get_from_task"),
    "get_task_file_properties": ("file", "get_properties_from_task"),
    "delete_task_file": ("file", "delete_from_task"),
    "create_job": ("job", "add", "JobAddParameter"),
    "list_jobs": ("job", "list"),
    "get_job": ("job", "get"),
    "delete_job": ("job", "delete"),
    "update_job": ("job", "patch", "JobPatchParameter"),
    "replace_job": ("job", "update", "JobUpdateParameter"),
    "disable_job": ("job", "disable", {"disableTasks": ("disable_tasks", str)}),
    "enable_job": ("job", "enable"),
    "terminate_job": ("job", "terminate", {"terminateReason": ("terminate_reason", str)}),
    "get_job_task_counts": ("job", "get_task_counts"),
    "list_job_preparation_and_release_task_status": ("job", "list_preparation_and_release_task_status"),
    "list_jobs_from_schedule": ("job", "list_from_job_schedule"),
    "create_job_schedule": ("job_schedule", "add", "JobScheduleAddParameter"),
    "list_job_schedules": ("job_schedule", "list"),
    "get_job_schedule": ("job_schedule", "get"),
    "job_schedule_exists": ("job_schedule", "exists"),
    "delete_job_schedule": ("job_schedule", "delete"),
    "update_job_schedule": ("job_schedule", "patch", "JobSchedulePatchParameter"),
    "replace_job_schedule": ("job_schedule", "update", "JobScheduleUpdateParameter"),
    "disable_job_schedule": ("job_schedule", "disable"),
    "enable_job_schedule": ("job_schedule", "enable"),
    "terminate_job_schedule": ("job_schedule", "terminate"),
    "create_task": ("task", "add", "TaskAddParameter"),
    "create_task_collection": ("task", "add_collection"),
    "list_tasks": ("task", "list"),
    "get_task": ("task", "get"),
    "delete_task": ("task", "delete"),
    "replace_task": ("task", "update", {"constraints": ("constraints", "TaskConstraints")}),
    "list_subtasks": ("task", "list_subtasks"),
    "reactivate_task": ("task", "reactivate"),
    "terminate_task": ("task", "terminate"),
}  # fmt: skip


class Speaker14(Speaker):
    """Speaks through azure-batch 14."""

    def __init__(self, endpoint, account, key):
        from azure.batch import BatchServiceClient, models
        from azure.batch.batch_auth import SharedKeyCredentials

        self.models = models
        self.client = BatchServiceClient(SharedKeyCredentials(account, key), batch_url=endpoint)
        self.client.config.retry_policy.retries = 0
        self.errors = (models.BatchErrorException,)

    def send(self, name, args, body, options):
        group, method_name, *form = _OPERATIONS_14[name]
        method = getattr(getattr(self.client, group), method_name)
        given = self._arguments(form[0] if form else None, body)
        args = (*args, *given.pop("", ()))
        signature = inspect.signature(method).parameters
        for plain in set(options) & set(signature):
            given[plain] = options.pop(plain)
        if options:
            (parameter,) = (each for each in signature if each.endswith("_options"))
            given[parameter] = self._options(parameter, options)
        return method(*args, **given)

    def begin(self, name, *args, body=None):
        """Call an operation; this library never waits for the end."""
        self.call(name, *args, body=body)

    def page_sizes(self, name, *args, **options):
        """Return the numbers of items on the pages of a list."""
        pages, sizes = self.send(name, args, None, options), []
        try:
            while True:
                sizes.append(len(pages.advance_page()))
        except StopIteration:
            return sizes

    def add_tasks(self, job_id, tasks, **options):
        """Add any number of tasks."""
        made = [self.models.TaskAddParameter.from_dict(task) for task in tasks]
        return self.client.task.add_collection(job_id, made, **options).value

    def file_properties(self, name, *args):
        """Return size, type and mode of a file."""
        try:
            headers = self.send(name, args, None, {"raw": True}).headers
        except self.errors as error:
            raise self.closed(error) from error
        return int(headers["Content-Length"]), headers["Content-Type"], headers["ocp-batch-file-mode"]

    def refusal_of(self, error):
        found = error.error
        if found is None or not getattr(found, "code", None):
            return Refused(error.response.status_code)
        values = {each.key: each.value for each in found.values or ()}
        return Refused(error.response.status_code, found.code, found.message.value, values)

    def _arguments(self, form, body):
        """Return arguments by name; those without a name follow the path."""
        if body is None:
            return {}
        if isinstance(form, str):
            return {"": (getattr(self.models, form).from_dict(body),)}
        return {form[name][0]: self._value(form[name][1], value) for name, value in body.items()}

    def _value(self, kind, value):
        if kind == "duration":
            from isodate import parse_duration

            return parse_duration(value)
        return kind(value) if kind is str else getattr(self.models, kind).from_dict(value)

    def _options(self, parameter, options):
        name = "".join(part.title() for part in parameter.split("_"))
        return getattr(self.models, name)(**options)


@cache
def operations():
    """Return the names of the operations of the library that is installed."""
    if VERSION < 15:
        return frozenset(_OPERATIONS_14)
    from azure.batch import BatchClient

    names = (name for name in dir(BatchClient) if not name.startswith("_"))
    return {name.removeprefix("begin_") for name in names} - {"close", "send_request", "create_tasks"}


def speaker(endpoint, account, key):
    """Return a speaker for the library that is installed."""
    return (Speaker15 if VERSION >= 15 else Speaker14)(endpoint, account, key)
