"""Whatever a client sends, it gets an answer of the service, and the simulation goes on."""

from __future__ import annotations

import json
from urllib.parse import quote

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.rest.protocol import routes
from tests import builders
from tests.builders import a_job, a_line, a_pool
from tests.rest.wire import SCHEMA, Account

SCENARIO = builders.scenario(a_job(tasks=3, prep=a_line(5)), a_job("k", tasks=[]), pool=a_pool(nodes=2), until="P30D")
NAMES = sorted({name for schema in SCHEMA["components"]["schemas"].values() for name in schema.get("properties", {})})
IDS = ["p", "P", "j", "k", "t1", "t2", "nobody", "a b", "%", "..", "é", "x" * 65, "\x00", "stdout.txt", "wd/../..", ""]
words = st.sampled_from(
    [
        *IDS,
        "standard_d2s_v3",
        "PT1M",
        "-PT1M",
        "P1Y",
        "true",
        "17",
        "work",
        "requeue",
        "2026-01-05T08:00:00Z",
        "$a = 1;",
    ]
)
scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats() | words | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES) | words, inner, max_size=4),
    max_leaves=12,
)
plain_bodies = st.dictionaries(st.sampled_from(NAMES), values, max_size=6)
likely_bodies = st.fixed_dictionaries(
    {"id": words},
    optional={
        "vmSize": st.sampled_from(["standard_d2s_v3", "large"]),
        "targetDedicatedNodes": st.integers(-1, 3) | st.just("2"),
        "poolInfo": st.fixed_dictionaries({"poolId": words}),
        "commandLine": words,
        "autoScaleFormula": words,
        "disableTasks": words,
        "nodeList": st.lists(words, max_size=2),
        "schedule": st.just({"recurrenceInterval": "PT5M"}),
        "jobSpecification": st.just({"poolInfo": {"poolId": "p"}}),
        "startTask": values,
        "constraints": values,
        "metadata": values,
        "simulate": values,
    },
)
bodies = st.none() | plain_bodies | likely_bodies | st.binary(max_size=20)
queries = st.dictionaries(
    st.sampled_from(["$filter", "$select", "$expand", "maxresults", "$skiptoken", "force", "recursive", "timeOut"]),
    words
    | st.sampled_from(["id eq 'j'", "stats", "id,state", "1", "MA==", "state ne null and (id gt 3)"])
    | st.text(max_size=9),
    max_size=3,
)
headers = st.dictionaries(
    st.sampled_from(["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "ocp-range", "accept"]),
    st.sampled_from(["*", "0x1", "Mon, 05 Jan 2026 08:00:00 GMT", "Mon, 99 Jan 2026", "bytes=0-1", "bytes=9-", "", '"'])
    | st.text(st.characters(max_codepoint=255), max_size=5),
    max_size=2,
)


@st.composite
def requests(draw):
    route = draw(st.sampled_from(routes.ROUTES))
    path = routes._PARAMETER.sub(lambda _: "", route.path)
    for name in [part.strip("{}") for part in route.path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{name}}}", quote(draw(words), safe=""), 1)
    return route.method, path, draw(bodies), draw(queries), draw(headers)


def ask(batch, method, path, body, query, sent):
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    text = "&".join(f"{name}={quote(value, safe='', errors='replace')}" for name, value in query.items())
    return batch.send(method, path, f"api-version=2025-06-01&{text}", content, sent)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(requests(), min_size=3, max_size=25))
def test_each_request_is_answered_as_the_service_would(found):
    """``Account`` holds each answer against the schema, and refuses any status from 500 on."""
    batch = Account(builders.Simulation(SCENARIO, can_go_back=False), step_ms=20_000)
    batch.simulation.run_until(120_000)
    for request in found:
        ask(batch, *request)
    assert batch.get("/jobs").status == 200
