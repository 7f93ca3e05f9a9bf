"""The account at a moment: quotas, packages, certificates, blobs in storage, and job schedules.

Quotas have their use, and packages and certificates their users (ACC-1, ACC-4). The blobs in storage are those that
the scenario names and those that have been uploaded (TASK-18). Job schedules have one row each, in the order in which
they were added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.rules.account import use_of_certificate
from engine.rules.decisions import capacity
from engine.rules.job_schedules import active_job, missed, next_run_ms
from engine.specs.account import UrlParts, parts_of, series_key
from engine.specs.pool_refusals import AccountInForce
from engine.state.files import NO_TASK
from engine.state.jobs import NO_JOB, NO_SCHEDULE
from engine.views.log.reader import is_event, matching, numbers_of
from engine.views.rest.account import account_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from engine import Simulation
    from engine.base.terms import JobScheduleState, JobState
    from engine.specs.account import Account
    from engine.state.account import CertificateRecord
    from engine.state.jobs import JobSchedule
    from engine.world import World


class QuotaUse(NamedTuple):
    """A quota, and how much of it is in use."""

    name: str
    used: int
    limit: int


class CertificateRow(NamedTuple):
    """A certificate that has not been deleted, and the ids of the pools that refer to it and of the nodes with it."""

    record: CertificateRecord
    pools: tuple[str, ...]
    nodes: tuple[str, ...]


class AccountPage(NamedTuple):
    """The account. ``package_users`` has the ids of the pools that refer to an application, by its id in lower case."""

    account: Account
    url: str
    quotas: tuple[QuotaUse, ...]
    package_users: Mapping[str, tuple[str, ...]]
    certificates: tuple[CertificateRow, ...]


def core_quotas(simulation: Simulation) -> tuple[QuotaUse, QuotaUse]:
    """Return the quotas of dedicated cores and of Spot cores; those of single VM series are left out."""
    world, limits = simulation.world, simulation.world.account.quotas
    dedicated, spot = (capacity.cores_in_use(world, dedicated=each) for each in (True, False))
    return (
        QuotaUse("Dedicated cores", dedicated, limits.dedicated_cores),
        QuotaUse("Spot cores", spot, limits.low_priority_cores),
    )


def account_page(simulation: Simulation) -> AccountPage:
    """Return the account at the moment that is shown."""
    world = simulation.world
    certificates = (
        CertificateRow(record, *(use_of_certificate(world, record.spec.thumbprint) or ((), ())))
        for record in world.certificates.present()
    )
    return AccountPage(
        world.account, account_url(world), tuple(_quotas(simulation)), _package_users(world), tuple(certificates)
    )


def _package_users(world: World) -> dict[str, tuple[str, ...]]:
    users: dict[str, tuple[str, ...]] = {}
    for pool in world.pools.present():
        for reference in pool.spec.application_package_references:
            key = reference.application_id.lower()
            users[key] = (*users.get(key, ()), pool.id)
    return users


def account_in_force(simulation: Simulation) -> AccountInForce:
    """Return the account at the moment that is shown, as the service reads new pools by it."""
    return AccountInForce(simulation.world.account, simulation.scenario.pool_setting)


def _quotas(simulation: Simulation) -> Iterator[QuotaUse]:
    """Yield the quotas in the order of the portal's page: cores in all, cores of VM series, and the rest (ACC-4)."""
    world, (dedicated, spot) = simulation.world, core_quotas(simulation)
    limits = world.account.quotas
    yield dedicated
    of_series = {series_key(pool.size.series): pool.size.series for pool in world.pools.present()}
    for name, limit in (limits.dedicated_cores_per_vm_series or {}).items():
        series = of_series.get(series_key(name))
        used = 0 if series is None else capacity.cores_in_use(world, dedicated=True, series=series)
        yield QuotaUse(f"Dedicated cores, {name}", used, limit)
    yield spot
    yield QuotaUse("Pools", sum(1 for _ in world.pools.present()), limits.pools)
    used = capacity.active_jobs_and_schedules(world)
    yield QuotaUse("Jobs and schedules", used, limits.active_jobs_and_schedules)


class StoredBlob(NamedTuple):
    """A blob; ``when_ms``, ``node`` and ``task`` are of its upload, None where the scenario names it.

    ``task`` is None also for the logs of a node. ``text`` is None where only the size is known.
    """

    url: str
    place: UrlParts
    size: int
    text: str | None
    when_ms: int | None = None
    node: int | None = None
    task: int | None = None
    task_id: str = ""
    job_id: str = ""

    @property
    def is_uploaded(self) -> bool:
        """True if a task or node has uploaded the blob."""
        return self.when_ms is not None


class TransferredBytes(NamedTuple):
    """Bytes of resource files and of output files (TASK-21)."""

    downloaded: int
    uploaded: int


def stored_blobs(sim: Simulation) -> list[StoredBlob]:
    """Return every blob that is known, sorted by container and name; an upload replaces what the scenario names."""
    world = sim.world
    found: dict[UrlParts, StoredBlob] = {}
    for place, content in world.storage.contents():
        container = place.container  # one that the scenario names by its name alone is in the linked account
        if "://" not in container:
            container = parts_of(world.scenario.account.container_url(container)).container
        whole = UrlParts(container, place.name)
        found[whole] = StoredBlob(whole.url, whole, *content)
    found.update((blob.place, blob) for blob in (_upload(world, row) for row in world.blobs.latest()))
    return [found[place] for place in sorted(found)]


