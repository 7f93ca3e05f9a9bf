"""Keys: the keymap with the user's changes, when to use each key, the keyboard, and work that yields to key presses.

Hints, help and the command palette read the keys and their words here. The keyboard passes on a key only when the
one before it has been handled: keys act through messages, and a fast typist is ahead of these, and of a screen that
is about to open. Long work is done in slices, between which the yielder of the application gives key presses
precedence.
"""

from __future__ import annotations

import asyncio
import string
from collections import deque
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import Callback
from textual.keys import Keys

from engine.base.values import quoted, read_table, shortened
from engine.scenario.text import did_you_mean
from tui.saving.settings import MOST_TOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

    from textual.app import App
    from textual.events import Event
    from textual.worker import Worker, WorkType

    from engine.pacing import Yielder


ScreenT = TypeVar("ScreenT")


class Command(NamedTuple, Generic[ScreenT]):
    """A command of a screen: its keys, the id of its binding, what it does, and the function that carries it out."""

    key: str
    id: str
    description: str
    run: Callable[[ScreenT], object]
    show: bool = True

    @property
    def binding(self) -> Binding:
        """The binding with the screen's action ``do``, which is given the id."""
        return Binding(self.key, f"do('{self.id}')", self.description, show=self.show, id=self.id)


class Group(Enum):
    """A group of keys in the help, in its order."""

    FIRST = "The first keys to know"
    TIME = "Time"
    GO = "Go"
    LOOK = "Look"
    ACT = "Act"


class KeyHelp(NamedTuple):
    """A sentence that says when to use a key, and further words by which the palette finds it."""

    when: str
    words: str = ""


# Groups by the id of a binding, or by its beginning up to the full stop; anything else looks at something.
_GROUPS = {
    name: group
    for group, names in (
        (Group.FIRST, "time.play row.why row.act"),
        (Group.TIME, "time."),
        (Group.GO, "view. go. focus. pane. quit quit. interrupt suspend palette find. scenario."),
        (Group.ACT, "job.act row.mark row.mark-all row.new pool.scale"),
        (Group.ACT, "session. settings events.by-hand"),
    )
    for name in names.split()
}

KEYS = {identity: KeyHelp(when, words) for identity, words, when in read_table("keys.csv", __file__)}
"""When to use the bindings, by their ids."""


def group_of(identity: str) -> Group:
    """Return the group of a binding."""
    return _GROUPS.get(identity) or _GROUPS.get("".join(identity.partition(".")[:2]), Group.LOOK)


def when_of(identity: str) -> str:
    """Return the sentence that says when to use a binding; empty if its description says all."""
    return KEYS[identity].when if identity in KEYS else ""


def words_of(identity: str) -> str:
    """Return further words by which a binding is found."""
    return KEYS[identity].words if identity in KEYS else ""


_PACKAGE = __name__.removesuffix("textual.keys")  # it has another name where batchdeck is installed
_MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})
_NAMED_KEYS = frozenset(key.value for key in Keys)


def _long_name(key: str) -> str:
    """Return Textual's name of a key: ``full_stop`` for ``.``."""
    return next(iter(Binding.make_bindings([Binding(key, "")]))).key if key else key


