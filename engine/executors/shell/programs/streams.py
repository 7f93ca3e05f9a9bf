"""The streams of a run of the small shell, and the bounds of the run (TASK-23)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.base.node_files import NodeFiles

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

    __slots__ = (
        "after_unknown",
        "clock_ms",
        "jobs",
        "level",
        "start_ms",
        "steps_left",
        "written_left",
    )

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
        run = self.run
        run.written_left -= len(text)
        if run.written_left < 0:
            run.write(0)
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
