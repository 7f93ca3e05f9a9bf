"""The story of a first visit: find what failed and why, act on it, end the job, save, and replay without a screen."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tests.tui.driving import drive, typed
from tests.tui.screen_text import contains, text_of
from tui.cli.commands import cli

SAVED = "story.yaml"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_the_story_from_the_failure_to_the_replay(dashboard_at, tmp_path, monkeypatch, size):
    monkeypatch.chdir(tmp_path)
    app = dashboard_at(170, "preparation-fails-on-one-node")
    seen = {}

    def look(name):
        return lambda app: seen.update({name: text_of(app)})

    drive(
        app,
        look("watch"),
        *("tab", "enter", "w"),  # what needs attention leads to the node; why?
        look("why"),
        "escape",
        "6",
        *("a", *"reboot", "enter", "ctrl+s"),  # a reboot does not help
        *("t", *"+90s", "enter"),
        look("rebooted"),
        *("a", *"reimage", "enter", "ctrl+s"),
        *("t", *"+180s", "enter"),
        look("reimaged"),
        *("A", *"term", "enter"),
        look("terminate"),
        "ctrl+s",
        *("7", "full_stop"),
        look("release"),
        *("R", "ctrl+u", *typed(SAVED), "enter"),
        *("t", *"end", "enter"),
        size=size,
    )
    assert contains(seen["watch"], "preparation task failed", "a: remove, then resize")
    assert contains(
        seen["why"],
        "Why is n1 ineligible for job align?",
        "exit code 56",
        "A reboot does not make it run again; a reimage does.",
    )
    assert contains(seen["rebooted"], "✗ 1 failed")
    assert contains(seen["reimaged"], "≃ 1 would run again before a task")
    assert contains(seen["terminate"], "Simulated until", "tasks terminated", "align completed")
    assert contains(seen["release"], "releasing")
    given = [one.command.NAME for one in app.session.simulation.journal.by_hand()]
    assert given == ["rebootNode", "reimageNode", "terminateJob"]

    replayed = CliRunner().invoke(cli, ["run", SAVED, "--events", "-", "--quiet"])
    assert replayed.stdout.splitlines() == list(app.session.simulation.json_lines())
