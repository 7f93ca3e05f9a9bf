"""Turns of work that comes at any time, such as requests: pauses in between, for the keys of the dashboard."""

from __future__ import annotations

import asyncio

import pytest

from engine import pacing
from engine.pacing import Turns


class Wall:
    """A clock that only work moves."""

    def __init__(self):
        self.now_s = 0.0
        self.done = []

    async def pause(self):
        self.done.append("pause")
        await asyncio.sleep(0)


def worked(costs_s):
    """Do so much work at once; return it and the pauses, in their order."""
    wall = Wall()

    async def work(turns, number, cost_s):
        async with turns.turn():
            wall.done.append(number)
            wall.now_s += cost_s

    async def all_at_once():
        turns = Turns(wall.pause, lambda: wall.now_s)
        await asyncio.gather(*(work(turns, number, cost_s) for number, cost_s in enumerate(costs_s)))

    asyncio.run(all_at_once())
    return wall.done


def test_after_each_slice_of_work_there_is_a_pause():
    slice_s = pacing.SLICE_S
    assert worked([slice_s / 2] * 5) == [0, 1, "pause", 2, 3, "pause", 4]
    assert worked([9 * slice_s] * 3) == [0, "pause", 1, "pause", 2]


def test_a_little_work_is_done_without_a_pause():
    assert worked([pacing.SLICE_S / 10] * 5) == [0, 1, 2, 3, 4]


def test_work_that_fails_has_had_its_turn_too():
    wall = Wall()

    async def failing(turns):
        async with turns.turn():
            wall.now_s += 1
            raise RuntimeError

    async def run():
        turns = Turns(wall.pause, lambda: wall.now_s)
        with pytest.raises(RuntimeError):
            await failing(turns)
        async with turns.turn():
            wall.done.append("next")

    asyncio.run(run())
    assert wall.done == ["pause", "next"]
