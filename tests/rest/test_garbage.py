"""Garbage in each place of each request that the schema knows: it is refused or taken, never an error of the server.

For each operation a request is made from the schema, with a value in each property. Then in one place after the other,
in the path, the query, the headers and the body, something else stands. There are 50,000 such requests: a run of the
tests takes a share of them, and ``python -m tests.rest.test_garbage`` all.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from functools import cache
from itertools import islice
from urllib.parse import quote

import pytest

from engine import Simulation
from engine.rest.service import ROUTES
from tests import builders
from tests.builders import a_job, a_line, a_pool
from tests.rest.test_files import SPEAKER
from tests.rest.wire import SCHEMA, Account

THUMBPRINT = "0a0e4f50d51beadeac1d35afc5116098e7902e6e"
FORMULA = "$TargetDedicatedNodes = 1;"
SCALING = {"id": "a", "vmSize": "standard_d2s_v3", "enableAutoScale": True, "autoScaleFormula": FORMULA}
SCENARIO = builders.scenario(
    a_job(
        tasks=[SPEAKER, builders.a_task("t2"), builders.a_task("t3", seconds=50_000)],
        prep=a_line(5),
        usesTaskDependencies=True,
    ),
    pools=[a_pool(nodes=2), SCALING],
    jobSchedules=[
        {
            "id": "s",
            "schedule": {"recurrenceInterval": "PT1H"},
            "jobSpecification": {"poolInfo": {"poolId": "p"}},
        }
    ],
    account={
        "applications": [{"id": "app", "versions": ["1"]}],
        "certificates": [{"thumbprint": THUMBPRINT}],
    },
    until="P30D",
)
NAMES = {
    "poolId": "p",
    "jobId": "j",
    "taskId": "t1",
    "jobScheduleId": "s",
    "filePath": "stdout.txt",
    "applicationId": "app",
    "userName": "u",
    "extensionName": "e",
    "thumbprint": THUMBPRINT,
    "thumbprintAlgorithm": "sha1",
}
# What stands in a property of the schema, by its name or by the form of its text.
BY_NAME = NAMES | {
    "id": "new",
    "vmSize": "standard_d2s_v3",
    "nodeAgentSKUId": "batch.node.ubuntu 22.04",
    "publisher": "Canonical",
    "offer": "0001-com-ubuntu-server-jammy",
    "sku": "22_04-lts",
    "httpUrl": "https://a.blob.core.windows.net/c/x",
    "containerUrl": "https://a.blob.core.windows.net/c",
    "storageContainerUrl": "https://a.blob.core.windows.net/c",
    "autoScaleFormula": FORMULA,
    "commandLine": "work",
    "retentionTime": "P7D",
    "name": "n",
    "subnetId": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n",
    "version": "1",
}
# Properties that exclude another one, or have to name what is not there: bodies come with and without them.
EXCLUSIVE = {
    *("storageContainerUrl", "autoStorageContainerName", "blobPrefix", "username", "autoPoolSpecification"),
    *("virtualMachineImageId", "communityGalleryImageId", "sharedGalleryImageId", "windowsUserConfiguration"),
    *("nfsMountConfiguration", "cifsMountConfiguration", "azureFileShareConfiguration", "accountKey"),
    *("jobAction", "identityReference", "diskEncryptionSet", "autoScaleFormula", "autoScaleEvaluationInterval"),
    *("containerConfiguration", "containerSettings", "windowsConfiguration", "publicIPAddressConfiguration"),
}
# Operations that are asked of something else than the others.
ELSEWHERE = {"evaluate_pool_auto_scale": {"poolId": "a"}, "replace_task": {"taskId": "t3"}}
BY_FORM = {"duration": "PT10M", "date-time": "2026-02-05T08:00:00Z", "binary": "AAAA"}
OLDER = {
    "add_certificate": {"thumbprint": "ab", "thumbprintAlgorithm": "sha1", "data": "AAAA", "certificateFormat": "cer"},
    "upgrade_pool_os": {"targetOSVersion": "*"},
}
GARBAGE = [
    None,
    True,
    0,
    -1,
    1.5,
    10**18,
    10**30,
    1e308,
    "",
    " ",
    "0",
    "-PT1M",
    "P99999999999D",
    "9999-12-31T23:59:59.9999999Z",
    "0001-01-01T00:00:00+14:00",
    "../..\\%00",
    "\x00\r\n\u2028",
    "\U0001f600'\"<{",
    "x" * 5_000,
    "$TargetDedicatedNodes=1/0;",
    [],
    [None],
    [[[]]],
    {},
    {"": {}},
]
TEXTS = ["", " ", "x" * 3_000, "-1", "1.5", "9" * 40, "true", "\x00", "\u00e9\U0001f600", "a,b,,", "'", "((", "%", "+"]
TEXTS += ["id eq", "id eq 'x' or", "not not x", "/", "a/b/c ne null", "DateTime'x' gt y", "bytes=-", "*", '"', "W/"]
PARAMETERS = ("api-version", "timeOut", "maxresults", "$filter", "$select", "$expand", "$skiptoken")
SHARE = 32
HEADERS = ("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "ocp-range", "ocp-date", "Range")
HEADERS += ("client-request-id", "return-client-request-id", "Content-Type", "Authorization", "Accept")


def account():
    batch = Account(Simulation(SCENARIO, can_go_back=False))
    batch.simulation.run_until(180_000)
    builders.do(batch.simulation, "createNodeUser", poolId="p", node=0, name="u", password="s3cret!")
    return batch


@cache
def node_id():
    return builders.node(account().simulation).id


def names():
    return NAMES | {"nodeId": node_id()}


def sample(schema, depth=0):
    """A value that the schema allows, as far as it tells, with all properties down to some depth."""
    if "allOf" in schema:
        return sample(schema["allOf"][0], depth)
    if "$ref" in schema:
        return sample(SCHEMA["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {
            name: BY_NAME[name] if name in BY_NAME and inner.get("type") == "string" else sample(inner, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if (depth < 6 or name in schema.get("required", ())) and not inner.get("readOnly")
        }
    if kind == "array":
        return [sample(schema.get("items", {}), depth + 1)]
    if kind in ("integer", "number"):
        return 20
    if kind == "boolean":
        return False
    return BY_FORM.get(schema.get("format", ""), "text")


def places(body, path=()):
    """The paths of all values within a body."""
    items = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def pruned(body):
    """A body without the properties that exclude others."""
    if isinstance(body, list):
        return [pruned(one) for one in body]
    if not isinstance(body, dict):
        return body
    return {name: pruned(value) for name, value in body.items() if name not in EXCLUSIVE or name == "autoScaleFormula"}


def put(body, path, value):
    changed = copy.deepcopy(body)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def bodies_of(route):
    """A whole body, bodies with the required properties and one more, and what has garbage in one place."""
    operation = SCHEMA["paths"].get(route.path, {}).get(route.method.lower(), {})
    if route.operation in OLDER:
        whole, required = OLDER[route.operation], list(OLDER[route.operation])
    elif "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        schema = content["schema"]
        whole = sample(schema)
        if "nodeList" in whole:
            whole["nodeList"] = [node_id()]
        while "$ref" in schema:
            schema = SCHEMA["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        required = schema.get("required", [])
    else:
        return
    least = pruned({name: whole[name] for name in required if name in whole})
    if route.operation == "create_pool":
        machine = whole["virtualMachineConfiguration"]
        reference = {name: machine["imageReference"][name] for name in ("publisher", "offer", "sku")}
        least["virtualMachineConfiguration"] = {
            "imageReference": reference,
            "nodeAgentSKUId": machine["nodeAgentSKUId"],
        }
    if "jobSpecification" in least:
        least["jobSpecification"] = {"poolInfo": {"poolId": "p"}}
    if route.operation == "create_job":
        least["poolInfo"] = {"poolId": "p"}
    yield whole
    yield least
    for name, value in whole.items():
        with_all = least | {name: value}
        without = pruned(with_all) if name not in EXCLUSIVE or name in least else with_all
        for one in [without] if without == with_all else [without, with_all]:
            yield one
            for number, path in enumerate(places({name: one[name]})):
                for garbage in GARBAGE[number % 5 :: 5]:
                    yield put(one, path, garbage)


def path_of(route, **other):
    path = route.path
    other = ELSEWHERE.get(route.operation, {}) | other
    if "/nodes/" in path:
        other = {"filePath": "workitems/j/job-1/t1/stdout.txt"} | other
    for name, value in (names() | other).items():
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return path


def query_of(**values):
    pairs = {"api-version": "2025-06-01"} | values
    return "&".join(f"{quote(name)}={quote(value, safe='')}" for name, value in pairs.items())


def requests_of(route):
    """Path, query, body and headers of each request."""
    path, query = path_of(route), query_of()
    for body in bodies_of(route):
        yield path, query, json.dumps(body).encode(), {}
    least = next(iter(bodies_of(route)), None)
    content = b"" if least is None else json.dumps(least).encode()
    operation = SCHEMA["paths"].get(route.path, {}).get(route.method.lower(), {})
    known = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]
    for parameter in dict.fromkeys([*PARAMETERS, "recursive", "force", *known]):
        for text in TEXTS:
            yield path, query_of(**{parameter: text}), content, {}
    for header in HEADERS:
        for text in TEXTS:
            yield path, query, content, {header: text.encode().decode("latin-1")}
    for name in names():
        if f"{{{name}}}" in route.path:
            for text in TEXTS:
                yield path_of(route, **{name: text}), query, content, {}


def ask(route, asked):
    """Send requests, each to an account as it was at the beginning; return how many had which status.

    ``Account`` holds each answer against the schema, and allows no status from 500 on but those that are meant.
    """
    batch, statuses = account(), Counter()
    for path, query, content, headers in asked:
        reply = batch.send(route.method, path, query, content, headers)
        statuses[reply.status] += 1
        if reply.status < 300 and route.method not in ("GET", "HEAD"):
            batch.simulation.run_until(batch.simulation.now_ms + 60_000)
            batch = account()
    return statuses


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_garbage_in_each_place_of_a_request(route):
    ask(route, islice(requests_of(route), len(route.operation) % SHARE, None, SHARE))


if __name__ == "__main__":
    for each in ROUTES:
        print(each.operation, dict(ask(each, requests_of(each))), flush=True)
