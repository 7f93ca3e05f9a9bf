"""Driving the application in tests: keys, functions in between, and waits until all is done."""

from __future__ import annotations

import asyncio
import inspect

from tui.dialogs.action_form import ActionForm


async def arrived(app):
    """Wait until all that was typed is done, and for the end of the way to another moment."""
    while app.keyboard.is_busy or app.main_screen.playback.pacer.is_seeking:
        await asyncio.sleep(0.001)


async def tried_out(app):
    """Wait until what is typed into a form has been read and tried out."""
    while isinstance(app.screen, ActionForm) and app.screen.is_behind:
        await asyncio.sleep(0.001)


def drive(app, *steps, size=(120, 40)):
    """Press keys, and call or await functions in between."""

    async def run():
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for step in steps:
                if callable(step):
                    await tried_out(app)
                    result = step(app)
                    if inspect.isawaitable(result):
                        await asyncio.wait_for(result, 20)
                else:
                    await pilot.press(step)
                await pilot.pause()
                await arrived(app)

    asyncio.run(run())
