"""Tests of warnings: what is accepted although it is probably not what was meant."""

from __future__ import annotations

from datetime import date

import pytest

from engine.base.errors import Problem, ScenarioError, Severity
from engine.scenario.load import load
from engine.scenario.text import bundled
from engine.specs import catalogue
from engine.specs.base import has_effect
from engine.specs.bodies import PoolSpec
from tui.cli.arguments import problem_json

HEAD = """\
scenario: w
pools:
  - {id: shared, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}
"""
BASH = "bash -c 'diff <(ls) <(ls)'"
SUBNET = "/subscriptions/1/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/corp/subnets/x"
LINE = f'"{BASH}"'


def warnings(text: str) -> list[Problem]:
    return list(load("w.yaml", text=text).warnings)


def job(**parts: str) -> str:
    """A job with these properties, one a line, from line 5."""
    lines = "".join(f"    {name}: {value}\n" for name, value in parts.items())
    return HEAD + "jobs:\n  - id: j\n" + ("" if "poolInfo" in parts else "    poolInfo: {poolId: shared}\n") + lines


def places(text: str) -> list[tuple[int, int, str]]:
    return [(warning.line, warning.column, warning.path) for warning in warnings(text)]


@pytest.mark.parametrize("name", bundled())
def test_bundled_scenarios_have_no_warnings(name):
    assert load(name, strict=True).warnings == ()


def test_a_warning_reads_like_a_mistake_with_a_word_before_its_path():
    (warning,) = warnings(job(poolInfo="{poolId: sharde}"))
    assert warning.severity is Severity.WARNING
    assert str(warning) == (
        "w.yaml:6:24: warning: [unknown-pool] jobs[0].poolInfo.poolId: no part of the scenario creates the pool "
        "'sharde': did you mean 'shared'?"
    )


# --- sizes


def test_a_size_that_is_not_listed_is_named_with_the_nearest_one_once_a_pool():
    text = """\
scenario: s
pools:
  - {id: a, vmSize: Standard_D2s_v9, targetDedicatedNodes: 1}
  - {id: b, vmSize: Standard_D2s_v5, targetDedicatedNodes: 1}
  - {id: c, vmSize: standard_e8ds_v6, targetDedicatedNodes: 1}
"""
    first, second = warnings(text)
    assert (first.line, first.column, first.path) == (3, 21, "pools[0].vmSize")
    assert first.message == (
        "Standard_D2s_v9 is not one of the listed sizes: its cores, memory and price are derived from its name, "
        "and the service may not have it; the nearest of the listed sizes is standard_d2s_v5"
    )
    assert second.path == "pools[2].vmSize"


def test_the_size_of_an_auto_pool_is_looked_at_too():
    pool = "{vmSize: standard_d2s_v9, targetDedicatedNodes: 1}"
    info = f"{{autoPoolSpecification: {{poolLifetimeOption: job, pool: {pool}}}}}"
    assert [path for _, _, path in places(job(poolInfo=info))] == ["jobs[0].poolInfo.autoPoolSpecification.pool.vmSize"]


def sizes(*names, **settings):
    pools = ", ".join(f"{{id: p{at}, vmSize: {name}, targetDedicatedNodes: 0}}" for at, name in enumerate(names))
    return f"scenario: s\npools: [{pools}]\n" + "".join(f"{key}: {value}\n" for key, value in settings.items())


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("Standard_A1", {}, "was retired on 2024-08-31: the service recommends Dasv6 instead"),
        ("standard_a1", {"startTime": "2020-01-01T00:00:00Z"}, "was retired on 2024-08-31: "),
        ("standard_nv4as_v4", {}, ""),
        ("standard_nv4as_v4", {"startTime": "2026-09-29T00:00:00Z"}, "is retired within the run, on 2026-09-30: "),
        ("standard_nv4as_v4", {"startTime": "2026-09-29T00:00:00Z", "until": "PT4H"}, ""),
        ("standard_np10s", {"startTime": "2027-06-01T00:00:00Z"}, "was retired on 2027-05-31: it has no replacement"),
        ("standard_dc2es_v5", {}, "has no list price: its price is derived from its name"),
        ("standard_s96", {}, "has no list price: it counts as free"),
    ],
)
def test_vm_6_a_size_that_is_retired_or_has_no_price_is_told(name, settings, said):
    messages = [warning.message for warning in warnings(sizes(name, **settings))]
    assert len(messages) == bool(said)
    assert not said or said in messages[0]
    assert all(message.startswith(f"{name} ") for message in messages)


