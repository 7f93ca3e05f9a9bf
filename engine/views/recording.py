"""The recording of a run in which programs really ran: its scenario, in which they are simulated as they were seen.

It replays to the same log without starting anything. Where a command line ran on several nodes or several times, its
``simulate`` has ``onNode`` and ``attempts``; a program that was stopped from outside lasts longer than any run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engine.base.values import DAY_MS, format_duration, parse_duration, shortened
from engine.rules.commands import NOTHING, Extras
from engine.scenario.record import GivenCommand, document_text, dump
from engine.scenario.tree import parse_valid
from engine.specs.commands import AddTasks, CreateJob, CreateJobSchedule, CreatePool, UpdatePool
from engine.views.results import refused_codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engine.run.simulation import Simulation
    from engine.scenario.model import Scenario
    from engine.shell.protocol import Executed
    from engine.specs.bodies import TaskSpec
    from engine.specs.command import Command
    from engine.state.task_records import TaskSource

    _Owned = tuple[tuple[str, ...], int]  # a process without its node, and when its owner was created

NOT_RECORDED = "# Programs that are not recorded here, and so are simulated otherwise:"
"""The beginning of the first line of a recording that does not replay to the same log."""
_ENDLESS_MS = 1000 * DAY_MS
# How many parts of a subject do not name a node, where it is not two.
_OWN = {"task": 3, "coordination": 3}
_ALWAYS = ("exitCode", "stdout", "found")  # also where nothing is in them
_ABOUT = ("at", "when", "after", "refused")  # an entry of the scenario
_TASKS = ("tasks", "taskFactory")
_MOST_NAMED = 500  # characters
_position = attrgetter("position")
_CALLED = {"PREP": "preparation", "RELEASE": "release"}


class _Seen:
    """What was seen of each process: of what kind, of which owner by its ids, and when that was created.

    A job that is deleted and created again has other programs than the first one of its id. ``left`` are those that
    nothing in the recording has.
    """

    def __init__(self, executed: Iterable[Executed]) -> None:
        self._starts: defaultdict[_Owned, list[Executed]] = defaultdict(list)
        for one in executed:
            self._starts[one.subject[: _OWN.get(one.subject[0], 2)], one.created_ms].append(one)
        self._last_ms = dict(sorted(self._starts))
        self.left = set(self._starts)

    def put(self, body: object, created_ms: int | None, kind: str, *ids: str) -> bool:
        """Put the ``simulate`` of a process into its body in place of what that has; return whether it was seen.

        Without ``created_ms`` it is that of the last owner.
        """
        subject = (kind, *map(str.lower, ids))
        owned = subject, self._last_ms.get(subject, 0) if created_ms is None else created_ms
        starts = self._starts.get(owned)
        if starts is None or not isinstance(body, dict):
            return False
        self.left.discard(owned)
        body["execute"] = False
        if kind == "task":
            body["simulate"] = _attempts(starts)
        else:
            on_nodes = groupby(sorted(starts, key=_position), _position)
            body["simulate"] = _by_node({position: _attempts(runs) for position, runs in on_nodes})
        return True

    def put_tasks(
        self, job_id: str, created_ms: int | None, tasks: Sequence[TaskSpec], factory: TaskSource | None
    ) -> list[Any] | None:
        """Return all tasks, listed, with what was seen of them; None if nothing was."""
        made = () if factory is None else map(factory.spec, range(factory.count))
        bodies = [spec.written() for spec in (*tasks, *made)]
        found = [
            self.put(body, created_ms, "task", job_id, body["id"])
            | self.put(body.get("multiInstanceSettings"), created_ms, "coordination", job_id, body["id"])
            for body in bodies
        ]
        return bodies if any(found) else None

    def put_job(self, body: dict[str, Any], created_ms: int | None, job_id: str, extras: Extras = NOTHING) -> bool:
        """Put what was seen of everything in a job into its body."""
        manager = body.get("jobManagerTask")
        found = [
            self.put(body.get("jobPreparationTask"), created_ms, "PREP", job_id),
            self.put(body.get("jobReleaseTask"), created_ms, "RELEASE", job_id),
            isinstance(manager, dict) and self.put(manager, created_ms, "task", job_id, manager["id"]),
        ]
        listed = self.put_tasks(job_id, created_ms, *extras)
        if listed is not None:
            body.pop("taskFactory", None)
            body["tasks"] = listed
        return any(found) or listed is not None

    def body(self, command: Command, extras: Extras, at_ms: int | None) -> dict[str, Any] | None:
        """Return the body of a command with what was seen of what it has created; None if nothing was."""
        body, found = command.wire(), False
        match command:
            case CreatePool():
                found = self.put(body.get("startTask"), at_ms, "start task", command.id)
            case UpdatePool():
                found = self.put(body.get("startTask"), None, "start task", command.pool_id)
            case CreateJob():
                found = self.put_job(body, at_ms, command.id, extras)
            case AddTasks():
                listed = self.put_tasks(command.job_id, at_ms, *extras)
                found = listed is not None
                body = {"jobId": command.job_id, "tasks": listed}
            case CreateJobSchedule():
                found = self.put_job(body["jobSpecification"], None, f"{command.id}:job-1")
        return body if found else None

    def warning(self) -> str:
        """Return a line about the programs that the recording does not have; nothing if it has them all."""
        names = sorted(f"{_CALLED.get(kind, kind)} {'/'.join(ids)}" for (kind, *ids), _ in self.left)
        return f"{NOT_RECORDED} {shortened(', '.join(names), _MOST_NAMED)}\n" if names else ""


def _simulate(one: Executed) -> dict[str, Any]:
    """Return the ``simulate`` of one start of a process."""
    if one.seen is None:
        return {"duration": format_duration(_ENDLESS_MS)}
    return {name: value for name, value in one.seen.simulate.written().items() if value or name in _ALWAYS}


def _attempts(starts: Iterable[Executed]) -> dict[str, Any]:
    """Return the ``simulate`` of all starts of a process."""
    runs = {one.attempt: _simulate(one) for one in starts}
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


def recorded(sim: Simulation) -> str:
    """Return the YAML of the scenario with every command given by hand in its timeline. It replays to the same log."""
    codes = refused_codes(sim)
    if sim.executed:
        return _recording(sim, codes)
    given = [GivenCommand(one.when_ms, one.command, codes.get(id(one.command))) for one in sim.journal.by_hand()]
    return dump(replace(sim.scenario, seed=sim.seed), given)


def _recording(simulation: Simulation, codes: Mapping[int, str]) -> str:
    """Return the YAML of a run's scenario as it was seen, with every command that was given by hand.

    ``codes`` are those with which commands were refused, by the identity of the command. What it cannot have, such as
    programs of the later recurrences of a schedule, is named in its first line, after ``NOT_RECORDED``.
    """
    scenario, seen = simulation.scenario, _Seen(simulation.executed.values())
    text = scenario.source.text if scenario.variant is None else document_text(scenario.variant.document.plain)
    before: Any = parse_valid(text).plain
    document = before | {name: list(before.get(name) or ()) for name in (*_SECTIONS, "timeline") if before.get(name)}
    entries: list[tuple[str, int, Command, Extras, int | None]] = []
    for (section, index), one in zip(_places(scenario), simulation.journal.of_scenario(), strict=True):
        entries.append((section, index, one.command, one.extras, one.when_ms))
    come_true_ms = {id(one.command): one.when_ms for one in simulation.journal.conditions()}
    for entry in (each for each in scenario.timeline if each.when is not None):
        extras, when_ms = Extras(entry.tasks, entry.factory), come_true_ms.get(id(entry.command))
        entries.append(("timeline", entry.index, entry.command, extras, when_ms))
    for section, index, command, extras, when_ms in entries:
        body = seen.body(command, extras, when_ms)
        if body is not None:
            before_it = document[section][index]
            if section == "timeline":
                body = {command.NAME: body}
            elif "tasks" not in body:
                body |= {name: before_it[name] for name in _TASKS if name in before_it}
            document[section][index] = {name: before_it[name] for name in _ABOUT if name in before_it} | body
    given = []
    for one in simulation.journal.by_hand():
        body = seen.body(one.command, one.extras, one.when_ms)
        command = one.command if body is None else type(one.command).from_wire(body)
        given.append(GivenCommand(one.when_ms, command, codes.get(id(one.command))))
    if document != before:
        text = document_text(document)
    source = replace(scenario.source, text=text)
    return seen.warning() + dump(replace(scenario, source=source, variant=None, seed=simulation.seed), given)


_SECTIONS = {"pools": "pools", "jobs": "jobs", "jobSchedules": "job_schedules"}


def _places(scenario: Scenario) -> Iterator[tuple[str, int]]:
    """Yield section and index of what the scenario gives at a time, in the order of its inputs."""
    for section, name in _SECTIONS.items():
        yield from ((section, index) for index in range(len(getattr(scenario, name))))
    yield from (("timeline", entry.index) for entry in scenario.timeline if entry.at_ms is not None)
