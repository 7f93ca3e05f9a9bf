"""Each key of the tour in the README shows what the README says, and the dashboard's page names keys that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from engine import Simulation, load_scenario
from engine.specs.base import parse_time
from tests.tui.driving import drive, look
from tests.tui.screen_text import contains
from tui.app.dashboard import Dashboard
from tui.textual.keys import Keymap
from tui.viewmodels.go_line import GO_WORDS, PAGES

README = Path(__file__).parents[2] / "README.md"
PAGE = README.parent / "tui" / "README.md"


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
def test_each_key_of_the_tour_shows_what_the_readme_says(size):
    before, _, tour = README.read_text(encoding="utf-8").partition("<!-- keys -->\n")
    call = shlex.split(re.findall(r"^batchdeck open (.+)$", before, re.MULTILINE)[-1])
    simulation = Simulation(load_scenario(call[0]))
    simulation.run_until(parse_time(call[2]))
    rows = re.findall(r"^\| \d+ \| `(.+?)` \| (.+) \|$", tour, re.MULTILINE)
    seen: list[list[str]] = []
    drive(
        Dashboard(simulation, plays=False),
        *(step for key, _ in rows for step in ({"esc": "escape"}.get(key, key), look(seen))),
        size=size,
    )
    assert len(rows) == 10
    for (key, said), screen in zip(rows, seen, strict=True):
        for phrase in re.findall(r"`([^`]+)`", said):
            assert contains(screen, phrase), f"after {key}: {phrase}\n" + "\n".join(screen)


def test_the_page_of_the_dashboard_names_keys_and_words_that_exist():
    keys = {key for _, shown, _ in Keymap().listed() for key in shown.split()}
    cells = re.findall(r"^\| (`.+?) \|", PAGE.read_text(encoding="utf-8").partition("## Settings")[0], re.MULTILINE)
    named = {span for cell in cells for span in re.findall(r"`([^`]+)`", cell)}
    words = {span for span in named if span.startswith(":") and span != ":"}
    assert len(named) > 50
    assert named - words - keys == set()
    assert {word[1:] for word in words} - {*GO_WORDS, *PAGES} == set()
