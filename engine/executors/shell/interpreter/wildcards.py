"""Wildcards of the POSIX shell in paths: the existing files that a pattern means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.paths import WILDCARD
from engine.executors.shell.language import patterns

if TYPE_CHECKING:
    from engine.executors.shell.programs.call import ShellProcess


def paths(process: ShellProcess, pattern: str) -> list[str]:
    """Return the existing paths that match a pattern, sorted; [] if there is none."""
    directories = ["/"] if pattern.startswith("/") else [""]
    parts = [part for part in pattern.split("/") if part]
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        end = "/" if not last or pattern.endswith("/") else ""
        directories = [
            directory + name + end
            for directory in directories
            for name in _names(process, directory, part)
            if not end or process.files.is_dir(process.key(directory + name)) or not WILDCARD.search(part)
        ]
    return sorted(path for path in directories if process.files.exists(process.key(path)))


def _names(process: ShellProcess, directory: str, pattern: str) -> list[str]:
    if not WILDCARD.search(pattern):
        return [patterns.unescaped(pattern)]
    names = process.files.listdir(process.key(directory or "."))
    process.run.step(4 + (len(names) >> 2))
    hidden = pattern.startswith((".", "\\."))
    return [name for name in names if name.startswith(".") <= hidden and patterns.matches(pattern, name)]
