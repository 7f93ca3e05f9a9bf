"""Jobs in a given state, and what has become of them."""

from __future__ import annotations

from tests.builders import READY_S, a_job, a_line, do, events, job_state, run, run_to, some_tasks


def changes(sim, job="j"):
    return [(event["t"], event["to"]) for event in events(sim, "JobStateChanged", jobId=job)]


def reason(sim, job="j"):
    return sim.world.jobs.find(job).terminate_reason


def running(start, *jobs, **scenario):
    """A run in which the first tasks have just started."""
    sim = start(*(jobs or (a_job(),)), **scenario)
    run_to(sim, seconds=READY_S)
    return sim


def in_state(start, state, **job):
    """A run whose job is in this state."""
    body = a_job(**({"tasks": some_tasks(2, 600), "prep": a_line(1), "release": a_line(300)} | job))
    sim = running(start, body)
    run(sim, seconds=10)
    if state in ("disabling", "disabled", "enabling"):
        do(sim, "disableJob", jobId="j", disableTasks="wait" if state == "disabling" else "requeue")
    if state in ("disabled", "enabling"):
        run(sim, seconds=5)
    if state == "enabling":
        do(sim, "enableJob", jobId="j")
    if state in ("terminating", "completed"):
        do(sim, "terminateJob", jobId="j")
    if state == "completed":
        run(sim, minutes=10)
    if state == "deleting":
        do(sim, "deleteJob", jobId="j")
    assert job_state(sim) == state
    return sim
