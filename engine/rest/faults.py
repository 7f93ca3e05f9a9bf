"""Failures of the endpoint itself, with which a scenario tests the loops of its clients (GEN-22)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.units import SECOND_MS
from engine.specs.draws import draw_ms, uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.specs.simulate import SimulateService


class ServiceFaults:
    """Decides which requests fail, are refused or have to wait.

    The chance of a request depends on the seed, its operation and its number among the requests of that operation, so
    that a client's other requests do not change it.
    """

    def __init__(self, settings: SimulateService, seed: int, now_s: Callable[[], float]) -> None:
        """Begin with no request. ``now_s`` returns the clients' time in seconds."""
        self._settings = settings
        self._seed = seed
        self._now_s = now_s
        self._numbers: Counter[str] = Counter()  # of requests, by operation
        self._most_tokens = max(1.0, settings.throttle or 0.0)
        self._tokens = self._most_tokens  # a request takes one; they come back at the rate of the throttle
        self._filled_s = now_s()

    def check(self, operation: str) -> None:
        """Let a request pass, or refuse it.

        Raises:
            BatchError: ServerBusy beyond the throttle, or InternalError by chance.
        """
        self._numbers[operation] += 1
        if self._settings.throttle is not None and not self._take_token(self._settings.throttle):
            reason = f"there are more than {self._settings.throttle:g} requests a second (simulate.service.throttle)"
            raise BatchError("ServerBusy", reason)
        chance = uniform(self._seed, "service error", operation, self._numbers[operation])
        if chance < self._settings.error_rate:
            raise BatchError("InternalError", "by chance (simulate.service.errorRate)")

    def delay_s(self, operation: str) -> float:
        """Return the seconds after which the client gets the answer to the last request of an operation."""
        if self._settings.latency is None:
            return 0.0
        chance = uniform(self._seed, "service latency", operation, self._numbers[operation])
        return draw_ms(self._settings.latency, chance) / SECOND_MS

    def _take_token(self, rate: float) -> bool:
        """Take a token if there is a whole one."""
        now_s = self._now_s()
        self._tokens = min(self._most_tokens, self._tokens + max(0.0, now_s - self._filled_s) * rate)
        self._filled_s = now_s
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
