"""Workflows as scenarios: tasks with dependencies, run times and files, and what is wrong with them."""

from __future__ import annotations

import json
import random

import pytest

from engine import ScenarioError, Simulation, load_scenario
from engine.base.values import parse_utc
from engine.histories import wfformat
from engine.histories.files import PoolShape, scenario_lines
from engine.views.results import document


def task_14(name, run=10, parents=(), files=(), **more):
    return {
        "name": name,
        "runtimeInSeconds": run,
        "parents": list(parents),
        "children": [],
        "files": list(files),
    } | more


def version_14(*tasks, **more):
    return {"name": "sample", "schemaVersion": "1.4", "workflow": {"tasks": list(tasks)} | more}


def version_15(tasks, *, files=None, runs=None, machines=None):
    """``tasks`` are ids with their parents and files."""
    specified = [{"name": f"name of {name}", "id": name, "children": []} | more for name, more in tasks.items()]
    ran = [{"id": name, "runtimeInSeconds": run} for name, run in (runs or dict.fromkeys(tasks, 5)).items()]
    sizes = [{"id": name, "sizeInBytes": size} for name, size in (files or {}).items()]
    execution = {"makespanInSeconds": 1, "executedAt": "x", "tasks": ran} | ({"machines": machines} if machines else {})
    body = {"specification": {"tasks": specified, "files": sizes}, "execution": execution}
    return {"name": "sample", "schemaVersion": "1.5", "workflow": body}


@pytest.fixture
def imported(tmp_path):
    def make(body, nodes=None, slots=None):
        path = tmp_path / "workflow.json"
        path.write_bytes(body if isinstance(body, bytes) else json.dumps(body).encode())
        result = wfformat.imported(str(path), PoolShape(nodes, slots))
        (job,) = result.document["jobs"]
        return result._replace(document=result.document | {"jobs": [job | {"tasks": list(job["tasks"])}]})

    return make


def tasks_of(result):
    return {task["id"]: task for task in result.document["jobs"][0]["tasks"]}


def played(result):
    """The start, end and result of each task, and all events, of a run of the scenario; it must have no warning."""
    scenario = load_scenario("imported.yaml", text="\n".join(scenario_lines(result)) + "\n", strict=True)
    simulation = Simulation(scenario, can_go_back=False)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    (job,) = document(simulation)["jobs"]
    assert job["state"] == "completed"
    infos = {task["id"]: task["executionInfo"] for task in job["tasks"]}
    assert {info["result"].lower() for info in infos.values()} == {"success"}
    seconds = lambda text: (parse_utc(text) - scenario.start).total_seconds()  # noqa: E731
    times = {name: (seconds(info["startTime"]), seconds(info["endTime"])) for name, info in infos.items()}
    return times, [json.loads(line) for line in simulation.json_lines()]


def test_a_name_is_the_id_in_1_4_and_tasks_wait_for_their_parents(imported):
    result = imported(version_14(task_14("a", 10), task_14("b", 20, ["a"]), task_14("c", 7.5, ["a", "b"])), 2)
    found = tasks_of(result)
    assert {name: task["simulate"]["duration"] for name, task in found.items()} == {"a": 10, "b": 20, "c": 7.5}
    assert "dependsOn" not in found["a"]
    assert found["c"]["dependsOn"] == {"taskIds": ["a", "b"]}
    times, _ = played(result)
    assert times == {"a": (1, 12), "b": (12, 33), "c": (33, 41.5)}


def test_an_id_wins_over_the_name_and_parents_may_be_named_either_way(imported):
    first, second = task_14("mProject", id="ID01"), task_14("mDiff", parents=["mProject"], id="ID02")
    third = task_14("mAdd", parents=["ID02"], id="ID03")
    found = tasks_of(imported(version_14(first, second, third)))
    assert [task.get("dependsOn") for task in found.values()] == [None, {"taskIds": ["ID01"]}, {"taskIds": ["ID02"]}]


def test_children_are_as_good_as_parents(imported):
    found = tasks_of(imported(version_14(task_14("a", children=["b"]), task_14("b"))))
    assert found["b"]["dependsOn"] == {"taskIds": ["a"]}


