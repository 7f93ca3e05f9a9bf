"""The service: a request goes in, an answer comes out, and the simulation has changed."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from engine.base.errors import BatchError
from engine.base.units import SECOND_MS, format_utc
from engine.rest.faults import ServiceFaults
from engine.rest.operations import HANDLERS
from engine.rest.present import not_found
from engine.rest.protocol import answers, authentication, conditions, requests, routes
from engine.rest.protocol.answers import Answer
from engine.rest.protocol.authentication import Credentials
from engine.rest.protocol.bodies import LONGEST_BODY
from engine.rest.protocol.calls import Call, Latest
from engine.views.rest.common import account_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.rest.present import Present
    from engine.rest.protocol.requests import Request
    from engine.run.simulation import Simulation


class Service:
    """The data plane of one account.

    With ``step_ms`` time stands still between requests, and each one that reads moves it on by so much afterwards: the
    first look after a change finds what a client of the service would find at once.
    """

    def __init__(
        self,
        simulation: Simulation,
        credentials: Credentials | None = None,
        *,
        step_ms: int | None = None,
        present: Present | None = None,
        wall_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Answer requests with what is in ``simulation``, or with what ``present`` says at each request.

        ``wall_s`` reads the wall clock, which limits requests.
        """
        self.simulation = simulation
        self.credentials = credentials or Credentials()
        self.step_ms = step_ms
        self._present = present
        self._latest = Latest(simulation)
        settings = simulation.scenario.simulate.service
        self._faults = ServiceFaults(settings, simulation.seed, wall_s if step_ms is None else self._simulated_s)

    def answer(self, request: Request, refused: BatchError | None = None) -> Answer:
        """Return the answer to a request, with all its headers. Errors are answers, too.

        Args:
            request: The request.
            refused: Why it cannot be read whole; then it is answered with this error, whoever sent it. What it says of
                the server is the same for everybody, and a server that is busy does not look at signatures as well.
        """
        try:
            answer, moves = self._answer(request, refused)
            if moves and self.step_ms is not None:
                self.simulation.run_until(self.simulation.now_ms + self.step_ms)
        finally:
            if self._present is not None:
                self._present.share()
        return answer

    def _answer(self, request: Request, refused: BatchError | None) -> tuple[Answer, bool]:
        """Return an answer, and whether the request was one that moves time where only requests do."""
        request_id = str(uuid4())
        code, delay_s, moves = "", 0.0, False
        try:
            if refused is not None:
                raise refused
            call = self._admit(request)
            moves = request.reads
            delay_s = self._faults.delay_s(call.route.operation)
            answer = HANDLERS[call.route.operation](call)
        except conditions.NotModified:
            answer = Answer(304)
        except BatchError as refusal:
            error = not_found(refusal, self.simulation) if refusal.status == 404 else refusal
            code = error.code
            now = format_utc(self.simulation.scenario.start, self.simulation.now_ms)
            answer = answers.refused(error, request.base, request_id, now)
        if answer.body and answer.headers.get("Content-Type") == answers.JSON:
            answer = answers.with_base(answer, account_url(self.simulation.world), request.base)
        now_time = self.simulation.scenario.start + timedelta(milliseconds=self.simulation.now_ms)
        headers = answers.common_headers(request_id, now_time, request.headers) | dict(answer.headers)
        if request.method == "HEAD" or answer.status == 304:
            return Answer(answer.status, b"", headers, answer.length, code, delay_s=delay_s), moves
        return replace(answer, headers=headers, length=None, code=code, delay_s=delay_s), moves

    def _admit(self, request: Request) -> Call:
        """Check a request from the outside in; return the call of its operation. Raises BatchError."""
        match = routes.find(request.method, request.path)
        authentication.check(request, self.credentials)
        query = requests.query_of(request)
        requests.check_version(query)
        if len(request.body) > LONGEST_BODY:
            raise BatchError("RequestBodyTooLarge")
        if self._present is not None:
            self._turn_to(self._present.simulation())
        self._check_faults(match.route.operation)
        return Call(self.simulation, self._latest, request, match.route, match.names, query)

    def _check_faults(self, operation: str) -> None:
        """Let a request pass, or refuse it as the scenario says (GEN-22).

        Where only requests move time, a refusal moves it by what the client has to wait: otherwise a client that
        repeats a write would be refused for ever.
        """
        try:
            self._faults.check(operation)
        except BatchError:
            if self.step_ms is not None:
                self.simulation.run_until(self.simulation.now_ms + answers.RETRY_AFTER_S * SECOND_MS)
            raise

    def _simulated_s(self) -> float:
        return self.simulation.now_ms / SECOND_MS

    def _turn_to(self, simulation: Simulation) -> None:
        """Answer with what is in another simulation from now on."""
        if simulation is not self.simulation:
            self.simulation = simulation
            self._latest = Latest(simulation)
