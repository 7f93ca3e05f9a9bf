"""The screen as text. What it is read from is not public in Textual, so it is read in this one place."""

from __future__ import annotations

import asyncio


def strips_of(app):
    """The lines on the screen, with the styles of their segments."""
    return app.screen._compositor.render_strips()


def text_of(app):
    """The lines on the screen, without blanks at their ends."""
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips_of(app)]


def frames_of(kind, monkeypatch):
    """The lines of each frame that is drawn from now on while a screen of this kind is on top."""
    frames, refresh = [], kind._compositor_refresh

    def draw(screen):
        refresh(screen)
        if not screen.is_held and screen.is_current:
            frames.append(text_of(screen.app))

    monkeypatch.setattr(kind, "_compositor_refresh", draw)
    return frames


def after(app, *keys, size=(120, 40)):
    """The lines on the screen after these keys."""

    async def run():
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            return text_of(app)

    return asyncio.run(run())


def contains(lines, *texts):
    """Whether each text is on some line."""
    return all(any(text in line for line in lines) for text in texts)


def messages_of(app):
    """All that the dashboard has said so far, in the line above the key hints."""
    return [message.text for message in app.messages]
