"""``python -m tests.bench.whole [--rounds N] [--tasks N] [--compare COMMIT]``: what whole commands cost.

Each command is a process from its start to its exit, beside the plain SimPy program of ``slots.py`` on as much work in
the same minute. Small commands stand beside a Python that imports click and nothing else. With ``--compare`` the same
commands of another commit take turns with those of this tree, and the ratio of both is printed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.bench.base import HERE, checkout
from tests.bench.workloads import Workload

SLOTS = 4
ROW = "{:<34} {:>9} {:>8} {:>15} {:>8} {:>8}"


class Command(NamedTuple):
    """A command to measure, and the bare one beside it."""

    name: str
    arguments: Sequence[str]
    beside: Sequence[str]


def cpu_s(arguments: Sequence[str], tree: Path, directory: str) -> float:
    """Return the processor seconds of a Python process with these arguments, which works in ``directory``."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": f"{directory}/{tree.name}-bytecode"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(tasks: int, directory: str) -> list[Command]:
    """Return the commands, on a scenario of so many tasks that is written into the directory."""
    nodes = max(1, tasks // 100)
    scenario = Workload("whole", tasks, nodes, SLOTS, prepared=True).scenario()
    Path(directory, "whole.json").write_text(scenario, encoding="utf-8")
    plain = ["-m", "tests.bench.slots", str(tasks), str(nodes), str(SLOTS)]
    click = ["-c", "import click"]
    run = ["-m", "tui", "run", "whole.json", "--quiet"]
    return [
        Command("run --quiet", run, plain),
        Command("run --quiet --events FILE", [*run, "--events", "events.jsonl"], plain),
        Command("run --quiet --output json", [*run, "--output", "json"], plain),
        Command("--version", ["-m", "tui", "--version"], click),
        Command("scenarios", ["-m", "tui", "scenarios"], click),
        Command("run of the sample", ["-m", "tui", "run", "job-prep-release-sample", "--quiet"], click),
    ]


def main() -> None:
    """Measure all commands in turns and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.whole", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=200_000)
    parser.add_argument("--compare", metavar="COMMIT")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        base = stack.enter_context(checkout(arguments.compare, directory)) if arguments.compare else None
        print(ROW.format("command", "seconds", "bare", "times the bare", "median", "of base"))
        for command in commands(arguments.tasks, directory):
            for tree in filter(None, (HERE, base)):
                cpu_s(command.arguments, tree, directory)  # compiles what it imports
            own, bare, other = [], [], []
            for _ in range(arguments.rounds):
                bare.append(cpu_s(command.beside, HERE, directory))
                own.append(cpu_s(command.arguments, HERE, directory))
                if base is not None:
                    other.append(cpu_s(command.arguments, base, directory))
            times = sorted(mine / floor for mine, floor in zip(own, bare, strict=True))
            print(
                ROW.format(
                    command.name,
                    f"{median(own):.2f}",
                    f"{median(bare):.2f}",
                    f"{times[0]:.2f} to {times[-1]:.2f}",
                    f"{median(times):.2f}",
                    f"{median(mine / base_s for mine, base_s in zip(own, other, strict=True)):.2f}" if other else "",
                ),
                flush=True,
            )


if __name__ == "__main__":
    main()
