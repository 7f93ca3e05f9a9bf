"""The ends of the output files of a process: the lines that it has written last."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.rules.processes.directories import OUTPUTS

if TYPE_CHECKING:
    from engine import Simulation


class OutputEnd(NamedTuple):
    """The last lines of an output file, and the number of lines above them."""

    path: str
    lines: tuple[str, ...]
    above: int


def output_ends(simulation: Simulation, node: int, directory: str, most_lines: int) -> list[OutputEnd]:
    """Return the last lines of ``stdout.txt`` and ``stderr.txt`` in a process's directory on a node (FILE-4).

    A file that does not exist, or no longer does, is left out.
    """
    disk = simulation.world.disks[node]
    found = []
    for name in OUTPUTS:
        path = f"{directory}/{name}"
        text = disk.read(path)
        if text is not None:
            lines = text.rstrip("\n").split("\n") if text else []
            found.append(OutputEnd(path, tuple(lines[-most_lines:]), max(0, len(lines) - most_lines)))
    return found
