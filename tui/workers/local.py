"""Worker processes on this machine.

They are spawned, not forked: a fork copies the locks of threads that it does not copy. Each holds the reading end of a
pipe, its lifeline, of which only the parent has the other end. When that is closed, on purpose or because the parent
was killed, they end at once, whatever they do.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import active_children, get_context, resource_tracker
from typing import TYPE_CHECKING, Any, Generic

from tui import interrupts
from tui.workers.dispatch import FoundT, Played, Player, RunT, WorkersLost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from tui.workers.dispatch import Work

_MOST = 61  # Windows waits for no more processes than these at a time
_LAST = 10  # steps of priority below those of other programs
_STARTS = 3  # so often workers may die before they are ready

_PLAYER: ContextVar[Player[Any, Any]] = ContextVar("player")  # of a worker process, set once when it begins


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalWorkers(AbstractContextManager["LocalWorkers[RunT, FoundT]"], Generic[RunT, FoundT]):
    """Processes that play batches of a study, or of other work. Leaving the ``with`` block ends them."""

    def __init__(self, work: Work[RunT, FoundT], count: int, *, yields: bool = False) -> None:
        """Start ``count`` processes; they become ready while the caller goes on.

        Args:
            work: What they play.
            count: The number of processes.
            yields: Let other programs have the processors first, where the system can do that.
        """
        self.count = min(count, _MOST)
        self._work = work
        self._yields = yields
        self._failed_starts = 0
        self._begin()

    def _begin(self) -> None:
        with _without_interrupts():
            _begin_tracker()
        self._others = set(active_children())
        context = get_context("spawn")
        line, self._lifeline = context.Pipe(duplex=False)
        self._executor = ProcessPoolExecutor(self.count, context, _begin, (self._work, line, self._yields))
        self._line = line
        with _without_interrupts():  # which processes inherit, so that Ctrl-C ends them by their lifeline only
            self._ready = [self._executor.submit(os.getpid) for _ in range(self.count)]

    def submit(self, runs: tuple[RunT, ...]) -> Future[Played[FoundT]]:
        """Send a batch. Raises BrokenExecutor if a worker has died."""
        with _without_interrupts():
            return self._executor.submit(_play, runs)

    def renew(self) -> None:
        """Replace all workers after one has died.

        Raises:
            WorkersLost: They have died several times before the first was ready.
        """
        was_ready = any(future.done() and not future.cancelled() and not future.exception() for future in self._ready)
        self._failed_starts = 0 if was_ready else self._failed_starts + 1
        if self._failed_starts >= _STARTS:
            raise WorkersLost(f"the worker processes end before they are ready, {_STARTS} times in a row")
        self._end()
        self._begin()

    def _end(self) -> None:
        """End all workers at once."""
        with _without_interrupts(), interrupts.held:
            self._lifeline.close()
            for process in set(active_children()) - self._others:
                process.kill()  # it may not have its lifeline yet
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._line.close()

    def __exit__(self, *_: object) -> None:
        self._end()


def _begin_tracker() -> None:
    """Begin the process that Python needs beside those of a pool, unless it runs already.

    Python passes the file of ``sys.stderr`` to it, and a dashboard has an object without a file in that place.
    """
    if os.name != "posix":
        return
    shown, sys.stderr = sys.stderr, sys.__stderr__
    try:
        resource_tracker.ensure_running()
    finally:
        sys.stderr = shown


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Hold back SIGINT and SIGHUP, where there is such a thing as a mask, until the block is left.

    SIGTERM is what Python ends workers with.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in a worker process -----------------------------------------------------------------------------------------------


def _begin(work: Work[RunT, FoundT], lifeline: Connection, yields: bool) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if yields and hasattr(os, "nice"):
        os.nice(_LAST)
    threading.Thread(target=_end_with_lifeline, args=(lifeline,), daemon=True).start()
    _PLAYER.set(work.player())


def _end_with_lifeline(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(0)


def _play(runs: tuple[Any, ...]) -> Played[Any]:
    began_s = time.perf_counter()
    return Played(_PLAYER.get().play(runs), time.perf_counter() - began_s)
