"""The actions that can be found by typing: those for what is under the cursor, and the rest with what they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.actions.consequences import PAST
from tui.viewmodels.actions.menu import CREATING, Action, actions_for
from tui.viewmodels.actions.targets import ACTION_TYPES
from tui.viewmodels.text.styled import ItemRef

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import Kind

# What a person would call a command, beside the words of its title.
_WORDS = {
    "terminate": "kill stop cancel end abort",
    "delete": "remove drop destroy",
    "disable": "pause suspend stop off drain cordon",
    "enable": "resume unpause on uncordon",
    "update": "edit change modify set",
    "create": "clone copy duplicate new",
    "reactivate": "retry rerun again restart requeue",
}
_WORDS_OF = {
    "rebootNode": "restart",
    "reimageNode": "reset reinstall rebuild",
    "resizePool": "scale grow shrink capacity size more nodes fewer nodes add node add nodes remove",
    "stopPoolResize": "cancel abort",
    "removeNodes": "delete drop kill shrink node",
    "deallocateNode": "stop park shutdown",
    "startNode": "boot",
    "createNodeUser": "ssh rdp login connect remote account",
    "updateNodeUser": "ssh rdp login password key",
    "deleteNodeUser": "ssh rdp login",
    "uploadNodeLogs": "log support diagnostics",
    "failNode": "crash break chaos",
    "evictNode": "preempt spot chaos",
    "addTasks": "clone copy duplicate create new",
    "replacePoolProperties": "edit change",
    "enablePoolAutoScale": "scale formula",
    "quota": "limit cores raise",
    "capacity": "region shortage",
    "storageOutage": "chaos break",
}


class FoundAction(NamedTuple):
    """An action in a list that is searched: ``action`` is None if nothing of its kind is under the cursor."""

    title: str
    about: str
    words: str
    kind: Kind
    action: Action | None
    is_possible: bool  # the service would accept it now

    @property
    def is_rare(self) -> bool:
        """True if it is seldom what somebody means: a fault, or an action that has no effect on the run."""
        return self.title.startswith(("Fault:", "Upload the service logs", "Cancel the failed deletion"))


def words_for(command: str) -> str:
    """Return the words by which the action of a command is found, beside its title."""
    verbs = (words for verb, words in _WORDS.items() if command.startswith(verb))
    return " ".join((*verbs, _WORDS_OF.get(command, "")))


def offered_actions(session: Session, subjects: Sequence[ItemRef]) -> Iterator[FoundAction]:
    """Yield the actions on some items of one kind, on the job and the pool in focus, and on the account.

    Actions on other kinds say that the cursor has to be on such an item first.
    """
    here: dict[Kind, Sequence[ItemRef]] = {subjects[0].kind: subjects} if subjects else {}
    if session.job_id:
        here.setdefault("job", [ItemRef("job", session.job_id)])
    if session.pool_id:
        here.setdefault("pool", [ItemRef("pool", session.pool_id)])
    here.setdefault("account", [ItemRef("account", "account")])
    for kind in (*here, *(each for each in ACTION_TYPES if each not in here)):
        actions = actions_for(session, here.get(kind, ()))
        if actions:
            names_kind = kind == "account" or len(here[kind]) > 1  # as the title of several items does
            yield from (
                _found(session, kind, each, names_kind=names_kind)
                for each in actions
                if not _is_listed_as_new(kind, each)
            )
        else:
            yield from _without_item(kind)


def _found(session: Session, kind: Kind, action: Action, *, names_kind: bool) -> FoundAction:
    title = action.title if names_kind else f"{action.title} ({kind})"
    about = next(iter(action.effects), "")
    about = PAST if session.is_past else f"Not now: {action.unavailable}." if action.unavailable else about
    is_possible = not (session.is_past or action.unavailable)
    return FoundAction(title, about, words_for(action.command), kind, action, is_possible)


def _is_listed_as_new(kind: Kind, action: Action) -> bool:
    """Return whether the palette has an entry of its own that creates this."""
    return kind == "account" and action.command in CREATING.values()


def _without_item(kind: Kind) -> Iterator[FoundAction]:
    about = f"Not here: put the cursor on a {kind} first."
    for each in ACTION_TYPES[kind]:
        yield FoundAction(each.title.format(f"a {kind}"), about, words_for(each.command), kind, None, is_possible=False)
