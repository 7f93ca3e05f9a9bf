"""w says why, where the cursor is."""

from __future__ import annotations

import pytest

from engine.views.explain.explanation import Next
from tests.tui.screen_text import after, contains
from tests.tui.test_keys import drive
from tui.viewmodels.text import plain, width
from tui.viewmodels.why import answers_to, next_change, plain_text, why_lines

LATER_S = 330


@pytest.mark.parametrize(
    ("keys", "question"),
    [
        (["w"], "Why is n0 of pool shared running?"),
        (["2", "w"], "Why does pool shared have the nodes that it has?"),
        (["3", "w"], "Why is n0 of pool shared running?"),
        (["4", "w"], "Why has job risk not ended?"),
        (["5", "w"], "Why did task deal-1 of job risk fail?"),
        (["6", "w"], "Why is n1 barred from job risk?"),
        (["9", "w"], "Why has job risk not ended?"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_each_view_asks_its_question(dashboard_at, keys, question):
    assert contains(after(dashboard_at(LATER_S), *keys), question)


def test_where_a_pool_has_no_nodes_it_says_why(dashboard_at):
    assert contains(after(dashboard_at(5), "3", "w"), "Why is pool shared resizing?", "asked for, not there yet")


def test_enter_goes_to_the_next_event(dashboard_at):
    app = dashboard_at(LATER_S)
    drive(app, "4", "w", "enter")
    assert app.session.now_ms == 335_000 + app.session.now_ms % 1000
    assert not app.session.is_past


def test_y_copies_the_text_and_w_closes(dashboard_at):
    app = dashboard_at(LATER_S)
    depths = []

    def look(app):
        depths.append(len(app.screen_stack))

    drive(app, "6", "w", "y", look, "w", look)
    assert app.clipboard.startswith("Why is n1 barred from job risk?\n✗ preparation")
    assert depths == [2, 1]


@pytest.mark.parametrize("cells", [30, 60, 120])
def test_no_line_is_wider_than_the_sheet_and_every_word_is_there(session_at, cells):
    session = session_at(LATER_S)
    answers = answers_to(session, "job", "risk", "jobs") + answers_to(session, "node", 1, "preparation")
    lines = why_lines(session, answers, cells)
    assert max(map(width, lines)) <= cells
    shown = "".join("".join(plain(each) for each in lines).split())
    if cells == 120:
        assert shown == "".join(plain_text(answers).split())


def test_the_first_of_all_next_events_counts(session_at):
    session = session_at(LATER_S)
    answers = answers_to(session, "job", "risk", "jobs") + answers_to(session, "node", 0, "nodes")
    following = next_change(answers)
    assert isinstance(following, Next)
    assert following.when_ms == min(answer.next_change.when_ms for answer in answers if answer.next_change)
    assert next_change([]) is None


def test_picture(snap_compare, dashboard_at):
    assert snap_compare(dashboard_at(LATER_S), press=["6", "w"], terminal_size=(120, 40))