_NAMES = {"comma": ",", **{_long_name(sign): sign for sign in string.punctuation if sign != ","}}
_NAMES |= {"escape": "esc", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End"}


def key_name(key: str) -> str:
    """Return a key as hints show it: ``.`` for ``full_stop``, ``esc`` for ``escape``."""
    return _NAMES.get(key, key)


def keys_of(binding: Binding) -> list[str]:
    """Return the keys that a binding declares, by Textual's names."""
    return [_long_name(key.strip()) for key in binding.key.split(",")]


def contexts() -> dict[type[DOMNode], list[Binding]]:
    """Return the bindings of our widgets, screens and applications by name, those of the application first."""
    found = {each: bound for each in _ours(DOMNode) if (bound := list(_bound(each)))}
    return {each: found[each] for each in sorted(found, key=lambda each: (not _is_outer(each), each.__name__))}


def _ours(base: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for each in base.__subclasses__():
        if each.__module__.startswith(_PACKAGE):
            yield each
        yield from _ours(each)


def _bound(context: type[DOMNode]) -> Iterator[Binding]:
    return (each for each in context.__dict__.get("BINDINGS", ()) if isinstance(each, Binding))


def meets(one: type[DOMNode], other: type[DOMNode]) -> bool:
    """Return True if both may receive a key: they inherit from each other, or one is around the other."""
    if issubclass(one, other) or issubclass(other, one):
        return True
    return (_is_outer(one) and _is_within(other)) or (_is_outer(other) and _is_within(one))


def _is_outer(context: type[DOMNode]) -> bool:
    """Return True for the application and the main screen."""
    return context.__module__.startswith(f"{_PACKAGE}app.")


def _is_within(context: type[DOMNode]) -> bool:
    """Return True for the application, the main screen, and what the main screen contains."""
    return _is_outer(context) or context.__module__.startswith((f"{_PACKAGE}panes.", f"{_PACKAGE}widgets."))


class Keymap:
    """The declared keys, with the user's changes.

    ``changed`` has the changed keys by binding id, ``problems`` a message for each change that is not possible.
    """

    def __init__(self, wanted: Mapping[str, str] | None = None) -> None:
        """``wanted`` has the user's keys, separated by commas, by binding id."""
        self.changed: dict[str, str] = {}
        self.problems: list[str] = []
        self._keys: dict[str, list[str]] = {}
        self._declare()
        self._take((wanted or {}).items())
        self._shown: dict[str, str] = {}  # what ``shown`` has been asked for: hints ask for the same in each frame

    def _declare(self) -> None:
        """Take the declared keys, also of dialogs that have been imported meanwhile."""
        self._contexts = contexts()
        for bound in self._contexts.values():
            for binding in bound:
                if binding.id:
                    self._keys.setdefault(binding.id, keys_of(binding))

    def _take(self, wanted: Iterable[tuple[str, str]]) -> None:
        declared = dict(self._keys)
        for identity, text in wanted:
            keys = ["comma"] if text == "," else [_long_name(key.strip()) for key in text.split(",")]
            if identity not in declared:
                near = did_you_mean(identity, declared) if len(self.problems) < MOST_TOLD else ""
                self.problems.append(f"{shortened(identity)} is not a binding{near}")
            elif wrong := [key for key in keys if not _is_key(key)]:
                self.problems.append(f"{identity}: {quoted(wrong[0])} is not a key")
            elif keys != declared[identity]:
                self._keys[identity] = keys
                self.changed[identity] = ",".join(keys)
        while clash := self._clash():
            identity, taken = clash
            self.problems.append(f"{identity}: {self._names(identity)} is the key of {taken} already")
            self._keys[identity] = declared[identity]
            del self.changed[identity]

    def _clash(self) -> tuple[str, str] | None:
        """Return the last changed binding whose key another binding has, and that binding."""
        found = ((identity, self.taken(identity, self._keys[identity])) for identity in reversed(self.changed))
        return next(((identity, taken) for identity, taken in found if taken), None)

    def taken(self, identity: str, keys: Sequence[str]) -> str:
        """Return the id of a binding that has one of these keys in the same place, empty if none has."""
        here = [context for context, bound in self._contexts.items() if any(each.id == identity for each in bound)]
        for context, bound in self._contexts.items():
            if not any(meets(context, each) for each in here):
                continue
            for binding in bound:
                if binding.id != identity and set(keys) & set(self.keys(binding)):
                    return binding.id or binding.description
        return ""

    def keys(self, binding: Binding) -> list[str]:
        """Return the present keys of a binding."""
        return self._keys.get(binding.id or "") or keys_of(binding)

    def listed(self) -> list[tuple[str, str, str]]:
        """Return the id of each binding, its keys, and what it does; those of the application first."""
        self._declare()
        every = (binding for bound in self._contexts.values() for binding in bound)
        return [(binding.id, self.all_shown(binding), binding.description) for binding in every if binding.id]

    def shown(self, identities: str) -> str:
        """Return the first key of each binding id in a text; words that are not ids stay."""
        if identities not in self._shown:
            self._shown[identities] = self._names(identities)
        return self._shown[identities]

    def _names(self, identities: str) -> str:
        if not set(identities.split()) <= self._keys.keys():
            self._declare()
        keys = (self._keys.get(identity) for identity in identities.split())
        names = (key_name(each[0]) if each else word for each, word in zip(keys, identities.split(), strict=True))
        return " ".join(names)

    def bindings_of(self, context: type[DOMNode]) -> list[Binding]:
        """Return the bindings of our classes, without those that Textual declares."""
        ours = (each for each in reversed(context.__mro__) if each.__module__.startswith(_PACKAGE))
        bound = (binding for each in ours if issubclass(each, DOMNode) for binding in _bound(each))
        return [binding for binding in bound if binding.description]

    def all_shown(self, binding: Binding) -> str:
        """Return all keys of a binding, as hints show them."""
        return " ".join(map(key_name, self.keys(binding)))


def _is_key(key: str) -> bool:
    *modifiers, base = key.split("+")
    return set(modifiers) <= _MODIFIERS and (len(base) == 1 or base in _NAMED_KEYS or base in _NAMES)


_ROUNDS = 3  # a handler may post a message whose handler posts another one
_POLL_S = 0.05


class Keyboard:
    """Holds back keys while an earlier key is being handled."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self.held: deque[Event] = deque()  # keys that are posted again later
        self._released: Event | None = None
        self._handling: asyncio.Task[None] | None = None

    def holds(self, event: Event) -> bool:
        """Return True if the event is held back; it is posted again later."""
        if self._handling is None or event is self._released:
            return False
        self.held.append(event)
        return True

    def follow(self) -> None:
        """Wait until the key just dispatched has been handled, then release the next one."""
        self._handling = asyncio.create_task(self._handle())

    @property
    def is_busy(self) -> bool:
        """True while a key is being handled or held back."""
        return self._handling is not None

    async def _handle(self) -> None:
        rounds, before = 0, self._receivers()
        while rounds < _ROUNDS:
            for each in before:
                await _done(each)
            receivers = self._receivers()
            if receivers != before and receivers:
                first = receivers[0]  # a new screen is filled after its first refresh
                await _done(first, is_refreshed=True)
            rounds = rounds + 1 if receivers == before else 0
            before = receivers
        self._handling = None
        if self.held:
            self._released = self.held.popleft()
            self._handling = asyncio.current_task()
            self._app.post_message(self._released)

    def _receivers(self) -> list[DOMNode]:
        """Return the nodes that receive a key, in order; none once the application has ended."""
        if not self._app.is_running or not self._app.screen_stack:
            return []
        return (self._app.focused or self._app.screen).ancestors_with_self


async def _done(node: DOMNode, *, is_refreshed: bool = False) -> None:
    """Wait until a node has processed its messages, and has been drawn, or is removed."""
    done = asyncio.Event()
    # Of what ``call_later`` sends Textual would look up the parameters each time, which takes a third of a key.
    called = node.call_after_refresh(done.set) if is_refreshed else node.post_message(Callback(done.set))
    while called and (node.is_attached if node.parent else node.is_running) and not done.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _POLL_S)


@runtime_checkable
class _HasYielder(Protocol):
    @property
    def yielder(self) -> Yielder: ...

    @property
    def has_keys_waiting(self) -> bool: ...


def keys_shown(node: DOMNode, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the present keys of bindings in place of their ids, each with what it does; none in a dialog."""
    keymap: Keymap | None = getattr(node.screen, "keymap", None)
    return () if keymap is None else tuple((keymap.shown(identities), does) for identities, does in pairs)


def yielder_of(node: DOMNode) -> Yielder:
    """Return the yielder of the application that shows this widget or screen."""
    assert isinstance(node.app, _HasYielder)
    return node.app.yielder


def has_keys_waiting(node: DOMNode) -> bool:
    """Return True while the application that shows this widget or screen has keys to handle after the present one."""
    assert isinstance(node.app, _HasYielder)
    return node.app.has_keys_waiting


def start_work(node: DOMNode, work: Callable[[], Coroutine[None, None, None]], group: str) -> Worker[None]:
    """Start work of this widget or screen in a worker, in place of what it does in the same group until now.

    The work is a function, not a coroutine: Python would complain of a coroutine that is cancelled before it has begun.
    """
    given: WorkType[None] = work  # Textual's type would also allow functions whose result is a coroutine
    return node.run_worker(given, group=group, exclusive=True)
