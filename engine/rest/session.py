"""A session with clients: the scenario that it begins with, its clock, its present, and the scenario that it leaves.

Simulated time follows the wall clock at a speed, or stands still between requests.

A run has one present. While the screen shows an earlier moment, a second simulation with the same scenario, seed and
inputs takes its place for clients: it has the same log, and goes on. What clients do there enters the journal of the
first one, which therefore comes to the same present when it is moved forward.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from engine.base.errors import BatchError
from engine.base.values import DAY_MS, SECOND_MS, format_duration, format_utc, parse_utc
from engine.pacing import Pacer
from engine.run.simulation import Simulation
from engine.scenario.load import load
from engine.scenario.record import keys_of, with_settings
from engine.scenario.text import read_source
from engine.views.recording import recorded
from engine.views.rest.nodes import DepartedDisk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime, timedelta

    from engine.base.terms import Plain
    from engine.run.journal import Input
    from engine.scenario.model import Scenario


DEFAULT_SPEED = 60.0


class PacedClock:
    """Lets the time of a simulation pass on the event loop that also serves requests.

    ``failure`` is the exception with which the simulation has failed, if it has.
    """

    def __init__(self, simulation: Simulation, speed: float = DEFAULT_SPEED) -> None:
        """Create a clock that does not run yet. ``speed`` is in simulated seconds per real second."""
        self.pacer = Pacer(simulation, lambda: None, speed=speed)
        self.failure: BaseException | None = None
        self.on_failure: Callable[[], None] = lambda: None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let time pass in the ``async with`` block."""
        playing = asyncio.create_task(self.pacer.play())
        playing.add_done_callback(self._ended)
        try:
            yield
        finally:
            self.pacer.stop()
            await asyncio.wait([playing])

    def _ended(self, playing: asyncio.Task[None]) -> None:
        self.failure = None if playing.cancelled() else playing.exception()
        if self.failure is not None:
            self.on_failure()


EMPTY = "scenario: session\n"
"""The scenario of an account in which there is nothing yet."""

LONGEST_MS = 3650 * DAY_MS
"""The simulated time after which every session ends."""


def scenario_to_serve(path_or_name: str | None, now: datetime | None) -> Scenario:
    """Return the scenario that clients find, or an empty account.

    Its calendar begins at ``now``, unless it says otherwise: clients compute times from their own clocks. Without
    ``now`` it begins where that of ``run`` does, so that two sessions can have the same log. It goes on after the end
    that a scenario may have, since clients may act at any moment.

    Raises:
        ScenarioError: The scenario has mistakes.
    """
    source = None if path_or_name is None else read_source(path_or_name)
    name, text = ("session", EMPTY) if source is None else (source.path, source.text)
    scenario = load(name, text=text)  # reports mistakes at their places in the file
    settings: dict[str, Plain] = {"until": format_duration(LONGEST_MS)}
    if now is not None and "startTime" not in keys_of(text):
        settings["startTime"] = format_utc(now.replace(microsecond=0), 0)
    return replace(load(name, text=with_settings(text, settings)), warnings=scenario.warnings)


def begin(
    path_or_name: str | None,
    now: datetime | None,
    seed: int | None = None,
    *,
    can_go_back: bool = False,
    executes: bool = False,
) -> Simulation:
    """Begin a session on ``scenario_to_serve``, in which programs may really run. Raises ScenarioError."""
    scenario = scenario_to_serve(path_or_name, now)
    simulation = Simulation(scenario.executing() if executes else scenario, seed=seed, can_go_back=can_go_back)
    simulation.awaits_commands = True
    simulation.run_until(0)  # clients find the pools and jobs of the scenario with their first request
    return simulation


def saved(simulation: Simulation) -> str:
    """Return what clients did as a scenario, which ends at the present moment and replays to the same log."""
    if not simulation.is_past:
        simulation.run_until(simulation.now_ms)  # what is due at this moment
    return session_text(simulation)


