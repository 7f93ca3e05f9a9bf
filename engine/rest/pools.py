"""The operations on the account, its certificates, pools, nodes and their users.

Each table of handlers has them by operation id. Certificates are known only to older clients (CERT-1, CERT-4).

A scenario may name any subnet and image for a pool, since it describes them itself. A client means real ones outside
the account, of which the service refuses those that cannot exist (NET-2, POOL-4).
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError
from engine.base.terms import OsFamily
from engine.base.values import HOUR_MS, parse_utc
from engine.rest import handlers, messages
from engine.rest.handlers import (
    Resources,
    Target,
    acted,
    action,
    command_of,
    created,
    creation,
    existence,
    one,
    path_of,
    removal,
)
from engine.rest.messages import Answer
from engine.rules.decisions import verdicts
from engine.rules.node_operations import uploaded_logs
from engine.specs import commands as c
from engine.specs.images import IMAGES
from engine.views.resources.jobs import dry_run
from engine.views.rest.account import (
    application_body,
    certificate_body,
    certificate_path,
    image_body,
    node_counts,
    pool_body,
    pool_stats,
    run_body,
    usage_body,
)
from engine.views.rest.nodes import extension_bodies, node_body, remote_desktop_file, remote_login_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from engine.rest.handlers import Call, Handler
    from engine.rest.messages import Body
    from engine.specs.account import Account
    from engine.state.account import CertificateRecord
    from engine.state.pools import Pool


_KNOWN_AFTER_MS = 2 * HOUR_MS


def list_supported_images(call: Call) -> Answer:
    """Answer with a page of the images with which pools can still be created (POOL-26)."""
    now = call.moment(call.now_ms)

    def after(number: int) -> Iterator[tuple[int, Body]]:
        listed = islice(enumerate(IMAGES), number + 1, None)
        return ((at, image_body(image)) for at, image in listed if not image.has_ended(now))

    return handlers.page(call, "supportedimages", after, -1)


def list_applications(call: Call) -> Answer:
    """Answer with a page of the applications (APP-1)."""
    applications = {each.id.lower(): each for each in call.world.account.applications}

    def after(last: str) -> Iterator[tuple[str, Body]]:
        return ((key, application_body(applications[key])) for key in sorted(applications) if key > last)

    return handlers.page(call, "applications", after, "")


def get_application(call: Call) -> Answer:
    """Answer with one application."""
    wanted = call.names["applicationId"]
    found = next((each for each in call.world.account.applications if each.id.lower() == wanted.lower()), None)
    if found is None:
        raise BatchError("ApplicationNotFound", applicationId=wanted)
    return one(call, "applications", application_body(found), None)


def list_pool_usage_metrics(call: Call) -> Answer:
    """Answer with a page of the core hours of each pool, also of deleted ones, that existed in a time.

    Usage is known two hours later: that is the end of the time, unless the request gives one.
    """
    world, start, now = call.world, call.moment(0), call.moment(call.now_ms)
    begin, end = _time(call, "startTime") or start, _time(call, "endtime") or call.moment(call.now_ms - _KNOWN_AFTER_MS)
    if end < begin and "endtime" in call.query:
        raise messages.bad_parameter("endtime", call.query["endtime"], "must not be before startTime")

    def after(row: int) -> Iterator[tuple[int, Body]]:
        for pool in handlers.after(world.pools.rows, row):
            gone = now if pool.gone_ms is None else call.moment(pool.gone_ms)
            if call.moment(pool.created_ms) <= end and gone >= begin:
                yield pool.row, usage_body(world, pool, call.now_ms)

    return handlers.page(call, "poolusagemetrics", after, -1)


def _time(call: Call, name: str) -> datetime | None:
    """Return the time that a query parameter gives, None where it is absent."""
    text = call.query.get(name.lower())
    if text is None:
        return None
    try:
        return parse_utc(text)
    except ValueError as error:
        raise messages.bad_parameter(name, text, str(error)) from None


ACCOUNT_HANDLERS: dict[str, Handler] = {
    "list_supported_images": list_supported_images,
    "list_applications": list_applications,
    "get_application": get_application,
    "list_pool_usage_metrics": list_pool_usage_metrics,
}


def certificate_named(call: Call) -> CertificateRecord:
    """Return the certificate that the path names. Raises BatchError: CertificateNotFound."""
    thumbprint, algorithm = call.names["thumbprint"], call.names["thumbprintAlgorithm"]
    found = call.world.certificates.find(thumbprint)
    if found is None or found.spec.thumbprint_algorithm.lower() != algorithm.lower():
        raise BatchError("CertificateNotFound", thumbprint=thumbprint)
    return found


def add_certificate(call: Call) -> Answer:
    """Add a certificate to the account."""
    command = command_of(call, c.AddCertificate)
    assert isinstance(command, c.AddCertificate)
    call.submit(command)
    return created(call, Target(f"/{certificate_path(command)}"))


def list_certificates(call: Call) -> Answer:
    """Answer with a page of the certificates."""
    world = call.world

    def after(row: int) -> Iterator[tuple[int, Body]]:
        listed = (one for one in handlers.after(world.certificates.rows, row) if one.state is not None)
        return ((record.row, certificate_body(world, record)) for record in listed)

    return handlers.page(call, "certificates", after, -1)


def get_certificate(call: Call) -> Answer:
    """Answer with one certificate."""
    return one(call, "certificates", certificate_body(call.world, certificate_named(call)), None)


def delete_certificate(call: Call) -> Answer:
    """Begin to delete a certificate."""
    call.submit(command_of(call, c.DeleteCertificate))
    return Answer(call.route.status)


def cancel_deletion(call: Call) -> Answer:
    """Make a certificate active again whose deletion has failed."""
    call.submit(command_of(call, c.CancelCertificateDeletion))
    return acted(call, None)


CERTIFICATE_HANDLERS: dict[str, Handler] = {
    "add_certificate": add_certificate,
    "list_certificates": list_certificates,
    "get_certificate": get_certificate,
    "delete_certificate": delete_certificate,
    "cancel_certificate_deletion": cancel_deletion,
}


_NIL = "00000000-0000-0000-0000-000000000000"  # the UUID that stands for none
_IMAGE_ID = re.compile(
    r"/subscriptions/[^/\s]+/resourceGroups/[^/\s]+/providers/Microsoft\.Compute"
    r"/(galleries/[^/\s]+/images/[^/\s]+(/versions/[^/\s]+)?|images/[^/\s]+)/?",
    re.IGNORECASE,
)


def check_linked(body: Mapping[str, Any], account: Account) -> None:
    """Refuse a new pool whose subnet is in no subscription, or whose image has no image's resource id.

    The virtual network must be in the account's subscription (NET-2), which no subscription with the nil id is, unless
    the scenario says so. An image by its id must be one of a gallery, or a managed one (POOL-4).

    Args:
        body: The pool, in the spelling of its class.
        account: The account.

    Raises:
        BatchError: InvalidPropertyValue, naming the property.
    """
    subnet = _text(body, "networkConfiguration", "subnetId")
    if subnet.lower().startswith(f"/subscriptions/{_NIL}/") and account.subscription_id != _NIL:
        _refuse("subnetId", subnet, "its VNet must be in the account's subscription, which cannot have the nil id")
    image = _text(body, "virtualMachineConfiguration", "imageReference", "virtualMachineImageId")
    if image and not _IMAGE_ID.fullmatch(image):
        _refuse("virtualMachineImageId", image, "is not the resource id of an image in an Azure Compute Gallery")


def _text(body: object, *names: str) -> str:
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body if isinstance(body, str) else ""


def _refuse(name: str, value: str, reason: str) -> None:
    raise BatchError("InvalidPropertyValue", reason, PropertyName=name, PropertyValue=value)


_AUTO_SCALE_RUN = "Microsoft.Azure.Batch.Protocol.Entities.AutoScaleRun"


POOLS = Resources("pools", "poolId", lambda world: world.pools)


def pool_named(call: Call) -> Pool:
    """Return the pool that the path names. Raises BatchError: PoolNotFound."""
    return verdicts.pool_named(call.world, call.names["poolId"])


def get_pool(call: Call) -> Answer:
    """Answer with one pool."""
    pool = pool_named(call)
    stats = pool_stats(call.world, pool, call.now_ms) if handlers.wants_stats(call) else None
    return one(call, "pools", pool_body(call.world, pool), POOLS.named(call), stats)


def list_pools(call: Call) -> Answer:
    """Answer with a page of the pools."""
    world, rows = call.world, call.world.pools.rows

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return ((pool.row, pool_body(world, pool)) for pool in handlers.after(rows, row) if pool.state is not None)

    return handlers.page(call, "pools", after, -1, lambda row: pool_stats(world, rows[row], call.now_ms))


def list_node_counts(call: Call) -> Answer:
    """Answer with a page of the numbers of nodes of each pool by state (NODE-16)."""
    world, rows = call.world, call.world.pools.rows

    def after(row: int) -> Iterator[tuple[int, Body]]:
        return ((pool.row, node_counts(world, pool)) for pool in handlers.after(rows, row) if pool.state is not None)

    return handlers.page(call, "poolnodecounts", after, -1)


def _with_targets(_: Call, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a resize in which a target that is left out is 0, as on the wire."""
    given = {name.lower() for name, value in body.items() if value is not None}
    targets = ("targetDedicatedNodes", "targetLowPriorityNodes")
    return body | {name: 0 for name in targets if name.lower() not in given}


