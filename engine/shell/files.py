"""The files of one node, and the streams of a run of the small shell with its bounds (TASK-23).

Files are texts and directories by key (see ``engine.base.paths``, FILE). Of some files only the size is known, such as
a downloaded blob without text: they read as empty but take their space (VM-4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from engine.base.paths import (
    SYSTEM_DIRECTORIES,
    TOP_DIRECTORIES,
    is_from_outside,
    is_managed,
    is_of_system,
    is_temporary,
    parent,
)

_SEARCHED = 64  # files

SystemText = Callable[[str], str | None]
"""A function that returns the text of a file of the operating system, or None if it is not known."""


class WriteFailed(Exception):
    """The process cannot write to this key; the reasons are what a program says about it on each system."""

    on_linux = "Permission denied"
    on_windows = "Access is denied."

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class AccessDenied(WriteFailed):
    """The process may not write to this key (FILE-12)."""


class NoSpaceLeft(WriteFailed):
    """The disk has no room for all of this file (VM-4)."""

    on_linux = "No space left on device"
    on_windows = "There is not enough space on the disk."


class Room(NamedTuple):
    """The space of a disk: its bytes in all, and a function that deletes what nobody keeps any more."""

    most_bytes: int
    clear: Callable[[], None]


class FileTimes(NamedTuple):
    """When a file was created and last written, in ms since the start of the run."""

    created_ms: int
    modified_ms: int


class _File(NamedTuple):
    """A file. One of which only the size is known has an empty text."""

    text: str
    size: int  # in bytes, of a text as UTF-8
    times: FileTimes

    @property
    def has_text(self) -> bool:
        return bool(self.text) or not self.size


class NodeFiles:
    """The file system of a node. A directory exists once it, or something in it, has been created.

    A new node has the standard directories. Outside the root are those of its operating system, of which only some
    files are known, and what has been created there (FILE-15). ``now_ms`` is the moment at which files are written.
    """

    __slots__ = ("_directories", "_files", "_read_only", "_room", "_system", "losses", "now_ms", "used_bytes")

    def __init__(self) -> None:
        self.now_ms = self.losses = self.used_bytes = 0  # bytes of all files
        self._files: dict[str, _File] = {}  # the last one written at the end
        self._directories: dict[str, bool] = dict.fromkeys(TOP_DIRECTORIES, True)  # whether its content is known
        self._system: SystemText | None = None
        self._read_only: tuple[str, ...] = ()
        self._room: Room | None = None  # of a process that runs; None: any number of bytes

    def copy(self) -> NodeFiles:
        """Return an independent copy."""
        twin = NodeFiles()
        twin.now_ms, twin.used_bytes, twin.losses = self.now_ms, self.used_bytes, self.losses
        twin._files, twin._directories = self._files.copy(), self._directories.copy()
        return twin

    @contextmanager
    def guarded(
        self, read_only: tuple[str, ...], room: Room | None = None, system: SystemText | None = None
    ) -> Iterator[None]:
        """Raise WriteFailed in the ``with`` block for what a process cannot write, and show it the ``system``'s files.

        AccessDenied is raised for changes of these directories and what is in them (FILE-12), NoSpaceLeft for files by
        size and copies beyond ``room`` (VM-4). Texts that commands write are short and always fit.
        """
        self._read_only, self._room, self._system = read_only, room, system
        try:
            yield
        finally:
            self._read_only, self._room, self._system = (), None, None

    def _check(self, key: str) -> None:
        if self._read_only and any(key == place or key.startswith(f"{place}/") for place in self._read_only):
            raise AccessDenied(key)

    def read(self, key: str) -> str | None:
        """Return the text of a file, or None if there is none."""
        file = self._files.get(key)
        if file is not None:
            return file.text
        return None if self._system is None or is_managed(key) else self._system(key)

    def knows(self, key: str) -> bool:
        """Return whether a file that is missing here is missing on a real node too.

        Nobody knows what is in packages, mounts, undescribed containers, and most directories of the system (FILE-15).
        """
        if is_temporary(key) or is_from_outside(key):
            return is_temporary(key)
        above, managed = parent(key), is_managed(key)
        while above not in self._directories and above != parent(above):
            above = parent(above)
        return self._directories.get(above, managed) and not is_of_system(above)

    def newest_text(self, names: Sequence[str]) -> tuple[str, str] | None:
        """Return key and text of the file of these names that was created last and is not empty; None without any.

        Only the newest files are searched.
        """
        endings = tuple(f"/{name}" for name in names)
        newest = islice(reversed(self._files.items()), _SEARCHED)
        return next(((key, file.text) for key, file in newest if file.text and key.endswith(endings)), None)

    def has_text(self, key: str) -> bool:
        """Return whether there is a file whose text is known."""
        return key in self._files and self._files[key].has_text

    def write(self, key: str, text: str) -> None:
        """Create or replace a file and create its parent directories."""
        self._put(key, text, _length(text))

    def put(self, key: str, size: int) -> None:
        """Create or replace a file of known size and unknown text, and create its parent directories."""
        self._put(key, "", self._fitting(key, size))
        if self.size(key) < size:
            raise NoSpaceLeft(key)

    def _fitting(self, key: str, size: int) -> int:
        """Return how much of a file finds room, once there is made as much as possible."""
        room, least = self._room, self.used_bytes - self.size(key)
        if room is None or least + size <= room.most_bytes:
            return size
        with self.unguarded():
            self._room = None
            room.clear()
        return min(size, max(0, room.most_bytes - self.used_bytes + self.size(key)))

    @contextmanager
    def unguarded(self) -> Iterator[None]:
        """Let a process write everywhere in the ``with`` block, as an administrator."""
        guards = self._read_only, self._room
        self._read_only = ()
        try:
            yield
        finally:
            self._read_only, self._room = guards

    def _put(self, key: str, text: str, size: int) -> None:
        self._check(key)
        old, now_ms = self._files.pop(key, None), self.now_ms
        if (above := parent(key)) not in self._directories:
            self._make_directories(above, known=is_managed(key))
        self._files[key] = _File(text, size, FileTimes(now_ms if old is None else old.times.created_ms, now_ms))
        self.used_bytes += size - (0 if old is None else old.size)

    def copy_file(self, source: str, target: str, *, moves: bool = False) -> None:
        """Copy a file, which must exist; one that is moved needs no room."""
        file = self._files[source]
        if moves or self._fitting(target, file.size) == file.size:
            self._put(target, file.text, file.size)
        else:
            self.put(target, file.size)

    def append(self, key: str, text: str) -> None:
        """Append text to a file; create it if necessary."""
        file = self._files.get(key)
        if file is None:
            self.write(key, (self.read(key) or "") + text)
        elif text or file.has_text:
            self._put(key, file.text + text if file.has_text else "", file.size + _length(text))

    def delete(self, key: str) -> bool:
        """Delete a file, or a directory with its content; return False if there was neither."""
        if self.exists(key):
            self._check(key)
            self.losses += 1
        if self._remove(key):
            return True
        if not self.is_dir(key):
            return False
        below = key + "/"
        for inner in [name for name in self._files if name.startswith(below)]:
            self._remove(inner)
        for inner in [name for name in self._directories if name.startswith(below)]:
            del self._directories[inner]
        self._directories.pop(key, None)
        return True

    def _remove(self, key: str) -> bool:
        """Remove a file but not its parent directories; return False if there is none."""
        file = self._files.pop(key, None)
        self.used_bytes -= 0 if file is None else file.size
        return file is not None

    def mkdir(self, key: str, *, known: bool = True) -> None:
        """Create a directory and its parents; unless it is ``known``, a real node may have more in it."""
        self._check(key)
        self._make_directories(key, known=True)
        if key:
            self._directories[key] = known and self._directories[key]

    def exists(self, key: str) -> bool:
        """Return whether there is a file or directory."""
        return key in self._files or self.is_dir(key) or self.read(key) is not None

    def is_dir(self, key: str) -> bool:
        """Return whether there is a directory; the root and those of the operating system always exist."""
        return not key or key in self._directories or is_of_system(key)

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
            if above in self._files:
                return False
            above = parent(above)
        return True

    def listdir(self, key: str) -> list[str]:
        """Return the names in a directory, sorted."""
        begin = len(key.rstrip("/")) + 1 if key else 0
        inside = self._below(key)
        if not is_managed(key):
            inside += [name for name in SYSTEM_DIRECTORIES if _is_below(name, f"{key.rstrip('/')}/")]
        return sorted({name[begin:].partition("/")[0] for name in inside})

    def walk(self, key: str = "") -> list[str]:
        """Return the keys of everything below a directory, sorted; from the root only what the file API sees."""
        return sorted(self._below(key))

    def _below(self, key: str) -> list[str]:
        below = f"{key.rstrip('/')}/" if key else ""
        return [name for kept in (self._files, self._directories) for name in kept if _is_below(name, below)]

    def all_files(self) -> list[str]:
        """Return the keys of all files, sorted, those outside the root included."""
        return sorted(self._files)

    def size(self, key: str) -> int:
        """Return the size of a file in bytes, with text as UTF-8; 0 if there is none."""
        file = self._files.get(key)
        return _length(self.read(key) or "") if file is None else file.size

    def times(self, key: str) -> FileTimes | None:
        """Return when a file was created and last written; None if there is none."""
        file = self._files.get(key)
        return None if file is None else file.times

    def _make_directories(self, key: str, *, known: bool) -> None:
        while key and key not in self._directories:
            self._directories[key] = known
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


class TimeIsUp(Exception):
    """The end of a command by ``timeout``; the argument is the moment of the simulated clock."""


class Job(NamedTuple):
    """A list of commands that was started with ``&``."""

    ends_ms: int
    status: int


class Run:
    """The state that all shells of one command line share: the bounds and the simulated clock.

    The files that an unknown program has written are not known, so ``after_unknown`` a missing file or directory is
    assumed to exist. ``vague_texts`` counts the texts that were read or written without being known. ``is_described``
    tells that the scenario says how the command line behaves.
    """

    __slots__ = (
        *("after_unknown", "clock_ms", "deadline_ms", "is_described", "jobs", "level", "start_ms", "steps_left"),
        *("vague_files", "vague_texts", "written_left"),
    )

    def __init__(self, start_ms: int = 0, *, is_described: bool = False) -> None:
        self.start_ms = start_ms
        self.is_described = is_described
        self.clock_ms = start_ms  # Unix time in ms
        self.deadline_ms: int | None = None  # at which ``timeout`` ends the present command
        self.jobs: list[Job] = []
        self.steps_left = STEP_LIMIT
        self.written_left = OUTPUT_LIMIT
        self.level = 0
        self.after_unknown = False
        self.vague_texts = 0
        self.vague_files: set[str] = set()  # which unknown programs have written

    @property
    def slept_ms(self) -> int:
        """The time that the run has slept."""
        return self.clock_ms - self.start_ms

    def wait_until(self, ends_ms: int) -> None:
        """Let the time pass up to a moment. Raises TimeIsUp if the present command is ended before."""
        if self.deadline_ms is not None and ends_ms > self.deadline_ms:
            self.clock_ms = max(self.clock_ms, self.deadline_ms)
            raise TimeIsUp(self.deadline_ms)
        self.clock_ms = max(self.clock_ms, ends_ms)

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

    def __enter__(self) -> None:
        """Count one more level of commands inside each other, up to the end of the ``with`` block.

        Raises:
            BoundReached: There are too many.
        """
        self.level += 1
        if self.level > LEVEL_LIMIT:
            raise BoundReached(f"stopped at more than {LEVEL_LIMIT} commands inside each other")

    def __exit__(self, *_: object) -> None:
        self.level -= 1


class Stream:
    """Text that commands write."""

    __slots__ = ("parts", "run")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.parts: list[str] = []

    def append(self, text: str) -> None:
        """Write text."""
        self.run.write(len(text))
        self.parts.append(text)

    def flush(self) -> None:
        """Write buffered text to its destination."""

    @property
    def text(self) -> str:
        """All that has been written."""
        return "".join(self.parts)


class NullStream(Stream):
    """A stream that discards what is written: the null device, or a closed stream."""

    __slots__ = ()

    def append(self, text: str) -> None:
        """Discard the text."""


class FileStream(Stream):
    """A stream that writes to a file of the node: at its end, or from its start over what others write there."""

    __slots__ = ("appends", "at", "files", "key")

    def __init__(self, run: Run, files: NodeFiles, key: str, *, appends: bool = False) -> None:
        super().__init__(run)
        self.files = files
        self.key = key
        self.appends = appends
        self.at = 0  # in characters

    def flush(self) -> None:
        """Write the text since the last flush to the file."""
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
    """Text that commands read; each continues where the last one stopped."""

    __slots__ = ("at", "regular", "text", "vague")

    def __init__(self, text: str = "", *, regular: bool = False, vague: bool = False) -> None:
        self.text = text
        self.vague = vague  # from an unknown program
        self.regular = regular  # from a file, not from a pipe
        self.at = 0

    def read(self) -> str:
        """Return the rest of the text."""
        text = self.text[self.at :] if self.at else self.text
        self.at = len(self.text)
        return text

    def line(self) -> str:
        """Return the next line with its end; "" at the end of the text."""
        end = self.text.find("\n", self.at) + 1 or len(self.text)
        line, self.at = self.text[self.at : end], end
        return line
