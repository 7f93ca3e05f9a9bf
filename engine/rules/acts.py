"""Processes that act (JM-3): giving their commands, and noticing what they wait for.

Their commands follow from their starts, so they are no inputs of the run: a replay makes them again. They take effect
through ``engine.rules.commands`` like any other, after the faults and commands of the same millisecond, in the order in
which they were set (JM-14). ``engine.rules.processes.acts`` begins and ends what a process does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from engine.events.calendar import Due, DueKind
from engine.events.log import LogSubject
from engine.rules import commands
from engine.rules.commands import Extras, Giver
from engine.rules.processes import acts
from engine.specs.command import OnJob
from engine.specs.conditions import OWN_JOB
from engine.state.acting import NO_JOB, Acting, ProcessKind

if TYPE_CHECKING:
    from engine.specs.command import Command
    from engine.specs.conditions import ConditionSubject, Wanted
    from engine.world.facts import TaskStopped
    from engine.world.world import World

# In place of a command's number: the end of the process.
_END = -1


def act_due(world: World, due: Due) -> None:
    """Give a command of a process that still runs; a refusal is logged and changes nothing else (JM-11)."""
    number, index = due.key, due.token
    acting = world.acting.get(number)
    if acting is None:
        return
    act = acting.acts.commands[index]
    commands.give(world, command_of(world, acting, act.command), Extras(act.tasks, act.factory), _giver(world, acting))
    if world.acting.get(number) is not None:
        world.acting.give(number, index)
        acts.check_others(world, number)


def command_of(world: World, acting: Acting, command: Command) -> Command:
    """Return a command of a process with the job that it is about, which is its own if none is named."""
    if isinstance(command, OnJob) and command.job_id == OWN_JOB and acting.job != NO_JOB:
        return command.model_copy(update={"job_id": world.jobs.rows[acting.job].id})
    return command


def _giver(world: World, acting: Acting) -> Giver:
    """Return the ids under which the log has a command: those of the task, or of the node and the job."""
    kind, row, part = acting.process
    if kind is ProcessKind.START_TASK:
        return Giver(LogSubject.INSTANCE, -1, row)
    if kind in (ProcessKind.PREPARATION, ProcessKind.RELEASE):
        return Giver(LogSubject.INSTANCE, acting.job, world.instances.node[row])
    return Giver(LogSubject.TASK, row, world.nodes_of(row)[part])


def task_stopped(world: World, stopped: TaskStopped) -> None:
    """End the processes that wait for the other tasks of the job, if all of those are completed (JM-12)."""
    for number in world.acting.waiting_for_others(stopped.job):
        acts.check_others(world, number)


def instant_over(world: World) -> None:
    """End the processes that wait for other tasks, after the conditions of their commands were seen to (JM-13)."""
    for number, acting in world.acting:
        if acting.waiting:
            acts.check_others(world, number, is_settled=True)


class Awaited(NamedTuple):
    """A condition that a process waits for: with a command, or to end."""

    number: int  # of the start of the process
    act: int  # the number of its command, or _END
    subject: ConditionSubject
    wanted: dict[str, Wanted]


def awaited(world: World) -> Iterator[Awaited]:
    """Yield the conditions that running processes wait for, in the order of their starts and of the file (JM-11)."""
    for number, acting in world.acting:
        job_id = "" if acting.job == NO_JOB else world.jobs.rows[acting.job].id
        for index in acting.waiting:
            when = acting.acts.commands[index].when
            assert when is not None
            yield Awaited(number, index, when.subject.within(job_id), dict(when.wanted))
        until = acting.acts.until
        if until is not None and acting.waits:
            yield Awaited(number, _END, until.subject.within(job_id), dict(until.wanted))


def has_come_true(world: World, awaited: Awaited) -> None:
    """Give the command that waited for the condition, at its time, or end the process (JM-11, JM-12)."""
    number, index, *_ = awaited
    acting = world.acting.get(number)
    if acting is None:
        return
    if index == _END:
        acts.end_wait(world, number)
        return
    world.acting.come_true(number, index)
    world.calendar.at(world.now_ms + acting.acts.commands[index].after_ms, DueKind.ACT, number, index)
