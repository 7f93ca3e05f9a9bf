"""Tests of mistakes in what a scenario says of storage, processes, chance, the account and options: their places."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from engine.base.errors import Problem, ScenarioError
from engine.scenario.document import Document, DocumentPlace
from engine.scenario.load import load
from engine.scenario.tree import parse

URL = "https://contoso.blob.core.windows.net/c"
STORAGE = ("simulate", "storage", URL)
SIMULATE = ("jobs", 0, "tasks", 0, "simulate")
BASE: dict[str, Any] = {
    "scenario": "s",
    "account": {"applications": [{"id": "pricer", "versions": ["1"]}]},
    "pools": [
        {
            "id": "p",
            "vmSize": "standard_d2s_v3",
            "targetDedicatedNodes": 1,
            "startTask": {"commandLine": "x", "simulate": {}},
        }
    ],
    "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "tasks": [{"id": "t", "commandLine": "x", "simulate": {}}]}],
    "options": {},
    "simulate": {"nodes": {}, "spot": {}, "storage": {URL: {}}},
    "timeline": [
        {"at": 5, "quota": {}},
        {"at": 6, "createApplicationPackage": {"applicationId": "pricer", "version": "2"}},
        {"at": 7, "deleteApplicationPackage": {"applicationId": "pricer", "version": "1"}},
        {"at": 8, "updateApplication": {"applicationId": "pricer"}},
    ],
}
QUOTA = ("timeline", 0, "quota")
CREATE = ("timeline", 1, "createApplicationPackage")
DELETE = ("timeline", 2, "deleteApplicationPackage")
UPDATE = ("timeline", 3, "updateApplication")

Path = tuple[str | int, ...]


def with_value(path: Path, value: object) -> str:
    """The scenario with a value at a path, a value a line."""
    body = deepcopy(BASE)
    inner: Any = body
    for part in path[:-1]:
        inner = inner.setdefault(part, {}) if isinstance(inner, dict) else inner[part]
    inner[path[-1]] = value
    return json.dumps(body, indent=1)


def problems_of(text: str) -> list[Problem]:
    try:
        load("s.json", text=text)
    except ScenarioError as error:
        return error.problems
    return []


def mistakes(path: Path, value: object) -> list[Problem]:
    return problems_of(with_value(path, value))


def line_of(text: str, path: Path) -> int:
    """The line of a key in the file."""
    place, rest = DocumentPlace(Document("s.json"), parse(text, lambda *_: None)).find(path)
    assert not rest
    return place.line


# The path, a wrong value, and a part of the message.
ONE_MISTAKE: list[tuple[Path, object, str]] = [
    # processes
    ((*SIMULATE, "dos"), [], "did you mean 'does'?"),
    ((*SIMULATE, "untl"), "othersCompleted", "did you mean 'until'?"),
    ((*SIMULATE, "does"), {"after": 5}, "must be a list"),
    ((*SIMULATE, "does"), "addTasks", "must be a list"),
    ((*SIMULATE, "until"), "othersComplete", "must be othersCompleted or a condition such as"),
    ((*SIMULATE, "until"), "PT5M", "a time is a 'duration'"),
    ((*SIMULATE, "until"), "", "must be othersCompleted or a condition"),
    ((*SIMULATE, "until"), {}, "expects nothing of the job"),
    (("pools", 0, "startTask", "simulate", "until"), "othersCompleted", "a start task has no job"),
    ((*SIMULATE, "disk"), "fast", "is not a size"),
    ((*SIMULATE, "disk"), -1, "is not a size"),
    ((*SIMULATE, "network"), True, "true is not a size"),
    ((*SIMULATE, "memory"), "4 GB", "must be a number"),
    ((*SIMULATE, "memory"), 101, "must be at most 100, not 101"),
    # storage
    ((*STORAGE, "txt"), "x", "did you mean 'text'?"),
    ((*STORAGE, "text"), 5, "must be text"),
    ((*STORAGE, "blobs"), ["a"], "must be a mapping"),
    ((*STORAGE, "until"), "later", "is not a time"),
    ((*STORAGE, "until"), True, "true is not a time"),
    (STORAGE, None, "must be a mapping, not null"),
    # chance
    (("simulate", "nodes", "failureRate"), -1, "must be at least 0, not -1"),
    (("simulate", "nodes", "failureRate"), "1/PT1H", "must be a number"),
    (("simulate", "nodes", "failureRates"), 1, "did you mean 'failureRate'?"),
    (("simulate", "spot", "evictionRate"), 1e9, "must be at most 3600"),
    (("simulate", "spot", "evictionRate"), "often", "must be a number"),
    (("simulate", "spot", "notice"), "soon", "is not an ISO 8601 duration"),
    (("simulate", "spot", "notice"), "P1Y", "has years or months, but can be in days, such as"),
    (("simulate", "spot", "notice"), -5, "must not be negative"),
    (("simulate", "spot", "evictionrates"), 1, "did you mean 'evictionRate'?"),
    (("simulate", "service", "errorRate"), 1.5, "must be at most 1"),
    (("simulate", "service", "throttle"), 0, "must be above 0"),
    (("simulate", "service", "latency"), "slow", "is not an ISO 8601 duration"),
    (("simulate", "service", "errorrate"), 0.1, "did you mean 'errorRate'?"),
    (("simulate", "spott"), {}, "did you mean 'spot'?"),
    # the account
    (QUOTA, 5, "must be a mapping"),
    ((*QUOTA, "dedicatedCores"), -1, "must be at least 0"),
    ((*QUOTA, "dedicatedCores"), "50", "leave out the quotes"),
    ((*QUOTA, "dedicatedCore"), 5, "did you mean 'dedicatedCores'?"),
    ((*CREATE, "size"), "big", "is not a size"),
    ((*CREATE, "applicationId"), None, "'applicationId' is missing and required"),
    ((*CREATE, "versions"), ["2"], "did you mean 'version'?"),
    ((*DELETE, "version"), 1, "must be text"),
    ((*UPDATE, "allowUpdates"), "yes", "write true instead of 'yes'"),
    ((*UPDATE, "defaultVersions"), "1", "did you mean 'defaultVersion'?"),
    (("account", "storageAccount"), "Contoso Storage", "3 to 24 lower-case letters and digits"),
    (("account", "storageAcount"), "contoso", "did you mean 'storageAccount'?"),
    # options
    (("options", "strictStorage"), "yes", "write true instead of 'yes'"),
    (("options", "strictStorages"), True, "did you mean 'strictStorage'?"),
    (("options", "releaseAfter"), "tasks", "did you mean 'task'?"),
    (("options", "releaseAfter"), True, "can be task, preparation"),
    (("options", "releaseAfters"), "task", "did you mean 'releaseAfter'?"),
    (("options", "rebootRetriesFailedPreparation"), "on", "write true instead of 'on'"),
    (("options", "rebootRetryFailedPreparation"), True, "did you mean 'rebootRetriesFailedPreparation'?"),
]


@pytest.mark.parametrize(("path", "value", "message"), ONE_MISTAKE)
def test_one_mistake(path, value, message):
    (problem,) = mistakes(path, value)
    assert message in problem.message
    assert problem.line == line_of(with_value(path, value), path)
    assert problem.path.endswith(f".{path[-1]}" if path[-1] != URL else f'["{URL}"]')


@pytest.mark.parametrize(
    ("act", "path", "message"),
    [
        (5, "", "must be a mapping such as {after: PT10S"),
        ({"after": 5}, "", "names no operation"),
        ({"after": "soon", "terminateJob": {}}, ".after", "must be a time from the start of the process"),
        ({"at": 5, "terminateJob": {}}, ".at", "use 'after'"),
        ({"terminateJob": {}, "refused": "JobNotFound"}, ".refused", "does not count"),
        ({"addTask": {}}, ".addTask", "did you mean 'addTasks'?"),
        ({"addTasks": {"tasks": [{"id": "u"}]}}, ".addTasks.tasks[0].commandLine", "is missing and required"),
        ({"addTasks": {"tasks": 5}}, ".addTasks.tasks", "must be a list"),
        ({"terminateJob": 5}, ".terminateJob", "must be a mapping"),
        ({"when": {"state": "don"}, "terminateJob": {}}, ".when.state", "'don' does not exist"),
        ({"when": {"jobId": "nobody", "state": "completed"}, "terminateJob": {}}, ".when.jobId", "creates the job"),
        ({"when": {"taskId": "nobody", "state": "completed"}, "terminateJob": {}}, ".when.taskId", "creates the task"),
    ],
)
def test_a_mistake_in_what_a_process_does(act, path, message):
    (problem,) = mistakes((*SIMULATE, "does"), [act])
    assert problem.path == f"jobs[0].tasks[0].simulate.does[0]{path}"
    assert message in problem.message
    assert problem.line > 0


def test_a_start_task_has_to_name_the_job_of_its_commands():
    (problem,) = mistakes(("pools", 0, "startTask", "simulate", "does"), [{"addTasks": {"tasks": []}}])
    assert problem.path == "pools[0].startTask.simulate.does[0].addTasks.jobId"
    assert "'jobId' is missing and required" in problem.message


def test_a_duration_and_an_until_are_one_too_many():
    (problem,) = mistakes(SIMULATE, {"duration": 5, "until": "othersCompleted"})
    assert problem.path == "jobs[0].tasks[0].simulate.until"


@pytest.mark.parametrize(
    ("blob", "path", "message"),
    [
        (None, "", "not null"),
        ("big", "", "is not a size"),
        ({"sise": 5}, ".sise", "did you mean 'size'?"),
        ({"text": 5}, ".text", "must be text"),
    ],
)
def test_a_mistake_in_a_blob(blob, path, message):
    (problem,) = mistakes((*STORAGE, "blobs"), {"a": blob})
    assert problem.path == f'simulate.storage["{URL}"].blobs.a{path}'
    assert message in problem.message


HOSTILE = (
    *(None, "", "x", -1, 0, 1.5, 1e300, 10**30, True, [], {}, [None], [[]], [{}], {"a": 1}, "PT5M", "-PT5M"),
    *("9999-12-31T23:59:59Z", "4 GB", "x" * 5_000, "\u0000", "a\nb", {"size": 1, "text": "x"}),
    *([{"after": 1, "terminateJob": None}], {"jobId": 5}, [{"when": {}}], {"state": "completed"}),
)


@pytest.mark.parametrize("path", sorted({path for path, *_ in ONE_MISTAKE}, key=str), ids=lambda path: str(path[-1]))
def test_no_value_is_too_odd_to_be_read_or_refused_with_its_place(path):
    found = [problem for value in HOSTILE for problem in problems_of(with_value(path, value))]
    assert all(problem.line > 0 and problem.column > 0 and problem.path for problem in found)
    assert not [problem for problem in found if "Input should" in problem.message or len(problem.message) > 400]
