"""Driving the application in tests: keys, functions in between, and waits until all is done."""

from __future__ import annotations

import asyncio
import inspect
from itertools import takewhile
from unittest import mock

import textual.app
from textual.widgets import Input, TextArea

from tests.tui.screen_text import text_of
from tui.dialogs.action_form import ActionForm

KEYS = {
    " ": "space",
    "-": "minus",
    "+": "plus",
    ".": "full_stop",
    ",": "comma",
    ":": "colon",
    "=": "equals_sign",
    "/": "slash",
    "{": "left_curly_bracket",
    "}": "right_curly_bracket",
}
WRITTEN = {*KEYS.values(), "backspace"}


def typed(text):
    """The keys that write a text."""
    return [KEYS.get(letter, letter) for letter in text]


def look(seen):
    """Keep what the screen shows at this step."""
    return lambda app: seen.append(text_of(app))


def edit(text):
    """Put a text into the editor of the body, as a paste does."""

    def put(app):
        editor = app.screen.query_one("#body", TextArea)
        editor.text = text

    return put


async def arrived(app):
    """Wait until all that was typed is done, and for the end of the way to another moment."""
    playback = app.main_screen.playback
    while app.keyboard.is_busy or playback.pacer.is_seeking or playback._is_searching:
        await asyncio.sleep(0.001)


async def tried_out(app):
    """Wait until what is typed into a form has been read and tried out."""
    while isinstance(app.screen, ActionForm) and app.screen.is_behind:
        await asyncio.sleep(0.001)


def is_written(step):
    """Whether a step is a key that writes a character into a field, or takes one back."""
    return isinstance(step, str) and (len(step) == 1 or step in WRITTEN)


def next_steps(app, steps):
    """One step; in a field all characters that follow each other, which come at once, as from a fast typist.

    The field is drawn, and what it says is tried out, once and not after every character.
    """
    is_field = isinstance(app.focused, Input | TextArea)
    return (is_field and list(takewhile(is_written, steps))) or steps[:1]


async def no_wait(_min_s=0, _max_s=0):
    """Return at once: the keyboard holds back a key until the one before it has been handled."""


def drive(app, *steps, size=(120, 40)):
    """Press keys, and call or await functions in between."""

    async def run(steps):
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            while steps:
                together = next_steps(app, steps)
                steps = steps[len(together) :]
                if callable(together[0]):
                    await tried_out(app)
                    result = together[0](app)
                    if inspect.isawaitable(result):
                        await asyncio.wait_for(result, 20)
                else:
                    with mock.patch.object(textual.app, "wait_for_idle", no_wait):
                        await pilot.press(*together)
                await pilot.pause()
                await arrived(app)

    asyncio.run(run(steps))
