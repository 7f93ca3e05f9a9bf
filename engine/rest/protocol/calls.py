"""The call of an operation, which its handler gets: a request, its route, and the simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError, ScenarioError
from engine.rest.protocol import bodies
from engine.rest.protocol.answers import Answer
from engine.views.log.recent_tasks import LatestTasks
from engine.views.log.transitions import LatestTransitions

if TYPE_CHECKING:
    from datetime import datetime

    from engine.rest.protocol.requests import Request
    from engine.rest.protocol.routes import Route
    from engine.run.simulation import Simulation
    from engine.specs.command import Command
    from engine.world.world import World


class Latest:
    """Readers of the log that are kept between calls, so that each call reads only new entries."""

    def __init__(self, simulation: Simulation) -> None:
        """Read nothing yet."""
        self.transitions = LatestTransitions(simulation)
        self.tasks = LatestTasks(simulation)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an operation: its path parameters are in ``names``, its query parameters by lower-case name."""

    simulation: Simulation
    latest: Latest
    request: Request
    route: Route
    names: Mapping[str, str]
    query: Mapping[str, str]

    @property
    def transitions(self) -> LatestTransitions:
        """The last transitions of all tasks."""
        return self.latest.transitions

    @property
    def world(self) -> World:
        """The tables of the simulation."""
        return self.simulation.world

    @property
    def now_ms(self) -> int:
        """The simulated moment, in ms since the start of the run."""
        return self.simulation.now_ms

    @property
    def base(self) -> str:
        """Scheme and host of the request, with which each URL in the answer begins."""
        return self.request.base

    def moment(self, ms: int) -> datetime:
        """Return the UTC time of a moment of the run."""
        return self.simulation.scenario.start + timedelta(milliseconds=ms)

    def body(self) -> dict[str, Any]:
        """Return the JSON object of the request's body. Raises BatchError: InvalidRequestBody."""
        return bodies.json_object(self.request.body)

    def submit(self, command: Command) -> None:
        """Submit a command, which takes effect at once.

        Raises:
            BatchError: The service refuses the command, its ``simulate`` cannot be read, or the run has ended.
        """
        if self.now_ms >= self.simulation.end_ms:
            raise BatchError("OperationInvalidForCurrentState", "the simulated time of this session is over")
        try:
            self.simulation.submit(command)
        except ScenarioError as error:
            raise BatchError("InvalidRequestBody", str(error.problems[0])) from None


Handler = Callable[[Call], Answer]
