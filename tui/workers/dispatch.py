"""The dispatch of work, such as the runs of a study, to workers, which are an executor of ``concurrent.futures``.

Runs are sent in batches, and sent again if the worker that had them has died. The clock decides how large batches are,
never the result of a run.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BATCH_S = 1.0
"""The time that a batch should take: sending it then costs next to nothing, and losing it little."""

_AHEAD = 2  # batches for each worker, so that one waits while another is played
_TICK_S = 0.25  # so long an interrupt waits
_TRIES = 2  # so often a batch is sent together with others before it is sent alone
_ENDED = "the process that played this run ended before it, each time"


class WorkersLost(Exception):
    """There are no workers any more, and new ones cannot be had."""


RunT = TypeVar("RunT")
"""A piece of work: a run of a study, or a scenario that is tested."""
FoundT = TypeVar("FoundT")
"""Its result: a line of a file of results, or the cases of a scenario."""
_GivenT_contra = TypeVar("_GivenT_contra", contravariant=True)


class Played(NamedTuple, Generic[FoundT]):
    """The results of a batch, and how long it took, in seconds."""

    lines: list[FoundT]
    seconds: float


class Player(Protocol[_GivenT_contra, FoundT]):
    """Anything that plays runs in a worker process."""

    def play(self, runs: Iterable[_GivenT_contra], /) -> list[FoundT]:
        """Return the results of these runs."""


class Work(Protocol[_GivenT_contra, FoundT]):
    """What workers play, such as a study. It is sent to each of them once."""

    def player(self) -> Player[_GivenT_contra, FoundT]:
        """Return the player of its runs, for one process."""

    def failed(self, run: _GivenT_contra, reason: str, /) -> FoundT:
        """Return the result of a run that could not be played."""


class Workers(Protocol[_GivenT_contra, FoundT]):
    """Anything that plays batches: processes on this machine, or a cluster."""

    @property
    def count(self) -> int:
        """The number of batches that are played at a time."""

    def submit(self, runs: tuple[_GivenT_contra, ...]) -> Future[Played[FoundT]]:
        """Send a batch. Raises BrokenExecutor if a worker has died."""

    def renew(self) -> None:
        """Replace all workers after one has died."""


@dataclass(frozen=True, slots=True)
class _Batch(Generic[RunT]):
    runs: tuple[RunT, ...]
    losses: int = 0  # how often a worker died with it

    @property
    def is_suspect(self) -> bool:
        """True if it is sent alone, so that nothing else can be why the worker dies."""
        return self.losses >= _TRIES


class Dispatcher(Generic[RunT, FoundT]):
    """Plays runs on workers. A batch that was lost is sent again, then alone, then in halves.

    A single run with which a worker dies although it was sent alone gets a result with an error.
    """

    def __init__(self, work: Work[RunT, FoundT], workers: Workers[RunT, FoundT]) -> None:
        self._work = work
        self._workers = workers
        self._waiting: deque[RunT] = deque()
        self._again: deque[_Batch[RunT]] = deque()
        self._sent: dict[Future[Played[FoundT]], _Batch[RunT]] = {}
        self._pace_s: float | None = None  # seconds for a run, lately

    def play(self, runs: Iterable[RunT]) -> Iterator[list[FoundT]]:
        """Yield the results of all runs, batch by batch, in the order in which they are done; now and then none."""
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

    def _next(self) -> _Batch[RunT] | None:
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

    def _played(self, batch: _Batch[RunT], played: Played[FoundT]) -> list[FoundT]:
        pace_s = played.seconds / len(batch.runs)
        self._pace_s = pace_s if self._pace_s is None else (self._pace_s + pace_s) / 2
        return played.lines

    def _lost(self, batch: _Batch[RunT], reason: BaseException) -> list[FoundT]:
        """Plan what becomes of a batch that was lost; return the result of a run that is given up."""
        if batch.is_suspect and len(batch.runs) == 1:
            died = isinstance(reason, BrokenExecutor)
            return [self._work.failed(batch.runs[0], _ENDED if died else f"{type(reason).__name__}: {reason}")]
        if batch.is_suspect:
            middle = len(batch.runs) // 2
            halves = batch.runs[:middle], batch.runs[middle:]
            self._again.extendleft(_Batch(half, batch.losses) for half in reversed(halves))
        else:
            self._again.append(_Batch(batch.runs, batch.losses + 1))
        return []

    def _renew(self) -> Iterator[list[FoundT]]:
        """Replace the workers; batches that were on their way are lost, except for those that are done."""
        self._workers.renew()
        for future, batch in self._sent.items():
            future.cancel()
            lost = _reason(future)
            yield self._played(batch, future.result()) if lost is None else self._lost(batch, lost)
        self._sent.clear()


def _reason(future: Future[Played[FoundT]]) -> BaseException | None:
    """Return why a batch that is over was lost; None if it was played."""
    return BrokenExecutor() if future.cancelled() else future.exception()
