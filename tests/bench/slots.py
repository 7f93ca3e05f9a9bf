"""The plain SimPy program beside which whole commands are measured: ``python -m tests.bench.slots TASKS NODES SLOTS``.

What somebody writes who wants to know when so many tasks end: a generator for each slot, which prepares its node once
and then takes task after task. No names, no states, no log. Imports nothing of this project.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Generator

import simpy

PREPARATION_S, RELEASE_S = 20.0, 5.0


class Node:
    """A node whose slots wait for one preparation; the last of them that is done releases it."""

    def __init__(self, env: simpy.Environment, slots: int) -> None:
        self.prepared = env.timeout(PREPARATION_S)
        self.busy = slots


def slot(env: simpy.Environment, node: Node, ready: deque[float]) -> Generator[simpy.Event, object, None]:
    """Take tasks, in seconds, until none is left."""
    yield node.prepared
    while ready:
        yield env.timeout(ready.popleft())
    node.busy -= 1
    if not node.busy:
        yield env.timeout(RELEASE_S)


def main(tasks: int, nodes: int, slots: int) -> None:
    """Print when the last task ends."""
    draw = random.Random(1).uniform
    ready = deque(draw(10, 600) for _ in range(tasks))
    env = simpy.Environment()
    for node in [Node(env, slots) for _ in range(nodes)]:
        for _ in range(slots):
            env.process(slot(env, node, ready))
    env.run()
    print(env.now)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
