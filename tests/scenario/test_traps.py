"""Tests of the traps that ``check`` knows, each beside the nearest scenario that has none."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest
import yaml

import engine
from engine.base.errors import WARNINGS, Problem
from engine.scenario.document import ignored_codes
from engine.scenario.load import load

POOL = "{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1%s}"
BLOB = "https://contoso.blob.core.windows.net"


def scenario(pool="", job="", tasks="[{id: t, commandLine: work}]", more="", pools=""):
    tasks = f", tasks: {tasks}" if tasks else ""
    jobs = f"jobs: [{{id: j, poolInfo: {{poolId: p}}{job}{tasks}}}]"
    until = "until: PT8H\n" if "enableAutoScale" in pools else ""
    return f"scenario: s\n{until}pools: [{POOL % pool}{pools}]\n{jobs}\n{more}"


def unended(text):
    return text.replace("until: PT8H\n", "")


def warnings(text: str) -> list[Problem]:
    return list(load("s.yaml", text=text).warnings)


def codes(text: str) -> list[str]:
    return [warning.code for warning in warnings(text)]


ENDS = ", onAllTasksComplete: terminatejob"
GANG = "[{id: t, commandLine: x, multiInstanceSettings: {numberOfInstances: 2, coordinationCommandLine: y}}]"
TALKS = ", enableInterNodeCommunication: true"
DEPENDS = ", usesTaskDependencies: true"


def task(task_id, needs="", **parts):
    parts = "".join(f", {name}: {value}" for name, value in parts.items())
    return f'{{id: "{task_id}", commandLine: work{parts}' + (f", dependsOn: {{{needs}}}}}" if needs else "}")


def tasks(*each):
    return f"[{', '.join(each)}]"


SWEEP = "{type: parametricSweep, parameterSets: [{start: 1, end: 3}], repeatTask: {id: '%s', commandLine: work%s}}"
PREPARED = ", jobPreparationTask: {commandLine: fetch%s}"
LOW = ", simulate: {duration: %s}"


def formula(text, slots=4):
    scaled = f"{{id: q, vmSize: standard_d4s_v3, taskSlotsPerNode: {slots}, enableAutoScale: true, autoScaleFormula: "
    return f', {scaled}"{text}"}}'


def scaled(text, slots=4, listed=""):
    listed = listed or tasks(task("a"), task("b"), task("c"))
    return scenario(pools=formula(text, slots)).replace(
        "jobs: [", f"jobs: [{{id: k, poolInfo: {{poolId: q}}, tasks: {listed}}}, "
    )


def start_task(url, more="", pool=""):
    files = f"resourceFiles: [{{httpUrl: '{url}', filePath: x}}]"
    return scenario(pool=f", startTask: {{commandLine: setup, {files}}}{pool}", more=more)


def with_file(url, **parts):
    return task("t", resourceFiles=f"[{{httpUrl: '{url}', filePath: x}}]", **parts)


def uploads(url, **parts):
    output = f"[{{filePattern: x, destination: {{container: {{containerUrl: '{url}'}}}}}}]"
    return tasks(task("t", outputFiles=output, **parts))


def ends(text):
    return f'simulate: {{storage: {{"{BLOB}/*": {{until: {text}}}}}}}\n'


def writes(size, retention="P7D", number=1):
    each = {"simulate": f"{{duration: PT10M, writes: {{x: {size}}}}}", "constraints": f"{{retentionTime: {retention}}}"}
    return tasks(*(task(f"t{at}", **each) for at in range(number)))


TRAPS = {
    "job-without-tasks": [
        scenario(job=ENDS, tasks=""),
        scenario(job=ENDS, tasks="[]"),
        scenario(job=ENDS + PREPARED % "" + ", jobReleaseTask: {commandLine: drop}", tasks=""),
        scenario(job=", onAllTasksComplete: TerminateJob", tasks=""),
        scenario(
            job=ENDS,
            tasks="",
            more="timeline: [{at: 5, refused: JobCompleted, addTasks: {jobId: j, tasks: [{id: t, commandLine: x}]}}]",
        ),
        scenario(
            more="jobSchedules: [{id: s, schedule: {recurrenceInterval: PT1H}, jobSpecification: {poolInfo: "
            "{poolId: p}, onAllTasksComplete: terminatejob}}]\nuntil: PT2H"
        ),
    ],
    "multi-instance-pool": [
        scenario(tasks=GANG),
        scenario(TALKS + ", taskSlotsPerNode: 2", tasks=GANG),
        scenario(TALKS + ", maxTasksPerNode: 2", tasks=GANG),
        scenario(more=f"timeline: [{{at: 5, addTasks: {{jobId: j, tasks: {GANG.replace('id: t', 'id: u')}}}}}]"),
        scenario(
            job=f", taskFactory: {SWEEP % ('u{0}', ', multiInstanceSettings: {coordinationCommandLine: y}')}", tasks=""
        ),
    ],
    "unknown-dependency": [
        scenario(job=DEPENDS, tasks=tasks(task("a"), task("b", "taskIds: [c]"))),
        scenario(job=DEPENDS, tasks=tasks(task("1"), task("2"), task("b", "taskIdRanges: [{start: 1, end: 3}]"))),
        scenario(job=DEPENDS, tasks=tasks(task("a"), task("b", "taskIds: [c]", simulate="{duration: PT1M}"))),
        scenario(job=f"{DEPENDS}, taskFactory: {SWEEP % ('u{0}', '')}", tasks=tasks(task("b", "taskIds: [u3, u4]"))),
        scenario(job=f"{DEPENDS}, taskFactory: {SWEEP % ('u{0}', ', dependsOn: {taskIds: [v]}')}", tasks=""),
    ],
    "dependency-circle": [
        scenario(job=DEPENDS, tasks=tasks(task("a", "taskIds: [A]"))),
        scenario(job=DEPENDS, tasks=tasks(task("a", "taskIds: [b]"), task("b", "taskIds: [a]"))),
        scenario(
            job=DEPENDS, tasks=tasks(task("1", "taskIds: ['2']"), task("2", "taskIdRanges: [{start: 1, end: 1}]"))
        ),
        scenario(
            job=DEPENDS,
            tasks=tasks(task("a", "taskIds: [b]"), task("b", "taskIds: [c]"), task("c", "taskIds: [a]")),
        ),
    ],
    "signature-expires": [
        scenario(tasks=tasks(with_file(f"{BLOB}/in/x?sig=a&se=2026-01-05T07%3A00%3A00Z"))),
        scenario(tasks=tasks(with_file(f"{BLOB}/in/x")), more=ends("PT0S")),
        scenario(tasks=uploads(f"{BLOB}/out?sig=a", simulate="{duration: PT1H}"), more=ends("PT59M")),
        scenario(tasks=uploads(f"{BLOB}/out?se=2026-01-05T08:10:00Z", simulate="{duration: PT1H}")),
        start_task(f"{BLOB}/x?se=2026-01-05T08:00:10Z"),
        start_task(f"{BLOB}/x", ends("P1D") + "timeline: [{at: P2D, rebootNode: {poolId: p, node: 0}}]"),
        start_task(
            f"{BLOB}/x", ends("P1D") + "timeline: [{at: P2D, resizePool: {poolId: p, targetDedicatedNodes: 2}}]"
        ),
        start_task(f"{BLOB}/x", ends("P1D").replace("}\n", ", nodes: {failureRate: 0.1}}\n") + "until: P2D"),
        scenario(
            tasks="",
            job=", taskFactory: " + SWEEP % ("u{0}", f", resourceFiles: [{{httpUrl: '{BLOB}/x', filePath: x}}]"),
            more="simulate: {tasks: {duration: PT1H}, storage: {'https://*': {until: PT1H30M}}}",
        ),
    ],
    "preparation-without-limit": [
        scenario(job=PREPARED % LOW % "P30D"),
        scenario(job=PREPARED % LOW % "P2D", more="until: PT12H"),
        scenario(job=PREPARED % LOW % "{choice: [PT1M, PT1M, P3D]}", more="until: P1D"),
        scenario(job=PREPARED % LOW % "{lognormal: [PT10M, 2.5]}", more="until: P1D"),
        scenario(job=PREPARED % ", simulate: {until: {jobId: j, tasks: {succeeded: 1}}}", more="until: P1D"),
        scenario(job=PREPARED % ", simulate: {duration: PT1M, onNode: {0: {duration: P2D}}}"),
    ],
    "disk-too-small": [
        scenario(tasks=writes("20 GB")),
        scenario(tasks=writes("6 GB", number=3)),
        scenario(job=PREPARED % ", simulate: {writes: {x: 10 GB}}", tasks=writes("8 GB")),
        scenario(tasks=tasks(with_file(f"{BLOB}/x")), more=f'simulate: {{storage: {{"{BLOB}/*": {{size: 20 GB}}}}}}\n'),
    ],
    "limit-too-short": [
        scenario(tasks=tasks(task("t", constraints="{maxWallClockTime: PT1M}", simulate="{duration: PT2H}"))),
        scenario(
            tasks=tasks(
                task("t", constraints="{maxWallClockTime: PT1M}", simulate="{duration: {uniform: [PT61S, PT2H]}}")
            )
        ),
        scenario(job=", constraints: {maxWallClockTime: PT1H}", tasks=tasks(task("t", simulate="{duration: PT2H}"))),
        scenario(
            job=", constraints: {maxWallClockTime: PT1H}",
            tasks="",
            more="timeline: [{at: 5, addTasks: {jobId: j, tasks: [{id: t, commandLine: x, simulate: {duration: P1D}, "
            "constraints: {}}]}}]",
        ),
    ],
    "formula-unknown-name": [
        scaled("$TargetDedicatedNodes = $ActiveTask.GetSample(1);"),
        scaled("n = m; m = 1; $TargetDedicatedNodes = n;"),
        scaled("$TargetDedicatedNodes = minimum(1, 2);"),
        scaled("$TargetDedicatedNodes = $ActiveTasks.GetSamples(1);"),
        scenario(
            more="timeline: [{at: 5, evaluatePoolAutoScale: {poolId: p, autoScaleFormula: $TargetDedicatedNodes = x}}]"
        ),
    ],
    "no-shell": [
        scenario(tasks=tasks(f"{{id: t, commandLine: a && b{LOW % 'PT1M'}}}")),
        scenario(tasks=tasks(f"{{id: t, commandLine: a $AZ_BATCH_TASK_ID{LOW % 'PT1M'}, requiredSlots: 1}}")),
        scenario(job=", jobPreparationTask: {commandLine: a | b, simulate: {exitCode: 1}}"),
        scenario(tasks=tasks("{id: t, commandLine: a && b}"), more="simulate: {tasks: {duration: PT1M}}"),
    ],
    "wrong-shell": [scenario(tasks=tasks(f"{{id: t, commandLine: cmd /c dir{LOW % 'PT1M'}}}"))],
    "shell-syntax": [scenario(tasks=tasks(f"{{id: t, commandLine: sh -c 'if', {(LOW % 'PT1M')[2:]}}}"))],
    "endless-formula": [
        unended(scaled("$TargetDedicatedNodes = 3;")),
        unended(scaled("$TargetDedicatedNodes = 3;")) + "timeline: [{at: PT1H, deletePool: {poolId: p}}]",
        scenario(
            more="timeline: [{at: 5, enablePoolAutoScale: {poolId: p, autoScaleFormula: $TargetDedicatedNodes=1}}]"
        ),
    ],
    "formula-ignores-slots": [
        scaled("$TargetDedicatedNodes = $PendingTasks.GetSample(1);"),
        scaled("$TargetDedicatedNodes = min(2, max($ActiveTasks.GetSample(TimeInterval_Minute * 5)));", 2),
        scaled("n = $PendingTasks; $TargetDedicatedNodes = n > 0 ? n : $TargetDedicatedNodes / 2;"),
        scaled(
            "$TargetDedicatedNodes = $PendingTasks / $TaskSlotsPerNode;",
            2,
            tasks(task("a", requiredSlots=2), task("b", requiredSlots=2)),
        ),
    ],
    "unknown-job": [
        scenario(more="timeline: [{at: 5, terminateJob: {jobId: i}}]"),
        scenario(
            more="timeline: [{at: 9, createJob: {id: i, poolInfo: {poolId: p}}}, {at: 5, terminateJob: {jobId: i}}]"
        ),
        scenario(more="timeline: [{at: 5, addTasks: {jobId: i, tasks: [{id: t, commandLine: x}]}}]"),
    ],
    "unknown-task": [
        scenario(more="timeline: [{at: 5, terminateTask: {jobId: j, taskId: u}}]"),
        scenario(
            more="timeline: [{at: 9, addTasks: {jobId: j, tasks: [{id: u, commandLine: x}]}}, "
            "{at: 5, terminateTask: {jobId: j, taskId: u}}]"
        ),
    ],
    "unknown-schedule": [scenario(more="timeline: [{at: 5, disableJobSchedule: {jobScheduleId: s}}]")],
    "unknown-node": [scenario(more="timeline: [{at: 5, rebootNode: {poolId: p, node: 1}}]")],
    "unknown-pool": [scenario(more="timeline: [{at: 5, deletePool: {poolId: q}}]")],
    "unknown-code": ["scenario: s # batchdeck: ignore[size-unknow]\n"],
}

HARMLESS = {
    "job-without-tasks": [
        scenario(job=ENDS),
        scenario(tasks=""),
        scenario(job=f"{ENDS}, jobManagerTask: {{id: m, commandLine: x}}", tasks=""),
        scenario(job=f"{ENDS}, taskFactory: {SWEEP % ('u{0}', '')}", tasks=""),
        scenario(
            job=ENDS, tasks="", more="timeline: [{at: 0, addTasks: {jobId: j, tasks: [{id: t, commandLine: x}]}}]"
        ),
        scenario(job=ENDS, tasks="").replace(
            "jobs: [",
            "jobs: [{id: k, poolInfo: {poolId: p}, tasks: [{id: t, commandLine: x, simulate: {does: [{addTasks: "
            "{jobId: j, tasks: [{id: t, commandLine: x}]}}]}}]}, ",
        ),
    ],
    "multi-instance-pool": [
        scenario(TALKS, tasks=GANG),
        scenario(more="timeline: [{at: 5, updatePool: {poolId: p, enableInterNodeCommunication: true}}]", tasks=GANG),
        scenario(
            tasks=GANG,
            pools=f", {{id: q, vmSize: standard_d2s_v3, targetDedicatedNodes: 2{TALKS}}}",
            more="timeline: [{at: 5, updateJob: {jobId: j, poolInfo: {poolId: q}}}]",
        ),
    ],
    "unknown-dependency": [
        scenario(job=DEPENDS, tasks=tasks(task("a"), task("b", "taskIds: [A]"))),
        scenario(job=DEPENDS, tasks=tasks(task("01"), task("2"), task("b", "taskIdRanges: [{start: 1, end: 2}]"))),
        scenario(
            job=f"{DEPENDS}, taskFactory: {SWEEP % ('{0:4}', '')}",
            tasks=tasks(task("b", "taskIdRanges: [{start: 1, end: 3}]")),
        ),
        scenario(
            job=DEPENDS,
            tasks=tasks(task("b", "taskIds: [c]")),
            more="timeline: [{at: 5, addTasks: {jobId: j, tasks: [{id: c, commandLine: x}]}}]",
        ),
        scenario(job=f"{DEPENDS}, jobManagerTask: {{id: m, commandLine: x}}", tasks=tasks(task("b", "taskIds: [m]"))),
    ],
    "dependency-circle": [
        scenario(
            job=DEPENDS,
            tasks=tasks(
                task("a"), task("b", "taskIds: [a]"), task("c", "taskIds: [a]"), task("d", "taskIds: [b, c, a]")
            ),
        ),
    ],
    "signature-expires": [
        scenario(tasks=tasks(with_file(f"{BLOB}/in/x?sig=a&se=2026-01-06T07%3A00%3A00Z"))),
        scenario(tasks=tasks(with_file(f"{BLOB}/in/x")), more=ends("PT1H")),
        scenario(tasks=uploads(f"{BLOB}/out?sig=a", simulate="{duration: PT1H}"), more=ends("PT2H")),
        start_task(f"{BLOB}/x?se=2026-01-05T09:00:00Z", "until: P1D"),
        start_task(f"{BLOB}/x", ends("P1D") + "timeline: [{at: PT2H, rebootNode: {poolId: p, node: 0}}]"),
        start_task(f"{BLOB}/x", ends("P1D") + "timeline: [{at: P2D, deletePool: {poolId: p}}]"),
    ],
    "preparation-without-limit": [
        scenario(job=PREPARED % ""),
        scenario(job=PREPARED % LOW % "PT30M", more="until: PT20M"),
        scenario(job=PREPARED % LOW % "PT2H", more="until: PT3H"),
        scenario(job=PREPARED % (LOW % "P30D" + ", constraints: {maxWallClockTime: PT1H}")),
        scenario(job=PREPARED % LOW % "{normal: [PT10M, PT1M]}", more="until: P1D"),
    ],
    "limit-too-short": [
        scenario(tasks=tasks(task("t", constraints="{maxWallClockTime: PT2H}", simulate="{duration: PT2H}"))),
        scenario(tasks=tasks(task("t", constraints="{maxWallClockTime: PT1M}"))),
        scenario(
            tasks=tasks(
                task("t", constraints="{maxWallClockTime: PT1M}", simulate="{duration: {uniform: [PT30S, PT2H]}}")
            )
        ),
        scenario(
            job=", constraints: {maxWallClockTime: PT1H}",
            tasks=tasks(task("t", simulate="{duration: PT2H}")),
            more="timeline: [{at: 5, updateJob: {jobId: j, constraints: {maxWallClockTime: P1D}}}]",
        ),
    ],
    "formula-unknown-name": [
        scaled("n = 1; m = n; $TargetDedicatedNodes = min(m, $CurrentDedicated) + time().hour * 0;"),
        scaled(
            "stop(); $TargetDedicatedNodes = avg($CPUPercent.GetSample(TimeInterval_Minute, 0)) + $TargetDedicated;"
        ),
    ],
    "no-shell": [
        scenario(tasks=tasks(f"{{id: t, commandLine: sh -c 'a && b'{LOW % 'PT1M'}}}")),
        scenario(tasks=tasks(f"{{id: t, commandLine: bash -c 'cat < /etc/none'{LOW % 'PT1M'}}}")),
    ],
    "disk-too-small": [
        scenario(tasks=writes("15 GB")),
        scenario(tasks=writes("6 GB", "PT1M", 3)),
        scenario(tasks=writes("6 GB", number=3)).replace("targetDedicatedNodes: 1", "targetDedicatedNodes: 2"),
        scenario(tasks=writes("20 GB")).replace("standard_d2s_v3", "standard_d8s_v3"),
    ],
    "endless-formula": [
        scaled("$TargetDedicatedNodes = 3;"),
        unended(scaled("$TargetDedicatedNodes = 3;")) + "timeline: [{at: PT1H, deletePool: {poolId: Q}}]",
        unended(scaled("$TargetDedicatedNodes = 3;"))
        + "timeline: [{when: {jobId: j, state: completed}, disablePoolAutoScale: {poolId: q}}]",
        scenario(
            more="timeline: [{at: 5, evaluatePoolAutoScale: {poolId: p, autoScaleFormula: $TargetDedicatedNodes = 1}}]"
        ),
    ],
    "formula-ignores-slots": [
        scaled("$TargetDedicatedNodes = $PendingTasks.GetSample(1);", 1),
        scaled("$TargetDedicatedNodes = $PendingTasks / $TaskSlotsPerNode + 0.9;"),
        scaled("$TargetDedicatedNodes = ceil($PendingTasks / 4);"),
        scaled("$TargetDedicatedNodes = $PendingTasks > 0 ? 3 : 0;"),
        scaled("$TargetDedicatedNodes = $PendingTasks > 10 ? 10 : 1;"),
        scaled("$TargetDedicatedNodes = $PendingTasks.GetSample(1);", 4, tasks(task("a", requiredSlots=4))),
        scaled("$TargetDedicatedNodes = 3;"),
    ],
    "unknown-job": [
        scenario(more="timeline: [{at: 5, terminateJob: {jobId: J}}]"),
        scenario(more="timeline: [{at: 5, terminateJob: {jobId: i}, refused: JobNotFound}]"),
        scenario(
            more="timeline: [{at: 1, createJob: {id: i, poolInfo: {poolId: p}}}, {at: 5, terminateJob: {jobId: i}}]"
        ),
        scenario(
            more="jobSchedules: [{id: s, schedule: {recurrenceInterval: PT1H}, jobSpecification: {poolInfo: "
            "{poolId: p}, jobManagerTask: {id: m, commandLine: x, simulate: {does: [{addTasks: {tasks: [{id: u, "
            "commandLine: x}]}}]}}}}]\nuntil: PT2H\n"
            "timeline: [{at: 5, terminateTask: {jobId: 's:job-1', taskId: u}}]"
        ),
    ],
    "unknown-task": [
        scenario(
            job=f", taskFactory: {SWEEP % ('u{0}', '')}",
            more="timeline: [{at: 5, terminateTask: {jobId: j, taskId: u3}}]",
        ),
        scenario(
            more="timeline: [{at: 1, addTasks: {jobId: j, tasks: [{id: u, commandLine: x}]}}, "
            "{at: 5, terminateTask: {jobId: j, taskId: U}}]"
        ),
    ],
    "unknown-node": [
        scenario(more="timeline: [{at: 5, rebootNode: {poolId: p, node: 0}}]"),
        scenario(
            more="timeline: [{at: 1, resizePool: {poolId: p, targetDedicatedNodes: 2}}, "
            "{at: PT5M, rebootNode: {poolId: p, node: 1}}]"
        ),
        scenario(
            pools=formula("$TargetDedicatedNodes = 3;"), more="timeline: [{at: 5, rebootNode: {poolId: q, node: 9}}]"
        ),
    ],
}


@pytest.mark.parametrize(("code", "text"), [(code, text) for code, listed in TRAPS.items() for text in listed])
def test_a_trap_is_told_once_by_its_code(code, text):
    assert codes(text) == [code]


@pytest.mark.parametrize("text", [text for listed in HARMLESS.values() for text in listed])
def test_the_nearest_scenario_without_the_trap_has_no_warning(text):
    assert codes(text) == []


def test_every_code_is_in_the_table_and_every_code_of_the_table_is_used():
    source = "\n".join(path.read_text() for path in Path(engine.__file__).parent.rglob("*.py"))
    said = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    assert set(WARNINGS) <= said
    assert list(WARNINGS) == sorted(WARNINGS)
    assert all(re.fullmatch(r"[A-Z`].{20,110}\.", text) for text in WARNINGS.values())


def test_a_file_that_is_json_has_the_same_traps_in_its_timeline():
    body = yaml.safe_load(scenario(TALKS + ", taskSlotsPerNode: 2", job=DEPENDS))
    body["timeline"] = [
        {"at": 5, "addTasks": {"jobId": job, "tasks": [{"id": "u", "commandLine": "x"} | SHORT | more]}}
        for job, more in [
            ("j", {"multiInstanceSettings": {"numberOfInstances": 2, "coordinationCommandLine": "y"} | SHORT}),
            ("j", {"requiredSlots": 3}),
            ("j", {"dependsOn": {"taskIds": ["v"]}}),
            ("i", {}),
        ]
    ]
    found = codes(json.dumps(body))
    assert sorted(found) == ["multi-instance-pool", "too-few-slots", "unknown-dependency", "unknown-job"]


SHORT = {"simulate": {"duration": "PT1M"}}
IGNORED = """\
scenario: s # batchdeck: ignore[a, b-c]
x: "# batchdeck: ignore[in-string]"  # batchdeck: ignore[d]
y: | # batchdeck: ignore[heading]
  # batchdeck: ignore[body]
  text
