"""Reading what processes do and wait for: its mistakes, with line and column, and what it declares."""

from __future__ import annotations

import pytest

from engine import Simulation
from engine.base.errors import ScenarioError
from engine.scenario.load import load
from engine.scenario.record import GivenCommand, dump
from engine.specs.commands import AddTasks

POOLS = "scenario: s\npools:\n  - {id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1%s}\n"
JOB = POOLS % "" + "jobs:\n  - id: j\n    poolInfo: {poolId: p}\n    tasks: [{id: t, commandLine: x, simulate: {%s}}]\n"
STARTS = POOLS % ", startTask: {commandLine: x, simulate: {%s}}"
SWEEP = "{type: parametricSweep, parameterSets: [{start: 1, end: 3}], repeatTask: %s}"

# The place of the mistake is marked.
MISTAKES = [
    ("does: [{^at: PT5S, enableJob: {}}]", "does[0].at", "use 'after'"),
    ("does: [{^refused: JobNotFound, enableJob: {}}]", "does[0].refused", "leave it out"),
    ("does: [{after: ^noon, enableJob: {}}]", "does[0].after", "such as PT10S"),
    ("does: [{after: ^2026-01-05T08:00:10Z, enableJob: {}}]", "does[0].after", "such as PT10S"),
    ("does: [{after: ^-5, enableJob: {}}]", "does[0].after", "before"),
    ("does: [{^afer: 5, enableJob: {}}]", "does[0].afer", "did you mean 'after'?"),
    ("does: [{^enableJobs: {}}]", "does[0].enableJobs", "did you mean 'enableJob'?"),
    ("does: [{enableJob: {}, ^disableJob: {disableTasks: wait}}]", "does[0].disableJob", "a second operation"),
    ("does: [^{after: 5}]", "does[0]", "names no operation"),
    ("does: [^enableJob]", "does[0]", "must be a mapping"),
    ("does: ^{enableJob: {}}", "does", "must be a list of commands"),
    ("^dose: []", "dose", "did you mean 'does'?"),
    ("does: [{addTasks: {tasks: [{id: c, commandLine: x, ^slots: 2}]}}]", "does[0].addTasks.tasks[0].slots", "exist"),
    ("does: [{when: {taskId: ^nobody, state: running}, enableJob: {}}]", "does[0].when.taskId", "the task 'nobody'"),
    ("does: [{when: {jobId: ^k, state: active}, enableJob: {}}]", "does[0].when.jobId", "the job 'k'"),
    ("does: [{when: {^stat: active}, enableJob: {}}]", "does[0].when.stat", "did you mean 'state'?"),
    ("duration: 5, until: ^othersCompleted", "until", "give one of them"),
    ("until: ^othersComplete", "until", "must be othersCompleted"),
    ("until: ^PT5M", "until", "a time is a 'duration'"),
    ("until: ^5", "until", "must be othersCompleted or a condition"),
    ("until: {^stat: completed}", "until.stat", "did you mean 'state'?"),
    ("until: {taskId: ^u, state: completed}", "until.taskId", "the task 'u'"),
    ("attempts: [{does: [{^at: 5, enableJob: {}}]}]", "attempts[0].does[0].at", "use 'after'"),
    ("onNode: {0: {until: ^never}}", "onNode.0.until", "must be othersCompleted"),
    (
        "does: [{addTasks: {tasks: [{id: c, commandLine: x, simulate: {until: ^soon}}]}}]",
        "does[0].addTasks.tasks[0].simulate.until",
        "must be othersCompleted",
    ),
]


def marked(text: str) -> tuple[str, int, int]:
    """The text without the mark, and the line and column of the mark."""
    before = text[: text.index("^")]
    return text.replace("^", ""), before.count("\n") + 1, len(before) - before.rfind("\n")


