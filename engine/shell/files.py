"""The files of one node, and the streams of a run of the small shell with its bounds (TASK-23).

Files are texts and directories by key (see ``engine.base.paths``, FILE). Of some files only the size is known, such as
a downloaded blob without text: they read as empty but take their space (VM-4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from engine.base.paths import TOP_DIRECTORIES, is_managed, parent

_SEARCHED = 64  # files


class AccessDenied(Exception):
    """The process may not write to this key (FILE-12)."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class FileTimes(NamedTuple):
    """When a file was created and last written, in ms since the start of the run."""

    created_ms: int
    modified_ms: int


class NodeFiles:
    """The file system of a node. A directory exists once it, or something in it, has been created.

    A new node has the standard directories. Outside the root exists only what has been created there. ``now_ms`` is
    the moment at which files are written.
    """

    __slots__ = ("_directories", "_read_only", "_sizes", "_texts", "_times", "now_ms", "used_bytes")

    def __init__(self) -> None:
        self.now_ms = 0
        self._texts: dict[str, str] = {}
        self._sizes: dict[str, int] = {}  # of files without a known text
        self._times: dict[str, FileTimes] = {}
        self.used_bytes = 0  # of all files
        self._directories: dict[str, None] = dict.fromkeys(TOP_DIRECTORIES)
        self._read_only: tuple[str, ...] = ()

    def copy(self) -> NodeFiles:
        """Return an independent copy."""
        twin = NodeFiles.__new__(NodeFiles)
        twin._texts = self._texts.copy()
        twin._sizes = self._sizes.copy()
        twin._times = self._times.copy()
        twin.now_ms = self.now_ms
        twin.used_bytes = self.used_bytes
        twin._directories = self._directories.copy()
        twin._read_only = ()
        return twin

    @contextmanager
    def guarded(self, read_only: tuple[str, ...]) -> Iterator[None]:
        """Raise AccessDenied in the ``with`` block for changes of these directories and what is in them (FILE-12)."""
        self._read_only = read_only
        try:
            yield
        finally:
            self._read_only = ()

    def _check(self, key: str) -> None:
        if self._read_only and any(key == place or key.startswith(f"{place}/") for place in self._read_only):
            raise AccessDenied(key)

    def read(self, key: str) -> str | None:
        """Return the text of a file, or None if there is none."""
        return self._texts.get(key)

    def newest_text(self, names: Sequence[str]) -> tuple[str, str] | None:
        """Return key and text of the file of these names that was created last and is not empty; None without any.

        Only the newest files are searched.
        """
        endings = tuple(f"/{name}" for name in names)
        newest = islice(reversed(self._texts.items()), _SEARCHED)
        return next(((key, text) for key, text in newest if text and key.endswith(endings)), None)

    def has_text(self, key: str) -> bool:
        """Return whether there is a file whose text is known."""
        return key in self._texts and key not in self._sizes

    def write(self, key: str, text: str) -> None:
        """Create or replace a file and create its parent directories."""
        self._check(key)
        known = self._times.get(key)
        self._remove(key)
        self._make_directories(parent(key))
        self._texts[key] = text
        now_ms = self.now_ms
        self._times[key] = FileTimes(now_ms if known is None else known.created_ms, now_ms)
        self.used_bytes += _length(text)

    def put(self, key: str, size: int) -> None:
        """Create or replace a file of known size and unknown text, and create its parent directories."""
        self.write(key, "")
        if size:
            self._sizes[key] = size
            self.used_bytes += size

    def copy_file(self, source: str, target: str) -> None:
        """Copy a file, which must exist."""
        if source in self._sizes:
            self.put(target, self._sizes[source])
        else:
            self.write(target, self._texts[source])

    def append(self, key: str, text: str) -> None:
        """Append text to a file; create it if necessary."""
        if key not in self._sizes:
            self.write(key, self._texts.get(key, "") + text)
        elif text:
            self.put(key, self._sizes[key] + _length(text))

    def delete(self, key: str) -> bool:
        """Delete a file, or a directory with its content; return False if there was neither."""
        if self.exists(key):
            self._check(key)
        if self._remove(key):
            return True
        if key not in self._directories:
            return False
        below = key + "/"
        for inner in [name for name in self._texts if name.startswith(below)]:
            self._remove(inner)
        for inner in [name for name in self._directories if name.startswith(below)]:
            del self._directories[inner]
        del self._directories[key]
        return True

    def _remove(self, key: str) -> bool:
        """Remove a file but not its parent directories; return False if there is none."""
        if key not in self._texts:
            return False
        self.used_bytes -= self.size(key)
        self._sizes.pop(key, None)
        self._times.pop(key, None)
        del self._texts[key]
        return True

    def mkdir(self, key: str) -> None:
        """Create a directory and its parents."""
        self._check(key)
        self._make_directories(key)

    def exists(self, key: str) -> bool:
        """Return whether there is a file or directory."""
        return key in self._texts or self.is_dir(key)

    def is_dir(self, key: str) -> bool:
        """Return whether there is a directory; the root always exists."""
        return not key or key in self._directories

    @property
    def is_bare(self) -> bool:
        """True if there are no directories but those of a new node."""
        return len(self._directories) == len(TOP_DIRECTORIES)

    def can_hold(self, key: str) -> bool:
        """Return whether a file can have this key: it is no directory, and no file is where a directory has to be."""
        if self.is_dir(key):
            return False
        above = parent(key)
        while above and above not in self._directories:
            if above in self._texts:
                return False
            above = parent(above)
        return True

    def listdir(self, key: str) -> list[str]:
        """Return the names in a directory, sorted."""
        below = f"{key.rstrip('/')}/" if key else ""
        inside = [
            name[len(below) :] for kept in (self._texts, self._directories) for name in kept if _is_below(name, below)
        ]
        return sorted({name.partition("/")[0] for name in inside})

    def walk(self, key: str = "") -> list[str]:
        """Return the keys of everything below a directory, sorted; from the root only what the file API sees."""
        below = f"{key.rstrip('/')}/" if key else ""
        return sorted(name for kept in (self._texts, self._directories) for name in kept if _is_below(name, below))

    def all_files(self) -> list[str]:
        """Return the keys of all files, sorted, those outside the root included."""
        return sorted(self._texts)

    def size(self, key: str) -> int:
        """Return the size of a file in bytes, with text as UTF-8; 0 if there is none."""
        return self._sizes.get(key) or _length(self._texts.get(key, ""))

    def times(self, key: str) -> FileTimes | None:
        """Return when a file was created and last written; None if there is none."""
        return self._times.get(key)

    def _make_directories(self, key: str) -> None:
        while key and key not in self._directories:
            self._directories[key] = None
            key = parent(key)


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _is_below(name: str, below: str) -> bool:
    return name.startswith(below) and len(name) > len(below) if below else is_managed(name)


