"""Command lines of what is no task of a job: start tasks of pools, and preparation and release tasks of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation


class CommandLine(NamedTuple):
    """A command line, the pool or job that it belongs to, and the kind of task there."""

    pool_id: str  # empty: it belongs to a job
    job_id: str
    kind: str
    text: str


def command_lines(simulation: Simulation) -> Iterator[CommandLine]:
    """Yield the command lines of pools and jobs that have not been deleted."""
    world = simulation.world
    for pool in world.pools.present():
        if pool.spec.start_task is not None:
            yield CommandLine(pool.id, "", "start task", pool.spec.start_task.command_line)
    for job in world.jobs.present():
        hooks = (("preparation", job.spec.job_preparation_task), ("release", job.spec.job_release_task))
        for kind, task in hooks:
            if task is not None:
                yield CommandLine("", job.id, kind, task.command_line)