def _new_pool(call: Call, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a new pool in which targets that are left out are 0, unless a formula sets them.

    In a scenario it is a mistake not to say how many nodes a pool has; the service accepts it. Raises BatchError.
    """
    pool = messages.lenient(c.CreatePool, body)
    check_linked(pool, call.world.account)
    return pool if pool.get("enableAutoScale") else _with_targets(call, pool)


def evaluate_auto_scale(call: Call) -> Answer:
    """Evaluate a formula on a pool without applying it, and answer with what came out (AS-87)."""
    command = messages.read_body(c.EvaluatePoolAutoScale, call.body(), call.names)
    call.submit(command)
    run = dry_run(call.simulation, command.pool_id, command.auto_scale_formula)
    assert run is not None  # the pool exists: the command was accepted
    body = {"odata.metadata": messages.metadata(call.base, _AUTO_SCALE_RUN), **run_body(call.world, run)}
    return messages.json_body(call.route.status, body)


POOL_HANDLERS: dict[str, Handler] = {
    "create_pool": creation(c.CreatePool, POOLS.target_of, _new_pool),
    "list_pools": list_pools,
    "get_pool": get_pool,
    "pool_exists": existence(POOLS.named),
    "delete_pool": removal(c.DeletePool, POOLS.named),
    "update_pool": action(c.UpdatePool, POOLS.named),
    "replace_pool_properties": action(c.ReplacePoolProperties, POOLS.named),
    "resize_pool": action(c.ResizePool, POOLS.named, _with_targets),
    "stop_pool_resize": action(c.StopPoolResize, POOLS.named),
    "enable_pool_auto_scale": action(c.EnablePoolAutoScale, POOLS.named),
    "disable_pool_auto_scale": action(c.DisablePoolAutoScale, POOLS.named),
    "evaluate_pool_auto_scale": evaluate_auto_scale,
    "remove_nodes": action(c.RemoveNodes, POOLS.named),
    "upgrade_pool_os": action(c.UpgradePoolOS, POOLS.named),
    "list_pool_node_counts": list_node_counts,
}


_LOGIN = "Microsoft.Azure.Batch.Protocol.Entities.ComputeNodeGetRemoteLoginSettingsResult"
_REIMAGES_MACHINES = "2025-06-01"
_RECENT = "recenttasks"
_LOGS = "Microsoft.Azure.Batch.Protocol.Entities.UploadBatchServiceLogsResult"


def node_named(call: Call) -> int:
    """Return the row of the node that the path names. Raises BatchError: PoolNotFound or NodeNotFound."""
    return verdicts.node_named(call.world, pool_named(call), call.names["nodeId"])


def named(call: Call) -> Target | None:
    """Return the node that the path names, None if there is none. Nodes have no entity tag."""
    try:
        node = node_named(call)
    except BatchError:
        return None
    return Target(path_of("pools", pool_named(call).id, "nodes", call.world.nodes[node].id))


def get_node(call: Call) -> Answer:
    """Answer with one node."""
    return one(call, "nodes", _body(call, node_named(call)), named(call))


def _body(call: Call, node: int) -> Body:
    """Return a node; its recent tasks, which are most of it, only where ``$select`` or ``$filter`` has them."""
    asked = f"{call.query.get('$select', _RECENT)} {call.query.get('$filter', '')}".lower()
    return node_body(call.world, node, call.latest.tasks.on(node) if _RECENT in asked else ())


def list_nodes(call: Call) -> Answer:
    """Answer with a page of the nodes of a pool."""
    world, pool = call.world, pool_named(call)

    def after(row: int) -> Iterator[tuple[int, Body]]:
        present = (node for node in pool.nodes if node > row and world.nodes.state_of(node) is not None)
        return ((node, _body(call, node)) for node in present)

    return handlers.page(call, "nodes", after, -1)


def _for_version(call: Call, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a reimage, which versions before 2025-06-01 refuse on virtual machines, as was recorded.

    Raises:
        BatchError: OperationNotValidOnNode.
    """
    pool = call.world.pools.find(call.names["poolId"])
    older = call.query["api-version"] < _REIMAGES_MACHINES
    if older and pool is not None and pool.os is not OsFamily.CLOUD_SERVICE:
        reason = "Operation reimage can be invoked only on pools created with cloudServiceConfiguration"
        raise BatchError("OperationNotValidOnNode", reason)
    return body


# -- users (NOP-9) ---------------------------------------------------------------------------------------------------


def _user_of(call: Call, name: str) -> Target | None:
    node = named(call)
    return None if node is None else Target(f"{node.path}{path_of('users', name)}")


def _user(call: Call) -> Target | None:
    return _user_of(call, call.names["userName"])


def _create_user(call: Call) -> Answer:
    command = command_of(call, c.CreateNodeUser)
    assert isinstance(command, c.CreateNodeUser)
    call.submit(command)
    return created(call, _user_of(call, command.name))


def _without_name(_: Call, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a replacement; the name of the user is in the path."""
    return {name: value for name, value in body.items() if name.lower() != "name"}


# -- login, logs and extensions --------------------------------------------------------------------------------------


def get_remote_login_settings(call: Call) -> Answer:
    """Answer with the address and port for remote login (NOP-10)."""
    body = {"odata.metadata": messages.metadata(call.base, _LOGIN)}
    return messages.json_body(call.route.status, body | remote_login_settings(call.world, node_named(call)))


def get_remote_desktop_file(call: Call) -> Answer:
    """Answer with the file that opens a Remote Desktop session (NOP-10)."""
    text = remote_desktop_file(call.world, node_named(call))
    return Answer(call.route.status, text.encode(), {"Content-Type": "application/octet-stream"})


def upload_logs(call: Call) -> Answer:
    """Upload the logs of the node agent, and answer with their directory in the container (NOP-11)."""
    call.submit(command_of(call, c.UploadNodeLogs))
    body = {"odata.metadata": messages.metadata(call.base, _LOGS)}
    return messages.json_body(call.route.status, body | uploaded_logs(call.world, node_named(call)))


def list_extensions(call: Call) -> Answer:
    """Answer with a page of the extensions of a node's virtual machine."""
    found = extension_bodies(call.world, node_named(call))

    def after(number: int) -> Iterator[tuple[int, Body]]:
        return islice(enumerate(found), number + 1, None)

    return handlers.page(call, "extensions", after, -1)


def get_extension(call: Call) -> Answer:
    """Answer with one extension of a node's virtual machine."""
    name = call.names["extensionName"]
    found = extension_bodies(call.world, node_named(call))
    body = next((body for body in found if body["vmExtension"]["name"].lower() == name.lower()), None)
    if body is None:
        raise BatchError("ResourceNotFound", "the pool has no such extension", extensionName=name)
    return one(call, "extensions", body, None)


NODE_HANDLERS: dict[str, Handler] = {
    "get_node": get_node,
    "list_nodes": list_nodes,
    "reboot_node": action(c.RebootNode, named),
    "reimage_node": action(c.ReimageNode, named, _for_version),
    "deallocate_node": action(c.DeallocateNode, named),
    "start_node": action(c.StartNode, named),
    "disable_node_scheduling": action(c.DisableNodeScheduling, named),
    "enable_node_scheduling": action(c.EnableNodeScheduling, named),
    "create_node_user": _create_user,
    "replace_node_user": action(c.UpdateNodeUser, _user, _without_name),
    "delete_node_user": removal(c.DeleteNodeUser, _user),
    "get_node_remote_login_settings": get_remote_login_settings,
    "get_remote_desktop_file": get_remote_desktop_file,
    "upload_node_logs": upload_logs,
    "list_node_extensions": list_extensions,
    "get_node_extension": get_extension,
}