def session_text(simulation: Simulation) -> str:
    """Return what clients did as a scenario, without any effect on the run: also in the midst of an event."""
    end_ms = max(simulation.now_ms, simulation.present_ms)
    return with_settings(recorded(simulation), {"until": format_duration(end_ms)})


SLICE_S = 0.005
ENTRIES_BETWEEN_CLOCK_READS = 48


def not_found(error: BatchError, simulation: Simulation) -> BatchError:
    """Return the refusal of a request for something unknown, with the reason if a branch has undone its creation."""
    wanted = {value.lower() for value in error.values.values()}
    for branched_ms, inputs in reversed(simulation.undone):
        if any(wanted & _created(one) for one in inputs):
            moment = format_utc(simulation.scenario.start, branched_ms)
            reason = f"the dashboard has branched the run at {moment}, which undid its creation"
            return BatchError(error.code, reason, **error.values)
    return error


def _created(one: Input) -> set[str]:
    """Return the ids in lower case that an input has created."""
    command = one.command
    own = [getattr(command, name, None) for name in ("id", "name", "thumbprint")]
    return {each.lower() for each in own if isinstance(each, str)} | {task.id.lower() for task in one.extras.tasks}


@dataclass(eq=False)
class Present:
    """The present of the run on the screen, kept going while the screen shows the past; at first they are the same.

    ``newest_ms`` returns the latest moment that the screen has shown, ``speed`` the simulated seconds per real second,
    0 if only requests move time, and ``wall_s`` reads the wall clock.
    """

    shown: Simulation
    newest_ms: Callable[[], int]
    speed: Callable[[], float]
    wall_s: Callable[[], float] = time.perf_counter
    _other: Simulation | None = None
    _other_comes_to_ms: int = 0  # the moment at which clients find it
    _shared: int = 0  # of the inputs given by hand, that both simulations have
    _last_s: float = 0.0

    def simulation(self) -> Simulation:
        """Return the simulation in the present.

        Raises:
            BatchError: ServerBusy while the second simulation is on its way to the present.
        """
        if self.shown.scenario.executes and self.shown.is_past:
            raise BatchError("ServerBusy", "the dashboard looks at the past, and programs run in the present alone")
        other = self._second()
        if other is not None and not self._has_come(other):
            raise BatchError("ServerBusy", "the dashboard looks at the past, and the present is being prepared")
        return other or self.shown

    def share(self) -> None:
        """Enter what clients have done in the second simulation into the journal of the first one."""
        if self._other is None:
            return
        given = self._other.journal.from_outside()
        if self.shown.present_ms:
            self.shown.present_ms = self._other.now_ms
            self.shown.adopt(given[self._shared :])
        self._shared = len(given)

    def advance(self) -> None:
        """Work on the second simulation for a slice of time, if there is one: call it often."""
        other = self._second()
        if other is not None and self._has_come(other):
            now_s = self.wall_s()
            passed_ms = int((now_s - self._last_s) * self.speed() * SECOND_MS)
            if passed_ms:
                self._last_s = now_s
                self._work(other, other.now_ms + passed_ms)
                self.shown.present_ms = other.now_ms

    def rejoin(self) -> None:
        """Bring the simulation on the screen to the present, if only the second one is ahead of it."""
        if self._other is not None and not self.shown.world.log.has_future and self._has_come(self._other):
            self.shown.run_until(self._other.now_ms)
            self._leave()

    def _second(self) -> Simulation | None:
        """Return the second simulation while the screen shows the past, begun with all that the first one has done."""
        if not self.shown.is_past or self.shown.scenario.executes:
            self._leave()
        elif self._other is None:
            self._other = self._begun()
        return self._other

    def _begun(self) -> Simulation:
        other = Simulation(self.shown.scenario, self.shown.seed, can_go_back=False)
        other.awaits_commands = self.shown.awaits_commands
        given = self.shown.journal.from_outside()
        other.adopt(given)
        self._shared = len(given)
        given_ms = max((one.when_ms for one in given), default=0)
        self._other_comes_to_ms = self.shown.present_ms = max(self.newest_ms(), self.shown.present_ms, given_ms)
        return other

    def _has_come(self, other: Simulation) -> bool:
        """Return whether the second simulation is in the present, after a slice of work if it was not."""
        if other.now_ms < self._other_comes_to_ms:
            self._work(other, self._other_comes_to_ms)
            self._last_s = self.wall_s()
        return other.now_ms >= self._other_comes_to_ms

    def _work(self, other: Simulation, until_ms: int) -> None:
        stop_s = self.wall_s() + SLICE_S
        while other.advance(until_ms, ENTRIES_BETWEEN_CLOCK_READS) and self.wall_s() < stop_s:
            pass

    def _leave(self) -> None:
        self._other = None
        self.shown.present_ms = 0