@pytest.mark.parametrize(("name", "code"), [("standard_a1", "size-retired"), ("standard_d2s_v9", "size-unknown")])
def test_warnings_of_sizes_have_codes(name, code):
    (warning,) = warnings(sizes(name))
    assert warning.code == problem_json(warning)["code"] == code
    assert f": warning: [{code}] pools[0].vmSize: {name} " in str(warning)


def test_vm_2_all_listed_sizes_can_be_used_and_current_ones_need_no_warning():
    listed = catalogue.listed_sizes()
    quotas = "{quotas: {pools: 2000}}"
    told = {warning.message.split()[0] for warning in warnings(sizes(*(size.name for size in listed), account=quotas))}
    by_2026 = {size.name for size in listed if size.retires is not None and size.retires <= date(2026, 1, 12)}
    assert told == by_2026 | {size.name for size in listed if not size.has_price}


def test_vm_6_a_pool_that_the_service_has_returned_may_have_a_retired_size():
    pool = "{id: p, vmSize: standard_a1, state: active, allocationState: steady, targetDedicatedNodes: 0}"
    (warning,) = warnings(f"scenario: s\npools: [{pool}]\n")
    assert warning.message.startswith("what only the service writes is left out")


# --- slots

SLOTS = """\
scenario: s
pools:
  - {id: shared, vmSize: standard_d2s_v3, targetDedicatedNodes: 1, taskSlotsPerNode: 2}
jobs:
  - id: j
    poolInfo: {poolId: shared}
    jobManagerTask: {id: m, commandLine: m, requiredSlots: 3}
    tasks:
      - {id: a, commandLine: a, requiredSlots: 2}
      - {id: b, commandLine: b, requiredSlots: 3}
      - {id: c, commandLine: c, requiredSlots: 3, simulate: {duration: PT1M}}
  - id: k
    poolInfo: {poolId: later}
    taskFactory:
      type: parametricSweep
      parameterSets: [{start: 1, end: 2}]
      repeatTask: {id: "t{0}", commandLine: x, requiredSlots: 4}
jobSchedules:
  - id: hourly
    schedule: {recurrenceInterval: PT1H}
    jobSpecification:
      poolInfo:
        autoPoolSpecification: {poolLifetimeOption: job, pool: {vmSize: standard_d2s_v3, targetDedicatedNodes: 1}}
      jobManagerTask: {id: m, commandLine: m, requiredSlots: 2}
timeline:
  - {at: 5, addTasks: {jobId: j, tasks: [{id: d, commandLine: d, requiredSlots: 3}]}}
  - {at: 6, createPool: {id: later, vmSize: standard_d2s_v3, targetDedicatedNodes: 1, maxTasksPerNode: 3}}
"""


def test_sched_10_a_task_that_requires_more_slots_than_a_node_has():
    found = warnings(SLOTS)
    assert [warning.line for warning in found] == [7, 10, 17, 24, 26]
    assert found[1].path == "jobs[0].tasks[1].requiredSlots"
    assert found[1].message == (
        "the task requires 3 slots and never runs, since a node of its pool has 2 (SCHED-10): "
        "give the pool taskSlotsPerNode: 3 (1 more like it)"
    )


def test_a_pool_may_get_more_slots_later():
    more = "  - {at: 7, updatePool: {poolId: shared, taskSlotsPerNode: 4}}\n"
    assert [warning.line for warning in warnings(SLOTS + more)] == [17, 24]


def test_a_job_may_be_moved_to_a_pool_with_more_slots():
    move = "  - {at: 7, updateJob: {jobId: J, poolInfo: {poolId: later}}}\n"
    assert [warning.line for warning in warnings(SLOTS + move)] == [17, 24]


# --- command lines


