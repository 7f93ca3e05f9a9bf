"""The operations on the account, its certificates, pools, nodes and their users.

Each table of handlers has them by operation id. Certificates are known only to older clients (CERT-1, CERT-4).

A scenario may name any subnet and image for a pool, since it describes them itself. A client means real ones outside
the account, of which the service refuses those that cannot exist (NET-2, POOL-4).
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError
from engine.base.terms import OsFamily
from engine.base.values import HOUR_MS, parse_utc, text_at
from engine.rest import messages
from engine.rest.handlers import (
    Resources,
    Route,
    Target,
    action,
    after,
    command_of,
    creation,
    described,
    existence,
    one,
    page,
    path_of,
    present,
    removal,
    without,
)
from engine.rest.messages import Answer
from engine.rules.account import find_application
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
    lifetime_pool_stats,
    node_agent_body,
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

    from engine.rest.handlers import Call
    from engine.rest.messages import Body
    from engine.specs.account import Account
    from engine.specs.images import Image
    from engine.state.account import CertificateRecord
    from engine.state.pools import Pool


_POOL = "/pools/{poolId}"
NODE = f"{_POOL}/nodes/{{nodeId}}"
_CERT = "/certificates(thumbprintAlgorithm={thumbprintAlgorithm},thumbprint={thumbprint})"
_KNOWN_AFTER_MS = 2 * HOUR_MS


def list_supported_images(call: Call) -> Answer:
    """Answer with a page of the images with which pools can still be created (POOL-26)."""
    now = call.moment(call.now_ms)

    listed = ((at, image) for at, image in enumerate(IMAGES) if not image.has_ended(now))
    return page(call, "supportedimages", after(listed, image_body), -1)


def list_node_agents(call: Call) -> Answer:
    """Answer with a page of the node agents, each with its images, as versions before 2019-06-01 list them."""
    by_agent: dict[str, list[Image]] = {}
    for image in IMAGES:
        if not image.has_ended(call.moment(call.now_ms)):
            by_agent.setdefault(image.node_agent_sku_id, []).append(image)
    return page(call, "nodeagentskus", after(sorted(by_agent.items()), node_agent_body), "")


def get_lifetime_pool_stats(call: Call) -> Answer:
    """Answer with the billed time of all pools since the start, deleted ones included (STAT-1)."""
    return described(call, _POOL_STATS, lifetime_pool_stats(call.world, call.now_ms))


def list_applications(call: Call) -> Answer:
    """Answer with a page of the applications (APP-1)."""
    applications = {each.id.lower(): each for each in call.world.account.applications}
    return page(call, "applications", after(sorted(applications.items()), application_body), "")


def get_application(call: Call) -> Answer:
    """Answer with one application."""
    found = find_application(call.world, call.names["applicationId"])
    return one(call, "applications", application_body(found), None)


def list_pool_usage_metrics(call: Call) -> Answer:
    """Answer with a page of the core hours of each pool, also of deleted ones, that existed in a time.

    Usage is known two hours later: that is the end of the time, unless the request gives one.
    """
    world, start, now = call.world, call.moment(0), call.moment(call.now_ms)
    begin, end = _time(call, "startTime") or start, _time(call, "endtime") or call.moment(call.now_ms - _KNOWN_AFTER_MS)
    if end < begin and "endtime" in call.query:
        raise messages.bad_parameter("endtime", call.query["endtime"], "must not be before startTime")

    def existed(pool: Pool) -> bool:
        gone = now if pool.gone_ms is None else call.moment(pool.gone_ms)
        return call.moment(pool.created_ms) <= end and gone >= begin

    listed = ((pool.row, pool) for pool in world.pools.rows if existed(pool))
    return page(call, "poolusagemetrics", after(listed, lambda pool: usage_body(world, pool, call.now_ms)), -1)


def _time(call: Call, name: str) -> datetime | None:
    """Return the time that a query parameter gives, None where it is absent."""
    text = call.query.get(name.lower())
    if text is None:
        return None
    try:
        return parse_utc(text)
    except ValueError as error:
        raise messages.bad_parameter(name, text, str(error)) from None


ACCOUNT_ROUTES = (
    Route("GET", "/supportedimages", "list_supported_images", 200, list_supported_images),
    Route("GET", "/applications", "list_applications", 200, list_applications),
    Route("GET", "/applications/{applicationId}", "get_application", 200, get_application),
    Route("GET", "/poolusagemetrics", "list_pool_usage_metrics", 200, list_pool_usage_metrics),
)


def certificate_named(call: Call) -> CertificateRecord:
    """Return the certificate that the path names. Raises BatchError: CertificateNotFound."""
    thumbprint, algorithm = call.names["thumbprint"], call.names["thumbprintAlgorithm"]
    found = call.world.certificates.find(thumbprint)
    if found is None or found.spec.thumbprint_algorithm.lower() != algorithm.lower():
        raise BatchError("CertificateNotFound", thumbprint=thumbprint)
    return found


def _certificate_made(_: Call, command: c.AddCertificate) -> Target:
    return Target(f"/{certificate_path(command)}")


def list_certificates(call: Call) -> Answer:
    """Answer with a page of the certificates."""
    listed = present(call.world.certificates.rows, partial(certificate_body, call.world))
    return page(call, "certificates", listed, -1)


def get_certificate(call: Call) -> Answer:
    """Answer with one certificate."""
    return one(call, "certificates", certificate_body(call.world, certificate_named(call)), None)


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
    subnet = text_at(body, "networkConfiguration", "subnetId") or ""
    if subnet.lower().startswith(f"/subscriptions/{_NIL}/") and account.subscription_id != _NIL:
        _refuse("subnetId", subnet, "its VNet must be in the account's subscription, which cannot have the nil id")
    image = text_at(body, "virtualMachineConfiguration", "imageReference", "virtualMachineImageId") or ""
    if image and not _IMAGE_ID.fullmatch(image):
        _refuse("virtualMachineImageId", image, "is not the resource id of an image in an Azure Compute Gallery")


def _refuse(name: str, value: str, reason: str) -> None:
    raise BatchError("InvalidPropertyValue", reason, PropertyName=name, PropertyValue=value)


_POOL_STATS = "Microsoft.Azure.Batch.Protocol.Entities.Container.pools/@Element/stats/@Element"
_AUTO_SCALE_RUN = "Microsoft.Azure.Batch.Protocol.Entities.AutoScaleRun"


def pool_named(call: Call) -> Pool:
    """Return the pool that the path names. Raises BatchError: PoolNotFound."""
    return verdicts.pool_named(call.world, call.names["poolId"])


POOLS = Resources(
    "pools",
    "poolId",
    lambda world: world.pools,
    pool_named,
    lambda call, pool: pool_body(call.world, pool),
    lambda call, pool: pool_stats(call.world, pool, call.now_ms),
)


def list_node_counts(call: Call) -> Answer:
    """Answer with a page of the numbers of nodes of each pool by state (NODE-16)."""
    return page(call, "poolnodecounts", present(call.world.pools.rows, partial(node_counts, call.world)), -1)


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
    return described(call, _AUTO_SCALE_RUN, run_body(call.world, run))


_on_pool = partial(action, find=POOLS.named)
POOL_ROUTES = (
    Route("POST", "/pools", "create_pool", 201, creation(c.CreatePool, POOLS.made, _new_pool)),
    Route("GET", "/pools", "list_pools", 200, POOLS.list),
    Route("GET", _POOL, "get_pool", 200, POOLS.get),
    Route("HEAD", _POOL, "pool_exists", 200, existence(POOLS.named)),
    Route("DELETE", _POOL, "delete_pool", 202, removal(c.DeletePool, POOLS.named)),
    Route("PATCH", _POOL, "update_pool", 200, _on_pool(c.UpdatePool)),
    Route("POST", f"{_POOL}/updateproperties", "replace_pool_properties", 204, _on_pool(c.ReplacePoolProperties)),
    Route("POST", f"{_POOL}/resize", "resize_pool", 202, _on_pool(c.ResizePool, change=_with_targets)),
    Route("POST", f"{_POOL}/stopresize", "stop_pool_resize", 202, _on_pool(c.StopPoolResize)),
    Route("POST", f"{_POOL}/enableautoscale", "enable_pool_auto_scale", 200, _on_pool(c.EnablePoolAutoScale)),
    Route("POST", f"{_POOL}/disableautoscale", "disable_pool_auto_scale", 200, _on_pool(c.DisablePoolAutoScale)),
    Route("POST", f"{_POOL}/evaluateautoscale", "evaluate_pool_auto_scale", 200, evaluate_auto_scale),
    Route("POST", f"{_POOL}/removenodes", "remove_nodes", 202, _on_pool(c.RemoveNodes)),
    Route("GET", "/nodecounts", "list_pool_node_counts", 200, list_node_counts),
)


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

    def following(row: int) -> Iterator[tuple[int, Body]]:
        listed = (node for node in pool.nodes if node > row and world.nodes.state_of(node) is not None)
        return ((node, _body(call, node)) for node in listed)

    return page(call, "nodes", following, -1)


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


def _user_made(call: Call, command: c.CreateNodeUser) -> Target | None:
    return _user_of(call, command.name)


# -- login, logs and extensions --------------------------------------------------------------------------------------


def get_remote_login_settings(call: Call) -> Answer:
    """Answer with the address and port for remote login (NOP-10)."""
    return described(call, _LOGIN, remote_login_settings(call.world, node_named(call)))


def get_remote_desktop_file(call: Call) -> Answer:
    """Answer with the file that opens a Remote Desktop session (NOP-10)."""
    text = remote_desktop_file(call.world, node_named(call))
    return Answer(call.route.status, text.encode(), {"Content-Type": "application/octet-stream"})


def upload_logs(call: Call) -> Answer:
    """Upload the logs of the node agent, and answer with their directory in the container (NOP-11)."""
    call.submit(command_of(call, c.UploadNodeLogs))
    return described(call, _LOGS, uploaded_logs(call.world, node_named(call)))


def list_extensions(call: Call) -> Answer:
    """Answer with a page of the extensions of a node's virtual machine."""
    found = enumerate(extension_bodies(call.world, node_named(call)))
    return page(call, "extensions", after(found, lambda body: body), -1)


