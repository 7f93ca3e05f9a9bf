"""Another commit of this repository, to be measured in turns with this tree."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
