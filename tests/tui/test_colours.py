"""The colours of the themes can be read."""

from __future__ import annotations

import pytest
from rich.color import Color

from tui.saving.settings import ANSI, CONTRAST, DARK, LIGHT
from tui.textual import views
from tui.viewmodels.text import Role

LEAST = 4.5  # WCAG 2.2, success criterion 1.4.3


def luminance(colour):
    parts = [part / 255 for part in Color.parse(colour).triplet]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST])
def test_each_role_can_be_read_on_each_background(theme):
    colours, grounds = views.colours(theme), views.grounds(theme)
    found = {(role.name, ground): contrast(colours[role], ground) for role in Role for ground in grounds}
    assert {name: value for name, value in found.items() if value < LEAST} == {}


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST])
def test_what_stands_on_a_filled_cell_can_be_read(theme):
    fills, texts = views.colours(theme), views.on_colours(theme)
    assert all(contrast(texts[role], fills[role]) >= LEAST for role in Role)


def test_a_colour_of_the_light_theme_is_not_taken_for_plain_text():
    colours = views.colours(LIGHT)
    own = [role for role in Role if role.name in ("PREPARING", "RUNNING", "RELEASING", "OK", "FAILED", "TRANSITION")]
    brightest = {role.name: max(Color.parse(colours[role]).triplet) for role in own}
    assert {name: value for name, value in brightest.items() if value < 80} == {}


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST, ANSI])
def test_a_warning_has_a_colour_of_its_own(theme):
    colours = views.colours(theme)
    assert [role for role in Role if colours[role] == colours[Role.WARNING]] == [Role.WARNING]


def test_what_only_starts_in_the_light_theme_is_brown_not_red():
    red, green, blue = Color.parse(views.colours(LIGHT)[Role.TRANSITION]).triplet
    assert green - blue >= (red - green) * 0.9
