"""Sending the runs of a study to workers in batches, and sending again what a worker lost that has died.

Workers are an executor of ``concurrent.futures``. The clock decides how large batches are, never what a run gives.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, Protocol

from engine.studies.playing import failed_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.studies.plan import Run, Study

BATCH_S = 1.0
"""The time that a batch should take: sending it then costs next to nothing, and losing it little."""

_AHEAD = 2  # batches for each worker, so that one waits while another is played
_TICK_S = 1.0  # some systems do not interrupt a wait that has no end
_TRIES = 2  # so often a batch is sent together with others before it is sent alone
_ENDED = "the process that played this run ended before it, each time"


class WorkersLost(Exception):
    """There are no workers any more, and new ones cannot be had."""


class Played(NamedTuple):
    """The lines of a batch, and how long it took, in seconds."""

    lines: list[str]
    seconds: float


class Workers(Protocol):
    """Anything that plays batches: processes on this machine, or a cluster."""

    @property
    def count(self) -> int:
        """The number of batches that are played at a time."""

    def submit(self, runs: tuple[Run, ...]) -> Future[Played]:
        """Send a batch. Raises BrokenExecutor if a worker has died."""

    def renew(self) -> None:
        """Replace all workers after one has died."""


@dataclass(frozen=True, slots=True)
class _Batch:
    runs: tuple[Run, ...]
    losses: int = 0  # how often a worker died with it

    @property
    def is_suspect(self) -> bool:
        """True if it is sent alone, so that nothing else can be why the worker dies."""
        return self.losses >= _TRIES


class Dispatcher:
    """Plays runs on workers. A batch that was lost is sent again, then alone, then in halves.

    A single run with which a worker dies although it was sent alone gets a result with an error.
    """

    def __init__(self, study: Study, workers: Workers) -> None:
        self._study = study
        self._workers = workers
        self._waiting: deque[Run] = deque()
        self._again: deque[_Batch] = deque()
        self._sent: dict[Future[Played], _Batch] = {}
        self._pace_s: float | None = None  # seconds for a run, lately

    def play(self, runs: Iterable[Run]) -> Iterator[list[str]]:
        """Yield the lines of all runs, batch by batch, in the order in which they are done; now and then none."""
        self._waiting.extend(runs)
        while self._waiting or self._again or self._sent:
            is_broken = not self._send()
            done = wait(self._sent, 0 if is_broken else _TICK_S, FIRST_COMPLETED).done
            for future in done:
                batch = self._sent.pop(future)
                lost = _reason(future)
                is_broken |= isinstance(lost, BrokenExecutor)
                yield self._played(batch, future.result()) if lost is None else self._lost(batch, lost)
            if is_broken:
                yield from self._renew()
            elif not done:
                yield []

    def _send(self) -> bool:
        """Send as many batches as the workers need; return False if a worker has died."""
        while batch := self._next():
            try:
                self._sent[self._workers.submit(batch.runs)] = batch
            except (BrokenExecutor, BrokenPipeError):
                self._again.appendleft(batch)
                return False
        return True

    def _next(self) -> _Batch | None:
        """Take the next batch to send, or None if there is none now. Suspects wait until nothing else is on its way."""
        if any(batch.is_suspect for batch in self._sent.values()):
            return None
        count = max(1, self._workers.count)
        has_room = len(self._sent) < count * _AHEAD
        usual = next((batch for batch in self._again if not batch.is_suspect), None)
        if usual is not None and has_room:
            self._again.remove(usual)
            return usual
        if self._waiting and has_room and not self._again:
            size = 1 if self._pace_s is None else int(BATCH_S / max(self._pace_s, 1e-6))
            size = max(1, min(size, ceil(len(self._waiting) / (count * _AHEAD))))
            return _Batch(tuple(self._waiting.popleft() for _ in range(size)))
        return self._again.popleft() if self._again and not self._sent else None

    def _played(self, batch: _Batch, played: Played) -> list[str]:
        pace_s = played.seconds / len(batch.runs)
        self._pace_s = pace_s if self._pace_s is None else (self._pace_s + pace_s) / 2
        return played.lines

    def _lost(self, batch: _Batch, reason: BaseException) -> list[str]:
        """Plan what becomes of a batch that was lost; return the line of a run that is given up."""
        if batch.is_suspect and len(batch.runs) == 1:
            died = isinstance(reason, BrokenExecutor)
            return [failed_line(self._study, batch.runs[0], _ENDED if died else f"{type(reason).__name__}: {reason}")]
        if batch.is_suspect:
            middle = len(batch.runs) // 2
            halves = batch.runs[:middle], batch.runs[middle:]
            self._again.extendleft(_Batch(half, batch.losses) for half in reversed(halves))
        else:
            self._again.append(_Batch(batch.runs, batch.losses + 1))
        return []

    def _renew(self) -> Iterator[list[str]]:
        """Replace the workers; batches that were on their way are lost, except for those that are done."""
        self._workers.renew()
        for future, batch in self._sent.items():
            future.cancel()
            lost = _reason(future)
            yield self._played(batch, future.result()) if lost is None else self._lost(batch, lost)
        self._sent.clear()


def _reason(future: Future[Played]) -> BaseException | None:
    """Return why a batch that is over was lost; None if it was played."""
    return BrokenExecutor() if future.cancelled() else future.exception()
