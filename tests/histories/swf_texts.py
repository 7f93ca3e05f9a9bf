"""Small logs in the Standard Workload Format, and the schedule that they lead to, computed with other code."""

from __future__ import annotations

from heapq import heapify, heapreplace
from typing import NamedTuple


class SwfJob(NamedTuple):
    """A job as a log has it; times in seconds."""

    number: int
    submit: float
    run: float
    allocated: int = 1
    requested: int = -1
    status: int = 1


def swf_line(job):
    fields = [job.number, job.submit, -1, job.run, job.allocated, -1, -1, job.requested, -1, -1, job.status]
    return " ".join(map(str, [*fields, *[-1] * 7]))


def swf_text(jobs, header=()):
    return "\n".join([*(f"; {line}" for line in header), *map(swf_line, jobs)]) + "\n"


def first_come_first_served(jobs, slots):
    """The starts of single-processor jobs: each at its submission, or when the earliest slot becomes free."""
    free = [0.0] * slots
    heapify(free)
    starts = {}
    for job in jobs:
        starts[job.number] = max(job.submit, free[0])
        heapreplace(free, starts[job.number] + job.run)
    return starts