z: [1, {a: 'it''s # batchdeck: ignore[quoted]'}, 2] # known: batchdeck:ignore[flow]
w: &anchor {a: 1} # batchdeck: ignore[anchor]
v: plain#batchdeck:ignore[plain]
u: "two
  lines # batchdeck: ignore[still]" # batchdeck: ignore[behind]
t: plain text # one # batchdeck: ignore[last]
"""


def test_only_a_comment_silences_and_only_on_its_line():
    assert list(ignored_codes(IGNORED)) == [
        *((1, "a"), (1, "b-c"), (2, "d"), (3, "heading"), (6, "flow"), (7, "anchor"), (10, "behind"), (11, "last"))
    ]
    assert ignored_codes("a: 'x # batchdeck: ignore[a]") == {}


def test_a_code_that_does_not_exist_is_told_with_the_nearest():
    (warning,) = warnings("scenario: s # batchdeck: ignore[size-unknow]\n")
    assert str(warning) == (
        "s.yaml:1:33: warning: [unknown-code] no warning has the code 'size-unknow': did you mean 'size-unknown'?"
    )
    assert codes("scenario: s # batchdeck: ignore[size-unknow, unknown-code]\n") == []


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (
            scenario(job=DEPENDS, tasks=tasks(task("part1"), task("b", "taskIds: [part1, part2]"))),
            "jobs[0].tasks[1].dependsOn.taskIds[1]",
            "nothing adds the task 'part2' to the job, and the task waits for it for ever (DEP-5): did you mean "
            "'part1'?",
        ),
        (
            scenario(job=DEPENDS, tasks=tasks(task("a", "taskIds: [b]"), task("b", "taskIds: [a]"))),
            "jobs[0].tasks[0].dependsOn",
            "tasks that wait for each other never run (DEP-7): a -> b -> a",
        ),
        (
            scenario(more="timeline: [{at: 5, terminateTask: {jobId: j, taskId: tt}}]"),
            "timeline[0].terminateTask.taskId",
            "no part of the scenario creates the task 'tt': did you mean 't'?",
        ),
        (
            scaled("n = 1;\n$TargetDedicatedNodes = $ActiveTask.GetSample(1);".replace("\n", "\\n")),
            "pools[1].autoScaleFormula",
            "an evaluation fails that comes to Line 2, Col 25: Unknown variable $ActiveTask; did you mean "
            "$ActiveTasks? (AS-66)",
        ),
        (
            scenario(tasks=tasks(task("t", constraints="{maxWallClockTime: PT1M}", simulate="{duration: PT2H}"))),
            "jobs[0].tasks[0].constraints.maxWallClockTime",
            "the task takes PT2H or more: it is stopped after PT1M and fails (RETRY-8)",
        ),
        (
            scenario(tasks=tasks(f"{{id: t, commandLine: cmd /c dir{LOW % 'PT1M'}}}")),
            "jobs[0].tasks[0].commandLine",
            "a Linux node has no program cmd: its process ends with CommandProgramNotFound (NODE-1); 'simulate' hides "
            "this here",
        ),
        (
            scenario(more="timeline: [{at: 5, rebootNode: {poolId: p, node: 1}}]"),
            "timeline[0].rebootNode.node",
            "the pool 'p' has no node 1: they count from 0 to 0",
        ),
    ],
)
def test_a_trap_is_told_where_it_is(text, place, message):
    (warning,) = warnings(text)
    assert (warning.path, warning.message) == (place, message)


# Lines that differ only in numbers, of which each pair differs in what is wrong with it, or in nothing.
NUMBERED = [
    ("sh -c 'work --in a_%s.csv 2>&1 | sort > b-%s'", [("1", "1"), ("20", "3")], [[], []]),
    ("sh -c 'cp x /data/%s; cat /data/%s'", [("1", "1"), ("1", "12"), ("1", "2")], [[], [], ["system-file"]]),
    ("sh -c 'ls /lib%s'", [("64",), ("65",)], [["system-file"], ["system-file"]]),
    ("sh -c 'cat /lib%s'", [("64",), ("65",)], [[], ["system-file"]]),
    ("sh -c 'work <<END%s\nb\nEND%s\nfi'", [("1", "1"), ("1", "2")], [["shell-syntax"], []]),
    ("sh -c 'work >&%s'", [("1",), ("2",), ("12",)], [[], [], ["shell-syntax"]]),
    ("work %s> out", [("2",), ("x",)], [["no-shell"], []]),
    ("bash -c 'work ${x:%s:%s}'", [("1", "2"), ("3", "4")], [["shell-unreadable"]] * 2),
    ("sh -c 'nice -%s cat /data/x'", [("0",), ("1",)], [["system-file"]] * 2),
    ("C:\\\\work%s.exe", [("1",), ("22",)], [["wrong-shell"], ["wrong-shell"]]),
]


@pytest.mark.parametrize(("line", "numbers", "expected"), NUMBERED)
@pytest.mark.parametrize("is_turned", [False, True])
def test_a_line_that_differs_in_numbers_has_its_own_warnings(line, numbers, expected, is_turned):
    lines = [line % each for each in numbers]
    pairs = list(zip(lines, expected, strict=True))[:: -1 if is_turned else 1]
    bodies = [{"id": str(k), "commandLine": text} for k, (text, _) in enumerate(pairs)]
    assert codes(scenario(tasks=json.dumps(bodies))) == [code for _, found in pairs for code in found]


def test_lines_that_differ_in_numbers_are_read_once(monkeypatch):
    read = []
    traps_of = engine.shell.small_shell.traps_of
    monkeypatch.setattr("engine.shell.small_shell.traps_of", lambda *line: read.append(line) or traps_of(*line))
    lines = [f"sh -c 'cd $HOME && price --deal {k} > out-{k:03}.csv'" for k in range(500)]
    bodies = [{"id": str(k), "commandLine": line} for k, line in enumerate(lines)]
    assert not codes(scenario(tasks=json.dumps(bodies)))
    assert len(read) == 1
