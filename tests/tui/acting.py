"""Actions of a session: one by its command, and the keys that choose it from the sheet."""

from __future__ import annotations

from tui.viewmodels.actions.menu import actions_for


def action(session, command, *subjects):
    return next(each for each in actions_for(session, subjects) if each.command == command)


def choose(app_session, command, subject):
    """The keys that open the form of a verb, once the sheet is there."""
    commands = [act.command for act in actions_for(app_session, [subject])]
    return [*["down"] * commands.index(command), "enter"]