def test_specification_and_execution_of_1_5_are_put_together(imported):
    body = version_15(
        {
            "a": {"parents": [], "inputFiles": ["in.txt"], "outputFiles": ["mid.dat"]},
            "b": {"parents": ["a"], "inputFiles": ["mid.dat"], "outputFiles": []},
        },
        files={"in.txt": 100_000_000, "mid.dat": 200_000_000},
        runs={"b": 3, "a": 4},
    )
    body["workflow"]["execution"]["tasks"][0] |= {"command": {"program": "cat", "arguments": ["mid.dat", "-n"]}}
    result = imported(body)
    assert [tasks_of(result)[name]["commandLine"] for name in "ab"] == ["a", "cat mid.dat -n"]
    times, events = played(result)
    # a: a second to start, 2 s to download 100 MB; b: 4 s to download 200 MB
    assert times["a"] == (1, 1 + 1 + 2 + 4)
    assert times["b"][1] - times["b"][0] == 1 + 4 + 3
    uploaded = {event["url"].rpartition("/")[2]: event["bytes"] for event in events if event["event"] == "BlobUploaded"}
    assert uploaded == {"mid.dat": 200_000_000}


def test_files_of_1_4_are_resource_files_and_output_files(imported):
    files = [
        {"link": "input", "name": "/data/x y.fits", "sizeInBytes": 50_000_000},
        {"link": "output", "name": "out", "size": 7},
    ]
    result = imported(version_14(task_14("a", 5, files=files), task_14("b", 5, ["a"], [files[1] | {"link": "input"}])))
    task = tasks_of(result)["a"]
    (resource,) = task["resourceFiles"]
    assert resource["filePath"] == "data-x-y.fits"
    container, _, blob = resource["httpUrl"].rpartition("/")
    assert result.document["simulate"]["storage"] == {container: {"blobs": {blob: 50_000_000}}}
    assert task["simulate"]["writes"] == {"out": 7}
    times, _ = played(result)
    assert times["a"] == (1, 1 + 1 + 1 + 5)


def test_ids_that_batch_does_not_allow_are_changed_with_the_dependencies_on_them(imported):
    names = ["a b", "a.b", "a-b", "A-B", "x" * 70 + "1", "x" * 70 + "2", "ü", "..."]
    tasks = [task_14(name, 1, names[:at]) for at, name in enumerate(names)]
    result = imported(version_14(*tasks), 3)
    found = tasks_of(result)
    assert len(found) == len(names)
    assert list(found)[2] == "a-b"
    by_name = dict(zip(names, found, strict=True))
    for at, name in enumerate(names[1:], 1):
        assert found[by_name[name]]["dependsOn"] == {"taskIds": [by_name[parent] for parent in names[:at]]}
    assert "Changed: 7 ids" in "\n".join(result.assumptions)
    played(result)


def test_more_parents_than_a_list_may_name_have_numbers(imported):
    parents = [f"parent-of-the-last-task-{number:05}" for number in range(3_000)]
    result = imported(version_14(task_14("last", 1, parents), *(task_14(name, 1) for name in parents)), 100)
    last = tasks_of(result)["1"]
    assert last["dependsOn"] == {"taskIds": [str(number) for number in range(2, 3_002)]}
    times, _ = played(result)
    assert times["1"][0] == max(end for task_id, (_, end) in times.items() if task_id != "1")


def test_more_parents_than_numbers_can_name_are_a_mistake(imported):
    parents = [f"p{number}" for number in range(16_000)]
    with pytest.raises(ScenarioError, match="task last has more parents than Batch allows"):
        imported(version_14(task_14("last", 1, parents), *(task_14(name, 1) for name in parents)), 100)


def test_random_workflows_keep_their_order(imported):
    for seed in range(8):
        chance = random.Random(seed)
        names = [f"t{number}" for number in range(25)]
        tasks = [
            task_14(name, chance.choice([0, 0.25, 3, 40]), chance.sample(names[:at], min(at, chance.randrange(4))))
            for at, name in enumerate(names)
        ]
        shuffled = chance.sample(tasks, len(tasks))
        times, _ = played(imported(version_14(*shuffled), 3))
        for task in tasks:
            start, end = times[task["name"]]
            assert end - start == task["runtimeInSeconds"] + 1
            assert all(times[parent][1] <= start for parent in task["parents"])