STEP_LIMIT = 100_000
"""The most steps of a run: commands, rounds of loops, and the work on long texts."""
OUTPUT_LIMIT = 1_000_000
"""The most characters that all commands of a run write together, and the longest word."""
PROCESS_ID = 4242
"""The value of ``$$``: decided here, equal for all processes."""
FIRST_JOB = PROCESS_ID + 1
"""The process id of the first list of commands that is started with ``&``; the next ones follow."""
LEVEL_LIMIT = 32
"""The most compound commands, functions and substitutions inside each other while a script runs."""


class BoundReached(Exception):
    """The end of a run that has exceeded its bounds; the text says which."""


class Job(NamedTuple):
    """A list of commands that was started with ``&``."""

    ends_ms: int
    status: int


class Run:
    """The state that all shells of one command line share: the bounds and the simulated clock."""

    __slots__ = ("after_unknown", "clock_ms", "jobs", "level", "start_ms", "steps_left", "written_left")

    def __init__(self, start_ms: int = 0) -> None:
        self.start_ms = start_ms
        self.clock_ms = start_ms  # Unix time in ms
        self.jobs: list[Job] = []
        self.steps_left = STEP_LIMIT
        self.written_left = OUTPUT_LIMIT
        self.level = 0
        self.after_unknown = False

    @property
    def slept_ms(self) -> int:
        """The time that the run has slept."""
        return self.clock_ms - self.start_ms

    def job(self, number: str) -> Job | None:
        """Return the job with this process id."""
        index = int(number[:9]) - FIRST_JOB
        return self.jobs[index] if 0 <= index < len(self.jobs) else None

    def step(self, count: int = 1) -> None:
        """Count steps.

        Raises:
            BoundReached: There are too many.
        """
        self.steps_left -= count
        if self.steps_left < 0:
            raise BoundReached(f"stopped after {STEP_LIMIT:,} steps")

    def write(self, length: int) -> None:
        """Count written characters.

        Raises:
            BoundReached: There are too many.
        """
        self.written_left -= length
        if self.written_left < 0:
            raise BoundReached(f"stopped after {OUTPUT_LIMIT:,} characters of output")

    def check_length(self, length: int) -> None:
        """Refuse a word that is too long.

        Raises:
            BoundReached: It is.
        """
        if length > OUTPUT_LIMIT:
            raise BoundReached(f"stopped at a word of more than {OUTPUT_LIMIT:,} characters")

    def enter(self) -> None:
        """Count one more level of commands inside each other.

        Raises:
            BoundReached: There are too many.
        """
        self.level += 1
        if self.level > LEVEL_LIMIT:
            raise BoundReached(f"stopped at more than {LEVEL_LIMIT} commands inside each other")


