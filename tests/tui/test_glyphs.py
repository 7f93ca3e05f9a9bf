"""The one table of symbols: what each state looks like, and that nothing else chooses a symbol for a state."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

import tui
from engine.base.terms import JobState, NodeState, TaskResult, TaskState
from engine.state.nodes import GONE as GONE_CODE
from engine.views.hook_status import Hook, HookStatus
from engine.views.resources.jobs import JobProgress, TaskCounts
from tui.textual import views
from tui.viewmodels import glyphs
from tui.viewmodels.glyphs import (
    INELIGIBLE,
    JOB,
    JOB_SCHEDULE,
    NODE,
    POOL_GLYPHS,
    PREPARATION,
    RELEASE,
    STOPPED,
    TASK_GLYPHS,
    GlyphSet,
    glyph_of_job,
    hook_glyph,
    task_glyph,
)
from tui.viewmodels.text import Role, plain
from tui.viewmodels.watch.node_map import Lens, glyph_for


def ended(*, badly):
    """A job that is completed; badly: before its work was done."""
    nothing = TaskCounts(*(0 for _ in TaskCounts._fields))
    return JobProgress("render", JobState.COMPLETED, "TaskFailed" if badly else "", None, nothing, None, 0, 0)


# Table by table: symbol, letter, role.
NODES = {
    NodeState.CREATING: "○c TRANSITION",
    NodeState.STARTING: "◔s TRANSITION",
    NodeState.WAITING_FOR_START_TASK: "◒w PREPARING",
    NodeState.START_TASK_FAILED: "⊠F FAILED",
    NodeState.IDLE: ".. QUIET",
    NodeState.RUNNING: "◉# RUNNING",
    NodeState.REBOOTING: "↻r TRANSITION",
    NodeState.REIMAGING: "⊕R TRANSITION",
    NodeState.UPGRADING_OS: "⇡u TRANSITION",
    NodeState.OFFLINE: "⊖o OFF",
    NodeState.LEAVING_POOL: "◃l TRANSITION",
    NodeState.PREEMPTED: "▾e PREEMPTED",
    NodeState.DEALLOCATING: "◍d TRANSITION",
    NodeState.DEALLOCATED: "▫D OFF",
    NodeState.UNUSABLE: "⊗U FAILED",
    NodeState.UNKNOWN: "?? FAILED",
    None: "∅g OFF",
}
HOOKS = {
    (Hook.PREPARATION, HookStatus.NOT_NEEDED): ".. QUIET",
    (Hook.PREPARATION, HookStatus.RUNNING): "▸p PREPARING",
    (Hook.PREPARATION, HookStatus.RETRYING): "»P PREPARING",
    (Hook.PREPARATION, HookStatus.SUCCEEDED): "✓+ OK",
    (Hook.PREPARATION, HookStatus.FAILED): "✗X FAILED",
    (Hook.PREPARATION, HookStatus.SUPERSEDED): "≃M TRANSITION",
    (Hook.PREPARATION, HookStatus.STOPPED): "⊘t OFF",
    (Hook.PREPARATION, HookStatus.LEAVING): "◃l TRANSITION",
    (Hook.PREPARATION, HookStatus.GONE): "∅g OFF",
    (Hook.RELEASE, HookStatus.NOT_NEEDED): ".. QUIET",
    (Hook.RELEASE, HookStatus.WILL_RUN): ":: QUIET",
    (Hook.RELEASE, HookStatus.RUNNING): "◂v RELEASING",
    (Hook.RELEASE, HookStatus.SUCCEEDED): "∎V OK",
    (Hook.RELEASE, HookStatus.FAILED): "↯Y FAILED",
    (Hook.RELEASE, HookStatus.SKIPPED): "⊝z OFF",
    (Hook.RELEASE, HookStatus.GONE): "∅g OFF",
}
TASKS = {
    (TaskState.ACTIVE, None, ""): "◌a QUIET",
    (TaskState.ACTIVE, None, "is_blocked"): "⊡b OFF",
    (TaskState.ACTIVE, None, "awaits_retry"): "»y TRANSITION",
    (TaskState.PREPARING, None, ""): "▸p PREPARING",
    (TaskState.RUNNING, None, ""): "◉# RUNNING",
    (TaskState.COMPLETED, TaskResult.SUCCESS, ""): "✓+ OK",
    (TaskState.COMPLETED, TaskResult.FAILURE, ""): "✗X FAILED",
    (TaskState.COMPLETED, TaskResult.FAILURE, "was_ended"): "⊘t OFF",
}
JOBS = {
    "active": "◉a RUNNING",
    "disabling": "◍i TRANSITION",
    "disabled": "⊖d OFF",
    "enabling": "◔e TRANSITION",
    "terminating": "↺t RELEASING",
    "completed": "✓+ OK",
    "deleting": "◃l TRANSITION",
}
# States that can stand side by side on the map, in a list or on the timeline.
PICTURES = {
    "nodes": (*NODE.values(), *PREPARATION.values(), *RELEASE.values(), INELIGIBLE),
    "preparation tasks over time": (*PREPARATION.values(), STOPPED),
    "release tasks over time": (*RELEASE.values(), STOPPED),
    "tasks": TASK_GLYPHS,
    "jobs": (*JOB.values(), glyph_of_job(ended(badly=True))),
    "job schedules": tuple(JOB_SCHEDULE.values()),
    "pools": POOL_GLYPHS,
}
# An active task waits, an active job is at work; a job can be completed well or badly.
OF_TWO_MEANINGS = ("active", "completed")
NOTHING_TO_DO = ("idle", "no preparation", "not needed")
GONE = ("left the pool", "node gone", "deleted")


def drawn(glyph):
    return f"{glyph.symbol}{glyph.letter} {glyph.role.name}"


def meaning(glyph):
    """What a glyph says: a node that is gone, and one with nothing to do, may have several names."""
    return next((names for names in (NOTHING_TO_DO, GONE) if glyph.name in names), glyph.name)


def test_every_state_has_its_symbol_letter_and_category():
    assert {state: drawn(glyph) for state, glyph in NODE.items()} == NODES
    assert set(NODES) == {*NodeState, None}
    assert {key: drawn(hook_glyph(*key)) for key in HOOKS} == HOOKS
    flags = ("is_blocked", "awaits_retry", "was_ended")
    for (state, result, flag), expected in TASKS.items():
        assert drawn(task_glyph(state, result, **{name: name == flag for name in flags})) == expected
    assert {state.wire: drawn(glyph) for state, glyph in JOB.items() if state is not None} == JOBS
    assert drawn(glyph_of_job(ended(badly=True))) == "✗X FAILED"
    assert drawn(glyph_of_job(ended(badly=False))) == JOBS["completed"]


@pytest.mark.parametrize("name", PICTURES)
def test_states_in_one_picture_can_be_told_apart_without_colour_and_in_ascii(name):
    by_symbol, by_letter = {}, {}
    for glyph in PICTURES[name]:
        assert cell_len(glyph.symbol) == 1
        assert len(glyph.letter) == 1
        assert glyph.letter.isascii()
        assert by_symbol.setdefault(glyph.symbol, meaning(glyph)) == meaning(glyph)
        assert by_letter.setdefault(glyph.letter, meaning(glyph)) == meaning(glyph)


def test_states_of_the_same_name_look_alike_everywhere():
    by_name = {}
    for name, picture in PICTURES.items():
        for glyph in picture:
            if glyph.name not in OF_TWO_MEANINGS:
                assert by_name.setdefault(glyph.name, glyph) == glyph, name


@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_stretch_is_one_line_that_begins_with_its_symbol_and_names_itself_where_there_is_room(ascii_only):
    glyphs = GlyphSet(ascii_only=ascii_only)
    for cells in (1, 2, 9, 40):
        drawn = [glyphs.stretch(glyph, cells).text for glyph in NODE.values()]
        assert {cell_len(each) for each in drawn} == {cells}
        assert len(set(drawn)) == len(drawn)  # also without colour
    unusable, sign = NODE[NodeState.UNUSABLE], "U" if ascii_only else "⊗"
    assert glyphs.stretch(unusable, 20).text == f"{sign} unusable ".ljust(20, glyphs.meter)
    assert glyphs.stretch(unusable, 5).text == sign.ljust(5, glyphs.meter)
    assert glyphs.stretch(NODE[NodeState.START_TASK_FAILED], 12).text[1:10] == " failed " + glyphs.meter


def test_preempted_is_not_failed():
    preempted = NODE[NodeState.PREEMPTED]
    others = [glyph for state, glyph in NODE.items() if state is not NodeState.PREEMPTED]
    assert preempted.role is Role.PREEMPTED
    assert preempted.role not in {glyph.role for glyph in others}
    for theme in views.THEME_NAMES:
        colours = views.colours(theme)
        assert colours[Role.PREEMPTED] not in {colours[role] for role in Role if role is not Role.PREEMPTED}


@pytest.mark.parametrize("lens", [Lens.STATE, Lens.PHASE])
def test_a_lens_shows_a_state_by_the_symbol_of_the_table(lens):
    assert glyph_for(lens, NodeState.PREEMPTED, 0x99) == NODE[NodeState.PREEMPTED]
    assert glyph_for(lens, GONE_CODE, 0) == NODE[None]


def glyphs_made_in(path):
    """The names of the states for which a module makes a glyph, with the line of each."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id == "Glyph" and len(call.args) > 3:
            name = call.args[3]
            yield (name.value if isinstance(name, ast.Constant) else ast.unparse(name)), call.lineno


