"""The files that ``batchdeck run`` writes: event log, trace, table of tasks, and the files on nodes and in storage."""

from __future__ import annotations

import os
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from tui.saving.blob_paths import BlobText
from tui.saving.targets import STDOUT, TreeTarget, lines_target

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack

    from engine import Simulation
    from tui.cli.progress import RunProgress
    from tui.saving.targets import LinesTarget

_CHUNK = 10_000  # lines
_TABLES = (".parquet", ".arrow")


class WantedFiles(NamedTuple):
    """The files that were asked for; ``-`` is standard output."""

    events: str | None
    trace: str | None
    tasks: str | None
    files: str | None  # a directory

    def named(self) -> dict[str, str]:
        """Return the names of the files by the options that name them."""
        return {f"--{field}": name for field, name in self._asdict().items() if name is not None}

    def check(self, output: str) -> None:
        """Check that no two results go to the same place, and that what writes them is installed.

        Raises:
            click.UsageError: Two do, or the extra ``arrow`` is needed and not installed.
        """
        named = self.named()
        places = {option: "stdout" if name == STDOUT else os.path.realpath(name) for option, name in named.items()}
        if output == "json":
            places["--output json"] = "stdout"
        for one, other in combinations(places, 2):
            if places[one] != places[other]:
                continue
            if places[one] != "stdout":
                raise click.UsageError(f"{one} and {other} both write to {named[one]}; give each a file of its own.")
            said = [f"{option} -" if option in named else option for option in (one, other)]
            raise click.UsageError(f"{said[0]} and {said[1]} both write to stdout; give {one} a file.")
        if self.events_table is not None:
            try:
                import pyarrow  # noqa: F401 - it is needed when all has been played
            except ModuleNotFoundError:
                needed = f"--events {self.events} needs pyarrow, which is not installed: pip install 'batchdeck[arrow]'"
                raise click.UsageError(needed) from None

    @property
    def events_table(self) -> str | None:
        """The kind of table that the event log is asked for as, ``.parquet`` or ``.arrow``; None for JSON Lines."""
        suffix = "" if self.events is None else Path(self.events).suffix.lower()
        return suffix if suffix in _TABLES else None

    @property
    def uses_stdout(self) -> bool:
        """True if one of them is standard output."""
        return STDOUT in (self.events, self.trace, self.tasks)


class RunFiles:
    """The files of one run. They are opened before it, and get their names at its end."""

    def __init__(self, wanted: WantedFiles, stack: ExitStack) -> None:
        """Open all files; what is not kept disappears with ``stack``. Raises TargetError."""
        self._events, self._trace, self._tasks = (
            None if name is None else stack.enter_context(lines_target(name))
            for name in (wanted.events, wanted.trace, wanted.tasks)
        )
        self._events_table = wanted.events_table
        self._tree = None if wanted.files is None else stack.enter_context(TreeTarget(wanted.files))

    @property
    def event_lines(self) -> LinesTarget | None:
        """The target of events as lines, which are written as they happen; None without one."""
        return None if self._events_table else self._events

    def write(self, simulation: Simulation, progress: RunProgress) -> None:
        """Write what is known when the run is over. Raises TargetError."""
        if self._events is not None and self._events_table is not None:
            from engine.views.exports.event_table import file_pieces

            self._events.write_bytes(file_pieces(simulation, self._events_table))
        if self._trace is not None:
            from engine.views.exports.trace import trace_lines

            _write(self._trace, trace_lines(simulation), progress, "trace")
        if self._tasks is not None:
            from engine.views.exports.task_table import task_table_lines

            _write(self._tasks, task_table_lines(simulation), progress, "tasks")
        if self._tree is not None:
            from engine.views.pages import storage
            from engine.views.rest import node_files

            self._tree.write(node_files.tree(simulation))
            self._tree.write_blobs(BlobText(*blob.place, blob.text or "") for blob in storage.stored_blobs(simulation))

    def keep(self) -> None:
        """Move all files to their names. Raises TargetError."""
        for target in (self._events, self._trace, self._tasks, self._tree):
            if target is not None:
                target.keep()


def _write(target: LinesTarget, lines: Iterator[str], progress: RunProgress, name: str) -> None:
    written = 0
    while chunk := list(islice(lines, _CHUNK)):
        target.write(chunk)
        written += len(chunk)
        progress.writing(name, written)
