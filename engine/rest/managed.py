"""Pools and applications as the resource manager has them: read, listed, made, changed and deleted by its requests.

A pool made here is the pool of the data plane, and each change is a command of the engine. An application without
packages, and a package that is not activated yet, are known here alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from engine.base.errors import BatchError, ScenarioError
from engine.base.terms import AllocationState, PoolState
from engine.base.values import quoted, text_at
from engine.rest import messages
from engine.rest.handlers import submit
from engine.rest.messages import Answer, json_answer
from engine.rest.pools import check_linked
from engine.rules.account import find_application
from engine.rules.decisions import verdicts
from engine.scenario.bodies import RESOURCE_NAMES, fields_of
from engine.scenario.load import load as load_scenario
from engine.scenario.pasted import AUTO_SCALE, FIXED_SCALE, MOVED
from engine.specs import commands as c
from engine.specs.bodies import PoolUpdate
from engine.views.rest.account import etag, machine, pool_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from engine.rest.messages import Body, Request
    from engine.rest.service import Service
    from engine.specs.account import Application
    from engine.specs.command import Command
    from engine.state.pools import Pool
    from engine.world import World

BATCH = "Microsoft.Batch"
SUBSCRIPTION = "00000000-0000-4000-8000-00000000ba7c"  # of clients that ask which there are
_POLLED_AFTER_S = "1"
PACKAGES = "/packages/"
"""The beginning of the paths to which clients upload packages."""


@dataclass(eq=False)
class Plane:
    """What the management plane of a service keeps between requests."""

    service: Service
    group: str = "batchdeck"  # the resource group that a client has named last
    tags: dict[str, str] = field(default_factory=dict)
    empty: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The properties of applications without packages, by their names in lower case."""
    pending: dict[str, list[str]] = field(default_factory=dict)
    """The versions of packages that are not activated, by their applications in lower case."""


class Call(NamedTuple):
    """A request that was admitted: the names in its path, and what it is about."""

    plane: Plane
    request: Request
    names: Mapping[str, Any]  # text, None for a subscription or group that the path has not

    @property
    def world(self) -> World:
        """The tables of the simulation."""
        return self.plane.service.simulation.world

    @property
    def subscription(self) -> str:
        """The path of the subscription."""
        return f"/subscriptions/{self.names['subscription'] or SUBSCRIPTION}"

    @property
    def group(self) -> str:
        """The path of the resource group, as the client spells it; without one, the last that a client has named."""
        return f"{self.subscription}/resourceGroups/{self.names['group'] or self.plane.group}"

    @property
    def account(self) -> str:
        """The resource id of the account."""
        return f"{self.group}/providers/{BATCH}/batchAccounts/{self.plane.service.credentials.account}"

    def submit(self, command: Command) -> None:
        """Submit a command, see ``handlers.submit``. Raises BatchError."""
        submit(self.plane.service.simulation, command)

    def properties(self) -> dict[str, Any]:
        """Return the properties of the resource in the body. Raises BatchError."""
        found = messages.json_object(self.request.body).get("properties") or {}
        if not isinstance(found, dict):
            raise BatchError("InvalidRequestBody", "properties must be an object")
        return found


Handler = Callable[[Call], Answer]


def listed(items: Iterable[Body]) -> Answer:
    """Return an answer with a list of resources."""
    return json_answer({"value": list(items)})


def resource(path: str, kind: str, properties: Body, **more: object) -> dict[str, object]:
    """Return a resource of the provider at a path; ``kind`` is its type below the provider's name."""
    return {"id": path, "name": path.rpartition("/")[2], "type": f"{BATCH}/{kind}", **more, "properties": properties}


# -- pools -----------------------------------------------------------------------------------------------------------


def _pool_of(call: Call) -> Pool:
    return verdicts.pool_named(call.world, call.names["pool"])


