"""The file that collects the results of a study: lines are added as runs end, and stay if the study is interrupted."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from engine.studies.results import Kept, kept
from tui.saving.targets import TargetError, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from engine.studies.plan import Run, Study


class ResultsFile:
    """A file of results. It is checked before a run begins, and what is in it stays until the first line is added."""

    def __init__(self, path: Path, study: Study) -> None:
        """Read what is there.

        Raises:
            NoResults: The file holds something else, or results of another study.
            TargetError: It cannot be read.
        """
        self._path = path
        self._stream: BinaryIO | None = None
        self._is_clean = False
        try:
            if path.exists() and not path.is_file():
                raise TargetError(path, "it is not a file", before_run=True)
            content = path.read_bytes() if path.exists() else b""
        except OSError as error:
            raise TargetError(path, reason_of(error), before_run=True) from None
        self._kept: Kept = kept(content, study, str(path))

    @property
    def lines(self) -> dict[Run, str]:
        """The results of earlier runs of this study."""
        return self._kept.lines

    def open(self) -> None:
        """Open the file for writing, or make it, before the first run begins. Raises TargetError."""
        try:
            self._stream = self._path.open("r+b" if self._path.exists() else "xb")
        except OSError as error:
            raise TargetError(self._path, reason_of(error), before_run=True) from None

    def add(self, lines: Iterable[str]) -> None:
        """Add lines; they are in the file when this returns, even if the program is killed. Raises TargetError."""
        assert self._stream is not None
        try:
            if not self._is_clean:
                self._drop_cut_line(self._stream)
            self._stream.write("".join(f"{line}\n" for line in lines).encode())
            self._stream.flush()
        except OSError as error:
            raise TargetError(self._path, reason_of(error)) from None

    def _drop_cut_line(self, stream: BinaryIO) -> None:
        """Go behind the last whole line, and end the file there."""
        stream.truncate(self._kept.length)
        stream.seek(self._kept.length)
        if self._kept.ends_open:
            stream.write(b"\n")
        self._is_clean = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            with suppress(OSError):  # every line was flushed
                self._stream.close()
