"""The account of an imported history: what pools, jobs and tasks ask for has to be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.histories.jobs import JobStory
from engine.histories.pools import PoolStory, count
from engine.specs.account import Quotas
from engine.specs.catalogue import vm_size

PLAIN = frozenset({"id", "commandLine", "simulate", "dependsOn", "displayName", "requiredSlots"})
"""The properties of a task that ask for nothing and may have any value."""


def account_of(
    pools: Sequence[PoolStory], jobs: Sequence[Mapping[str, Any]], stories: Sequence[JobStory]
) -> dict[str, Any]:
    """Return the account: quotas, applications and certificates that pools, jobs and tasks ask for."""
    quotas = Quotas()
    account: dict[str, Any] = {}
    needed = {"dedicatedCores": 0, "lowPriorityCores": 0}
    for pool in pools:
        size = vm_size(str(pool.body.get("vmSize")))
        cores = size.cores if size is not None else 2
        needed["dedicatedCores"] += cores * max(
            count(pool.nodes, dedicated=True), int(pool.body.get("targetDedicatedNodes") or 0)
        )
        needed["lowPriorityCores"] += cores * max(
            count(pool.nodes, dedicated=False), int(pool.body.get("targetLowPriorityNodes") or 0)
        )
    needed |= {"pools": len(pools), "activeJobsAndSchedules": len(jobs)}
    enough = {"dedicatedCores": quotas.dedicated_cores, "lowPriorityCores": quotas.low_priority_cores}
    enough |= {"pools": quotas.pools, "activeJobsAndSchedules": quotas.active_jobs_and_schedules}
    more = {name: count for name, count in needed.items() if count > enough[name]}
    if more:
        account["quotas"] = more
    lists = [job["tasks"] for job in jobs]
    lists += [event.body["tasks"] for story in stories for event in story.events if event.command == "addTasks"]
    tasks = [task for listed in lists for task in listed if not PLAIN.issuperset(task)]
    bodies = [{name: value for name, value in job.items() if name != "tasks"} for job in jobs]
    everything = ([pool.body for pool in pools], bodies, tasks)
    applications: dict[str, set[str]] = {}
    for reference in _found("applicationPackageReferences", everything):
        applications.setdefault(str(reference.get("applicationId")), set()).add(str(reference.get("version") or "1"))
    if applications:
        account["applications"] = [
            {"id": name, "versions": sorted(versions), "defaultVersion": max(versions)}
            for name, versions in sorted(applications.items())
        ]
    thumbprints = {str(reference.get("thumbprint")) for reference in _found("certificateReferences", everything)}
    if thumbprints:
        account["certificates"] = [{"thumbprint": thumbprint} for thumbprint in sorted(thumbprints)]
    if any(True for _ in _found("autoStorageContainerName", everything)):
        account["storageAccount"] = "history"
    return account


def _found(name: str, value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the mappings in each list of this name, however deep; for any other value an empty one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == name:
                yield from (each for each in inner) if isinstance(inner, list) else ({},)
            elif key != "simulate":
                yield from _found(name, inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _found(name, inner)