def _pool(call: Call, pool: Pool) -> dict[str, object]:
    """Return a pool as a resource."""
    data = pool_body(call.world, pool)
    scale = (
        {"autoScale": {name: data[own] for name, own in AUTO_SCALE.items() if own in data}}
        if data.get("enableAutoScale")
        else {"fixedScale": {name: data[name] for name in FIXED_SCALE if name in data}}
    )
    assert pool.allocation is not None
    head = ("id", "url", "eTag", "state", "stateTransitionTime", "allocationState", "autoScaleRun", "resizeErrors")
    properties = {name: value for name, value in data.items() if name not in (*head, *MOVED, "identity")} | {
        "provisioningState": "Succeeded" if pool.state is PoolState.ACTIVE else "Deleting",
        "provisioningStateTransitionTime": data["stateTransitionTime"],
        "allocationState": pool.allocation.wire.capitalize(),
        "deploymentConfiguration": _deployment(pool),
        "scaleSettings": scale,
        "interNodeCommunication": "Enabled" if data.get("enableInterNodeCommunication") else "Disabled",
        "resizeOperationStatus": {"errors": data.get("resizeErrors", [])},
    }
    packages = data.get("applicationPackageReferences")
    if isinstance(packages, list):
        properties["applicationPackages"] = [
            {"id": f"{call.account}/applications/{one['applicationId']}"}
            | ({"version": one["version"]} if "version" in one else {})
            for one in packages
        ]
    run = data.get("autoScaleRun")
    if isinstance(run, dict):
        properties["autoScaleRun"] = {"evaluationTime": run["timestamp"], "results": run["results"]}
    path = f"{call.account}/pools/{quote(pool.id)}"
    return resource(path, "batchAccounts/pools", properties, etag=_tag(call, pool))


def _deployment(pool: Pool) -> dict[str, object]:
    """Return the machine of a pool under the names that it has in a resource; nothing for a cloud service."""
    if pool.spec.cloud_service_configuration is not None:
        return {}
    written = {RESOURCE_NAMES.get(name, name): value for name, value in machine(pool).items()}
    return {"virtualMachineConfiguration": written}


def _tag(call: Call, pool: Pool) -> str:
    return f'W/"{etag(call.world, pool.modified_ms)}"'


def _answer_pool(call: Call, pool: Pool) -> Answer:
    return json_answer(_pool(call, pool), ETag=_tag(call, pool))


def _get_pool(call: Call) -> Answer:
    return _answer_pool(call, _pool_of(call))


def _list_pools(call: Call) -> Answer:
    return listed(_pool(call, pool) for pool in call.world.pools.present())


def _put_pool(call: Call) -> Answer:
    """Create a pool, or change one that is there to what the resource says."""
    name, properties = call.names["pool"], call.properties()
    pool = call.world.pools.find(name)
    if pool is not None and pool.state is not None:
        return _changed(call, pool, properties)
    if "if-match" in call.request.headers:
        raise BatchError("ConditionNotMet", "there is no such pool")
    wire = _wire(call, name, properties)
    check_linked(wire, call.world.account)
    call.submit(messages.read_body(c.CreatePool, wire))
    return _get_pool(call)


def _patch_pool(call: Call) -> Answer:
    return _changed(call, _pool_of(call), call.properties())


def _changed(call: Call, pool: Pool, given: Mapping[str, Any]) -> Answer:
    """Change what a resource says of a pool: its size or formula first, as the service does, then its settings."""
    messages.check_preconditions(call.request, etag(call.world, pool.modified_ms), None)
    present = {name: value for name, value in pool.spec.wire().items() if value is not None}
    kept = {
        "vmSize": pool.spec.vm_size,
        "deploymentConfiguration": _deployment(pool),
    }
    wanted = _wire(call, pool.id, {**kept, **given})
    for command in _resizes(pool, wanted, given):
        call.submit(command)
    names = [name for name in fields_of(PoolUpdate) if name in wanted and wanted[name] != present.get(name)]
    if names:
        call.submit(messages.read_body(c.UpdatePool, {name: wanted[name] for name in names}, {"poolId": pool.id}))
    return _answer_pool(call, pool)