@pytest.mark.parametrize(
    ("text", "column", "path"),
    [
        (job(tasks=f"[{{id: t, commandLine: {LINE}}}]"), 34, "jobs[0].tasks[0].commandLine"),
        (job(jobPreparationTask=f"{{commandLine: {LINE}}}"), 39, "jobs[0].jobPreparationTask.commandLine"),
        (
            job(jobReleaseTask=f"{{commandLine: {LINE}}}", jobPreparationTask="{commandLine: x}"),
            35,
            "jobs[0].jobReleaseTask.commandLine",
        ),
        (job(jobManagerTask=f"{{id: m, commandLine: {LINE}}}"), 42, "jobs[0].jobManagerTask.commandLine"),
        (
            job(
                taskFactory="{type: parametricSweep, parameterSets: [{start: 1, end: 3}], "
                f'repeatTask: {{id: "t{{0}}", commandLine: {LINE}}}}}'
            ),
            117,
            "jobs[0].taskFactory.repeatTask.commandLine",
        ),
        (
            job(tasks=f"[{{id: t, commandLine: x, multiInstanceSettings: {{coordinationCommandLine: {LINE}}}}}]"),
            86,
            "jobs[0].tasks[0].multiInstanceSettings.coordinationCommandLine",
        ),
    ],
)
def test_a_line_that_the_small_shell_cannot_read(text, column, path):
    (warning,) = (each for each in warnings(text) if each.code != "multi-instance-pool")
    assert (warning.line, warning.column, warning.path) == (7, column, path)
    assert "the small shell cannot read" in warning.message
    assert "takes its default time and succeeds" in warning.message


@pytest.mark.parametrize(
    "text",
    [
        job(tasks="[{id: t, commandLine: price --deal 1}]"),
        job(tasks="[{id: t, commandLine: \"/bin/sh -c 'fetch > x && sort x'\"}]"),
        job(tasks=f"[{{id: t, commandLine: {LINE}, simulate: {{duration: PT1M}}}}]"),
        job(tasks=f"[{{id: t, commandLine: {LINE}, simulate: {{exitCode: 1}}}}]"),
        job(tasks=f"[{{id: t, commandLine: {LINE}}}]") + "simulate: {tasks: {duration: PT1M}}\n",
    ],
)
def test_a_program_or_a_simulated_line_is_no_reason_for_a_warning(text):
    assert warnings(text) == []


def test_the_default_of_tasks_does_not_speak_for_preparation():
    text = job(jobPreparationTask=f"{{commandLine: {LINE}}}") + "simulate: {tasks: {duration: PT1M}}\n"
    assert [warning.path for warning in warnings(text)] == ["jobs[0].jobPreparationTask.commandLine"]


def test_the_pool_decides_which_shell_reads_a_line():
    windows = (
        "  - {id: win, vmSize: standard_d2s_v3, targetDedicatedNodes: 1, virtualMachineConfiguration: "
        "{imageReference: {publisher: MicrosoftWindowsServer, offer: WindowsServer, sku: 2022-datacenter}, "
        "nodeAgentSKUId: batch.node.windows amd64}}\n"
    )
    task = '[{id: t, commandLine: "cmd /c \\"if exist a echo b\\""}]'
    assert [warning.code for warning in warnings(job(tasks=task))] == ["wrong-shell"]
    text = job(tasks=task, poolInfo="{poolId: win}").replace("jobs:\n", windows + "jobs:\n")
    line = len(text[: text.index("if exist")].splitlines())
    assert [warning.line for warning in warnings(text)] == [line]
    added = "timeline:\n  - {at: 5, addTasks: {jobId: j, tasks: " + task.replace("id: t", "id: u") + "}}\n"
    assert len(warnings(text + added)) == 2


# --- pools that nothing creates


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (job(poolInfo="{poolId: shard}"), "jobs[0].poolInfo.poolId"),
        (
            HEAD + "jobSchedules:\n  - {id: s, schedule: {recurrenceInterval: PT1H}, "
            "jobSpecification: {poolInfo: {poolId: shard}}}\nuntil: PT2H\n",
            "jobSchedules[0].jobSpecification.poolInfo.poolId",
        ),
        (HEAD + "timeline:\n  - {at: 5, deletePool: {poolId: shard}}\n", "timeline[0].deletePool.poolId"),
        (HEAD + "timeline:\n  - {at: 5, rebootNode: {poolId: shard, node: 0}}\n", "timeline[0].rebootNode.poolId"),
        (
            HEAD + "timeline:\n  - {at: 5, createJob: {id: j, poolInfo: {poolId: shard}}}\n",
            "timeline[0].createJob.poolInfo.poolId",
        ),
        (
            job() + "timeline:\n  - {at: 5, updateJob: {jobId: j, poolInfo: {poolId: shard}}}\n",
            "timeline[0].updateJob.poolInfo.poolId",
        ),
    ],
)
def test_pool_18_a_pool_that_nothing_creates(text, path):
    (warning,) = warnings(text)
    assert warning.path == path
    assert warning.message == "no part of the scenario creates the pool 'shard': did you mean 'shared'?"


