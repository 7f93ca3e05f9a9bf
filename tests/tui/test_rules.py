"""K shows the text of the rules that are cited on the screen."""

from __future__ import annotations

from itertools import chain

import pytest

from engine import Simulation, load_scenario
from engine.base import rulebook
from tests.tui.driving import drive, typed
from tests.tui.screen_text import after, contains, messages_of
from tui.app.dashboard import Dashboard
from tui.dialogs.sheets import RuleSheet, rules_on
from tui.viewmodels.text import Role, Span, dim_citations, plain, rule_lines, width

LATER_S = 330


def shown(app, *keys, size=(120, 40)):
    """The ids on the sheet of rules that these keys open; empty where none opens."""
    found = []

    def look(app):
        is_open = isinstance(app.screen, RuleSheet)
        found.extend(part.id for part in app.screen.shown) if is_open else None

    drive(app, *keys, look, size=size)
    return found


def test_of_an_explanation_all_rules_are_shown(dashboard_at):
    app = dashboard_at(LATER_S)
    cited = []
    drive(app, "6", "w", lambda app: cited.extend(rule.id for rule in rules_on(app.screen)))
    assert "PREP-9" in cited
    assert shown(dashboard_at(LATER_S), "6", "w", "K") == cited


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_of_an_event_its_rule_is_shown_where_the_column_is_hidden_too(dashboard_at, size):
    (rule,) = shown(dashboard_at(LATER_S), "9", "home", "down", "K", size=size)
    assert rule in rulebook.rules()


def test_a_sheet_of_rules_leads_to_those_that_it_cites_and_back(dashboard_at):
    app = dashboard_at(LATER_S)
    assert shown(app, *typed(":rule REL-12"), "enter", "K") == ["REL-10"]
    assert shown(dashboard_at(LATER_S), *typed(":rule REL-12"), "enter", "K", "escape") == ["REL-12"]


def notes(app, *keys):
    """What is said after these keys."""
    said = []
    drive(app, *keys, lambda app: said.extend(messages_of(app)))
    return said


def test_where_none_is_cited_it_says_how_to_find_one(dashboard_at):
    assert notes(dashboard_at(0), "2", "K") == [
        "No rule is cited here. : rule PREP-16 shows one, : rule PREP a chapter."
    ]


def test_in_a_field_the_key_is_a_letter(dashboard_at):
    app = dashboard_at(LATER_S)
    texts = []
    drive(app, "6", "slash", "K", lambda app: texts.append(app.screen.focused.value))
    assert texts == ["K"]


def test_the_go_line_shows_a_rule_or_a_chapter(dashboard_at):
    app = dashboard_at(LATER_S)
    found = []
    asked = "rule PREP-16", "rule prep-16", "nop-3", "rule spot"
    look = lambda app: found.append(app.screen.shown)  # noqa: E731
    drive(app, *chain.from_iterable((*typed(f":{text}"), "enter", look, "escape") for text in asked))
    ids = [[getattr(part, "id", getattr(part, "prefix", "")) for part in shown] for shown in found]
    assert ids == [["PREP-16"], ["PREP-16"], ["NOP-3"], ["SPOT"]]


def test_an_id_of_the_run_wins_over_a_rule_and_a_rule_over_a_part_of_an_id():
    pool = "pools: [{id: p, vmSize: standard_a1_v2, targetDedicatedNodes: 1}]"
    jobs = "jobs: [{id: rel-3, poolInfo: {poolId: p}}, {id: parallel-4, poolInfo: {poolId: p}}]"
    simulation = Simulation(load_scenario("ids.yaml", text=f"scenario: ids\n{pool}\n{jobs}\n"))
    simulation.run_until(1000)
    assert shown(Dashboard(simulation, plays=False), *typed(":REL-3"), "enter") == []
    assert shown(Dashboard(simulation, plays=False), *typed(":rel-4"), "enter") == ["REL-4"]


def test_an_unknown_rule_names_the_nearest(dashboard_at):
    (note,) = notes(dashboard_at(LATER_S), *typed(":rule PREP-99"), "enter")
    assert note == "No rule is called 'PREP-99'; the nearest is PREP-28."


def test_help_and_palette_know_the_key(dashboard_at):
    assert contains(after(dashboard_at(LATER_S), "question_mark", size=(120, 200)), "K        Show the rules")
    assert contains(after(dashboard_at(LATER_S), "ctrl+p", *"rules"), "Show the rules cited on the screen")


@pytest.mark.parametrize("cells", [60, 74, 116])
def test_no_line_is_wider_than_the_sheet_and_every_word_is_there(cells):
    parts = [*rulebook.chapters(), *rulebook.rules().values()]
    lines = rule_lines(parts, cells, with_code=True)
    assert max(map(width, lines)) <= cells
    words = "".join("".join(plain(line) for line in lines).split())
    assert "".join(rulebook.rules()["PREP-16"].text.replace("`", "").split()) in words


def test_citations_are_dimmed_and_ids_of_jobs_are_not():
    spans = (Span("barred from JOB-1 (PREP-9, PREP-10) ", Role.FAILED), Span("n1"), Span("TASK-3", Role.OK))
    pieces = dim_citations(spans, plain(spans))
    assert plain(pieces) == plain(spans)
    assert [span.text for span in pieces if span.role is Role.DIM] == ["(PREP-9,", "PREP-10)"]
    assert dim_citations(spans[1:], plain(spans[1:])) == spans[1:]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["120x40", "80x24"])
def test_picture_of_the_rules_of_an_explanation(snap_compare, dashboard_at, size):
    assert snap_compare(dashboard_at(LATER_S), press=["6", "w", "K"], terminal_size=size)
