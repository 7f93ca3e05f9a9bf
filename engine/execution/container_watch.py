"""The program that removes the containers of a command once that has gone, however it ended."""

from __future__ import annotations

import sys
from contextlib import suppress


def remove_containers(address: str, label: str) -> None:
    """Remove the containers with a label once the standard input has ended: with the command that has started them."""
    import docker

    client = docker.DockerClient(base_url=address)
    sys.stdin.read()
    while found := client.containers.list(all=True, filters={"label": label}):
        for container in found:
            with suppress(docker.errors.APIError):
                container.remove(force=True)


if __name__ == "__main__":
    remove_containers(*sys.argv[1:])
