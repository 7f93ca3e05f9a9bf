"""Actions of a session: one by its command, its commands, their trial, and the keys that choose it from the sheet."""

from __future__ import annotations

from tui.viewmodels.actions.menu import actions_for
from tui.viewmodels.actions.trial import Trials


def action(session, command, *subjects):
    return next(each for each in actions_for(session, subjects) if each.command == command)


def read(action, answers=None):
    """What an action makes of the texts that its fields begin with, or of these in their place."""
    return action.read_fields(action.defaults | (answers or {}))


def commands_of(action, answers=None):
    """The commands that ``read`` finds. Raises ValueError with the sentence of the first mistake."""
    result = read(action, answers)
    if result.mistakes:
        raise ValueError(result.mistakes[0].sentence)
    return list(result.commands)


def trial_of(session, commands):
    """The result of a trial of commands, as far as it can be told."""
    *_, result = filter(None, Trials(session).steps(commands))
    return result


def choose(app_session, command, subject):
    """The keys that open the form of a verb, once the sheet is there."""
    commands = [act.command for act in actions_for(app_session, [subject])]
    return [*["down"] * commands.index(command), "enter"]
