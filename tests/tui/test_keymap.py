"""Keys of bindings: declared once, changed by the user, shown as they are."""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tui
from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, text_of
from tui.saving.settings import Settings
from tui.textual.keys import Keymap, contexts, key_name, keys_of, meets
from tui.viewmodels.go_line import TABS

# A pane may give one of the deck's keys another meaning, and a sheet one of those of all sheets.
_OVERRIDDEN = {
    ("pane.next", "prompt.complete"),
    ("go.out", "prompt.leave"),
    ("sheet.close", "why.go"),
}

_IN_TERMINAL = ("app", "dialogs", "panes", "textual", "widgets")  # packages that may import Textual
# Widgets that only dialogs and the prompt have.
_NOT_IN_VIEWS = {"_PromptInput", "FileTree", "TextView", "Choices"}


def test_the_bindings_of_all_dialogs_are_known_before_any_is_opened():
    """What the settings list, and in which order, does not depend on what was imported so far, or in which order."""
    names = "from tui.textual.keys import contexts; print(*(each.__name__ for each in contexts()))"
    modules = [
        each.name for each in pkgutil.walk_packages(tui.__path__, "tui.") if each.name.split(".")[1] in _IN_TERMINAL
    ]
    imports = "import importlib; [importlib.import_module(each) for each in {}]"
    found = set()
    for text in (
        "; ".join(("import tui.app.dashboard", "tui.dialogs.import_all()", names, imports.format(modules), names)),
        "; ".join((imports.format(modules[::-1]), names)),
    ):
        said = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True, text=True).stdout
        found.update(said.splitlines())
    assert len(found) == 1
    assert len(found.pop().split()) >= 25


