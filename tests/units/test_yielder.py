"""Pauses between slices of work: a key that comes in one is handled before the next slice."""

from __future__ import annotations

import asyncio

from engine.pacing import Yielder

HOPS = 5  # tasks through which a key of the terminal passes until the application knows of it: Textual's four, and one


def sleeps_of_pause(*seconds, hops=0):
    """Pause while a key passes through so many tasks; return what was slept."""
    slept = []

    async def sleep(seconds):
        slept.append(seconds)
        await asyncio.sleep(0)

    async def run():
        loop, yielder = asyncio.get_running_loop(), Yielder(lambda: 100.0, sleep)

        async def pass_on(left):
            if left:
                loop.create_task(pass_on(left - 1))
            else:
                yielder.key_pressed()

        if hops:
            key = asyncio.to_thread(asyncio.run_coroutine_threadsafe, pass_on(hops - 1), loop)
            await key
        await yielder.pause(*seconds)

    asyncio.run(run())
    return slept


def test_a_pause_without_a_key_takes_no_time():
    assert not any(sleeps_of_pause())


def test_a_key_that_has_come_is_handled_and_drawn_before_the_next_slice():
    *rounds, last_s = sleeps_of_pause(hops=HOPS)
    assert not any(rounds)
    assert last_s > 0.02


def test_a_stated_pause_is_slept_at_once():
    assert sleeps_of_pause(0.5) == [0.5]