@pytest.mark.parametrize(
    "text",
    [
        job(poolInfo="{poolId: SHARED}"),
        job(poolInfo="{poolId: later}")
        + "timeline:\n  - {at: 5, createPool: {id: later, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}}\n",
        HEAD + "timeline:\n  - {at: 5, deletePool: {poolId: nobody}, refused: PoolNotFound}\n",
    ],
)
def test_pool_18_a_pool_that_comes_or_an_announced_refusal_is_no_reason(text):
    assert warnings(text) == []


# --- properties without effect

POOL = "{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1, %s}"
IMAGE = (
    "imageReference: {publisher: canonical, offer: 0001-com-ubuntu-server-jammy, sku: 22_04-lts}, "
    "nodeAgentSKUId: batch.node.ubuntu 22.04"
)


def pool(properties: str) -> str:
    return "scenario: w\npools:\n  - " + POOL % properties + "\n"


def test_properties_without_effect_are_one_line_for_each_body():
    text = pool(f"upgradePolicy: {{mode: manual}}, virtualMachineConfiguration: {{{IMAGE}, dataDisks: "
                "[{lun: 0, diskSizeGB: 9}], nodePlacementConfiguration: {policy: zonal}}")  # fmt: skip
    (warning,) = warnings(text)
    assert (warning.line, warning.column, warning.path) == (3, 63, "pools[0]")
    assert warning.message == (
        "upgradePolicy, virtualMachineConfiguration.dataDisks and "
        "virtualMachineConfiguration.nodePlacementConfiguration are accepted and change nothing in a simulation"
    )


@pytest.mark.parametrize(
    "properties",
    [
        "metadata: [{name: a, value: b}], displayName: x",
        "resourceTags: {}, upgradePolicy: null",
        "networkConfiguration: {enableAcceleratedNetworking: false, dynamicVNetAssignmentScope: None}",
        f"virtualMachineConfiguration: {{{IMAGE}, dataDisks: [], nodePlacementConfiguration: {{policy: Regional}}}}",
    ],
)
def test_what_is_shown_or_is_the_default_is_no_reason(properties):
    assert warnings(pool(properties)) == []


def test_properties_without_effect_are_found_in_every_body():
    inner = "{vmSize: standard_d2s_v3, resourceTags: {a: b}}"
    text = job(
        poolInfo=f"{{autoPoolSpecification: {{poolLifetimeOption: job, pool: {inner}}}}}",
        networkConfiguration=f"{{subnetId: {SUBNET}}}",
    )
    create = "timeline:\n  - {at: 5, createPool: " + POOL % "applicationLicenses: [maya]" + "}\n"
    assert [(warning.line, warning.path) for warning in warnings(text + create)] == [
        (6, "jobs[0]"),
        (9, "timeline[0].createPool"),
    ]


def test_a_property_without_effect_is_marked_where_it_is_declared():
    assert not has_effect(PoolSpec.model_fields["upgrade_policy"])
    assert has_effect(PoolSpec.model_fields["vm_size"])


# --- containers by name

FILES = "[{id: t, commandLine: x, resourceFiles: [{autoStorageContainerName: market}]}]"


def test_a_container_by_name_needs_a_storage_account():
    (warning,) = warnings(job(tasks=FILES))
    assert warning.path == "jobs[0].tasks[0].resourceFiles[0].autoStorageContainerName"
    assert warning.message == "the account has no storage account for this container: name it as account.storageAccount"
    assert warnings(job(tasks=FILES) + "account: {storageAccount: contoso}\n") == []


# --- processes that act


def test_commands_of_processes_are_searched_too():
    does = (
        f"[{{after: 5, addTasks: {{tasks: [{{id: t, commandLine: {LINE}}}]}}}}, "
        "{after: 6, resizePool: {poolId: shard, targetDedicatedNodes: 2}}, "
        "{after: 7, createPool: {name: a/b, properties: {vmSize: standard_d2s_v3, resourceTags: {a: b}}}}]"
    )
    text = job(jobManagerTask=f"{{id: m, commandLine: x, simulate: {{duration: PT1M, does: {does}}}}}")
    assert [warning.path.removeprefix("jobs[0].jobManagerTask.simulate.") for warning in warnings(text)] == [
        "does[0].addTasks.tasks[0].commandLine",
        "does[1].resizePool.poolId",
        "does[2].createPool.properties",
    ]
    assert warnings(text + "expect: [{poolId: b, state: active}]\n")


