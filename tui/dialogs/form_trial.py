"""The trial of what is typed into a form: it begins once no other key follows at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tui.playback.yielding import start_work, yielder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.screen import Screen
    from textual.timer import Timer
    from textual.worker import Worker

    from engine.specs.command import Command
    from tui.viewmodels.actions.trial import TrialResult, Trials

_DELAY_S = 0.03  # after what was typed is read
_MOST_DELAY_S = 0.6


class FormTrial:
    """Tries out the commands of a form in slices. ``is_behind`` while what is typed has not been tried out yet."""

    def __init__(self, form: Screen[Any], trials: Trials, show: Callable[[TrialResult], None]) -> None:
        """``show`` gets each result while the form is open."""
        self._form = form
        self._trials = trials
        self._show = show
        self._commands: Sequence[Command] = ()
        self._tried: Sequence[Command] = ()
        self._delay_s = _DELAY_S
        self._timer: Timer | None = None  # until what is typed is read, and then until it is tried out
        self._worker: Worker[None] | None = None
        self.is_behind = True

    def interrupt(self) -> None:
        """Give up the present trial: something else has been typed."""
        self.is_behind = True
        if self._worker is not None:
            self._worker.cancel()

    def wait(self, seconds: float, then: Callable[[], None]) -> None:
        """Call ``then`` after some seconds, in place of what was waited for until now."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self._form.set_timer(seconds, then)

    def take(self, commands: Sequence[Command]) -> None:
        """Try commands out soon, unless they are those of the last trial."""
        self._commands = commands
        self.is_behind = bool(commands) and commands != self._tried
        if self.is_behind:
            self.wait(self._delay_s, self._begin)

    @property
    def _is_open(self) -> bool:
        """True until the form is closed; while it is then removed, its parts go before itself."""
        return self._form.is_attached and self._form in self._form.app.screen_stack

    def _begin(self) -> None:
        if self._is_open:
            self._worker = start_work(self._form, self._try_out, "trial")

    async def _try_out(self) -> None:
        """Try the commands out. The longer the first result takes, the longer the next trial waits for another key."""
        commands, spent_s = self._commands, 0.0
        begin_s = time.perf_counter()
        for result in self._trials.steps(commands):
            spent_s += time.perf_counter() - begin_s
            await yielder_of(self._form).pause()
            if not self._is_open:
                return
            if result is not None:
                if self.is_behind:
                    self._delay_s = min(max(_DELAY_S, 2 * spent_s), _MOST_DELAY_S)
                self.is_behind = False
                self._tried = commands
                self._show(result)
            begin_s = time.perf_counter()
