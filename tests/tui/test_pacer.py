"""The frame loop, with a wall clock of its own."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from engine.pacing import SPEEDS, Pacer


class Wall:
    """A wall clock that goes on by what is slept."""

    def __init__(self):
        self.now_s = 100.0

    def __call__(self):
        return self.now_s

    async def sleep(self, seconds):
        self.now_s += seconds


class Machine:
    """A simulation with an event every simulated second; each costs some wall time."""

    def __init__(self, wall, cost_s=0.0, events=10_000):
        self.wall, self.cost_s, self.left = wall, cost_s, events
        self.now_ms, self.end_ms, self.happened, self.settled = 0, 10_000_000, 0, False

    @property
    def finished(self):
        return not self.left or self.now_ms >= self.end_ms

    def advance(self, until_ms, max_events):
        for _ in range(max_events):
            if not self.left or self.now_ms + 1000 > until_ms:
                self.now_ms = max(self.now_ms, until_ms)
                return False
            self.now_ms += 1000
            self.left -= 1
            self.happened += 1
            self.wall.now_s += self.cost_s
        return True

    def finish(self):
        self.settled = True


def play(machine, speed, wall_s):
    """Play for so many wall seconds; returns how many frames were drawn."""
    frames = []

    def on_frame():
        frames.append(machine.now_ms)
        if machine.wall.now_s - 100 >= wall_s:
            pacer.stop()

    pacer = Pacer(machine, on_frame, speed=speed, wall_s=machine.wall, sleep=machine.wall.sleep)
    asyncio.run(pacer.play())
    assert not pacer.playing
    return frames


@pytest.mark.parametrize("speed", [1, 10, 60, 600])
def test_simulated_time_follows_the_speed(speed):
    machine = Machine(Wall())
    play(machine, speed, 5)
    assert machine.now_ms == pytest.approx(5 * speed * 1000, rel=0.05, abs=100)


def test_ten_frames_a_second():
    assert len(play(Machine(Wall()), 1, 3)) == pytest.approx(30, abs=4)


def test_a_slice_ends_after_a_few_milliseconds_so_that_keys_are_read():
    machine = Machine(Wall(), cost_s=0.0001)
    longest = 0.0

    async def sleep(seconds):
        nonlocal longest, awake_s
        longest = max(longest, machine.wall.now_s - awake_s)
        machine.wall.now_s += seconds
        awake_s = machine.wall.now_s

    awake_s = machine.wall.now_s
    pacer = Pacer(machine, lambda: None, speed=None, wall_s=machine.wall, sleep=sleep)
    asyncio.run(pacer.play())
    assert machine.happened == 10_000
    assert longest < 0.03


def test_what_a_key_does_and_shows_comes_before_the_next_slice():
    wall = Wall()
    machine = Machine(wall, cost_s=0.0001)
    slices, happened = [], 0

    async def sleep(seconds):
        nonlocal happened
        if machine.happened > happened:
            happened = machine.happened
            slices.append(wall.now_s)
            pacer.yielder.key_pressed()  # a key after every slice, faster than anybody can press one
        wall.now_s += seconds

    pacer = Pacer(machine, lambda: None, speed=None, wall_s=wall, sleep=sleep)
    asyncio.run(pacer.play())
    waits_s = [later - earlier for earlier, later in pairwise(slices)]
    assert min(waits_s) > 0.019
    assert machine.happened == 10_000  # and yet time goes by


def test_what_the_machine_cannot_do_in_time_is_not_made_up_for():
    machine = Machine(Wall(), cost_s=0.01, events=3000)
    play(machine, 3600, 5)
    behind = machine.now_ms
    machine.cost_s = 0
    machine.end_ms = behind + 10**9
    assert behind < 5 * 3600 * 1000
    played_s = machine.wall.now_s - 100
    play(machine, 1, played_s + 3)
    assert machine.now_ms == pytest.approx(behind + 3000, abs=100)


def test_at_the_end_it_stops_and_settles():
    machine = Machine(Wall(), events=5)
    play(machine, None, 1e9)
    assert machine.settled


def test_speeds_go_up_and_down_by_steps():
    pacer = Pacer(Machine(Wall()), lambda: None, speed=60)
    assert pacer.faster() == 120
    for _ in SPEEDS:
        pacer.speed = pacer.faster()
    assert pacer.speed is None
    assert pacer.slower() == 3600
    for _ in SPEEDS:
        pacer.speed = pacer.slower()
    assert pacer.speed == 0.1


def test_a_long_way_is_gone_in_strides_that_can_be_stopped():
    machine = Machine(Wall(), cost_s=0.001)
    progress = []

    async def sleep(seconds):
        machine.wall.now_s += seconds
        if machine.happened > 3000:
            pacer.stop()

    pacer = Pacer(machine, lambda: progress.append(machine.now_ms), wall_s=machine.wall, sleep=sleep)
    assert not pacer.begin_seek(9_000_000)
    assert pacer.destination_ms == 9_000_000
    assert machine.happened < 150
    assert asyncio.run(pacer.finish_seek()) is False
    assert 3000 < machine.happened < 3100
    assert not pacer.is_seeking
    assert len(progress) == pytest.approx(30, abs=10)


def test_a_short_way_is_gone_at_once_and_a_long_one_to_its_end():
    machine = Machine(Wall())
    pacer = Pacer(machine, lambda: None, wall_s=machine.wall, sleep=machine.wall.sleep)
    assert pacer.begin_seek(50_000)
    assert not pacer.is_seeking
    machine.cost_s = 0.001
    assert pacer.begin_seek(110_000)  # after less than a tenth of a second
    assert not pacer.begin_seek(900_000)
    assert asyncio.run(pacer.finish_seek()) is True
    assert machine.now_ms == 900_000
    assert not pacer.is_seeking
