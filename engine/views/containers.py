"""``containerInfo`` of whatever ran in a container (TASK-10, PREP-24, REL-15, CONT-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.specs import draws

if TYPE_CHECKING:
    from engine.specs.common import CommandLine
    from engine.world.world import World


def container_info(
    world: World, spec: CommandLine | None, node: int, directory: str, started_ms: int, exit_code: int | None
) -> dict[str, object]:
    """The property, empty where there is no container; each start has one of its own, named by a hash like Docker's.

    ``exit_code`` None is a process that still runs.
    """
    if spec is None or spec.container_settings is None:
        return {}
    name = draws.hex_digits(64, world.seed, "container", world.nodes[node].id, directory, started_ms)
    state = "running" if exit_code is None else "exited"
    return {"containerInfo": {"containerId": name, "state": state}}