def test_machines_and_cores_shape_the_pool(imported):
    machines = [{"nodeName": "m1", "cpu": {"coreCount": 8}}, {"nodeName": "m2", "cpu": {"coreCount": 4}}]
    body = version_15({"a": {"parents": []}, "b": {"parents": []}}, machines=machines)
    body["workflow"]["execution"]["tasks"][0]["coreCount"] = 3
    body["workflow"]["execution"]["tasks"][1]["coreCount"] = 9
    result = imported(body)
    (pool,) = result.document["pools"]
    assert (pool["targetDedicatedNodes"], pool["taskSlotsPerNode"]) == (2, 4)
    assert [task["requiredSlots"] for task in tasks_of(result).values()] == [3, 4]
    (warning,) = result.warnings
    assert "task b needs 9 cores, but a node has 4 task slots: it gets all of them" in str(warning)
    (pool,) = imported(body, 5, 1).document["pools"]
    assert (pool["targetDedicatedNodes"], pool["taskSlotsPerNode"]) == (5, 1)


def test_without_machines_there_is_a_node_for_each_task_that_can_run_at_once(imported):
    tasks = [task_14("a"), *(task_14(f"b{number}", parents=["a"]) for number in range(6)), task_14("c", parents=["b1"])]
    assert imported(version_14(*tasks)).document["pools"][0]["targetDedicatedNodes"] == 6


# --- what is wrong with a workflow


def mistakes(imported, body):
    with pytest.raises(ScenarioError) as caught:
        imported(body)
    return [str(problem).split("workflow.json", 1)[1] for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"", [":1:1: the file is empty"]),
        (b'{"name": "x",\n "workflow": {"tasks": [', [":2:25: the file ends in the middle of a value: it was cut off"]),
        (b'{"a": "\xff"}', [":1:8: is not UTF-8: the byte 0xff fits no character"]),
        (b"[" * 100_000, [":1:1: nested too deeply"]),
        (b"[1, 2]", [": is no workflow in WfFormat: it has no 'workflow'"]),
        ({"workflow": {}}, [": workflow.tasks: is missing and required"]),
        ({"workflow": {"tasks": "many"}}, [": workflow.tasks: must be a list, not 'many'"]),
        (
            version_14(task_14("a", parents=["nobody"]), task_14("b", run=None), task_14("b")),
            [
                ": workflow.tasks[2]: the id 'b' is that of workflow.tasks[1] too",
                ": workflow.tasks[1]: the run time of 'b' is missing: give it as runtimeInSeconds",
                ": workflow.tasks[0].parents[0]: 'nobody' is no task of the workflow",
            ],
        ),
        (
            version_14(task_14("a", parents=["c"]), task_14("b", parents=["a"]), task_14("c", parents=["b"])),
            [": workflow.tasks[0]: tasks wait for one another in a circle: a, c, b, a"],
        ),
        (
            version_14(task_14("a", run=-1), task_14("b", run="10"), task_14("c", run=1e300)),
            [
                ": workflow.tasks[0].runtimeInSeconds: must be at least 0, not -1",
                ": workflow.tasks[1].runtimeInSeconds: must be a number, not '10': leave out the quotes",
                ": workflow.tasks[2].runtimeInSeconds: must be at most 2846016000, not 1e+300",
            ],
        ),
        (
            version_14(task_14("a", files=[{"link": "sideways", "name": "f"}, {"link": "input"}])),
            [
                ": workflow.tasks[0].files[0].link: 'sideways' does not exist here: can be input, output",
                ": workflow.tasks[0].files[1].id: is missing and required",
            ],
        ),
        (
            version_15({"a": {"parents": []}}, files={"f": -4}),
            [": workflow.specification.files[0].sizeInBytes: must be at least 0, not -4"],
        ),
        (
            version_15({"a": {"parents": ["z"]}}, runs={"b": 5}),
            [
                ": workflow.specification.tasks[0]: the run time of 'a' is missing: give it as runtimeInSeconds",
                ": workflow.specification.tasks[0].parents[0]: 'z' is no task of the workflow",
            ],
        ),
    ],
)
def test_mistakes_are_named_with_their_paths_all_at_once(imported, body, wanted):
    assert sorted(mistakes(imported, body)) == sorted(wanted)


def test_executions_of_unknown_tasks_are_left_out_with_a_warning(imported):
    result = imported(version_15({"a": {"parents": []}}, runs={"a": 1, "ghost": 2}))
    assert "no such tasks are specified: ghost" in str(result.warnings[0])
