"""Start and end of a process that acts: what it does while it runs, and what it waits for (JM-11, JM-12).

The commands themselves are given in ``engine.rules.acts``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.events.calendar import DueKind
from engine.state.acting import NO_JOB, Acting, Process, ProcessKind, adds_tasks
from engine.state.tasks import COMPLETED
from engine.world.facts import WaitOver

if TYPE_CHECKING:
    from engine.executors.protocol import Launch, Plan
    from engine.world.world import World


class Start(NamedTuple):
    """The start of a process that is not plain: its planned end, its launch and its plan."""

    end_ms: int
    launch: Launch
    plan: Plan

    @property
    def is_open(self) -> bool:
        """True if the end is not known, so that there is no entry for it in the calendar."""
        return self.plan.is_open


def start_of(world: World, launch: Launch) -> Start:
    """Plan the start of a process now."""
    plan = world.executor.plan(launch)
    return Start(end_ms(world, world.now_ms, plan), launch, plan)


def end_ms(world: World, started_ms: int, plan: Plan) -> int:
    """Return the planned end of a process that started at this moment; the latest moment if it is not known."""
    return world.latest_ms if plan.is_open else min(started_ms + plan.total_ms, world.latest_ms)


def begin(world: World, process: Process, start: Start, job: int = NO_JOB) -> None:
    """Let a process act whose start is recorded; its timed commands count from now (JM-11).

    A process that starts twice in one millisecond counts from the next one the second time, so that two processes that
    restart each other cannot keep the clock from going on (JM-14).
    """
    if not start.plan.ran:
        return
    text = world.executor.acts(start.launch)
    if text is None:
        return
    acts = world.acts_of(text)
    now_ms = world.now_ms
    from_ms = now_ms + world.acting.has_begun_in(now_ms, process)
    waiting = tuple(index for index, act in enumerate(acts.commands) if act.when is not None)
    to_come = sum(act.when is None and adds_tasks(act) for act in acts.commands)
    if acts.until_others and not world.acting.waiting_for_others(job):
        world.jobs.edit(job).report_earlier(1)
    number = world.acting.begin(Acting(process, job, now_ms, acts, waiting, to_come))
    for index, act in enumerate(acts.commands):
        if act.when is None:
            world.calendar.at(from_ms + act.after_ms, DueKind.ACT, number, index)
    check_others(world, number)


def check_others(world: World, number: int, *, is_settled: bool = False) -> None:
    """End the process if it waits for the other tasks of its job, and all of them are completed (JM-12, JM-13).

    If a condition of its commands may come true at the end of this instant, that is seen to first: ``is_settled``.
    """
    acting = world.acting.get(number)
    if acting is None or not acting.waits or not acting.acts.until_others or acting.tasks_to_come:
        return
    if (acting.waiting and not is_settled) or not world.acting.may_notice(acting.job):
        return
    job = world.jobs.rows[acting.job]
    is_task = acting.process.kind in (ProcessKind.TASK, ProcessKind.COORDINATION)
    others = job.total - is_task
    if others and job.counts[COMPLETED] == others:
        end_wait(world, number)


def end_wait(world: World, number: int) -> None:
    """Let a process end for which what it waits for has come true."""
    acting = world.acting.get(number)
    assert acting is not None
    world.acting.finish_waiting(number, world.now_ms)
    world.emit(WaitOver(acting.process))


def end(world: World, process: Process) -> None:
    """Forget what a process still had to do: it has ended or was interrupted (JM-11)."""
    if not world.acting:
        return
    acting = world.acting.end(process)
    if acting is not None and acting.acts.until_others and not world.acting.waiting_for_others(acting.job):
        world.jobs.edit(acting.job).report_earlier(-1)


def end_task(world: World, task: int, instances: int) -> None:
    """Forget what the processes of a task still had to do, on all its nodes."""
    if world.acting:
        end(world, Process(ProcessKind.TASK, task))
        for subtask in range(instances):
            end(world, Process(ProcessKind.COORDINATION, task, subtask))
