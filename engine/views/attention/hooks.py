"""Preparation and release tasks that have failed on nodes, by job and cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import JobState
from engine.executors.protocol import TIME_LIMIT
from engine.state.instances import PrepFlag
from engine.state.nodes import GONE
from engine.views.attention.concern import MOST_NAMED, Concern, Severity, apart, cause_of, listed, some
from engine.views.pages.hook_status import OVER, Hook, HookStatus, prep_status, release_status
from engine.views.pages.option_words import eligible_again

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine import Simulation
    from engine.state.instances import Ending
    from engine.state.jobs import Job


class _Group(NamedTuple):
    """The nodes on which one task of a job has failed for one reason."""

    job: Job
    nodes: list[int]
    since_ms: int
    is_ineligible: bool  # no task of the job may come to them


HookFailure = tuple[Hook, str, int, int, bool]  # cause, job, instance, and whether the node is ineligible


def hook_concerns(simulation: Simulation, *, names_jobs: bool) -> list[Concern]:
    """Return the failures of preparation and release that last. The cost is that of the failures, not of the nodes.

    A failure lasts no longer than its job if its node has left.
    """
    instances, nodes = simulation.world.instances, simulation.world.nodes.state
    groups: dict[tuple[Hook, str], dict[int, list[tuple[int, bool]]]] = {}
    for hook, cause, job, row, is_ineligible in hook_failures(simulation):
        if nodes[instances.node[row]] == GONE and simulation.world.jobs[job].state is JobState.COMPLETED:
            continue
        groups.setdefault((hook, cause), {}).setdefault(job, []).append((row, is_ineligible))
    found: list[Concern] = []
    for (hook, cause), jobs in groups.items():
        ends = instances.prep_end if hook is Hook.PREPARATION else instances.release_end
        each = [
            _Group(
                simulation.world.jobs[job],
                [instances.node[row] for row, _ in rows],
                max(ends[row] for row, _ in rows),
                any(is_ineligible for _, is_ineligible in rows),
            )
            for job, rows in jobs.items()
        ]
        found += (_concern(simulation, hook, cause, group, names_jobs=names_jobs) for group in apart(each))
    return found


def hook_failures(simulation: Simulation) -> Iterator[HookFailure]:
    """Yield the runs that have failed and count still; successes keep no record of their end."""
    instances, jobs = simulation.world.instances, simulation.world.jobs
    for page in instances.sparse:
        for key, ending in page.items():
            if _is_final(ending, is_release=bool(key & 1)):
                row, hook = key >> 1, Hook.RELEASE if key & 1 else Hook.PREPARATION
                job = jobs[instances.job[row]]
                if job.state is not None and _has_failed(simulation, job, row, hook):
                    flags = instances.flags[row]
                    yield hook, _cause(ending), job.row, row, bool(flags & PrepFlag.INELIGIBLE)


def _is_final(ending: Ending, *, is_release: bool) -> bool:
    """Return whether a run failed by itself; a preparation that was interrupted is none of the job's failures."""
    failure = ending.failure
    if failure is None:
        return bool(ending.exit_code)
    return is_release or failure.code != "TaskEnded" or failure == TIME_LIMIT


def _cause(ending: Ending) -> str:
    return cause_of(ending.failure, ending.exit_code)


def _has_failed(simulation: Simulation, job: Job, row: int, hook: Hook) -> bool:
    """Return whether a run that failed is the last word: the node is there, and nothing will run again."""
    world = simulation.world
    instances, flags = world.instances, world.instances.flags[row]
    is_gone = world.nodes.state[instances.node[row]] == GONE
    is_over = job.state in OVER
    if hook is Hook.PREPARATION:
        state = instances.prep_state[row]
        status = prep_status(state, flags, has_failed=True, is_gone=is_gone, is_over=is_over)
    else:
        state, after = instances.release_state[row], world.options.release_after
        is_ending = job.state in (JobState.TERMINATING, JobState.DELETING)
        status = release_status(
            state, flags, after, has_failed=True, is_gone=is_gone, is_over=is_over, is_ending=is_ending
        )
    return status is HookStatus.FAILED


def _concern(simulation: Simulation, hook: Hook, cause: str, groups: Sequence[_Group], *, names_jobs: bool) -> Concern:
    records = simulation.world.nodes
    nodes = sorted({node for group in groups for node in group.nodes})
    named = [f"n{records[node].position}" for node in nodes[:MOST_NAMED]]
    jobs = tuple(group.job.id for group in groups)
    where = f" of {jobs[0]}" if len(jobs) == 1 else f" of {some(len(jobs), 'job')}"
    what = f"{hook.value.lower()} task{where if names_jobs else ''} failed"
    on = named[0] if len(nodes) == 1 else some(len(nodes), "node")
    severity, effect, remedy = _consequence(simulation, hook, groups)
    return Concern(
        "preparation" if hook is Hook.PREPARATION else "release",
        severity,
        f"{what} on {on}: {cause}",
        max(group.since_ms for group in groups),
        effect=effect if len(jobs) == 1 else "; ".join(filter(None, (listed(jobs), effect))),
        remedy=remedy,
        names=tuple(named) if len(nodes) > 1 else (),
        nodes=nodes,
        jobs=jobs,
        cause=cause,
    )


def _consequence(simulation: Simulation, hook: Hook, groups: Sequence[_Group]) -> tuple[Severity, str, str]:
    """Return how bad it is, its effect, and its remedy."""
    if hook is Hook.RELEASE:
        return Severity.SHORTAGE, "the job still completes; what it should clean up may be left (REL-7)", ""
    if all(group.job.state in OVER for group in groups):
        return Severity.SHORTAGE, "", ""
    if not any(group.is_ineligible for group in groups):
        return Severity.SHORTAGE, "no effect on scheduling: waitForSuccess is false (PREP-13)", ""
    helps = eligible_again(simulation.world.options)
    who = "job" if len(groups) == 1 else "jobs"
    return Severity.FAILURE, f"no task of the {who} runs there ({helps.rule})", f"{helps.remedy} to prepare anew"