def get_extension(call: Call) -> Answer:
    """Answer with one extension of a node's virtual machine."""
    name = call.names["extensionName"]
    found = extension_bodies(call.world, node_named(call))
    body = next((body for body in found if body["vmExtension"]["name"].lower() == name.lower()), None)
    if body is None:
        raise BatchError("ResourceNotFound", "the pool has no such extension", extensionName=name)
    return one(call, "extensions", body, None)


_on_node = partial(action, find=named)
_on_user = partial(action, find=_user, change=without("name"))  # which is in the path
NODE_ROUTES = (
    Route("GET", NODE, "get_node", 200, get_node),
    Route("GET", f"{_POOL}/nodes", "list_nodes", 200, list_nodes),
    Route("POST", f"{NODE}/reboot", "reboot_node", 202, _on_node(c.RebootNode)),
    Route("POST", f"{NODE}/reimage", "reimage_node", 202, _on_node(c.ReimageNode, change=_for_version)),
    Route("POST", f"{NODE}/deallocate", "deallocate_node", 202, _on_node(c.DeallocateNode)),
    Route("POST", f"{NODE}/start", "start_node", 202, _on_node(c.StartNode)),
    Route("POST", f"{NODE}/disablescheduling", "disable_node_scheduling", 200, _on_node(c.DisableNodeScheduling)),
    Route("POST", f"{NODE}/enablescheduling", "enable_node_scheduling", 200, _on_node(c.EnableNodeScheduling)),
    Route("POST", f"{NODE}/users", "create_node_user", 201, creation(c.CreateNodeUser, _user_made)),
    Route("PUT", f"{NODE}/users/{{userName}}", "replace_node_user", 200, _on_user(c.UpdateNodeUser)),
    Route("DELETE", f"{NODE}/users/{{userName}}", "delete_node_user", 200, removal(c.DeleteNodeUser, _user)),
    Route("GET", f"{NODE}/remoteloginsettings", "get_node_remote_login_settings", 200, get_remote_login_settings),
    Route("POST", f"{NODE}/uploadbatchservicelogs", "upload_node_logs", 200, upload_logs),
    Route("GET", f"{NODE}/extensions", "list_node_extensions", 200, list_extensions),
    Route("GET", f"{NODE}/extensions/{{extensionName}}", "get_node_extension", 200, get_extension),
)

OLDER_ROUTES = (
    Route("POST", "/certificates", "add_certificate", 201, creation(c.AddCertificate, _certificate_made)),
    Route("GET", "/certificates", "list_certificates", 200, list_certificates),
    Route("GET", _CERT, "get_certificate", 200, get_certificate),
    Route("DELETE", _CERT, "delete_certificate", 202, removal(c.DeleteCertificate)),
    Route("POST", f"{_CERT}/canceldelete", "cancel_certificate_deletion", 204, action(c.CancelCertificateDeletion)),
    Route("POST", f"{_POOL}/upgradeos", "upgrade_pool_os", 202, _on_pool(c.UpgradePoolOS)),
    Route("GET", "/nodeagentskus", "list_node_agent_skus", 200, list_node_agents),
    Route("GET", "/lifetimepoolstats", "get_lifetime_pool_stats", 200, get_lifetime_pool_stats),
    Route("GET", f"{NODE}/rdp", "get_remote_desktop_file", 200, get_remote_desktop_file),
)
"""The operations that later API versions have dropped (GEN-15)."""