def uploads_of_task(sim: Simulation, task: int) -> list[StoredBlob]:
    """Return what a task has uploaded, in the order of the uploads."""
    return [_upload(sim.world, row) for row in numbers_of(sim.world.blobs.task, task, 0, len(sim.world.blobs))]


def bytes_of_task(sim: Simulation, task: int) -> TransferredBytes:
    """Return how many bytes a task has downloaded and uploaded in all its attempts (TASK-21)."""
    blobs = sim.world.blobs
    return TransferredBytes(
        sum(map(blobs.fetched.__getitem__, numbers_of(blobs.fetcher, task, 0, blobs.downloads))),
        sum(blobs.content(row).size for row in numbers_of(blobs.task, task, 0, len(blobs))),
    )


def bytes_of_job(sim: Simulation, job_id: str) -> TransferredBytes | None:
    """Return how many bytes a job's tasks, preparations and releases have transferred; None if it does not exist."""
    job = sim.world.jobs.find(job_id)
    return None if job is None else TransferredBytes(job.downloaded_bytes, job.uploaded_bytes)


def bytes_of_run(sim: Simulation) -> TransferredBytes:
    """Return how many bytes have been transferred in all, start tasks and deleted jobs included (TASK-21)."""
    jobs = sim.world.jobs.rows
    downloaded = sim.world.blobs.start_task_bytes + sum(job.downloaded_bytes for job in jobs)
    return TransferredBytes(downloaded, sum(job.uploaded_bytes for job in jobs))


def _upload(world: World, row: int) -> StoredBlob:
    """Return an upload."""
    place, when, nodes = world.blobs.place(row), world.log.when, world.log.row_b
    url, content, task, entry = world.blobs[row]
    blob = StoredBlob(url, place, *content, when[entry], nodes[entry])
    if task == NO_TASK:
        return blob
    job = world.jobs[world.tasks.block_of(task).job]
    return blob._replace(task=task, task_id=world.tasks.task_id(task), job_id=job.id)


class JobScheduleRow(NamedTuple):
    """A job schedule as the service shows it: its record, and what follows from others."""

    schedule_id: str
    state: JobScheduleState | None
    record: JobSchedule
    next_run_ms: int | None  # since the start
    recent_job: str  # empty before the first
    recent_job_state: JobState | None
    has_active_job: bool
    jobs_left: int  # those not deleted
    missed: int  # occurrences that created no job

    @property
    def state_word(self) -> str:
        """The state as the service spells it, or ``deleted``."""
        return "deleted" if self.state is None else self.state.wire


class MissedOccurrence(NamedTuple):
    """An occurrence that made no job (JS-15): its number from 0, when it was lost, and why."""

    occurrence: int
    when_ms: int
    reason: str


def missed_occurrences(simulation: Simulation, schedule_id: str, most: int) -> list[MissedOccurrence]:
    """Return the last occurrences of a job schedule that made no job, the newest first."""
    log, schedule = simulation.log, simulation.world.job_schedules.find(schedule_id)
    if schedule is None or schedule.missed_ms is None:
        return []
    lost = [at for at in matching(log, is_loss) if log.row_a[at] == schedule.row]
    found = []
    for at in reversed(lost[-most:]):
        fields = dict(log.shapes[log.shape_of[at]].fields)
        assert isinstance(fields["occurrence"], int)
        found.append(MissedOccurrence(fields["occurrence"], log.when[at], str(fields["reason"])))
    return found


is_loss = is_event("JobScheduleOccurrenceMissed")
"""Tells whether an event says that an occurrence made no job."""


def schedule_ids(simulation: Simulation) -> list[str]:
    """Return the job schedules that have not been deleted, oldest first."""
    return [schedule.id for schedule in simulation.world.job_schedules.present()]


def latest_jobs(simulation: Simulation, schedule_id: str, most: int) -> list[str]:
    """Return the last jobs of a schedule that have not been deleted, the newest first."""
    schedule = simulation.world.job_schedules.find(schedule_id)
    jobs = [] if schedule is None else [job.id for job in simulation.world.jobs_under(schedule)]
    return jobs[: -most - 1 : -1]


def last_job_like(simulation: Simulation, job_id: str) -> str:
    """Return the last job of the schedule that made this one; the job itself if there is no such job."""
    jobs, schedules = simulation.world.jobs, simulation.world.job_schedules
    job = jobs.find(job_id)
    if job is None or job.schedule == NO_SCHEDULE:
        return job_id
    recent = jobs[schedules[job.schedule].recent_job]
    return job_id if recent.state is None else recent.id


def schedule_row(simulation: Simulation, schedule_id: str) -> JobScheduleRow | None:
    """Return one schedule's row; None while there is no schedule of this id."""
    schedule = simulation.world.job_schedules.find(schedule_id)
    return None if schedule is None else row_of_schedule(simulation, schedule)


def row_of_schedule(simulation: Simulation, schedule: JobSchedule) -> JobScheduleRow:
    """Return the row of a schedule, which may be deleted."""
    world, now_ms = simulation.world, simulation.now_ms
    recent = world.jobs[schedule.recent_job] if schedule.recent_job != NO_JOB else None
    return JobScheduleRow(
        schedule_id=schedule.id,
        state=schedule.state,
        record=schedule,
        next_run_ms=next_run_ms(world, schedule, now_ms),
        recent_job="" if recent is None else recent.id,
        recent_job_state=None if recent is None else recent.state,
        has_active_job=active_job(world, schedule) is not None,
        jobs_left=sum(1 for _ in world.jobs_under(schedule)),
        missed=missed(world, schedule, now_ms),
    )