def test_every_hint_names_a_binding():
    """A hint is the ids of bindings, for which the screen shows their keys, and a word for what these do."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in Path(tui.__path__[0]).rglob("*.py"))
    pairs = (node.elts for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Tuple))
    texts = [[each.value for each in pair if isinstance(each, ast.Constant)] for pair in pairs]
    hints = [pair[0].split() for pair in texts if list(map(type, pair)) == [str, str]]
    named = {word for words in hints for word in words if re.fullmatch(r"[a-z]+\.(?!txt|svg)[a-z-]+", word)}
    assert len(named) > 20
    assert named <= {identity for identity, _, _ in Keymap().listed()}


def test_a_keymap_knows_the_keys_of_dialogs_that_are_imported_after_it():
    text = (
        "import sys, tui.app.dashboard; from tui.textual.keys import Keymap; from tui.app.dashboard import Dashboard;"
        "from engine import Simulation, load_scenario;"
        "app = Dashboard(Simulation(load_scenario('job-prep-release-sample')));"
        "assert 'tui.dialogs.pickers' not in sys.modules;"
        "assert app.listed_keys() == Keymap().listed(); import tui.dialogs.files; keymap = app.main_screen.keymap;"
        "shown = [keymap.shown(each) for each, _, _ in Keymap().listed()];"
        "assert shown == [Keymap().shown(each) for each, _, _ in Keymap().listed()]; print(len(shown))"
    )
    said = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True, text=True).stdout
    assert int(said) > 100


def test_every_binding_has_an_id_of_its_own_and_says_what_it_does():
    bound = [binding for context in contexts().values() for binding in context]
    identities = [binding.id for binding in bound]
    assert None not in identities
    assert len(set(identities)) == len(identities)
    assert all(binding.description for binding in bound)


def test_no_key_is_bound_twice_in_one_context():
    twice = []
    found = [(context, binding) for context, bound in contexts().items() for binding in bound]
    for at, (context, one) in enumerate(found):
        for other_context, other in found[at + 1 :]:
            if meets(context, other_context) and set(keys_of(one)) & set(keys_of(other)):
                twice.append((one.id, other.id))
    assert {tuple(sorted(pair)) for pair in twice} == _OVERRIDDEN


@pytest.mark.parametrize("tab", TABS, ids=[tab.name for tab in TABS])
def test_every_hint_of_a_view_is_a_key_that_works_there(dashboard_at, tab):
    app = dashboard_at(330)
    seen = []

    def look(app):
        known = {binding.binding.id for binding in app.screen.active_bindings.values() if binding.enabled}
        panes = [pane for pane in app.screen.focus_chain if pane in app.screen.view.walk_children()]
        known |= {binding.id for pane in panes for _, binding in pane._bindings}
        hinted = [identity for identities, _ in app.screen.hints() for identity in identities.split()]
        seen.append(set(hinted) - known)
        seen.append(len(app.screen.hints()))

    drive(app, tab.key, look)
    assert seen[0] == set()
    assert seen[1] >= 8


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("full_stop", "."),
        ("escape", "esc"),
        ("pageup", "PgUp"),
        ("P", "P"),
        ("ctrl+q", "ctrl+q"),
        ("f1", "f1"),
        ("slash", "/"),
        ("minus", "-"),
        ("greater_than_sign", ">"),
        ("backspace", "backspace"),
        ("comma", ","),
    ],
)
def test_keys_have_the_names_that_people_give_them(key, name):
    assert key_name(key) == name


def test_a_key_is_changed_in_hints_help_and_tabs_and_works(dashboard_at):
    settings = Settings(keys={"row.why": "E", "view.pools": "f5", "list.filter": "?", "help": "f1"})
    app = dashboard_at(330, settings=settings)
    seen = []
    drive(
        app,
        "f5",
        lambda app: seen.append((app.screen.view.id, text_of(app))),
        "2",
        "w",
        lambda app: seen.append((app.screen.view.id, len(app.screen_stack))),
        "E",
        lambda app: seen.append(text_of(app)),
        "escape",
        "f1",
        lambda app: seen.append(text_of(app)),
        size=(200, 140),
    )
    assert seen[0][0] == "pools"
    assert contains(seen[0][1], "f5 Pools", "E why", "? filter")
    assert seen[1] == ("pools", 1)
    assert contains(seen[2], "Why")
    assert contains(seen[3], "Help: Pools", "E        Explain the state")


def test_two_bindings_change_places():
    keymap = Keymap({"time.step": ",", "time.back": "."})
    assert keymap.problems == []
    assert keymap.changed == {"time.step": "comma", "time.back": "full_stop"}
    assert keymap.shown("time.step time.back") == ", ."


def test_what_cannot_be_bound_is_told_and_the_rest_holds():
    keymap = Keymap(
        {
            "time.stp": "x",
            "help": "nokey",
            "row.why": "a",
            "time.go": "r",
            "map.lens": "o,f8",
            "row.copy": "f9",
            "row.act": "f9",
        }
    )
    assert keymap.problems == [
        "time.stp is not a binding: did you mean 'time.step'?",
        "help: 'nokey' is not a key",
        "row.act: f9 is the key of row.copy already",
        "time.go: r is the key of timeline.rows already",
        "row.why: a is the key of row.act already",
    ]
    assert keymap.changed == {"map.lens": "o,f8", "row.copy": "f9"}
    assert keymap.shown("row.act row.why help") == "a w ?"


def test_a_wrong_key_is_told_when_the_dashboard_opens(dashboard_at):
    app = dashboard_at(330, settings=Settings(keys={"row.why": "a"}))
    said = []
    drive(app, lambda app: said.extend(messages_of(app)))
    assert said == ["keys: row.why: a is the key of row.act already"]


# Words for one meaning: a key that moves, opens or zooms does so to whatever the pane shows.
_ALIKE = (
    {"up", "before"},
    {"down", "next"},
    {"left", "earlier", "before"},
    {"right", "later", "next"},
    {"first", "top"},
    {"last", "bottom"},
    {"open", "go", "only", "choose"},
)


def test_a_key_means_the_same_in_every_view():
    meanings = {}
    for context, bound in contexts().items():
        if not context.__module__.startswith(("tui.app.", "tui.app.", "tui.panes.", "tui.widgets.")):
            continue
        if context.__name__ in _NOT_IN_VIEWS:
            continue
        for binding in bound:
            for key in keys_of(binding):
                meanings.setdefault(key, set()).add(binding.id.partition(".")[2] or binding.id)
    different = {
        key: said for key, said in meanings.items() if len(said) > 1 and not any(said <= alike for alike in _ALIKE)
    }
    assert different == {}