KEEP_FILES_S = 60.0
"""How long ``KeptFiles`` keeps files unless somebody says otherwise."""


class KeptFiles:
    """Keeps the disks of nodes that auto pools have had, for a time by the clock of clients.

    Clients look for the end of a job, and for its outputs, every few seconds. At speed 60 the service would have
    deleted the job's own pool meanwhile.
    """

    def __init__(self, simulation: Simulation, keep_s: float, now_s: Callable[[], float]) -> None:
        """Keep those of a simulation from now on, for ``keep_s`` seconds of the clock that ``now_s`` reads."""
        self.departed: dict[int, DepartedDisk] = {}
        self._world = simulation.world
        self._keep_s = keep_s
        self._now_s = now_s
        self._until_s: dict[int, float] = {}
        if keep_s > 0:
            self._world.disks.on_departure = self._departs

    def of(self, simulation: Simulation) -> KeptFiles:
        """Return what does this for another simulation."""
        return KeptFiles(simulation, self._keep_s, self._now_s)

    def _departs(self, node: int) -> None:
        """Keep the disk of a node that begins to leave its pool; the time counts anew once it has left."""
        self.expire()
        if self._world.nodes.state_of(node) is not None:
            since_ms = self._world.nodes[node].disk_since_ms
            self.departed[node] = DepartedDisk(self._world.disks.part(node), since_ms)
        self._until_s[node] = self._now_s() + self._keep_s

    def expire(self) -> None:
        """Drop what has been kept for long enough."""
        now_s = self._now_s()
        for node in [node for node, until_s in self._until_s.items() if until_s <= now_s]:
            del self._until_s[node]
            self.departed.pop(node, None)


_NAMED = re.compile(rb'("(doNotRunUntil|doNotRunAfter|startTime|endTime)"\s*:\s*")([^"]*)')
_ENDS = re.compile(rb"""(se=)(?:(?<=[?&]se=)|(?<=\\u0026se=))()([^&\s"'\\]+)""")  # begins with what is rare


def shifted(raw: bytes, ahead: timedelta, *, with_signatures: bool = True) -> tuple[bytes, set[str]]:
    """Return a body of JSON whose absolute times are moved by ``ahead``, and what they are: names, or "se=" of URLs.

    A client that means "until half an hour from now" reads its own clock, from which simulated time has moved away.
    Real storage would not know a signature whose time is moved.
    """
    kinds: set[str] = set()

    @cache  # the tasks of a collection often have the same
    def moved(moment: bytes) -> bytes:
        try:
            moved_on = parse_utc(unquote(json.loads(b'"%s"' % moment))) + ahead
        except (ValueError, OverflowError):
            return b""
        return f"{moved_on:%Y-%m-%dT%H:%M:%SZ}".encode()

    def replaced(found: re.Match[bytes]) -> bytes:
        before, name, given = found.groups()
        moment = moved(given)
        if not moment:
            return found[0]
        kinds.add(name.decode() or "se=")
        return before + (moment if name else moment.replace(b":", b"%3A"))

    raw = _NAMED.sub(replaced, raw)
    return _ENDS.sub(replaced, raw) if with_signatures else raw, kinds
