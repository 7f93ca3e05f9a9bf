"""The history of one pool: its nodes by state and its target over time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import NodeState
from engine.base.units import SECOND_MS
from engine.events.log import LogSubject
from engine.views.log.reader import LogReader, of_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine import Simulation
    from engine.events.log import Shape

_MOST_SAMPLES = 512
_TARGETS = ("targetDedicatedNodes", "targetLowPriorityNodes")


class PoolSample(NamedTuple):
    """The nodes of a pool by state at one moment, without those that have left, and the target of both kinds."""

    states: Mapping[NodeState, int]
    target: int

    @property
    def nodes(self) -> int:
        """The number of nodes in the pool."""
        return sum(self.states.values())


class PoolHistory:
    """Samples of one pool at equal distances from the start on, as many as a drawing can show."""

    def __init__(self, simulation: Simulation, pool_id: str) -> None:
        """Begin with nothing read; ``samples`` reads."""
        self._simulation = simulation
        self._pool_id = pool_id
        self._reader = LogReader(simulation, of_kind(_is_of_interest))
        self._begin()

    def _begin(self) -> None:
        self.every_ms = SECOND_MS  # the distance of the samples
        self._samples: list[PoolSample] = []
        self._states: Counter[NodeState] = Counter()
        self._target = 0
        self._taken = 0  # how many of the reader's entries are in the samples

    def samples(self) -> Sequence[PoolSample]:
        """Return the samples before now; number n was taken ``n * every_ms`` after the start."""
        now_ms = self._simulation.now_ms
        if self._reader.update():
            self._begin()
        pool = self._simulation.world.pools.find(self._pool_id)
        if pool is not None:
            for at in self._reader.found[self._taken :]:
                self._take(at, pool.row)
            self._taken = len(self._reader.found)
        self._sample_until(now_ms - 1)
        return self._samples[: -(-now_ms // self.every_ms)]

    def _take(self, at: int, pool: int) -> None:
        log, world = self._simulation.log, self._simulation.world
        shape = log.shapes[log.shape_of[at]]
        is_node = shape.subject is LogSubject.NODE
        if (world.nodes[log.row_b[at]].pool if is_node else log.row_a[at]) != pool:
            return
        self._sample_until(log.when[at] - 1)
        fields = dict(shape.fields)
        if is_node:
            if isinstance(old := fields["from"], NodeState):
                self._states[old] -= 1
            if isinstance(new := fields["to"], NodeState):
                self._states[new] += 1
        else:
            targets = (fields.get(name) for name in _TARGETS)
            self._target = sum(target for target in targets if isinstance(target, int))

    def _sample_until(self, when_ms: int) -> None:
        """Take the samples up to a moment before which nothing more has changed."""
        while len(self._samples) * self.every_ms <= when_ms:
            if len(self._samples) == _MOST_SAMPLES:
                self._samples = self._samples[::2]
                self.every_ms *= 2
                continue
            self._samples.append(PoolSample(+self._states, self._target))


def _is_of_interest(shape: Shape) -> bool:
    return shape.event == "NodeStateChanged" or (shape.subject is LogSubject.POOL and shape.event == "PoolResizeStart")
