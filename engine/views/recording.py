"""The recording of a run in which programs really ran: its scenario, in which they are simulated as they were seen.

It replays to the same log without starting anything. Where a command line ran on several nodes or several times, its
``simulate`` has ``onNode`` and ``attempts``; a program that was stopped from outside lasts longer than any run.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.base.values import DAY_MS, format_duration, parse_duration
from engine.scenario.record import GivenCommand, document_text, dump
from engine.scenario.tree import parse_valid
from engine.specs.commands import AddTasks, CreateJob, CreateJobSchedule, CreatePool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.run.simulation import Simulation
    from engine.scenario.model import Scenario
    from engine.shell.protocol import Executed
    from engine.specs.bodies import TaskSpec
    from engine.specs.command import Command
    from engine.state.task_records import TaskSource

_ENDLESS_MS = 1000 * DAY_MS
# How many parts of a subject do not name a node, where it is not two.
_OWN = {"task": 3, "coordination": 3}
_TASKS = ("tasks", "taskFactory")
_ALWAYS = ("exitCode", "stdout", "found")  # also where nothing is in them
_ABOUT_ENTRY = ("at", "when", "after", "refused")


class _Seen:
    """What was seen, by the subjects of processes, without the node."""

    def __init__(self, executed: Iterable[Executed]) -> None:
        self._runs: dict[tuple[str, ...], dict[int, dict[int, dict[str, Any]]]] = {}
        for one in executed:
            on_nodes = self._runs.setdefault(one.subject[: _OWN.get(one.subject[0], 2)], {})
            on_nodes.setdefault(one.position, {})[one.attempt] = _simulate(one)

    def put(self, body: object, kind: str, *ids: str) -> bool:
        """Put the ``simulate`` of a process into its body in place of what that has; return whether it was seen."""
        nodes = self._runs.get((kind, *map(str.lower, ids)))
        if nodes is None or not isinstance(body, dict):
            return False
        body["execute"] = False
        if kind == "task":
            body["simulate"] = _attempts({attempt: run for runs in nodes.values() for attempt, run in runs.items()})
        else:
            body["simulate"] = _by_node({node: _attempts(runs) for node, runs in sorted(nodes.items())})
        return True

    def put_tasks(self, job_id: str, tasks: Sequence[TaskSpec], factory: TaskSource | None) -> list[Any] | None:
        """Return all tasks, listed, with what was seen of them; None if nothing was."""
        made = () if factory is None else map(factory.spec, range(factory.count))
        specs = [*tasks, *made]
        bodies = [spec.written() for spec in specs]
        found = [
            self.put(body, "task", job_id, body["id"])
            | self.put(body.get("multiInstanceSettings"), "coordination", job_id, body["id"])
            for body in bodies
        ]
        return bodies if any(found) else None

    def put_job(
        self, body: dict[str, Any], job_id: str, tasks: Sequence[TaskSpec] = (), factory: TaskSource | None = None
    ) -> bool:
        """Put what was seen of everything in a job into its body."""
        manager = body.get("jobManagerTask")
        found = [
            self.put(body.get("jobPreparationTask"), "PREP", job_id),
            self.put(body.get("jobReleaseTask"), "RELEASE", job_id),
            isinstance(manager, dict) and self.put(manager, "task", job_id, manager["id"]),
        ]
        listed = self.put_tasks(job_id, tasks, factory)
        if listed is not None:
            body.pop("taskFactory", None)
            body["tasks"] = listed
        return any(found) or listed is not None

    def command(self, command: Command, tasks: Sequence[TaskSpec], factory: TaskSource | None) -> dict[str, Any] | None:
        """Return the body of a command with what was seen of what it has created; None if nothing was."""
        body, found = command.wire(), False
        match command:
            case CreatePool():
                found = self.put(body.get("startTask"), "start task", command.id)
            case CreateJob():
                found = self.put_job(body, command.id, tasks, factory)
            case AddTasks():
                listed = self.put_tasks(command.job_id, tasks, factory)
                found = listed is not None
                body = {"jobId": command.job_id, "tasks": listed}
            case CreateJobSchedule():
                found = self.put_job(body["jobSpecification"], f"{command.id}:job-1")
        return body if found else None


def _simulate(one: Executed) -> dict[str, Any]:
    """Return the ``simulate`` of one start of a process."""
    if one.seen is None:
        return {"duration": format_duration(_ENDLESS_MS)}
    return {name: value for name, value in one.seen.simulate.written().items() if value or name in _ALWAYS}


def _attempts(runs: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    if set(runs) == {1}:
        return runs[1]
    return {"attempts": [runs.get(attempt, {}) for attempt in range(1, max(runs) + 1)]}


def _by_node(seen: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """Return what was seen on each node: plain values of a usual one, which hold for others too, and what differs.

    Usual are the exit code of most nodes, or success, and the median duration of those.
    """
    plain = [runs for runs in seen.values() if "exitCode" in runs and "fails" not in runs]
    if not plain:
        return {"onNode": dict(seen)}
    codes = Counter(runs["exitCode"] for runs in plain)
    plain.sort(key=lambda runs: (-codes[runs["exitCode"]], runs["exitCode"], parse_duration(runs["duration"]) or 0))
    usual = plain[codes[plain[0]["exitCode"]] // 2]
    on_node = {node: _beside(usual, runs) for node, runs in seen.items() if runs != usual}
    return usual | ({"onNode": on_node} if on_node else {})


def _beside(usual: Mapping[str, Any], runs: dict[str, Any]) -> dict[str, Any]:
    """Return what is to be said of a node, or of one of its attempts, beside the values of a usual one."""
    if "attempts" in runs:
        return {"attempts": [_beside(usual, run) for run in runs["attempts"]]}
    whole = {name: type(usual[name])() for name in ("stdout", "stderr", "writes") if name in usual} | runs
    return {name: value for name, value in whole.items() if value != usual.get(name)}


def recording(simulation: Simulation, codes: Mapping[int, str]) -> str:
    """Return the YAML of a run's scenario as it was seen, with every command that was given by hand.

    ``codes`` are those with which commands were refused, by the identity of the command.
    """
    scenario, seen = simulation.scenario, _Seen(simulation.executed.values())
    text = scenario.source.text if scenario.variant is None else document_text(scenario.variant.document.plain)
    before = parse_valid(text).plain
    assert isinstance(before, dict)
    document = before | _sections(scenario, seen, before)
    given = []
    for one in simulation.journal.by_hand():
        body = seen.command(one.command, one.extras.tasks, one.extras.factory)
        command = one.command if body is None else type(one.command).from_wire(body)
        given.append(GivenCommand(one.when_ms, command, codes.get(id(one.command))))
    if document != before:
        text = document_text(document)
    source = replace(scenario.source, text=text)
    return dump(replace(scenario, source=source, variant=None, seed=simulation.seed), given)


def _sections(scenario: Scenario, seen: _Seen, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of a scenario with what was seen of what they create."""
    pools, jobs, schedules, timeline = (
        list(document.get(key) or ()) for key in ("pools", "jobs", "jobSchedules", "timeline")
    )
    for index, pool in enumerate(scenario.pools):
        body = pool.spec.written()
        if seen.put(body.get("startTask"), "start task", pool.spec.id):
            pools[index] = _at(pool.at_ms) | body
    for index, job in enumerate(scenario.jobs):
        body = job.spec.written()
        if seen.put_job(body, job.spec.id, job.tasks, job.factory):
            kept = {} if "tasks" in body else {key: jobs[index][key] for key in _TASKS if key in jobs[index]}
            jobs[index] = _at(job.at_ms) | body | kept
    for index, schedule in enumerate(scenario.job_schedules):
        body = schedule.spec.written()
        if seen.put_job(body["jobSpecification"], f"{schedule.spec.id}:job-1"):
            schedules[index] = _at(schedule.at_ms) | body
    for entry in scenario.timeline:
        body_of_command = seen.command(entry.command, entry.tasks, entry.factory)
        if body_of_command is not None:
            about = {name: value for name, value in timeline[entry.index].items() if name in _ABOUT_ENTRY}
            timeline[entry.index] = about | {entry.command.NAME: body_of_command}
    sections = {"pools": pools, "jobs": jobs, "jobSchedules": schedules, "timeline": timeline}
    return {key: entries for key, entries in sections.items() if entries}


def _at(at_ms: int) -> dict[str, Any]:
    return {"at": format_duration(at_ms)} if at_ms else {}
