"""Whatever a client sends, it gets an answer of the service, and the simulation goes on."""

from __future__ import annotations

import json
import re
from random import Random
from urllib.parse import quote

import pytest

from engine import Simulation
from engine.rest.service import ROUTES
from tests import builders
from tests.builders import a_job, a_line, a_pool
from tests.rest.wire import SCHEMA, Account

SCENARIO = builders.scenario(a_job(tasks=3, prep=a_line(5)), pool=a_pool(nodes=2), until="P30D")
IMAGE = {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"}
MACHINE = {"virtualMachineConfiguration": {"imageReference": IMAGE, "nodeAgentSKUId": "batch.node.ubuntu 22.04"}}
NODE = "the first node of p"  # stands for its id
EXISTING = {
    "poolId": ["p", "p", "q"],
    "jobId": ["j", "j", "m"],
    "taskId": ["t1", "t2", "t"],
    "nodeId": [NODE],
    "jobScheduleId": ["s"],
    "filePath": ["stdout.txt", "wd", "workitems/j/job-1/t1/stdout.txt"],
    "thumbprint": ["ab"],
    "applicationId": ["app"],
    "userName": ["u"],
    "thumbprintAlgorithm": ["sha1"],
}
# Bodies that operations whose ids end so accept.
BODIES = {
    "pool": {
        "id": "q",
        "vmSize": "standard_d2s_v3",
        "targetDedicatedNodes": "1",
        "virtualMachineConfiguration": MACHINE,
    },
    "job": {"id": "m", "poolInfo": {"poolId": "p"}, "priority": 5},
    "job_schedule": {
        "id": "s",
        "schedule": {"recurrenceInterval": "PT5M"},
        "jobSpecification": {"poolInfo": {"poolId": "p"}},
    },
    "task": {"id": "t", "commandLine": "work", "constraints": {"maxTaskRetryCount": 1}},
    "auto_scale": {"autoScaleFormula": "$TargetDedicatedNodes = 1;", "autoScaleEvaluationInterval": "PT5M"},
    "disable_job": {"disableTasks": "requeue"},
    "resize_pool": {"targetDedicatedNodes": 3, "resizeTimeout": "PT6M"},
    "remove_nodes": {"nodeList": [NODE]},
    "update_pool": {"startTask": {"commandLine": "install"}, "metadata": [{"name": "a", "value": "b"}]},
    "user": {"name": "u", "password": "x", "expiryTime": "2026-02-05T08:00:00Z"},
    "logs": {"containerUrl": "https://a.blob.core.windows.net/c", "startTime": "2026-01-05T08:00:00Z"},
    "collection": {"value": [{"id": f"v{name}", "commandLine": "work"} for name in (1, 2, 2, "?")]},
}
ENDS = re.compile(r"^(delete|terminate)_(pool|job|job_schedule)$")
NAMES = sorted({name for schema in SCHEMA["components"]["schemas"].values() for name in schema.get("properties", {})})
WORDS = ["", "P", "nobody", "a b", "%", "..", "é", "x" * 65, "\x00", "wd/../..", "PT1M", "-PT1M", "P1Y", "true", "17"]
WORDS += ["\U0001f600", "2026-01-05T08:00:00Z", "requeue", "j:job-1"]
NUMBERS = [0, 1, -1, 1.5, 2.0, 2**31, 10**18, 1e300]
PARAMETERS = {
    "$filter": ["id eq 'j'", "state ne null and (id gt 3)", "startswith(id,'t')", "executionInfo/x eq 1"],
    "$select": ["id,state", "stats"],
    "$expand": ["stats"],
    "maxresults": ["1", "2"],
    "$skiptoken": ["MA==", "LTE=", "ImEi"],
    "force": ["true"],
    "recursive": ["true"],
}
HEADERS = {
    "If-Match": ["*", "0x1", '"'],
    "If-None-Match": ["*", "0x1", ""],
    "If-Modified-Since": ["Mon, 05 Jan 2026 08:00:00 GMT", "Mon, 99 Jan 2026 08:00:00 GMT"],
    "If-Unmodified-Since": ["Mon, 05 Jan 2026 08:00:00 GMT", "\xff"],
    "ocp-range": ["bytes=0-1", "bytes=9-", "bytes=-", "x"],
}
REQUESTS = 300


class Client:
    """A client that asks at random; most of its requests could be right."""

    def __init__(self, seed, node_id):
        self.random = Random(seed)
        self.node_id = node_id

    def chance(self, share):
        return self.random.random() < share

    def value(self, depth=0):
        kind = self.random.randrange(6 if depth < 3 else 4)
        if kind == 0:
            return self.random.choice([None, True, False, *NUMBERS])
        if kind == 4:
            return [self.value(depth + 1) for _ in range(self.random.randrange(3))]
        if kind == 5:
            return {self.random.choice(NAMES): self.value(depth + 1) for _ in range(self.random.randrange(4))}
        return self.random.choice(WORDS)

    def body(self, operation):
        if self.chance(0.05):
            return self.random.choice([b"{", b"[]", b"\xff", b"null", b'{"id": 1e999}'])
        fitting = [ending for ending in BODIES if operation.endswith(ending)] or list(BODIES)
        body = dict(BODIES[max(fitting, key=len) if self.chance(0.9) else self.random.choice(list(BODIES))])
        while self.chance(0.2):
            body[self.random.choice([*body, *NAMES])] = self.value()
        return json.dumps(body).replace(NODE, self.node_id).encode()

    def path(self, path):
        for name in re.findall(r"\{(\w+)\}", path):
            word = self.random.choice(WORDS if self.chance(0.1) else EXISTING.get(name, ["x"]))
            path = path.replace(f"{{{name}}}", quote(word.replace(NODE, self.node_id), safe=""))
        return path

    def pairs(self, known):
        found = {}
        while self.chance(0.2):
            name = self.random.choice(list(known))
            found[name] = self.random.choice(known[name])
        return found

    def query(self):
        found = self.pairs(PARAMETERS)
        if found and self.chance(0.2):
            found[self.random.choice(list(found))] = self.random.choice(WORDS)
        return "&".join(["api-version=2025-06-01", *(f"{name}={quote(text, safe='')}" for name, text in found.items())])

    def ask(self, batch):
        route = self.random.choice(ROUTES)
        if ENDS.match(route.operation) and self.chance(0.8):
            return
        content = b"" if route.method in ("GET", "HEAD", "DELETE") or self.chance(0.1) else self.body(route.operation)
        sent = self.pairs(HEADERS) if self.chance(0.3) else {}
        batch.send(route.method, self.path(route.path), self.query(), content, sent)


@pytest.mark.parametrize("seed", range(6))
def test_each_request_is_answered_as_the_service_would(seed):
    """``Account`` holds each answer against the schema, and allows no status from 500 on but those that are meant."""
    batch = Account(Simulation(SCENARIO, can_go_back=False), step_ms=3_000)
    batch.simulation.run_until(120_000)
    client = Client(seed, batch.get("/pools/p/nodes").ids[0])
    for _ in range(REQUESTS):
        client.ask(batch)
    assert batch.get("/jobs").status == 200
