"""What a command of the small shell is: a function of a ``Call`` that returns its exit code (TASK-4).

The commands themselves are in ``sh_commands`` and ``cmd_commands``. Their messages and exit codes are those of the
real ones where a person would look at them: ``rm`` of a missing file fails, ``del`` of one says so and succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Protocol

from engine.base.paths import NodeRoot, is_managed, name_of, parent


class FileView(Protocol):
    """The files that a command line sees, by key (see ``engine.base.paths``)."""

    def read(self, key: str) -> str | None:
        """The text of a file; None if there is none."""

    def write(self, key: str, text: str) -> None:
        """Make or replace a file."""

    def put(self, key: str, size: int) -> None:
        """Make or replace a file of so many bytes whose text nobody knows."""

    def copy_file(self, source: str, target: str) -> None:
        """Make or replace a file that is like another one, which must exist."""

    def append(self, key: str, text: str) -> None:
        """Add to the end of a file, which is made if need be."""

    def delete(self, key: str) -> bool:
        """Delete a file, or a directory with all that is in it; False if there was neither."""

    def exists(self, key: str) -> bool:
        """Whether there is a file or a directory of that key."""

    def is_dir(self, key: str) -> bool:
        """Whether there is a directory of that key."""

    def listdir(self, key: str) -> list[str]:
        """The names in a directory, sorted."""

    def mkdir(self, key: str) -> None:
        """Make a directory and those above it."""


class Denied(Exception):
    """The process may not write there (FILE-12)."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class Exit(Exception):
    """The script ends here with this exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class ShellProcess:
    """The shell's process: where it is and what it remembers between commands.

    ``after_unknown``: a program that the small shell does not know has run. What it may have written nobody knows, so
    from then on a file or directory that is looked for and missing is taken to be its work.
    """

    files: FileView
    root: NodeRoot
    env: dict[str, str]
    cwd: str
    status: int = 0
    stop_at_error: bool = False
    after_unknown: bool = False

    def key(self, path: str) -> str:
        """The key of a path as the process writes it."""
        return self.root.key(path, self.cwd)

    def matches(self, path: str) -> list[str]:
        """The existing paths that a path with ``*``, ``?`` or ``[...]`` stands for, sorted, written as it is."""
        separator = "\\" if self.root.is_windows else "/"
        first, *parts = path.replace("/", separator).split(separator)
        found = self._named("", first)
        for part in parts:
            found = [inner for outer in found for inner in self._named(outer + separator, part)]
        return [match for match in found if self.files.exists(self.key(match))]

    def _named(self, directory: str, pattern: str) -> list[str]:
        """The paths in a directory, as written, that have a name like this."""
        if not has_wildcard(pattern):
            return [directory + pattern]
        names = self.files.listdir(self.key(directory))
        hidden = pattern.startswith(".")
        return [directory + name for name in names if fnmatchcase(name, pattern) and name.startswith(".") <= hidden]

    def holds(self, key: str) -> bool:
        """Whether a file may be made under this key: its directory exists, as all do outside the root directory."""
        return self.files.is_dir(parent(key)) or not is_managed(key)

    def make_directory(self, key: str) -> bool:
        """Make a directory and those above it; False if a file is in the way."""
        above = key
        while not self.files.exists(above) and above != parent(above):
            above = parent(above)
        if self.files.read(above) is not None:
            return False
        self.files.mkdir(key)
        return True

    def read(self, path: str) -> str | None:
        """The text of a file, None if it is missing."""
        text = self.files.read(self.key(path))
        return "" if text is None and self.after_unknown and not self.files.is_dir(self.key(path)) else text

    def enter(self, path: str) -> bool:
        """Go to a directory; False if there is none."""
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
    """One command of a script with its arguments and streams; ``rest`` is the unexpanded text after its name in cmd."""

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
        """Write a line to standard error; returns the exit code."""
        self.err.append(text + "\n")
        return code


Builtin = Callable[[Call], int]

_WILDCARD = re.compile(r"[*?\[]")


def has_wildcard(path: str) -> bool:
    """Whether a path has characters that stand for others."""
    return bool(_WILDCARD.search(path))


def succeed(_: Call) -> int:
    """Nothing to do."""
    return 0


def copy_into(call: Call, source: str, target: str, *, move: bool = False) -> bool:
    """Copy a file or tree to a key, into it if that is a directory; False if there is no source."""
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