def test_no_other_module_makes_a_symbol_for_a_state():
    names = {glyph.name for picture in PICTURES.values() for glyph in picture}
    symbols = {glyph.symbol for picture in PICTURES.values() for glyph in picture} - {".", ":", "?"}
    shared = {*GlyphSet(ascii_only=False).__dict__.values()}  # signs of lines and bars that no state has for itself
    table = Path(glyphs.__file__)
    for path in Path(tui.__file__).parent.rglob("*.py"):
        if path == table:
            continue
        made = [(name, line) for name, line in glyphs_made_in(path) if name in names]
        assert not made, f"{path}: {made}"
        literals = [
            (node.value, node.lineno)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and set(node.value) & (symbols - shared)
        ]
        assert not literals, f"{path}: {literals}"


def test_a_sign_of_a_bar_in_ascii_is_no_state():
    glyphs = GlyphSet(ascii_only=True)
    bars = {glyphs.meter, glyphs.meter_running, glyphs.ellipsis, glyphs.crossed}
    states = {glyph for picture in PICTURES.values() for glyph in picture}
    assert len(bars) == 4
    assert not bars & {glyphs.of(each) for each in states}


@pytest.mark.parametrize("cells", [32, 60, 78, 118, 198, 400])
def test_counts_begin_with_what_is_wrong_and_tell_what_has_no_room(cells):
    numbers = [(glyph, 100 * number) for number, glyph in enumerate(NODE.values(), 1)]
    said = plain(GlyphSet(ascii_only=False).counts(numbers, "node", cells))
    named, _, left_out = said.partition("+")
    told = [int(each.split()[1].replace(",", "")) for each in named.split("   ") if each.strip()]
    hidden = re.match(r"(\d+) more states?, ([0-9,]+) nodes", left_out)
    assert len(told) + (int(hidden[1]) if hidden else 0) == len(numbers)
    assert sum(told) + (int(hidden[2].replace(",", "")) if hidden else 0) == sum(number for _, number in numbers)
    assert len(said.rstrip()) <= cells
    assert said.startswith("⊠ 400 start task failed") or not told
    assert cells > 60 or hidden


def test_a_failure_has_one_letter_in_bars_counts_and_the_table_of_symbols():
    glyphs = GlyphSet(ascii_only=True)
    assert {glyphs.bad, glyphs.meter_failed, glyphs.of(PREPARATION[HookStatus.FAILED])} == {"X"}
