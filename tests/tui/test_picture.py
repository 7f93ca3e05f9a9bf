"""The README's picture shows what the dashboard looks like today."""

from __future__ import annotations

import asyncio

from tests.tui.picture import PICTURE, draw


def test_the_picture_of_the_readme_is_up_to_date():
    assert asyncio.run(draw()) == PICTURE.read_text(encoding="utf-8"), "draw it anew: python -m tests.tui.picture"
