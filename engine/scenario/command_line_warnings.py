"""Command lines that the small shell cannot read and that no ``simulate`` speaks for, or that every shell refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engine.base.lazy import lazy_regex
from engine.base.terms import OsFamily
from engine.executors.shell.small_shell import syntax_error, unreadable
from engine.scenario.names import text_at
from engine.specs.common import CommandLine
from engine.specs.job import JobManagerTask
from engine.specs.task import MultiInstanceSettings, TaskSpec

if TYPE_CHECKING:
    from engine.scenario.document import DocumentPlace
    from engine.scenario.known_nodes import KnownNodes, NodeOwner
    from engine.specs.base import Spec

_SHELL = lazy_regex(r"sh\b|cmd", re.IGNORECASE)
# Each names a command line and has a `simulate` beside it.
_WITH_LINES: dict[type[Spec], str] = {CommandLine: "commandLine", MultiInstanceSettings: "coordinationCommandLine"}


class CommandLines:
    """The command lines of one document; those on nodes that are not known yet are checked at the end."""

    def __init__(self, nodes: KnownNodes, *, tasks_are_simulated: bool) -> None:
        """Create it; with ``tasks_are_simulated`` a default ``simulate`` speaks for all tasks of jobs."""
        self._nodes = nodes
        self._tasks_are_simulated = tasks_are_simulated
        self._waiting: list[tuple[DocumentPlace, str, NodeOwner]] = []

    def visit(self, place: DocumentPlace, model: type[Spec], owner: NodeOwner, text: str | None) -> None:
        """Check the command line of a body of ``model``; ``text`` is what a template in it becomes."""
        for kind, name in _WITH_LINES.items():
            if issubclass(model, kind):
                self._check(place, model, name, owner, text)

    def finish(self) -> None:
        """Check the lines whose nodes could not be known before."""
        for place, text, owner in self._waiting:
            nodes = self._nodes.of(owner)
            _check_line(place, text, nodes.os if nodes is not None else OsFamily.LINUX)

    def _check(self, place: DocumentPlace, model: type[Spec], name: str, owner: NodeOwner, text: str | None) -> None:
        given = text_at(place.plain, name)
        is_simulated = isinstance(place.plain, dict) and place.plain.get("simulate")
        is_job_task = issubclass(model, TaskSpec | JobManagerTask)
        if given is None or is_simulated or (is_job_task and self._tasks_are_simulated):
            return
        text = text or given
        if not _SHELL.search(text):  # a program with arguments can always be read
            return
        written, nodes = place.get(name), self._nodes.of(owner)
        assert written is not None
        if nodes is None:
            self._waiting.append((written, text, owner))
        else:
            _check_line(written, text, nodes.os)


def _check_line(place: DocumentPlace, text: str, os: OsFamily) -> None:
    """Warn of a command line that the small shell cannot read, or that every shell refuses."""
    mistake = syntax_error(text, os)
    reason = unreadable(text, os) if mistake is None else None
    if mistake is not None:
        place.warn(f"the shell refuses this command line, {mistake}: its process ends with exit code 2")
    elif reason is not None:
        place.warn(
            f"the small shell cannot read this command line: {reason}. It counts as a program that takes its default"
            " time and succeeds; say with 'simulate' what it does"
        )