def test_a_mistake_in_a_pool_that_a_process_makes_is_reported_once():
    does = "[{after: 7, createPool: {name: p, properties: {vmSize: standard_d2s_v3, scaleSetings: {}}}}]"
    with pytest.raises(ScenarioError) as caught:
        load("w.yaml", text=job(jobManagerTask=f"{{id: m, commandLine: x, simulate: {{does: {does}}}}}"))
    (problem,) = caught.value.problems
    assert problem.path == "jobs[0].jobManagerTask.simulate.does[0].createPool.properties.scaleSetings"


# --- warnings and mistakes


def test_warnings_are_in_the_order_of_the_file():
    text = job(
        tasks=f"[{{id: t, commandLine: {LINE}}}]",
        poolInfo="{poolId: shard}",
        networkConfiguration=f"{{subnetId: {SUBNET}}}",
    )
    assert [line for line, *_ in places(text)] == [6, 7, 8]


def test_strict_makes_mistakes_of_them():
    with pytest.raises(ScenarioError) as caught:
        load("w.yaml", text=job(poolInfo="{poolId: shard}"), strict=True)
    assert [problem.severity for problem in caught.value.problems] == [Severity.ERROR]
    assert str(caught.value).startswith("w.yaml:6:24: [unknown-pool] jobs[0].poolInfo.poolId: no part of")


def test_mistakes_do_not_hide_warnings():
    with pytest.raises(ScenarioError) as caught:
        load("w.yaml", text="sede: 1\n" + job(poolInfo="{poolId: shard}"))
    assert [problem.line for problem in caught.value.problems] == [1]
    assert [warning.line for warning in caught.value.warnings] == [7]


# --- images


def of_image(publisher, offer, sku, agent="batch.node.ubuntu 20.04", start="2026-01-05T08:00:00Z"):
    reference = f"{{publisher: {publisher}, offer: {offer}, sku: {sku}}}"
    machine = f"virtualMachineConfiguration: {{imageReference: {reference}, nodeAgentSKUId: {agent}}}"
    return [(w.path, w.message.split(":")[0]) for w in warnings(f"startTime: {start}\n" + pool(machine))]


PLACE = "pools[0].virtualMachineConfiguration.imageReference"


def test_pool_26_an_image_that_the_catalogue_does_not_know():
    unknown = "the catalogue has no image contoso linux 1, so its node agent is not checked"
    assert of_image("contoso", "linux", '"1"') == [(PLACE, unknown)]


def test_pool_26_an_image_whose_support_has_ended():
    focal = "Canonical 0001-com-ubuntu-server-focal 20_04-lts"
    ended = f"the support of {focal} ended on 2025-04-22"
    assert of_image(*focal.split()) == [(PLACE, ended)]
    assert of_image(*focal.split(), start="2025-01-01T00:00:00Z") == []


# --- traps of command lines, and comments that silence a warning


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("cmd /c echo hi", "wrong-shell"),
        ("cd x && ls", "builtin-as-program"),
        ("python x.py > out.txt", "no-shell"),
        ("$AZ_BATCH_NODE_SHARED_DIR/run.sh", "no-shell"),
        ("/bin/sh -c 'cat /etc/fstab'", "system-file"),
        ("/bin/sh -c 'if true'", "shell-syntax"),
        (BASH, "shell-unreadable"),
    ],
)
def test_a_trap_of_a_command_line_has_a_code_and_can_be_silenced(line, code):
    text = job(tasks=f'\n      - id: t\n        commandLine: "{line}"')
    (warning,) = warnings(text)
    assert (warning.code, warning.line) == (code, 9)
    assert f"warning: [{code}] jobs[0].tasks[0].commandLine: " in str(warning)
    assert warnings(text.rstrip() + f"  # batchdeck: ignore[{code}]\n") == []
    assert warnings(text.rstrip() + f"  # known; batchdeck: ignore[size-retired, {code}]\n") == []
    assert len(warnings(text.rstrip() + "  # batchdeck: ignore[size-retired]\n")) == 1
    assert len(warnings(f"# batchdeck: ignore[{code}]\n" + text)) == 1


def test_a_silenced_warning_is_no_mistake_of_a_strict_check():
    text = job(tasks='\n      - {id: t, commandLine: "cd x"}  # batchdeck: ignore[builtin-as-program]')
    assert load("w.yaml", text=text, strict=True).warnings == ()


@pytest.mark.parametrize(
    "line",
    [
        "python x.py",
        "env A=1 python x.py",
        "docker run --rm image sh -c 'a && b'",
        "/bin/bash -c 'cat /etc/hosts | wc -l'",
    ],
)
def test_a_line_without_a_trap_has_no_warning(line):
    assert warnings(job(tasks=f'[{{id: t, commandLine: "{line}"}}]')) == []
