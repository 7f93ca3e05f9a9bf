"""Another commit of this repository, measured in turns with this tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.results import Form, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.bench.results import Sheet

HERE = Path(__file__).resolve().parents[2]


@contextmanager
def checkout(commit: str, directory: str) -> Iterator[Path]:
    """Provide the files of a commit for as long as they are measured."""
    tree = Path(directory, "base")
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], cwd=HERE, check=True)
    try:
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=HERE, check=True)


def compare_part(sheet: Sheet, part: Sequence[str], rounds: int, base: Path) -> None:
    """Run the bench of both trees in turns, and add each result as a multiple of what the other commit's came to.

    Args:
        sheet: The table.
        part: The part of the bench with its options.
        rounds: The number of turns.
        base: The other commit, whose bench must have this part too.
    """
    ratios: dict[str, list[float]] = {}
    for _ in range(rounds):
        own, other = (_medians(part, tree) for tree in (HERE, base))
        for what, value in own.items():
            if other.get(what):
                ratios.setdefault(what, []).append(value / other[what])
    for what, values in ratios.items():
        sheet.add(Result(what, "the other commit", tuple(values)))


def _medians(part: Sequence[str], tree: Path) -> dict[str, float]:
    """Return the median of each result of a part."""
    call = [sys.executable, "-m", "tests.bench", *part, "--form", Form.LINES]
    environment = os.environ | {"PYTHONPATH": str(tree)}
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True, cwd=tree, env=environment)
    lines = (json.loads(line) for line in done.stdout.splitlines())
    return {what: sorted(values)[len(values) // 2] for what, values in lines}
