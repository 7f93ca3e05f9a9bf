"""The commands that processes give and the ends that they wait for, in words (JM-11, JM-12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from engine.base.lazy import lazy_regex
from engine.base.units import format_duration
from engine.rules.processes import launches
from engine.specs.command import OnJob
from engine.specs.conditions import OWN_JOB, Bounds, SubjectKind, Verbatim

if TYPE_CHECKING:
    from engine import Simulation
    from engine.specs.conditions import Condition, ConditionSubject, Wanted
    from engine.state.acting import Act, Acts

_CAPITAL = lazy_regex("[A-Z]")


def task_acts(simulation: Simulation, task: int) -> list[str]:
    """Return the commands and the end of a task's process, in the present or first attempt; [] for most tasks."""
    world = simulation.world
    tasks, node = world.tasks, max(0, world.tasks.node[task])
    if node >= world.nodes.length or tasks.profile_of(task).process is not None or tasks.state_of(task) is None:
        return []
    text = world.executor.acts(launches.task_launch(world, task, node, max(1, tasks.extra(task).attempts)))
    if text is None:
        return []
    acts = world.acts_of(text)
    found = [act_words(act) for act in acts.commands]
    return [*found, f"Runs until {end_words(acts)}"] if acts.is_open else found


def act_words(act: Act) -> str:
    """Return a command of a process and its moment: ``Adds 20 tasks after PT10S``."""
    count = len(act.tasks) + (act.factory.count if act.factory is not None else 0)
    command = act.command
    what = f"Adds {count:,} task{'' if count == 1 else 's'}" if command.NAME == "addTasks" else f"Gives {command.NAME}"
    if isinstance(command, OnJob) and command.job_id != OWN_JOB:
        what += f" to job {command.job_id}" if command.NAME == "addTasks" else f" on job {command.job_id}"
    after = f"after {format_duration(act.after_ms)}"
    if act.when is None:
        return f"{what} {after if act.after_ms else 'at its start'}"
    later = f"{format_duration(act.after_ms)} after " if act.after_ms else "when "
    return f"{what} {later}{condition_words(act.when)}"


def end_words(acts: Acts) -> str:
    """Return what a process waits for."""
    return "all other tasks of its job are completed" if acts.until is None else condition_words(acts.until)


def condition_words(condition: Condition) -> str:
    """Return a condition: ``its job has at least 5 completed tasks``."""
    return f"{_subject(condition.subject)} has {', '.join(_wanted(condition.wanted))}"


def _subject(subject: ConditionSubject) -> str:
    job = "its job" if subject.job_id == OWN_JOB else f"job {subject.job_id}"
    match subject.kind:
        case SubjectKind.RUN:
            return "the run"
        case SubjectKind.POOL:
            return f"pool {subject.pool_id}"
        case SubjectKind.NODE:
            return f"node {subject.node_index if subject.node_id is None else subject.node_id} of {subject.pool_id}"
        case SubjectKind.JOB:
            return job
        case SubjectKind.TASK:
            return f"task {subject.task_id} of {job}"
        case SubjectKind.JOB_SCHEDULE:
            return f"job schedule {subject.job_schedule_id}"


def _wanted(wanted: Mapping[str, Wanted], above: str = "") -> Iterator[str]:
    """Yield what is wanted of each property: numbers before what they count, other values after their names."""
    for name, value in wanted.items():
        if isinstance(value, Mapping):
            yield from _wanted(value, _CAPITAL.sub(lambda letter: f" {letter[0].lower()}", name))
            continue
        if isinstance(value, Bounds):
            low = [] if value.at_least is None else [f"at least {value.at_least:g}"]
            high = [] if value.at_most is None else [f"at most {value.at_most:g}"]
            shown = " and ".join(low + high)
        elif isinstance(value, Verbatim):
            shown = value.text
        else:
            shown = "absent" if value is None else str(value)
        yield f"{shown} {name} {above}" if above else f"{name} {shown}"
