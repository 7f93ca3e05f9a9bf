"""A study that is played in the background, by a thread that sends its runs to worker processes."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from engine.base.errors import ScenarioError
from engine.studies.runs import Run, StudyState, Variants
from tui.saving.targets import TargetError
from tui.workers.dispatch import WorkersLost
from tui.workers.runs import NoResults, ResultsFile, results_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from engine.base.errors import Problem
    from engine.studies.runs import Result, Study

_PATIENCE_S = 20.0  # for the end of the workers


class _Stopped(Exception):
    """The study was stopped on request."""


class BackgroundStudy:
    """A study whose runs are played while the caller goes on. All methods are for one other thread.

    ``problems`` are mistakes of its values and ``reason`` is a sentence, if it has failed.
    """

    def __init__(
        self,
        study: Study,
        on_news: Callable[[], object],
        *,
        results: Path | None = None,
        after: BackgroundStudy | None = None,
    ) -> None:
        """Begin to play the study.

        Args:
            study: The study.
            on_news: Is called in the thread when there are results, or the state has changed.
            results: A file that collects the results; those that it has are not played again.
            after: A study that is stopped; this one begins when that has ended.
        """
        self.study = study
        self.results = results
        self.total = study.variants * len(study.seeds)
        self.state = StudyState.CHECKING
        self.problems: list[Problem] = []
        self.reason = ""
        self.began_s: float | None = None
        self._on_news = on_news
        self._new: list[Result] = []  # that were not taken yet
        self._known: dict[Run, Result] = {}
        self._played = 0  # since the study was begun or continued
        self._lock = threading.Lock()
        self._stops = threading.Event()
        self._begin(after)

    def _begin(self, after: BackgroundStudy | None) -> None:
        self._thread = threading.Thread(target=self._work, args=(after,), name="study", daemon=True)
        self._thread.start()

    # -- for the caller ------------------------------------------------------------------------------------------

    def take(self) -> list[Result]:
        """Return the results since the last call."""
        with self._lock:
            new, self._new = self._new, []
        return new

    @property
    def done(self) -> int:
        """The number of runs that have results."""
        return len(self._known)

    @property
    def is_under_way(self) -> bool:
        """True until all is played, or the study was stopped or has failed."""
        return self.state in (StudyState.CHECKING, StudyState.PLAYING)

    @property
    def can_go_on(self) -> bool:
        """True if it was stopped before all was played."""
        return self.state is StudyState.STOPPED

    @property
    def pace(self) -> tuple[int, float]:
        """The number of runs that were played since it was begun or continued, and in how many seconds."""
        began_s = self.began_s
        return self._played, 0.0 if began_s is None else time.monotonic() - began_s

    def stop(self) -> None:
        """Ask the thread to end the workers and then itself, which takes a second or two."""
        self._stops.set()

    def join(self) -> None:
        """Wait for the end of the thread and its workers, after ``stop``."""
        self._thread.join(_PATIENCE_S)

    def go_on(self) -> None:
        """Play the runs that are missing after a stop."""
        if self.can_go_on:
            self.join()
            self._stops = threading.Event()
            self._played, self.began_s = 0, None
            self.state = StudyState.CHECKING
            self._begin(None)

    # -- in the thread -------------------------------------------------------------------------------------------

    def _work(self, after: BackgroundStudy | None) -> None:
        if after is not None:
            after.join()
        try:
            self._play()
            state = StudyState.DONE
        except _Stopped:
            state = StudyState.STOPPED
        except ScenarioError as error:
            self.problems, state = list(error.problems), StudyState.FAILED
        except (NoResults, TargetError, WorkersLost) as error:
            self.reason, state = str(error), StudyState.FAILED
        except Exception as error:  # the dashboard goes on, and says what has happened
            self.reason, state = f"{type(error).__name__}: {error}", StudyState.FAILED
        self.state = state
        self._on_news()

    def _play(self) -> None:
        from tui.workers.local import LocalWorkers, processors  # multiprocessing, for which no first view should wait

        study, stops = self.study, self._stops

        def check() -> None:
            if stops.is_set():
                raise _Stopped
            time.sleep(0)  # lets the thread of the dashboard have its turn

        check()
        with ExitStack() as stack:
            file = None if self.results is None else stack.enter_context(ResultsFile(self.results, study))
            if file is not None:
                wanted = set(study.runs())
                self._take_in(result for run, result in file.results.items() if run in wanted)
            missing = [run for run in study.runs() if run not in self._known]
            if not missing:
                return
            count = min(processors(), len(missing))
            workers = stack.enter_context(LocalWorkers(study, count, yields=True))
            Variants(study).check(between=check)
            if file is not None:
                file.open()
            self.began_s = time.monotonic()
            self.state = StudyState.PLAYING
            for results in results_of(study, [missing], workers, file):
                self._played += len(results)
                self._take_in(results)
                self._on_news()
                check()

    def _take_in(self, results: Iterable[Result]) -> None:
        found = [result for result in results if Run(result["variant"], result["seed"]) not in self._known]
        with self._lock:
            self._new += found
            self._known |= {Run(result["variant"], result["seed"]): result for result in found}