def _resizes(pool: Pool, wanted: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[Command]:
    """Yield the commands that give a pool the scale settings of a resource that has some."""
    named = {"poolId": pool.id}
    if "scaleSettings" not in given:
        return
    if wanted.get("enableAutoScale"):
        yield messages.read_body(c.EnablePoolAutoScale, wanted, named)
        return
    if pool.scaling is not None:
        yield messages.read_body(c.DisablePoolAutoScale, {}, named)
    targets = (wanted.get("targetDedicatedNodes", 0), wanted.get("targetLowPriorityNodes", 0))
    if targets != (pool.target_dedicated, pool.target_spot):
        body = {"targetDedicatedNodes": targets[0], "targetLowPriorityNodes": targets[1]}
        option = text_at(given, "scaleSettings", "fixedScale", "nodeDeallocationOption")
        body |= {} if option is None else {"nodeDeallocationOption": option}
        yield messages.read_body(c.ResizePool, {**wanted, **body}, named)


def _wire(call: Call, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource as the body of a pool, read as a scenario reads it (GEN-20).

    Raises:
        BatchError: InvalidRequestBody, with the first mistake.
    """
    account = {key: value for key, value in call.world.account.wire().items() if key != "name"}
    text = {"scenario": "resource", "account": account, "pools": [{"name": name, "properties": properties}]}
    try:
        return dict(load_scenario("resource", text=json.dumps(text)).pools[0].spec.wire())
    except ScenarioError as error:
        raise BatchError("InvalidRequestBody", error.problems[0].message) from None


def _delete_pool(call: Call) -> Answer:
    """Delete a pool; the client polls until it is gone."""
    pool = call.world.pools.find(call.names["pool"])
    if pool is None or pool.state is None:
        return Answer(204)
    if pool.state is PoolState.ACTIVE:
        messages.check_preconditions(call.request, etag(call.world, pool.modified_ms), None)
        call.submit(c.DeletePool.from_wire({"poolId": pool.id}))
    return _under_way(call, pool.id)


def _under_way(call: Call, pool_id: str) -> Answer:
    place = f"{call.request.base}{call.account}/operationResults/{quote(pool_id)}?api-version=2025-06-01"
    return Answer(202, b"", {"Location": place, "Retry-After": _POLLED_AFTER_S})


def _operation(call: Call) -> Answer:
    """Answer whether the deletion of a pool is under way."""
    pool = call.world.pools.find(call.names["pool"])
    return Answer(204) if pool is None or pool.state is None else _under_way(call, pool.id)


def _stop_resize(call: Call) -> Answer:
    pool = _pool_of(call)
    if pool.allocation is AllocationState.RESIZING:
        call.submit(c.StopPoolResize.from_wire({"poolId": pool.id}))
    return _answer_pool(call, pool)


def _disable_auto_scale(call: Call) -> Answer:
    pool = _pool_of(call)
    call.submit(c.DisablePoolAutoScale.from_wire({"poolId": pool.id}))
    return _answer_pool(call, pool)


# -- applications and packages ---------------------------------------------------------------------------------------


def _application_of(call: Call) -> Application | None:
    """Return the application that the path names, None for one without packages. Raises BatchError."""
    name = call.names["application"]
    if call.world.account.application(name) is None and name.lower() in call.plane.empty:
        return None
    return find_application(call.world, name)


def _application(call: Call, name: str) -> dict[str, object]:
    found = call.world.account.application(name)
    properties = dict(call.plane.empty.get(name.lower(), {})) if found is None else _application_properties(found)
    path = f"{call.account}/applications/{quote(name if found is None else found.id)}"
    return resource(path, "batchAccounts/applications", properties)


def _application_properties(found: Application) -> dict[str, object]:
    more = {"displayName": found.display_name, "defaultVersion": found.default_version}
    return {name: value for name, value in more.items() if value is not None} | {"allowUpdates": found.allow_updates}


def _get_application(call: Call) -> Answer:
    _application_of(call)
    return json_answer(_application(call, call.names["application"]))


def _list_applications(call: Call) -> Answer:
    names = {each.id.lower(): each.id for each in call.world.account.applications}
    return listed(_application(call, name) for name in ({name: name for name in call.plane.empty} | names).values())


def _put_application(call: Call) -> Answer:
    """Make an application without packages, or change one."""
    name, properties = call.names["application"], call.properties()
    if call.world.account.application(name) is not None:
        call.submit(messages.read_body(c.UpdateApplication, properties, {"applicationId": name}))
    elif call.request.method == "PATCH" and name.lower() not in call.plane.empty:
        find_application(call.world, name)
    else:
        call.plane.empty[name.lower()] = {"allowUpdates": True, **properties}
    return json_answer(_application(call, name))


def _delete_application(call: Call) -> Answer:
    found = _application_of(call)
    if found is not None and found.versions:
        reason = f"{quoted(found.id)} has packages: delete them first"
        raise BatchError("ApplicationNotEmpty", reason)
    call.plane.empty.pop(call.names["application"].lower(), None)
    return Answer(204)


def _package(call: Call, version: str, *, is_active: bool) -> dict[str, object]:
    application = call.names["application"]
    path = f"{call.account}/applications/{quote(application)}/versions/{quote(version)}"
    url = f"{call.plane.service.azure_url}{PACKAGES}{quote(application)}/{quote(version)}?sig=none"
    properties = {"state": "Active", "format": "zip"} if is_active else {"state": "Pending", "storageUrl": url}
    return resource(path, "batchAccounts/applications/versions", properties)


def _packages(call: Call) -> dict[str, bool]:
    """Return the versions of an application, and whether each is active. Raises BatchError."""
    found = _application_of(call)
    pending = call.plane.pending.get(call.names["application"].lower(), ())
    return dict.fromkeys(pending, False) | dict.fromkeys(() if found is None else found.versions, True)


def _get_package(call: Call) -> Answer:
    version, versions = call.names["version"], _packages(call)
    if version not in versions:
        raise BatchError("ApplicationPackageNotFound", f"there is no package of version {quoted(version)}")
    return json_answer(_package(call, version, is_active=versions[version]))


def _list_packages(call: Call) -> Answer:
    return listed(_package(call, version, is_active=active) for version, active in _packages(call).items())


def _put_package(call: Call) -> Answer:
    """Name a place to which the client uploads a package; it counts once it is activated."""
    _application_of(call)
    versions = call.plane.pending.setdefault(call.names["application"].lower(), [])
    versions += [call.names["version"]] if call.names["version"] not in versions else []
    return json_answer(_package(call, call.names["version"], is_active=False))


def _activate(call: Call) -> Answer:
    application, version = call.names["application"], call.names["version"]
    if version not in _packages(call):
        return _get_package(call)
    call.submit(messages.read_body(c.CreateApplicationPackage, {"version": version}, {"applicationId": application}))
    empty = call.plane.empty.pop(application.lower(), None)
    if empty:
        call.submit(messages.read_body(c.UpdateApplication, empty, {"applicationId": application}))
    call.plane.pending[application.lower()] = [
        each for each in call.plane.pending.get(application.lower(), ()) if each != version
    ]
    return json_answer(_package(call, version, is_active=True))


def _delete_package(call: Call) -> Answer:
    version, versions = call.names["version"], _packages(call)
    if versions.get(version):
        named = {"applicationId": call.names["application"], "version": version}
        call.submit(c.DeleteApplicationPackage.from_wire(named))
    elif version in versions:
        call.plane.pending[call.names["application"].lower()].remove(version)
    return Answer(204)


OWN = "/providers/microsoft.batch/batchaccounts/{account}"
_POOL = f"{OWN}/pools/{{pool}}"
_APPLICATION = f"{OWN}/applications/{{application}}"
_VERSION = f"{_APPLICATION}/versions/{{version}}"
POOL_AND_APPLICATION_ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", f"{OWN}/operationresults/{{pool}}", _operation),
    ("GET", f"{OWN}/pools", _list_pools),
    ("GET", _POOL, _get_pool),
    ("PUT", _POOL, _put_pool),
    ("PATCH", _POOL, _patch_pool),
    ("DELETE", _POOL, _delete_pool),
    ("POST", f"{_POOL}/stopresize", _stop_resize),
    ("POST", f"{_POOL}/disableautoscale", _disable_auto_scale),
    ("GET", f"{OWN}/applications", _list_applications),
    ("GET", _APPLICATION, _get_application),
    ("PUT PATCH", _APPLICATION, _put_application),
    ("DELETE", _APPLICATION, _delete_application),
    ("GET", f"{_APPLICATION}/versions", _list_packages),
    ("GET", _VERSION, _get_package),
    ("PUT", _VERSION, _put_package),
    ("DELETE", _VERSION, _delete_package),
    ("POST", f"{_VERSION}/activate", _activate),
)
"""The operations: their methods, the ends of their paths, and what answers them."""
