"""The interface of the small shell's commands: functions of a ``Call`` that return an exit code (TASK-4).

The commands are in ``sh_commands`` and ``cmd_commands``. Their messages and exit codes are the real ones where they
are visible: ``rm`` of a missing file fails, while ``del`` reports it and succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from engine.base.paths import NodeRoot, is_managed, name_of, parent

if TYPE_CHECKING:
    from engine.executors.files import NodeFiles


class ScriptExit(Exception):
    """The end of the script with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class ShellProcess:
    """The state of the shell's process between commands.

    ``after_unknown`` is set once an unknown program has run. Nobody knows what it has written, so from then on a
    missing file or directory is assumed to exist.
    """

    files: NodeFiles
    root: NodeRoot
    env: dict[str, str]
    cwd: str
    status: int = 0
    stop_at_error: bool = False
    after_unknown: bool = False

    def key(self, path: str) -> str:
        """Return the key of a path of the process."""
        return self.root.key(path, self.cwd)

    def matches(self, path: str) -> list[str]:
        """Return the existing paths that match a wildcard pattern, sorted and in the form of the pattern."""
        separator = "\\" if self.root.is_windows else "/"
        first, *parts = path.replace("/", separator).split(separator)
        found = self._named("", first)
        for part in parts:
            found = [inner for outer in found for inner in self._named(outer + separator, part)]
        return [match for match in found if self.files.exists(self.key(match))]

    def _named(self, directory: str, pattern: str) -> list[str]:
        """Return the paths in a directory whose names match."""
        if not WILDCARD.search(pattern):
            return [directory + pattern]
        names = self.files.listdir(self.key(directory))
        hidden = pattern.startswith(".")
        return [directory + name for name in names if fnmatchcase(name, pattern) and name.startswith(".") <= hidden]

    def holds(self, key: str) -> bool:
        """Return whether a file can be created: its directory exists, or lies outside the root."""
        return self.files.is_dir(parent(key)) or not is_managed(key)

    def make_directory(self, key: str) -> bool:
        """Create a directory and its parents; return False if a file is in the way."""
        above = key
        while not self.files.exists(above) and above != parent(above):
            above = parent(above)
        if self.files.read(above) is not None:
            return False
        self.files.mkdir(key)
        return True

    def read(self, path: str) -> str | None:
        """Return the text of a file, or None if it is missing."""
        text = self.files.read(self.key(path))
        return "" if text is None and self.after_unknown and not self.files.is_dir(self.key(path)) else text

    def enter(self, path: str) -> bool:
        """Change to a directory; return False if there is none."""
        key = self.key(path)
        if (self.after_unknown or not is_managed(key)) and not self.files.exists(key):
            self.make_directory(key)
        if not self.files.is_dir(key):
            return False
        self.cwd = key
        self.env["CD" if self.root.is_windows else "PWD"] = self.root.native(key)
        return True


@dataclass(slots=True)
class Call:
    """A command of a script with its arguments and streams; ``rest`` is the unexpanded text after its name in cmd."""

    process: ShellProcess
    name: str
    args: list[str]
    rest: str = ""
    stdin: str = ""
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Write a line to standard output."""
        self.out.append(text + "\n")

    def fail(self, text: str, code: int = 1) -> int:
        """Write a line to standard error and return the exit code."""
        self.err.append(text + "\n")
        return code


Builtin = Callable[[Call], int]

WILDCARD = re.compile(r"[*?\[]")


def succeed(_: Call) -> int:
    """Do nothing."""
    return 0


def copy_into(call: Call, source: str, target: str, *, move: bool = False) -> bool:
    """Copy a file or tree to a key, or into it if it is a directory; return False if there is no source."""
    process = call.process
    files, key = process.files, process.key(source)
    text = process.read(source)
    if text is None and not files.is_dir(key):
        return False
    if files.is_dir(target):
        target = f"{target}/{name_of(key)}" if target else name_of(key)
    if target == key or not key or target.startswith(f"{key}/"):
        return True
    if text is None:
        _copy_tree(process, key, target)
    elif not files.is_dir(target):
        if files.exists(key):
            files.copy_file(key, target)
        else:
            files.write(target, text)
    if move:
        files.delete(key)
    return True


def _copy_tree(process: ShellProcess, source: str, target: str) -> None:
    files, pending = process.files, [(source, target)]
    while pending:
        source, target = pending.pop()
        text = files.read(source)
        if text is None and process.make_directory(target):
            pending += [(f"{source}/{name}", f"{target}/{name}") for name in files.listdir(source)]
        elif text is not None and not files.is_dir(target):
            files.copy_file(source, target)