class Stream:
    """Text that commands write."""

    __slots__ = ("parts", "run")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.parts: list[str] = []

    def append(self, text: str) -> None:
        """Write a text."""
        self.run.write(len(text))
        self.parts.append(text)

    def flush(self) -> None:
        """Bring what has been written to its place."""

    @property
    def text(self) -> str:
        """All that has been written."""
        return "".join(self.parts)


class NullStream(Stream):
    """A stream that forgets what is written: the null device, or a closed stream."""

    __slots__ = ()

    def append(self, text: str) -> None:
        """Forget a text."""


class FileStream(Stream):
    """A stream into a file of the node: to its end, or from its begin, over what others write there."""

    __slots__ = ("appends", "at", "files", "key")

    def __init__(self, run: Run, files: NodeFiles, key: str, *, appends: bool = False) -> None:
        super().__init__(run)
        self.files = files
        self.key = key
        self.appends = appends
        self.at = 0  # in characters

    def flush(self) -> None:
        """Write to the file what has been written to the stream since the last time."""
        if not self.parts:
            return
        text = "".join(self.parts)
        self.parts.clear()
        self.run.step(self.files.size(self.key) >> 14)
        present = self.files.read(self.key)
        if present is None:  # the file has been deleted: what is written goes nowhere
            return
        if self.appends or len(present) == self.at:
            self.files.append(self.key, text)
        else:
            self.files.write(self.key, present[: self.at].ljust(self.at, "\0") + text + present[self.at + len(text) :])
        self.at += len(text)


class InputStream:
    """Text that commands read, from where the last one has stopped."""

    __slots__ = ("at", "regular", "text")

    def __init__(self, text: str = "", *, regular: bool = False) -> None:
        self.text = text
        self.regular = regular  # from a file, not from a pipe
        self.at = 0

    def read(self) -> str:
        """Return all the rest."""
        text = self.text[self.at :] if self.at else self.text
        self.at = len(self.text)
        return text

    def line(self) -> str:
        """Return the next line with its end; "" at the end of the text."""
        end = self.text.find("\n", self.at) + 1 or len(self.text)
        line, self.at = self.text[self.at : end], end
        return line
