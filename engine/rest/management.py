"""The management plane: the resource provider ``Microsoft.Batch``, and as much of ARM as leads clients there.

It is another door to the same account: a pool made here is the pool of the data plane, and each change is a command of
the engine. Any subscription and resource group is the account's own. What the account has not (private links,
detectors, perimeters) are empty lists; what a simulation cannot change (its keys, the account itself) is refused with a
sentence. An application without packages, and a package that is not activated yet, are known here alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote
from uuid import NAMESPACE_URL, uuid5

from engine.base.errors import BatchError, ScenarioError
from engine.base.terms import AllocationState, PoolState
from engine.base.values import quoted, text_at
from engine.rest import messages
from engine.rest.handlers import submit
from engine.rest.messages import Answer
from engine.rest.pools import check_linked
from engine.rest.service import check_bearer
from engine.rules.account import find_application
from engine.rules.decisions import verdicts
from engine.scenario.bodies import RESOURCE_NAMES, fields_of
from engine.scenario.load import load as load_scenario
from engine.scenario.pasted import AUTO_SCALE, FIXED_SCALE, MOVED
from engine.specs import commands as c
from engine.specs.bodies import PoolUpdate
from engine.specs.catalogue import listed_sizes
from engine.views.rest.account import account_url, etag, pool_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from engine.rest.messages import Body, Request
    from engine.rest.service import Service
    from engine.specs.account import Application
    from engine.specs.command import Command
    from engine.state.pools import Pool
    from engine.world import World

_CLOUDS = ("azure.com", "core.windows.net", "usgovcloudapi.net", "core.usgovcloudapi.net", "chinacloudapi.cn")
AUDIENCES = tuple(f"https://management.{cloud}" for cloud in (*_CLOUDS, "core.chinacloudapi.cn"))
"""The audiences of tokens for this plane."""

_BATCH = "Microsoft.Batch"
_SUBSCRIPTION = "00000000-0000-4000-8000-00000000ba7c"  # of clients that ask which there are
_AZURITE = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_POLLED_AFTER_S = "1"
_PLACE = re.compile(
    r"(?:/subscriptions/(?P<subscription>[^/]+)(?:/resourcegroups/(?P<group>[^/]+))?)?(?P<rest>.*?)/?", re.IGNORECASE
)


class Call(NamedTuple):
    """A request that was admitted: the names in its path, and what it is about."""

    plane: Management
    request: Request
    names: Mapping[str, Any]  # text, None for a subscription or group that the path has not

    @property
    def world(self) -> World:
        """The tables of the simulation."""
        return self.plane.service.simulation.world

    @property
    def subscription(self) -> str:
        """The path of the subscription."""
        return f"/subscriptions/{self.names['subscription'] or _SUBSCRIPTION}"

    @property
    def group(self) -> str:
        """The path of the resource group, as the client spells it; without one, the last that a client has named."""
        return f"{self.subscription}/resourceGroups/{self.names['group'] or self.plane.group}"

    @property
    def account(self) -> str:
        """The resource id of the account."""
        return f"{self.group}/providers/{_BATCH}/batchAccounts/{self.plane.service.credentials.account}"

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


def _json(body: Body, status: int = 200, **headers: str) -> Answer:
    head = {"Content-Type": "application/json; charset=utf-8", "X-Content-Type-Options": "nosniff"}
    return Answer(status, json.dumps(body).encode(), head | headers)


def _listed(items: Iterable[Body]) -> Answer:
    return _json({"value": list(items)})


def _resource(path: str, kind: str, properties: Body, **more: object) -> dict[str, object]:
    return {"id": path, "name": path.rpartition("/")[2], "type": f"{_BATCH}/{kind}", **more, "properties": properties}


# -- what leads to the account ---------------------------------------------------------------------------------------


def _tenant_of(path: str) -> str:
    return str(uuid5(NAMESPACE_URL, path))


def _subscription(call: Call) -> dict[str, object]:
    guid = call.subscription.rpartition("/")[2]
    return {
        "id": call.subscription,
        "subscriptionId": guid,
        "tenantId": _tenant_of("tenant"),
        "displayName": "batchdeck",
        "state": "Enabled",
    }


def _group(call: Call) -> dict[str, object]:
    name = call.group.rpartition("/")[2]
    location = call.world.account.location
    return {"id": call.group, "name": name, "type": "Microsoft.Resources/resourceGroups", "location": location} | {
        "properties": {"provisioningState": "Succeeded"}
    }


def _self(call: Call) -> Answer:
    """Answer with the subscription or the resource group that the path ends with."""
    if call.names["group"] is None:
        return _json(_subscription(call))
    return _json(_group(call), 201 if call.request.method == "PUT" else 200)


def _provider(call: Call) -> Answer:
    name = call.names.get("namespace") or _BATCH
    kinds = ("batchAccounts", "batchAccounts/pools", "operations", "locations", "locations/quotas")
    place = {"locations": [call.world.account.location], "apiVersions": ["2025-06-01", "2024-07-01", "2024-02-01"]}
    return _json(
        {"id": f"{call.subscription}/providers/{name}", "namespace": name, "registrationState": "Registered"}
        | {
            "resourceTypes": [{"resourceType": kind, **place} for kind in kinds]
            if name.lower() == _BATCH.lower()
            else []
        }
    )


def _resources(call: Call) -> Answer:
    """Answer with the resources of a type, or with a tag: the account is the only one."""
    wanted = messages.query_of(call.request).get("$filter", "")
    kind = re.search(r"resourceType eq '([^']*)'", wanted, re.IGNORECASE)
    tag = re.search(r"tagName eq '([^']*)'(?: and tagValue eq '([^']*)')?", wanted, re.IGNORECASE)
    own = _account(call)
    is_wanted = kind is None or kind[1].lower() == f"{_BATCH}/batchAccounts".lower()
    if tag is not None:
        value = call.plane.tags.get(tag[1])
        is_wanted = is_wanted and value is not None and tag[2] in (None, value)
    return _listed([{name: own[name] for name in ("id", "name", "type", "location", "tags")}] if is_wanted else [])


def _storage(call: Call) -> Answer:
    """Answer with a storage account, or with its keys: those of Azurite, which stands in for it."""
    name = call.names["storage"]
    if call.request.method == "POST":
        return _json({"keys": [{"keyName": f"key{at}", "value": _AZURITE, "permissions": "FULL"} for at in (1, 2)]})
    services = {kind: f"https://{name}.{kind}.core.windows.net/" for kind in ("blob", "queue", "table", "file")}
    path = f"{call.group}/providers/Microsoft.Storage/storageAccounts/{name}"
    head = {"id": path, "name": name, "type": "Microsoft.Storage/storageAccounts"}
    properties = {"primaryEndpoints": services, "provisioningState": "Succeeded"}
    return _json({**head, "location": call.world.account.location, "properties": properties})


# -- the account -----------------------------------------------------------------------------------------------------


def _check_account(call: Call) -> None:
    """Refuse an account that is not there. Raises BatchError."""
    named, own = call.names["account"], call.plane.service.credentials.account
    if named.lower() != own.lower():
        raise BatchError("ResourceNotFound", f"the account here is {own}, not {quoted(named)}")


def _account(call: Call) -> dict[str, object]:
    world, account = call.world, call.world.account
    host = f"{call.plane.service.credentials.account}.{account.location}.batch.azure.com"
    quotas = account.quotas
    series = quotas.dedicated_cores_per_vm_series or {}
    properties = {
        "accountEndpoint": host,
        "nodeManagementEndpoint": f"{_tenant_of(account_url(world))}.{account.location}.service.batch.azure.com",
        "provisioningState": "Succeeded",
        "poolAllocationMode": account.pool_allocation_mode.value,
        "publicNetworkAccess": "Enabled",
        "dedicatedCoreQuota": quotas.dedicated_cores,
        "dedicatedCoreQuotaPerVMFamily": [{"name": name, "coreQuota": count} for name, count in series.items()],
        "dedicatedCoreQuotaPerVMFamilyEnforced": bool(series),
        "lowPriorityCoreQuota": quotas.low_priority_cores,
        "poolQuota": quotas.pools,
        "activeJobAndJobScheduleQuota": quotas.active_jobs_and_schedules,
        "allowedAuthenticationModes": ["AAD", "SharedKey", "TaskAuthenticationToken"],
        "encryption": {"keySource": "Microsoft.Batch"},
    }
    more = {"location": account.location, "tags": dict(call.plane.tags), "identity": {"type": "None"}}
    return _resource(call.account, "batchAccounts", properties, **more)


def _put_account(call: Call) -> Answer:
    """Take the tags of the account; its other properties are those of the scenario."""
    tags = messages.json_object(call.request.body).get("tags")
    if isinstance(tags, dict):
        call.plane.tags = {str(name): str(value) for name, value in tags.items()}
    return _json(_account(call))


def _keys(call: Call) -> Answer:
    key = call.plane.service.credentials.key
    return _json({"accountName": call.plane.service.credentials.account, "primary": key, "secondary": key})


def _refused(reason: str) -> Handler:
    def refuse(_: Call) -> Answer:
        raise BatchError("OperationInvalidForCurrentState", reason)

    return refuse


def _absent(_: Call) -> Answer:
    raise BatchError("ResourceNotFound", "the account has none")


def _sizes(_: Call) -> Answer:
    def body(name: str, series: str, cores: int, memory: float) -> Body:
        capabilities = {"MaxResourceVolumeMB": "0", "vCPUs": str(cores), "MemoryGB": f"{memory:g}"}
        listed = [{"name": key, "value": value} for key, value in capabilities.items()]
        return {"name": name, "familyName": f"{series}Family", "capabilities": listed}

    return _listed(body(size.name, size.series, size.cores, size.memory_gib) for size in listed_sizes())


def _availability(call: Call) -> Answer:
    """Answer whether an account of a name can be made: this one is there."""
    name = str(messages.json_object(call.request.body).get("name", ""))
    if name.lower() != call.plane.service.credentials.account.lower():
        return _json({"nameAvailable": True})
    return _json({"nameAvailable": False, "reason": "AlreadyExists", "message": f"{name} is taken"})


# -- pools -----------------------------------------------------------------------------------------------------------


def _pool_of(call: Call) -> Pool:
    return verdicts.pool_named(call.world, call.names["pool"])


def _pool(call: Call, pool: Pool) -> dict[str, object]:
    """Return a pool as a resource."""
    data = pool_body(call.world, pool)
    machine = data.get("virtualMachineConfiguration")
    if isinstance(machine, dict):
        machine = {RESOURCE_NAMES.get(name, name): value for name, value in machine.items()}
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
        "deploymentConfiguration": {"virtualMachineConfiguration": machine} if machine else {},
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
    return _resource(path, "batchAccounts/pools", properties, etag=_tag(call, pool))


def _tag(call: Call, pool: Pool) -> str:
    return f'W/"{etag(call.world, pool.modified_ms)}"'


def _answer_pool(call: Call, pool: Pool) -> Answer:
    return _json(_pool(call, pool), ETag=_tag(call, pool))


def _get_pool(call: Call) -> Answer:
    return _answer_pool(call, _pool_of(call))


def _list_pools(call: Call) -> Answer:
    return _listed(_pool(call, pool) for pool in call.world.pools.present())


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
    kept = {"vmSize": pool.spec.vm_size, "deploymentConfiguration": _deployment(call, pool)}
    wanted = _wire(call, pool.id, {**kept, **given})
    for command in _resizes(pool, wanted, given):
        call.submit(command)
    names = [name for name in fields_of(PoolUpdate) if name in wanted and wanted[name] != present.get(name)]
    if names:
        call.submit(messages.read_body(c.UpdatePool, {name: wanted[name] for name in names}, {"poolId": pool.id}))
    return _answer_pool(call, pool)


def _deployment(call: Call, pool: Pool) -> object:
    properties = _pool(call, pool)["properties"]
    assert isinstance(properties, dict)
    return properties["deploymentConfiguration"]


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
    return _resource(path, "batchAccounts/applications", properties)


def _application_properties(found: Application) -> dict[str, object]:
    more = {"displayName": found.display_name, "defaultVersion": found.default_version}
    return {name: value for name, value in more.items() if value is not None} | {"allowUpdates": found.allow_updates}


def _get_application(call: Call) -> Answer:
    _application_of(call)
    return _json(_application(call, call.names["application"]))


def _list_applications(call: Call) -> Answer:
    names = {each.id.lower(): each.id for each in call.world.account.applications}
    return _listed(_application(call, name) for name in ({name: name for name in call.plane.empty} | names).values())


def _put_application(call: Call) -> Answer:
    """Make an application without packages, or change one."""
    name, properties = call.names["application"], call.properties()
    if call.world.account.application(name) is not None:
        call.submit(messages.read_body(c.UpdateApplication, properties, {"applicationId": name}))
    elif call.request.method == "PATCH" and name.lower() not in call.plane.empty:
        find_application(call.world, name)
    else:
        call.plane.empty[name.lower()] = {"allowUpdates": True, **properties}
    return _json(_application(call, name))


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
    url = f"https://{call.plane.service.credentials.account}.blob.core.windows.net/app-{application}/{version}?sig=none"
    properties = {"state": "Active", "format": "zip"} if is_active else {"state": "Pending", "storageUrl": url}
    return _resource(path, "batchAccounts/applications/versions", properties)


def _packages(call: Call) -> dict[str, bool]:
    """Return the versions of an application, and whether each is active. Raises BatchError."""
    found = _application_of(call)
    pending = call.plane.pending.get(call.names["application"].lower(), ())
    return dict.fromkeys(pending, False) | dict.fromkeys(() if found is None else found.versions, True)


def _get_package(call: Call) -> Answer:
    version, versions = call.names["version"], _packages(call)
    if version not in versions:
        raise BatchError("ApplicationPackageNotFound", f"there is no package of version {quoted(version)}")
    return _json(_package(call, version, is_active=versions[version]))


def _list_packages(call: Call) -> Answer:
    return _listed(_package(call, version, is_active=active) for version, active in _packages(call).items())


def _put_package(call: Call) -> Answer:
    """Name a place to which the client uploads a package; it counts once it is activated."""
    _application_of(call)
    versions = call.plane.pending.setdefault(call.names["application"].lower(), [])
    versions += [call.names["version"]] if call.names["version"] not in versions else []
    return _json(_package(call, call.names["version"], is_active=False))


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
    return _json(_package(call, version, is_active=True))


def _delete_package(call: Call) -> Answer:
    version, versions = call.names["version"], _packages(call)
    if versions.get(version):
        named = {"applicationId": call.names["application"], "version": version}
        call.submit(c.DeleteApplicationPackage.from_wire(named))
    elif version in versions:
        call.plane.pending[call.names["application"].lower()].remove(version)
    return Answer(204)


_ACCOUNTS = "/providers/microsoft.batch/batchaccounts"
_OWN = f"{_ACCOUNTS}/{{account}}"
_POOL = f"{_OWN}/pools/{{pool}}"
_APPLICATION = f"{_OWN}/applications/{{application}}"
_VERSION = f"{_APPLICATION}/versions/{{version}}"
_LOCATION = "/providers/microsoft.batch/locations/{location}"
_STORAGE = "/providers/microsoft.storage/storageaccounts/{storage}"
_NONE = "(?:privatelinkresources|privateendpointconnections|detectors|networksecurityperimeterconfigurations)"
_FIXED = "the account is that of the simulation: its name and key are options of batchdeck serve"
_ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET HEAD PUT PATCH", "", _self),
    ("DELETE", "", _refused("the resource group of a simulation cannot be deleted")),
    ("GET", "/subscriptions", lambda call: _listed([_subscription(call)])),
    (
        "GET",
        "/tenants",
        lambda _: _listed([{"id": f"/tenants/{_tenant_of('tenant')}", "tenantId": _tenant_of("tenant")}]),
    ),
    ("GET", "/resourcegroups", lambda call: _listed([_group(call)])),
    ("GET", "/locations", lambda call: _listed([{"name": call.world.account.location}])),
    ("GET", "/resources", _resources),
    ("GET", "/providers", lambda call: _listed([json.loads(_provider(call).body)])),
    ("GET", "/providers/microsoft.batch/operations", lambda _: _listed([])),
    ("GET", "/providers/{namespace}", _provider),
    ("POST", "/providers/{namespace}/register", _provider),
    ("GET", _ACCOUNTS, lambda call: _listed([_account(call)])),
    ("GET", _OWN, lambda call: _json(_account(call))),
    ("PUT PATCH", _OWN, _put_account),
    ("DELETE", _OWN, _refused(_FIXED)),
    ("POST", f"{_OWN}/listkeys", _keys),
    ("POST", f"{_OWN}/regeneratekeys", _refused(_FIXED)),
    ("POST", f"{_OWN}/syncautostoragekeys", lambda _: Answer(204)),
    ("GET", f"{_OWN}/outboundnetworkdependenciesendpoints", lambda _: _listed([])),
    ("GET", f"{_OWN}/{_NONE}", lambda _: _listed([])),
    ("GET PATCH DELETE POST", f"{_OWN}/{_NONE}/{{name}}(?:/reconcile)?", _absent),
    ("GET", f"{_OWN}/operationresults/{{pool}}", _operation),
    ("GET", f"{_OWN}/pools", _list_pools),
    ("GET", _POOL, _get_pool),
    ("PUT", _POOL, _put_pool),
    ("PATCH", _POOL, _patch_pool),
    ("DELETE", _POOL, _delete_pool),
    ("POST", f"{_POOL}/stopresize", _stop_resize),
    ("POST", f"{_POOL}/disableautoscale", _disable_auto_scale),
    ("GET", f"{_OWN}/applications", _list_applications),
    ("GET", _APPLICATION, _get_application),
    ("PUT PATCH", _APPLICATION, _put_application),
    ("DELETE", _APPLICATION, _delete_application),
    ("GET", f"{_APPLICATION}/versions", _list_packages),
    ("GET", _VERSION, _get_package),
    ("PUT", _VERSION, _put_package),
    ("DELETE", _VERSION, _delete_package),
    ("POST", f"{_VERSION}/activate", _activate),
    ("GET", f"{_LOCATION}/quotas", lambda _: _json({"accountQuota": 3})),
    ("GET", f"{_LOCATION}/(?:virtualmachineskus|cloudserviceskus)", _sizes),
    ("POST", f"{_LOCATION}/checknameavailability", _availability),
    ("GET", _STORAGE, _storage),
    ("POST", f"{_STORAGE}/listkeys", _storage),
)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path), re.IGNORECASE)


_TABLE = tuple((methods.split(), _pattern(path), handler) for methods, path, handler in _ROUTES)


class Management:
    """Answers requests for the management plane of the account that a service has."""

    def __init__(self, service: Service, token_fault: Callable[[str], str]) -> None:
        """Stand beside the data plane; ``token_fault`` says what is wrong with a token for this plane."""
        self.service = service
        self.group = "batchdeck"
        self.tags: dict[str, str] = {}
        self.empty: dict[str, dict[str, Any]] = {}  # properties of applications without packages, by lower-case name
        self.pending: dict[str, list[str]] = {}  # versions of packages that are not activated, by application
        self._token_fault = token_fault

    def answer(self, request: Request, refused: BatchError | None = None) -> Answer:
        """Return the answer to a request, see ``Service.answer``; errors are written as ARM writes them."""
        try:
            if refused is not None:
                raise refused
            return self._answer(request)
        except BatchError as error:
            detail = "; ".join(f"{key}: {value}" for key, value in error.values.items())
            text = f"{error.message} ({detail})" if detail else error.message
            return _json({"error": {"code": error.code, "message": text}}, error.status)

    def door(self, request: Request) -> Answer | None:
        """Return the answer to a request below the paths of ARM, None for any other request."""
        begins = request.path.lower().startswith(("/subscriptions/", "/providers/", "/tenants"))
        return self.answer(request) if begins or request.path.rstrip("/").lower() == "/subscriptions" else None

    def _answer(self, request: Request) -> Answer:
        place = _PLACE.fullmatch(request.path)
        rest = "" if place is None else place["rest"]
        found = [
            (methods, handler, match) for methods, pattern, handler in _TABLE if (match := pattern.fullmatch(rest))
        ]
        if place is None or not found or (not rest and place["subscription"] is None):
            raise BatchError("ResourceNotFound", f"{quoted(request.path)} is not served here")
        check_bearer(request, any_key=self.service.credentials.any_key, token_fault=self._token_fault)
        if "api-version" not in messages.query_of(request):
            raise BatchError("MissingApiVersionParameter", "the api-version query parameter is required")
        handler, match = next(
            ((each, match) for methods, each, match in found if request.method in methods), (None, None)
        )
        if handler is None or match is None:
            raise BatchError("UnsupportedHttpVerb")
        names = {**place.groupdict(), **{name: unquote(value) for name, value in match.groupdict().items()}}
        self.group = names["group"] or self.group
        call = Call(self, request, names)
        self.service.renew()
        if "account" in names and request.method != "PUT":
            _check_account(call)
        return handler(call)
