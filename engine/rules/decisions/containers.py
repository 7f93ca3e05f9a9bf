"""Containers (CONT): the tasks that run in one, and the sources of their images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.environment import TaskKind
from engine.base.failures import failure

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.specs.common import ContainerSettings
    from engine.specs.machine import ContainerConfiguration
    from engine.specs.pool import PoolSpec

_JOB_TASKS = (TaskKind.TASK, TaskKind.MANAGER, TaskKind.PRIMARY, TaskKind.SUBTASK)


def configuration_of(spec: PoolSpec) -> ContainerConfiguration | None:
    """Return the container configuration of a pool; None if it is no container pool."""
    machine = spec.virtual_machine_configuration
    return machine.container_configuration if machine is not None else None


def settings_verdict(pool: PoolSpec, kind: TaskKind, settings: ContainerSettings | None) -> FailureInfo | None:
    """Return why a command cannot run with these container settings in the pool; None if it can (CONT-1, TASK-2).

    On a container pool every normal and job manager task needs them, and start, preparation and release tasks may have
    them; elsewhere no task may. The service accepts such a task and fails it when it is to start, since its job may
    still change its pool.
    """
    has_containers = configuration_of(pool) is not None
    if settings is not None and not has_containers:
        return failure("ContainerInvalidSettings", ("Message", "the pool has no containerConfiguration"))
    if settings is None and has_containers and kind in _JOB_TASKS:
        return failure("ContainerInvalidSettings", ("Message", "tasks of a container pool need containerSettings"))
    return None


def full_name(image: str) -> str:
    """Return the image with its tag, ``latest`` where none is given (CONT-1)."""
    last = image.rpartition("/")[2]
    return image if ":" in last or "@" in last else f"{image}:latest"


def registry_of(image: str, settings: ContainerSettings | None = None) -> str | None:
    """Return the registry server of the settings, or the one in the image's name; None is the public one."""
    if settings is not None and settings.registry is not None and settings.registry.registry_server is not None:
        return settings.registry.registry_server
    server, slash, _ = image.partition("/")
    return server if slash and ("." in server or ":" in server) else None
