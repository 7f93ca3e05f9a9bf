"""S: how a pool scales itself, and the editor of its formula."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.base.errors import Position
from tests.builders import run_to, simulation
from tests.tui.acting import commands_of
from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, messages_of, text_of
from tui.viewmodels.actions.menu import actions_for
from tui.viewmodels.autoscale import FIRST_FORMULA, around, autoscale_lines, coloured, numbered, try_out
from tui.viewmodels.detail_pages import detail_model_of
from tui.viewmodels.lists.pools import PoolsModel
from tui.viewmodels.pool_pages import SCALE_TAB
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, Role, plain, width

DAY, NEVER = "a-day-of-autoscaling", "a-formula-that-never-grows"
MORNING_S, FAILING_S, GROWN_S = 36_600, 700, 2_400


def texts(lines):
    return [plain(each) for each in lines]


def said(session, formula, pool="elastic", cells=80):
    trial = try_out(session, pool, formula, cells)
    return trial, "\n".join(texts(trial.lines))


# --- a formula as lines


def test_a_formula_is_coloured_lightly():
    roles = {span.text: span.role for span in coloured('x = max(0, $PendingTasks) + "s"; // $CPUPercent')}
    assert roles["max"] is Role.DERIVED
    assert roles["$PendingTasks"] is Role.KEY
    assert roles['"s"'] is Role.OK
    assert roles["// $CPUPercent"] is Role.DIM
    assert roles["x"] is Role.PLAIN


@pytest.mark.parametrize("cells", [20, 40, 100])
def test_a_formula_is_numbered_and_nothing_of_it_is_lost(cells):
    text = "a = 1;\n\n   b = max(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); // 漢字\n"
    lines = numbered(text, cells)
    assert max(map(width, lines)) <= cells
    assert "".join(plain(each)[4:] for each in lines) == text.replace("\n", "").rstrip()
    assert [plain(each)[:4] for each in lines if plain(each)[:4].strip()] == ["  1 ", "  2 ", "  3 "]


def test_a_caret_stands_below_the_fault_and_the_reason_below_the_caret():
    lines = texts(numbered("a = 1;\nb = nowhere;", 60, (Position(2, 5), "Unknown variable nowhere")))
    assert lines == ["  1 a = 1;", "  2 b = nowhere;", "        ^", "    Unknown variable nowhere"]


def test_a_long_line_is_shown_around_its_fault():
    shown, at = around("x" * 500 + "nowhere" + "y" * 500, Position(1, 501), 60)
    assert len(shown) == 60
    assert shown[at:].startswith("nowhere")
    assert around("a\tb", Position(7, 1), 60) == ("", 0)


# --- the page


def test_the_page_tells_formula_schedule_evaluation_samples_and_history(session_at):
    page = "\n".join(texts(autoscale_lines(session_at(MORNING_S, DAY), "elastic", 116)))
    for text in (
        "every 00:30:00, next at 10:30:00, in 00:20:00",
        "  2 day = time().weekday >= 1",
        "Last evaluation, 10:00:00",
        "dedicated nodes  5 → 5",
        "deallocation     taskcompletion",
        "waiting  16",
        "Newest samples, 1,220 of each",
        "09:30:00  2 → 5                day 1, office 2, sampled 100, waiting 20",
    ):
        assert text in page


@pytest.mark.parametrize("cells", [20, 40, 76, 116])
@pytest.mark.parametrize(("name", "seconds"), [(DAY, MORNING_S), (NEVER, FAILING_S)])
def test_no_line_is_wider_than_the_page(session_at, name, seconds, cells):
    session = session_at(seconds, name)
    assert max(map(width, autoscale_lines(session, session.pool_id, cells))) <= cells


def test_a_pool_without_autoscale_says_so_and_how_to_switch_it_on(session_at):
    model = detail_model_of(session_at(330), ItemRef("pool", "shared"))
    page = [" ".join(each.split()) for each in texts(model.lines(model.tabs.index(SCALE_TAB), 100))]
    assert "Autoscale off" in page
    assert page[-1] == "Evaluate formula opens an empty editor"


def test_the_pool_blade_tells_the_last_evaluation_and_the_next(session_at):
    model = PoolsModel(session_at(FAILING_S, NEVER))
    model.update()
    block = next(each for each in model.details(0) if each.title.startswith("Autoscale"))
    assert block.rows[1][1].text.startswith("InsufficientSampleData. Line 1, Col 52")
    assert block.rows[2][1].text == "08:15:00"
    assert plain(model.sentence(0)).endswith("evaluated at 08:15:00 (S)")


def test_what_can_be_done_to_a_pool_that_scales_itself(session_at):
    actions = {
        action.command: action for action in actions_for(session_at(GROWN_S, NEVER), [ItemRef("pool", "elastic")])
    }
    assert actions["resizePool"].unavailable == "autoscale sets the targets"
    often = actions["enablePoolAutoScale"]
    name = "autoScaleEvaluationInterval"
    assert commands_of(often, answers={name: "30m"})[0].auto_scale_evaluation_interval == 30 * 60_000
    with pytest.raises(ValueError, match="Interval: 'soon' is not a duration"):
        commands_of(often, answers={name: "soon"})
    assert "disablePoolAutoScale" in actions
    plain_pool = {action.command: action for action in actions_for(session_at(330), [ItemRef("pool", "shared")])}
    assert plain_pool["enablePoolAutoScale"].type.opens_formula
    assert "disablePoolAutoScale" not in plain_pool


def test_as_87_the_editor_opens_from_the_action_sheet_and_asks_the_service(dashboard_at):
    app, seen = dashboard_at(GROWN_S, NEVER), []
    verbs = [each.command for each in actions_for(app.session, [ItemRef("pool", "elastic")])]
    down = ["down"] * verbs.index("evaluatePoolAutoScale")
    drive(
        app,
        *("2", "a", *down, "enter"),
        lambda app: seen.append(text_of(app)),
        "ctrl+t",
        lambda app: seen.append(messages_of(app)),
    )
    assert contains(seen[0], "Formula of elastic")
    assert seen[1][0].startswith("evaluatePoolAutoScale accepted, nothing changes. trial: ")
    log = app.session.events
    assert log.row(log.count - 1).event == "AutoScaleEvaluated"
    assert log.row(log.count - 1).fields["trial"] is True


# --- trying out


def test_a_trial_says_what_would_follow(session_at):
    trial, text = said(session_at(GROWN_S, NEVER), "n = 3; $TargetDedicatedNodes = n;")
    assert (trial.is_taken, trial.fault) == (True, None)
    assert "dedicated nodes  1 → 3" in text
    assert "a resize would start (AS-80)" in " ".join(text.split())
    _, text = said(session_at(GROWN_S, NEVER), "x = 1")
    assert "no resize (AS-80)" in text


@pytest.mark.parametrize(
    ("formula", "is_taken", "place", "words"),
    [
        ("x = 1 +", False, (1, 8), "The service rejects it: AutoScalingFormulaSyntaxError"),
        ("", False, (1, 1), "has no statement"),
        ("x=1;" * 101, False, (1, 401), "AutoScalingFormulaTooLong"),
        ("a = 1;\nb = nowhere", True, (2, 5), "It would fail: AutoScalingFormulaEvaluationError. The targets remain."),
        ("x = $CPUPercent.GetSample(TimeInterval_Day)", True, (1, 26), "wanted 70%"),
    ],
)
def test_a_trial_that_goes_wrong_says_where(session_at, formula, is_taken, place, words):
    trial, text = said(session_at(GROWN_S, NEVER), formula)
    assert (trial.is_taken, trial.fault) == (is_taken, place)
    assert words in text
    assert f"Line {place[0]}, Col {place[1]}: " in text
    assert any(each.strip() == "^" for each in text.splitlines())


def test_a_pool_without_autoscale_can_be_tried_out_on_and_one_that_is_gone_cannot(session_at):
    trial, text = said(session_at(330), FIRST_FORMULA, "shared")
    assert (trial.is_taken, trial.fault) == (True, None)
    assert "No samples yet" in text
    trial, text = said(session_at(330), FIRST_FORMULA, "nowhere")
    assert (trial.is_taken, "PoolNotFound" in text) == (False, True)


def test_a_trial_says_when_the_service_would_refuse_any_formula(session_at):
    trial, text = said(session_at(5), FIRST_FORMULA, "shared")
    assert trial.is_taken is False
    assert "The service would reject it now: PoolBeingResized" in " ".join(text.split())
    assert "dedicated nodes" in text


def test_a_trial_changes_nothing(session_at):
    session = session_at(GROWN_S, NEVER)
    before = list(session.simulation.json_lines())
    said(session, "$TargetDedicatedNodes = 9")
    assert list(session.simulation.json_lines()) == before


# --- keys


def rewrite(text):
    """A step that puts another text into the editor."""
    return lambda app: app.screen.query_one("#formula").load_text(text)


def test_s_shows_the_pool_under_the_cursor_or_in_focus(dashboard_at):
    app, seen = dashboard_at(MORNING_S, DAY), []
    drive(app, "S", lambda app: app.main_screen.view.update(), lambda app: seen.extend(text_of(app)))
    assert contains(seen, "Pool elastic: Scale", "taskcompletion")
    assert contains(after(dashboard_at(330), "2", "S"), "opens an empty editor")
    app, views = dashboard_at(330), []
    drive(app, "S", "escape", lambda app: views.append(app.main_screen.view.id))
    assert views == ["watch"]


def test_the_editor_tries_out_what_is_typed_and_goes_to_the_error(dashboard_at):
    seen = []
    steps = ["S", "S", rewrite("x = 1;\ny = 2 +;"), lambda app: seen.append(text_of(app)), "ctrl+g", "ctrl+s"]
    app = dashboard_at(GROWN_S, NEVER)
    drive(app, *steps, lambda app: seen.append(app.screen.query_one("#formula").cursor_location))
    assert contains(seen[0], "The service rejects it", "Line 2, Col 8: Unexpected ';'")
    assert seen[1] == (1, 7)
    assert not app.session.simulation.journal.by_hand()


def test_what_is_applied_is_a_command_that_replays(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app, page = dashboard_at(GROWN_S, NEVER), []
    formula = "$TargetDedicatedNodes = 2;"
    drive(app, "S", "S", rewrite(formula), "ctrl+s", lambda app: page.extend(text_of(app)), "escape", "R", "enter")
    assert contains(page, formula, "dedicated nodes  1 → 2")
    by_hand = app.session.simulation
    by_hand.run_until(by_hand.end_ms)
    replayed = Simulation(load_scenario(str(tmp_path / f"{NEVER}-session.yaml")))
    replayed.run_until(replayed.end_ms)
    assert list(replayed.json_lines()) == list(by_hand.json_lines())


def test_a_formula_that_fails_is_applied_only_when_it_is_asked_for_twice(dashboard_at):
    app, given = dashboard_at(GROWN_S, NEVER), []

    def count(app):
        given.append(len(app.session.simulation.journal.by_hand()))

    drive(app, "S", "S", rewrite("x = nowhere"), "ctrl+s", count, "ctrl+s", count)
    assert given == [0, 1]


def test_what_was_written_is_lost_only_when_it_is_asked_for_twice(dashboard_at):
    app, depths = dashboard_at(GROWN_S, NEVER), []

    def depth(app):
        depths.append(len(app.screen_stack))

    drive(app, "S", "S", "escape", depth, "S", rewrite("x = 1"), "escape", depth, "escape", depth)
    assert depths == [1, 2, 1]


def test_in_the_past_a_formula_can_be_tried_out_and_not_applied(dashboard_at):
    app = dashboard_at(GROWN_S, NEVER)
    drive(app, "comma", "S", "S", rewrite("$TargetDedicatedNodes = 2"), "ctrl+s")
    assert app.session.is_past
    assert not app.session.simulation.journal.by_hand()


def test_w_on_a_pool_explains_its_targets(dashboard_at):
    lines = after(dashboard_at(FAILING_S, NEVER), "2", "w")
    assert contains(lines, "Why did autoscale leave the targets of elastic as they are?", "GetSample over a time needs")


# --- pictures


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("name", "seconds", "keys"),
    [(DAY, MORNING_S, ["S"]), (NEVER, FAILING_S, ["S"]), (NEVER, FAILING_S, ["S", "S"])],
    ids=["page", "failing", "editor"],
)
def test_pictures(snap_compare, dashboard_at, name, seconds, keys, size):
    assert snap_compare(dashboard_at(seconds, name), press=keys, terminal_size=size)


def test_picture_in_ascii_without_colour(snap_compare, dashboard_at):
    app = dashboard_at(FAILING_S, NEVER, ascii_only=True, theme="no-colour")
    assert snap_compare(app, press=["S", "S"], terminal_size=(80, 24))


@pytest.mark.parametrize(
    ("retries", "effect"), [("passing", "its failed resize would begin again"), ("none", "no resize")]
)
def test_targets_that_stay_begin_a_failed_resize_again(retries, effect):
    formula = "$TargetDedicatedNodes = 2;"
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "enableAutoScale": True, "autoScaleFormula": formula}
    quotas = {"quotas": {"dedicatedCores": 2}}
    sim = simulation(pool=pool, account=quotas, options={"autoScaleRetries": retries}, until="PT1H")
    run_to(sim, minutes=3)
    assert f"The pool already has these targets: {effect} (AS-80)." in said(Session(sim), formula, "p")[1]
