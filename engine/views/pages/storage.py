"""The blobs in storage at a moment: what the scenario names, and what has been uploaded (TASK-18)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.specs.storage import UrlParts, parts_of
from engine.state.blobs import NO_TASK
from engine.views.log.reader import numbers_of

if TYPE_CHECKING:
    from engine import Simulation
    from engine.world.world import World


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
        whole = UrlParts(place.container if "://" in place.container else _linked(world, place.container), place.name)
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


def _linked(world: World, container: str) -> str:
    """Return the URL of a container that the scenario names by its name alone: it is in the linked account."""
    account = world.scenario.account
    return parts_of(account.container_url(container)).container
