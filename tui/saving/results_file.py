"""The file that collects the results of a study: lines are added as runs end, and stay if the study is interrupted."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from engine.studies.results import Kept, kept
from tui.saving.locks import is_locked
from tui.saving.targets import TargetError, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from engine.studies.plan import Run, Study


_IN_USE = "another study adds its results to it: wait for that one, or name another file"


class ResultsFile:
    """A file of results. It is checked before a run begins, and what is in it stays until the first line is added.

    Until the end of the ``with`` block the file is locked: another study that wants to use it is refused.
    """

    def __init__(self, path: Path, study: Study) -> None:
        """Read what is there.

        Raises:
            NoResults: The file holds something else, or results of another study.
            TargetError: It cannot be read, or another study uses it.
        """
        self._path = path
        self._open = ExitStack()
        self._stream: BinaryIO | None = None
        self._is_clean = False
        with ExitStack() as stack:
            try:
                if path.exists() and not path.is_file():
                    raise TargetError(path, "it is not a file", before_run=True)
                self._is_there = path.exists()
                content = stack.enter_context(self._locked("rb")).read() if self._is_there else b""
            except OSError as error:
                raise TargetError(path, reason_of(error), before_run=True) from None
            self._kept: Kept = kept(content, study, str(path))
            self._open = stack.pop_all()

    def _locked(self, mode: str) -> BinaryIO:
        """Open the file and lock it. Raises OSError, and TargetError if another study uses it."""
        stream = cast("BinaryIO", self._path.open(mode))
        if is_locked(stream):
            stream.close()
            raise TargetError(self._path, _IN_USE, before_run=True)
        return stream

    @property
    def lines(self) -> dict[Run, str]:
        """The results of earlier runs of this study."""
        return self._kept.lines

    def open(self) -> None:
        """Open the file for writing, or make it, before the first run begins. Raises TargetError."""
        try:
            self._stream = self._open.enter_context(self._path.open("r+b") if self._is_there else self._locked("xb"))
        except FileExistsError:  # since it was read
            raise TargetError(self._path, _IN_USE, before_run=True) from None
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
        with suppress(OSError):  # every line was flushed
            self._open.close()
