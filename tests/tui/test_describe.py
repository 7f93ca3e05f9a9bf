"""The Watch view as sentences."""

from __future__ import annotations

from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.main_screen import palette_entries
from tui.viewmodels.frame import Transport
from tui.viewmodels.sentences import describe

STILL = Transport(is_playing=False, speed=60, is_finished=False)


def test_forty_nodes(session_at):
    said = describe(session_at(530, "forty-nodes"), STILL)
    assert said[:10] == [
        "It is 2026-01-05 08:08:50, 00:08:50 after the start; paused.",
        "Pool render is steady and has 40 nodes of 40 targeted: 3 idle, 35 running, 1 rebooting and 1 offline. "
        "140 of 152 usable task slots are in use.",
        "Job shot-0412 is active, with priority 100.",
        "Preparation: failed on 3 nodes, would run again before a task on 1 node and prepared on 36 nodes.",
        "1,800 tasks: 94 succeeded, 140 running and 1,566 waiting. The oldest wait is 00:08:50.",
        "Release: owed on 37 nodes and not started on 3 nodes.",
        "Estimated: tasks end 09:01:53, job ends 09:01:58.",
        "3 things need attention.",
        "1: Preparation task failed on 2 nodes: exit code 1 n7, n31. No task of the job runs there (PREP-9); "
        "a reimage would fail again (simulated). Remove, then resize the pool for another node.",
        "2: Preparation task failed on n23: exit code 137 (killed: SIGKILL, often for want of memory). "
        "No task of the job runs there (PREP-9); a reimage would fail again (simulated). "
        "Remove, then resize the pool for another node.",
    ]
    assert said[10].startswith("3: Node n")
    assert "offline. Billed, but no tasks run there (NOP-6)." in said[10]
    assert said[11] == "Newest events first:"
    assert said[12] == "08:08:49 task frame-0234 active to running on n29."
    assert len(said) == 17


def test_before_there_is_a_job_and_after_it_has_ended(session_at):
    session = session_at(0)
    assert "Preparation: no node yet." in describe(session, STILL)
    ended = describe(session_at(100_000, "preparation-fails-on-one-node"), STILL._replace(is_finished=True))
    assert ended[0].endswith("; nothing more can happen.")
    assert "Job align is completed, AllTasksCompleted, with priority 0." in ended
    assert "Ended 08:08:10, 00:08:10 after it was added." in ended


def test_how_time_goes_by(session_at):
    session = session_at(330)
    assert describe(session, STILL._replace(is_playing=True))[0].endswith("running at 60 times real time.")
    assert describe(session, STILL._replace(is_playing=True, speed=None))[0].endswith("running at maximum speed.")
    session.simulation.seek(100_000)
    session.update()
    assert describe(session, STILL)[0].endswith("; 00:03:50 before the newest moment.")


def test_the_palette_has_it_and_it_needs_no_colour_and_no_unicode(dashboard_at):
    seen = []

    def find(app):
        (command,) = (
            entry
            for entry in palette_entries(app, app.main_screen, app.choose)
            if entry.title == "Describe this screen"
        )
        command.run()

    drive(dashboard_at(330, ascii_only=True, theme="no-colour"), find, lambda app: seen.extend(text_of(app)))
    assert contains(seen, "Described", "Job risk is active, with priority 0.", "Preparation: failed on 1 node")
    assert all(line.isascii() for line in seen)
