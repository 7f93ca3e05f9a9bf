"""The private names of Textual that the dashboard needs: each exists, takes what it took, and stands in two modules."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from textual._compositor import ChopsUpdate, Compositor, ReflowResult
from textual._styles_cache import StylesCache
from textual.app import App
from textual.dom import DOMNode
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

import tui
import tui.app.dashboard
from tui.textual import overrides, screens

HERE = (overrides, screens)  # of widgets, of screens
# What each takes; None for what is read or assigned.
NAMES = {
    (ChopsUpdate, "__init__"): ["self", "chops", "spans", "chop_ends"],
    (ChopsUpdate, "render_segments"): ["self", "console"],
    (ReflowResult, "_fields"): None,
    (Compositor, "reflow"): ["self", "parent", "size"],
    (Compositor, "render_partial_update"): ["self"],
    (Compositor, "render_strips"): ["self", "size"],
    (Compositor, "_render_chops"): ["self", "crop", "is_rendered_line"],
    (Compositor, "_regions_to_spans"): ["cls", "regions"],
    (Compositor, "_dirty_regions"): None,
    (Compositor, "_full_map_invalidated"): None,
    (Compositor, "cuts"): None,
    (Compositor, "visible_widgets"): None,
    (StylesCache, "clear"): ["self"],
    (StylesCache, "render_line"): [
        "self",
        "styles",
        "y",
        "size",
        "content_size",
        "padding",
        "base_background",
        "background",
        "render_content_line",
    ],  # and what is only handed on
    (Widget, "_styles_cache"): None,
    (Widget, "_vertical_scrollbar"): None,
    (Widget, "_border_title"): None,
    (Widget, "_border_subtitle"): None,
    (Widget, "_scroll_update"): ["self", "virtual_size"],
    (ScrollView, "_size_updated"): ["self", "size", "virtual_size", "container_size", "layout"],
    (Widget, "_layout_required"): None,
    (Widget, "_scroll_required"): None,
    (Widget, "_refresh_styles_required"): None,
    (Widget, "_repaint_required"): None,
    (MessagePump, "_is_mounted"): None,
    (MessagePump, "_parent"): None,
    (MessagePump, "_closing"): None,
    (Strip, "_segments"): None,
    (Strip, "_cell_length"): None,
    (Strip, "_cell_count"): None,
    (Strip, "_link_ids"): None,
    (Strip, "_render_cache"): None,
    (Widget, "_refresh_scrollbars"): ["self"],
    (Screen, "_compositor"): None,
    (Screen, "_dirty_widgets"): None,
    (Screen, "_compositor_refresh"): ["self"],
    (Screen, "_on_timer_update"): ["self"],
    (Screen, "_screen_resized"): ["self", "size"],
    (Screen, "_on_screen_resume"): ["self", "event"],
    (Screen, "_get_breakpoint_classes"): ["self", "dimension", "breakpoints"],
    (Widget, "_compose"): ["self"],
    (Screen, "_update_focus_styles"): ["self", "focused", "blurred"],
    (DOMNode, "_has_focus_within"): None,
    (App, "_start_widget"): ["self", "parent", "widget"],
    (App, "_driver"): None,
}
PATHS = {Path(module.__file__) for module in HERE}
MODULES = [each for each in Path(tui.__file__).parent.rglob("*.py") if each not in PATHS]


@pytest.mark.parametrize(("owner", "name"), NAMES, ids=lambda of: getattr(of, "__name__", of))
def test_a_private_name_is_what_it_was(owner, name):
    wanted = NAMES[owner, name]
    if wanted is None:
        at_hand = owner() if owner in (Compositor, Widget, Screen) else owner
        assert (
            hasattr(at_hand, name) or name in inspect.getsource(owner.__init__) or name.removeprefix("_") in vars(owner)
        )
    else:
        found = getattr(owner, name)
        taken = list(inspect.signature(getattr(found, "__func__", found)).parameters)
        assert taken[: len(wanted)] == wanted
        assert len(taken) == len(wanted) or name == "render_line"


def of_textual():
    """The private names in classes of Textual that ours build on."""
    owners = (App, Compositor, Screen, ScrollView, Strip, StylesCache, Widget)
    nodes = (node for owner in owners for each in owner.__mro__[:-1] for node in ast.walk(ast.parse(source(each))))
    names = {getattr(node, "attr", getattr(node, "name", None)) for node in nodes}
    return {name for name in names if name and name.startswith("_") and not name.startswith("__")}


def source(kind):
    return inspect.getsource(kind) if kind.__module__.startswith("textual.") else ""


def test_all_private_names_are_known_and_in_two_modules():
    private, known = of_textual(), {name for _, name in NAMES}
    assert known > {"_compositor", "_styles_cache"}
    here = [node for each in HERE for node in ast.walk(ast.parse(Path(each.__file__).read_text()))]
    used = {node.attr for node in here if isinstance(node, ast.Attribute)} & private
    defined = {node.name for node in here if isinstance(node, ast.FunctionDef)} & private
    classes = {kind for each in HERE for kind in vars(each).values() if isinstance(kind, type)}
    own = {name for each in classes if each.__module__.startswith("tui.") for name in vars(each)}
    assert (used - own) | defined <= known
    for module in MODULES:
        tree = ast.parse(module.read_text())
        reached = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", "os"))
        }
        assert not reached & private, module
        assert "from textual._" not in module.read_text(), module


def ours(base):
    for each in base.__subclasses__():
        yield from (each, *ours(each)) if each.__module__.startswith("tui.") else ours(each)


def test_only_these_modules_override_private_names():
    for kind in ours(DOMNode):
        if kind.__module__ in {module.__name__ for module in HERE}:
            continue
        theirs = [each for each in kind.__mro__ if each.__module__.startswith("textual.")]
        methods = (
            name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("__")
        )
        taken = [name for name in methods if name.startswith("_") and any(name in vars(each) for each in theirs)]
        assert not taken, kind
