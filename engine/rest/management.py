"""The management plane: the resource provider ``Microsoft.Batch``, and as much of ARM as leads clients there.

It is another door to the same account, whose subscription and resource group are any that a client names. What the
account has not (private links, detectors, perimeters) are empty lists; what a simulation cannot change (its keys, the
account itself) is refused with a sentence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote
from uuid import NAMESPACE_URL, uuid5

from engine.base.errors import BatchError
from engine.base.hosts import DOMAINS
from engine.base.values import quoted
from engine.rest import messages
from engine.rest.managed import BATCH, OWN, PACKAGES, POOL_AND_APPLICATION_ROUTES, Call, Plane, listed, resource
from engine.rest.messages import Answer, json_answer
from engine.rest.service import check_bearer
from engine.specs.catalogue import listed_sizes
from engine.views.rest.account import account_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.rest.managed import Handler
    from engine.rest.messages import Answering, Body, Request
    from engine.rest.service import Service

AUDIENCES = tuple(f"https://management.{domain}" for domain in ("azure.com", *DOMAINS))
"""The audiences of tokens for this plane."""

_AZURITE = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_PLACE = re.compile(
    r"(?:/subscriptions/(?P<subscription>[^/]+)(?:/resourcegroups/(?P<group>[^/]+))?)?(?P<rest>.*?)/?", re.IGNORECASE
)


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
        return json_answer(_subscription(call))
    return json_answer(_group(call), 201 if call.request.method == "PUT" else 200)


def _provider(call: Call) -> dict[str, object]:
    """Return a resource provider as one that is registered; the kinds of resources are those of Batch alone."""
    name = call.names.get("namespace") or BATCH
    kinds = ("batchAccounts", "batchAccounts/pools", "operations", "locations", "locations/quotas")
    place = {"locations": [call.world.account.location], "apiVersions": ["2025-06-01", "2024-07-01", "2024-02-01"]}
    known = [{"resourceType": kind, **place} for kind in kinds if name.lower() == BATCH.lower()]
    path = f"{call.subscription}/providers/{name}"
    return {"id": path, "namespace": name, "registrationState": "Registered", "resourceTypes": known}


def _resources(call: Call) -> Answer:
    """Answer with the resources of a type, or with a tag: the account is the only one."""
    wanted = messages.query_of(call.request).get("$filter", "")
    kind = re.search(r"resourceType eq '([^']*)'", wanted, re.IGNORECASE)
    tag = re.search(r"tagName eq '([^']*)'(?: and tagValue eq '([^']*)')?", wanted, re.IGNORECASE)
    own = _account(call)
    is_wanted = kind is None or kind[1].lower() == f"{BATCH}/batchAccounts".lower()
    if tag is not None:
        value = call.plane.tags.get(tag[1])
        is_wanted = is_wanted and value is not None and tag[2] in (None, value)
    return listed([{name: own[name] for name in ("id", "name", "type", "location", "tags")}] if is_wanted else [])


def _storage_id(call: Call, name: str) -> str:
    return f"{call.group}/providers/Microsoft.Storage/storageAccounts/{name}"


def _storage(call: Call) -> Answer:
    """Answer with a storage account, or with its keys: those of Azurite, which stands in for it."""
    name = call.names["storage"]
    if call.request.method == "POST":
        return json_answer(
            {"keys": [{"keyName": f"key{at}", "value": _AZURITE, "permissions": "FULL"} for at in (1, 2)]}
        )
    services = {kind: f"https://{name}.{kind}.core.windows.net/" for kind in ("blob", "queue", "table", "file")}
    head = {"id": _storage_id(call, name), "name": name, "type": "Microsoft.Storage/storageAccounts"}
    properties = {"primaryEndpoints": services, "provisioningState": "Succeeded"}
    return json_answer({**head, "location": call.world.account.location, "properties": properties})


# -- the account -----------------------------------------------------------------------------------------------------


def _check_account(call: Call, code: str) -> None:
    """Refuse an account that is not there, or that a client wants to create beside the only one. Raises BatchError."""
    named, own = call.names["account"], call.plane.service.credentials.account
    if named.lower() != own.lower():
        raise BatchError(code, f"the account here is {own}, not {quoted(named)}")


def _account(call: Call) -> dict[str, object]:
    world, account = call.world, call.world.account
    quotas = account.quotas
    series = quotas.dedicated_cores_per_vm_series or {}
    properties = {
        "accountEndpoint": call.plane.service.azure_url.removeprefix("https://"),
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
        "autoStorage": {"storageAccountId": _storage_id(call, call.plane.service.credentials.account)},
    }
    more = {"location": account.location, "tags": dict(call.plane.tags), "identity": {"type": "None"}}
    return resource(call.account, "batchAccounts", properties, **more)


def _put_account(call: Call) -> Answer:
    """Take the tags of the account; its other properties are those of the scenario."""
    tags = messages.json_object(call.request.body).get("tags")
    if isinstance(tags, dict):
        call.plane.tags = {str(name): str(value) for name, value in tags.items()}
    return json_answer(_account(call))


def _keys(call: Call) -> Answer:
    key = call.plane.service.credentials.key
    return json_answer({"accountName": call.plane.service.credentials.account, "primary": key, "secondary": key})


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

    return listed(body(size.name, size.series, size.cores, size.memory_gib) for size in listed_sizes())


def _availability(call: Call) -> Answer:
    """Answer whether an account of a name can be made: this one is there."""
    name = str(messages.json_object(call.request.body).get("name", ""))
    if name.lower() != call.plane.service.credentials.account.lower():
        return json_answer({"nameAvailable": True})
    return json_answer({"nameAvailable": False, "reason": "AlreadyExists", "message": f"{name} is taken"})


_ACCOUNTS = "/providers/microsoft.batch/batchaccounts"
_LOCATION = "/providers/microsoft.batch/locations/{location}"
_STORAGE = "/providers/microsoft.storage/storageaccounts/{storage}"
_NONE = "(?:privatelinkresources|privateendpointconnections|detectors|networksecurityperimeterconfigurations)"
_FIXED = "the account is that of the simulation: its name and key are options of batchdeck serve"
_ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET HEAD PUT PATCH", "", _self),
    ("DELETE", "", _refused("the resource group of a simulation cannot be deleted")),
    ("GET", "/subscriptions", lambda call: listed([_subscription(call)])),
    (
        "GET",
        "/tenants",
        lambda _: listed([{"id": f"/tenants/{_tenant_of('tenant')}", "tenantId": _tenant_of("tenant")}]),
    ),
    ("GET", "/resourcegroups", lambda call: listed([_group(call)])),
    ("GET", "/locations", lambda call: listed([{"name": call.world.account.location}])),
    ("GET", "/resources", _resources),
    ("GET", "/providers", lambda call: listed([_provider(call)])),
    ("GET", "/providers/microsoft.batch/operations", lambda _: listed([])),
    ("GET", "/providers/{namespace}", lambda call: json_answer(_provider(call))),
    ("POST", "/providers/{namespace}/register", lambda call: json_answer(_provider(call))),
    ("GET", _ACCOUNTS, lambda call: listed([_account(call)])),
    ("GET", OWN, lambda call: json_answer(_account(call))),
    ("PUT PATCH", OWN, _put_account),
    ("DELETE", OWN, _refused(_FIXED)),
    ("POST", f"{OWN}/listkeys", _keys),
    ("POST", f"{OWN}/regeneratekeys", _refused(_FIXED)),
    ("POST", f"{OWN}/syncautostoragekeys", lambda _: Answer(204)),
    ("GET", f"{OWN}/outboundnetworkdependenciesendpoints", lambda _: listed([])),
    ("GET", f"{OWN}/{_NONE}", lambda _: listed([])),
    ("GET PATCH DELETE POST", f"{OWN}/{_NONE}/{{name}}(?:/reconcile)?", _absent),
    ("GET", f"{_LOCATION}/quotas", lambda _: json_answer({"accountQuota": 3})),
    ("GET", f"{_LOCATION}/(?:virtualmachineskus|cloudserviceskus)", _sizes),
    ("POST", f"{_LOCATION}/checknameavailability", _availability),
    *POOL_AND_APPLICATION_ROUTES,
    ("GET", _STORAGE, _storage),
    ("POST", f"{_STORAGE}/listkeys", _storage),
)


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path), re.IGNORECASE)


_TABLE = tuple((methods.split(), _pattern(path), handler) for methods, path, handler in _ROUTES)


class Uploads:
    """Takes the content of application packages, and drops it; the rest is for what stands behind."""

    def __init__(self, behind: Answering) -> None:
        """Stand in front of the data plane."""
        self._behind = behind

    def answer(self, request: Request, refused: BatchError | None = None) -> Answer:
        """Return the answer to a request, see ``Service.answer``; a package may be longer than other bodies."""
        if request.method == "PUT" and request.path.startswith(PACKAGES):
            return Answer(201, headers={"ETag": '"0x1"'})
        return self._behind.answer(request, refused)


class Management:
    """Answers requests for the management plane of the account that a service has."""

    def __init__(self, service: Service, token_fault: Callable[[str], str]) -> None:
        """Stand beside the data plane; ``token_fault`` says what is wrong with a token for this plane."""
        self._plane = Plane(service)
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
            return json_answer({"error": {"code": error.code, "message": text}}, error.status)

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
        service = self._plane.service
        check_bearer(request, any_key=service.credentials.any_key, token_fault=self._token_fault)
        if "api-version" not in messages.query_of(request):
            raise BatchError("MissingApiVersionParameter", "the api-version query parameter is required")
        handler, match = next(
            ((each, match) for methods, each, match in found if request.method in methods), (None, None)
        )
        if handler is None or match is None:
            raise BatchError("UnsupportedHttpVerb")
        names = {**place.groupdict(), **{name: unquote(value) for name, value in match.groupdict().items()}}
        self._plane.group = names["group"] or self._plane.group
        call = Call(self._plane, request, names)
        service.renew()
        if "account" in names:
            is_new = request.method == "PUT" and handler is _put_account
            _check_account(call, "OperationInvalidForCurrentState" if is_new else "ResourceNotFound")
        return handler(call)
