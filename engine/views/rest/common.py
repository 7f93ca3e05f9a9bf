"""Parts that REST bodies share: addresses, times, entity tags and containers (GEN-6, ACC-1, NODE-4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

from engine.base.units import format_utc
from engine.specs import draws

if TYPE_CHECKING:
    from engine.base.terms import State
    from engine.specs.account import Certificate
    from engine.specs.common import CommandLine
    from engine.state.job_schedules import JobSchedule
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World

_TICKS_SINCE = datetime(1, 1, 1, tzinfo=UTC)
_TICKS_PER_MS = 10_000


def account_url(world: World) -> str:
    """Return the endpoint of the account."""
    return f"https://{world.account.name}.{world.account.location}.batch.azure.com"


def pool_url(world: World, pool_id: str) -> str:
    """Return the URL of a pool."""
    return f"{account_url(world)}/pools/{pool_id}"


def node_url(world: World, node: int) -> str:
    """Return the URL of a node, which stays the same when the node is gone."""
    return f"{pool_url(world, world.pool_of(node).id)}/nodes/{world.nodes[node].id}"


def job_url(world: World, job_id: str) -> str:
    """Return the URL of a job."""
    return f"{account_url(world)}/jobs/{job_id}"


def certificate_path(certificate: Certificate) -> str:
    """Return the path of a certificate below the account's address (CERT-1)."""
    algorithm, thumbprint = quote(certificate.thumbprint_algorithm), quote(certificate.thumbprint)
    return f"certificates(thumbprintAlgorithm={algorithm},thumbprint={thumbprint})"


def utc(world: World, ms: int) -> str:
    """Return a moment of the run as the service writes it."""
    return format_utc(world.scenario.start, ms)


def etag(world: World, modified_ms: int) -> str:
    """Return the entity tag of a resource: the moment of its last change in ticks of 100 ns."""
    ticks = (world.scenario.start - _TICKS_SINCE) // timedelta(microseconds=1) * 10 + modified_ms * _TICKS_PER_MS
    return f"0x{ticks:X}"


def resource_head(world: World, resource: Pool | Job | JobSchedule, url: str) -> dict[str, object]:
    """Return the properties with which the body of a pool, job or job schedule begins (GEN-6)."""
    assert resource.state is not None
    return {
        "id": resource.id,
        "url": url,
        "eTag": etag(world, resource.modified_ms),
        "lastModified": utc(world, resource.modified_ms),
        "creationTime": utc(world, resource.created_ms),
        "state": resource.state.wire,
        "stateTransitionTime": utc(world, resource.since_ms),
    }


def previous_state(world: World, previous: tuple[State, int] | None) -> dict[str, object]:
    """Return the previous state and its time; empty for a resource that is in its first state."""
    if previous is None:
        return {}
    state, since_ms = previous
    return {"previousState": state.wire, "previousStateTransitionTime": utc(world, since_ms)}


def root_directory(world: World, node: int, directory: str) -> dict[str, str]:
    """Return ``taskRootDirectory``, with backslashes on Windows, and its URL, always with slashes (FILE-14)."""
    native = directory.replace("/", "\\") if world.root_of(world.pool_of(node)).is_windows else directory
    return {"taskRootDirectory": native, "taskRootDirectoryUrl": f"{node_url(world, node)}/files/{directory}"}


def container_info(
    world: World, spec: CommandLine | None, node: int, directory: str, started_ms: int, exit_code: int | None
) -> dict[str, object]:
    """Return ``containerInfo``, empty for a process outside any container (TASK-10, PREP-24, REL-15, CONT-1).

    Each start has a container of its own, named by a hash like Docker's. An ``exit_code`` of None means that
    the process is still running.
    """
    if spec is None or spec.container_settings is None:
        return {}
    name = draws.hex_digits(64, world.seed, "container", world.nodes[node].id, directory, started_ms)
    state = "running" if exit_code is None else "exited"
    return {"containerInfo": {"containerId": name, "state": state}}