def problems(text: str) -> list[tuple[int, int, str, str]]:
    with pytest.raises(ScenarioError) as caught:
        load("s.yaml", text=text)
    return [(problem.line, problem.column, problem.path, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize(("simulate", "path", "message"), MISTAKES)
def test_jm_11_a_mistake_is_reported_where_it_is(simulate, path, message):
    text, line, column = marked(JOB % simulate)
    ((*place, found_path, found),) = problems(text)
    assert place == [line, column]
    assert found_path.replace('["0"]', ".0") == f"jobs[0].tasks[0].simulate.{path}"
    assert message in found


@pytest.mark.parametrize(
    ("simulate", "message"),
    [
        ("does: [{^addTasks: {tasks: []}}]", "a start task has no job of its own"),
        ("does: [{addTasks: {jobId: j, ^task: []}}]", "did you mean 'tasks'?"),
        ("until: ^othersCompleted", "a start task has no job"),
        ("^until: {taskId: t, state: completed}", "jobId is missing"),
    ],
)
def test_jm_11_a_start_task_has_no_job_of_its_own(simulate, message):
    text, line, column = marked(STARTS % simulate)
    ((*place, _, found),) = problems(text)
    assert place == [line, column]
    assert message in found


def test_jm_11_a_template_is_checked_with_its_numbers_filled_in():
    task = (
        '{id: "t{0}", commandLine: x, simulate: {does: [{^at: 5, addTasks: {tasks: [{id: "c{0}", commandLine: x}]}}]}}'
    )
    text, line, column = marked(
        POOLS % "" + f"jobs:\n  - {{id: j, poolInfo: {{poolId: p}}, taskFactory: {SWEEP % task}}}\n"
    )
    ((*place, path, _),) = problems(text)
    assert place == [line, column]
    assert path == "jobs[0].taskFactory.repeatTask.simulate.does[0].at"


EXPECTS = """
expect:
  - {jobId: j, taskId: child, state: completed}
  - {jobId: other, taskId: x, state: completed}
  - {poolId: more, state: active}
"""
MAKES = """does: [{addTasks: {tasks: [{id: child, commandLine: x}]}},
      {createJob: {id: other, poolInfo: {poolId: p}, tasks: [{id: x, commandLine: x}]}},
      {createPool: {id: more, vmSize: standard_d2s_v3}}]"""


def test_jm_11_expectations_may_name_what_only_processes_make():
    load("s.yaml", text=JOB % MAKES + EXPECTS)
    assert [path for *_, path, _ in problems(JOB % "" + EXPECTS)] == [
        "expect[0].taskId",
        "expect[1].jobId",
        "expect[2].poolId",
    ]


def test_jm_11_expectations_may_name_what_the_jobs_of_a_schedule_add():
    manager = (
        "jobManagerTask: {id: m, commandLine: x, simulate: {does: [{addTasks: {tasks: [{id: a, commandLine: x}]}}]}}"
    )
    schedule = (
        f"jobSchedules:\n  - {{id: s, schedule: {{}}, jobSpecification: {{poolInfo: {{poolId: p}}, {manager}}}}}\n"
    )
    text = POOLS % "" + schedule + 'expect:\n  - {jobId: "s:job-2", taskId: %s, state: completed}\n'
    load("s.yaml", text=text % "a")
    ((*_, path, _),) = problems(text % "b")
    assert path == "expect[0].taskId"


def test_jm_11_expectations_may_name_what_the_tasks_of_a_factory_add():
    task = '{id: "t{0}", commandLine: x, simulate: {does: [{addTasks: {tasks: [{id: "c{0}", commandLine: x}]}}]}}'
    text = POOLS % "" + f"jobs:\n  - {{id: j, poolInfo: {{poolId: p}}, taskFactory: {SWEEP % task}}}\n"
    expect = "expect:\n  - {jobId: j, taskId: %s, state: completed}\n"
    load("s.yaml", text=text + expect % "c3")
    assert len(problems(text + expect % "c4")) == 1


def test_jm_11_what_a_command_given_by_hand_does_is_checked_before_it_is_given():
    simulation = Simulation(load("s.yaml", text=JOB % ""))
    task = {"id": "u", "commandLine": "x", "simulate": {"does": [{"at": 5, "enableJob": {}}]}}
    with pytest.raises(ScenarioError, match="use 'after'"):
        simulation.submit(AddTasks.from_wire({"jobId": "j", "tasks": [task]}))
    assert not simulation.journal.by_hand()


def test_jm_11_a_saved_scenario_does_the_same():
    text = (
        JOB % "until: {taskId: c, state: completed}, does: [{after: 5, addTasks: {tasks: [{id: c, commandLine: x}]}}]"
    )
    waiting = {"id": "u", "commandLine": "x", "simulate": {"until": {"taskId": "t", "state": "completed"}}}
    command = AddTasks.from_wire({"jobId": "j", "tasks": [waiting]})
    simulation = Simulation(load("s.yaml", text=text.replace("Nodes: 1", "Nodes: 3")))
    simulation.submit(command)
    simulation.run_until(simulation.end_ms)
    saved = load("s.yaml", text=dump(simulation.scenario, [GivenCommand(1, command)]))
    again = Simulation(saved)
    again.run_until(again.end_ms)
    assert list(again.json_lines()) == list(simulation.json_lines())
    assert '"taskId":"u","from":"running","to":"completed"' in "".join(again.json_lines())
