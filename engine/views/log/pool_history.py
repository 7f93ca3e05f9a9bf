"""How many nodes a pool had in which state over time, and how many it was to have, read from the log as it grows."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import NodeState
from engine.base.units import SECOND_MS
from engine.events.log import LogSubject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine import Simulation
    from engine.events.log import Shape

_MOST_SAMPLES = 512
_TARGETS = ("targetDedicatedNodes", "targetLowPriorityNodes")


class Sample(NamedTuple):
    """How it was at a moment: nodes by state, those that have left not counted, and the target of both kinds."""

    states: Mapping[NodeState, int]
    target: int

    @property
    def nodes(self) -> int:
        """All nodes of the pool."""
        return sum(self.states.values())


class PoolHistory:
    """Samples of one pool at equal distances from the start on, as many as are fine enough to be drawn."""

    def __init__(self, simulation: Simulation, pool_id: str) -> None:
        """Nothing is read before ``samples`` is asked for."""
        self._simulation = simulation
        self._pool_id = pool_id
        self._begin()

    def _begin(self) -> None:
        self.every_ms = SECOND_MS  # the distance of the samples
        self._samples: list[Sample] = []
        self._states: Counter[NodeState] = Counter()
        self._target = 0
        self._read = 0
        self._kinds: list[Shape | None] = []
        self._cuts_seen = len(self._simulation.log.cuts)

    def samples(self) -> Sequence[Sample]:
        """Those before now, the one with number n taken ``n * every_ms`` after the start."""
        log, now_ms = self._simulation.log, self._simulation.now_ms
        if self._cuts_seen < len(log.cuts):
            self._begin()
        self._read_on()
        self._go_on_to(now_ms - 1)
        return self._samples[: -(-now_ms // self.every_ms)]

    def _read_on(self) -> None:
        log, world = self._simulation.log, self._simulation.world
        pool = world.pools.find(self._pool_id)
        if pool is None or self._read >= len(log):  # going back shortens what is shown, not what was read
            return
        self._kinds += [_of_interest(shape) for shape in log.shapes[len(self._kinds) :]]
        kinds = self._kinds
        for at, number in enumerate(log.shape_of[self._read :], self._read):
            shape = kinds[number]
            if shape is None:
                continue
            is_nodes = shape.subject is LogSubject.NODE
            if (world.nodes[log.row_b[at]].pool if is_nodes else log.row_a[at]) != pool.row:
                continue
            self._go_on_to(log.when[at] - 1)
            fields = dict(shape.fields)
            if is_nodes:
                self._move(fields["from"], fields["to"])
            else:
                self._target = sum(_number(fields.get(name)) for name in _TARGETS)
        self._read = len(log)

    def _move(self, old: object, new: object) -> None:
        if isinstance(old, NodeState):
            self._states[old] -= 1
        if isinstance(new, NodeState):
            self._states[new] += 1

    def _go_on_to(self, when_ms: int) -> None:
        """Nothing has changed since what was read last: take the samples up to this moment."""
        while len(self._samples) * self.every_ms <= when_ms:
            if len(self._samples) == _MOST_SAMPLES:
                self._samples = self._samples[::2]
                self.every_ms *= 2
                continue
            self._samples.append(Sample(+self._states, self._target))


def _of_interest(shape: Shape) -> Shape | None:
    is_it = shape.event == "NodeStateChanged" or (shape.subject is LogSubject.POOL and shape.event == "PoolResizeStart")
    return shape if is_it else None


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
