"""Detail pages without a screen: their model, and the texts of a tab."""

from __future__ import annotations

from tui.viewmodels.detail_pages import detail_model_of
from tui.viewmodels.items import focus_on
from tui.viewmodels.text import ItemRef, plain

NODE, POOL, JOB, TASK = ItemRef("node", 1), ItemRef("pool", "shared"), ItemRef("job", "risk"), ItemRef("task", 24)
SUBJECTS = [NODE, POOL, JOB, TASK]


def the(session, subject):
    session.update()
    focus_on(session, subject)
    return detail_model_of(session, subject)


def page(session, subject, tab, cells=118):
    """The texts of a page, blanks made one, without empty lines."""
    thing = the(session, subject)
    lines = thing.lines(thing.tabs.index(tab), cells)
    return [" ".join(plain(each).split()) for each in lines if plain(each).strip()]
