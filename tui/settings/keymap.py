"""The keymap: the keys of all bindings, some of which the user has changed. Hints and help read the keys here."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys

from engine.scenario.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    """Return the bindings of each of our widgets, screens and applications."""
    return {each: bound for each in _ours(DOMNode) if (bound := list(_bound(each)))}


def _ours(base: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("tui."):
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
    return context.__module__.startswith(("tui.app.", "tui.screens."))


def _is_within(context: type[DOMNode]) -> bool:
    """Return True for the application, the main screen, and what the main screen contains."""
    return _is_outer(context) or context.__module__.startswith(("tui.panes.", "tui.widgets."))


class Keymap:
    """The declared keys, with the user's changes.

    ``changed`` has the changed keys by binding id, ``problems`` a message for each change that is not possible.
    """

    def __init__(self, wanted: Mapping[str, str] | None = None) -> None:
        """``wanted`` has the user's keys, separated by commas, by binding id."""
        self.wanted = dict(wanted or {})
        self.changed: dict[str, str] = {}
        self.problems: list[str] = []
        self._contexts = contexts()
        self._keys: dict[str, list[str]] = {}
        for bound in self._contexts.values():
            for binding in bound:
                if binding.id:
                    self._keys.setdefault(binding.id, keys_of(binding))
        self._take(self.wanted.items())
        self._shown: dict[str, str] = {}  # what ``shown`` has been asked for: hints ask for the same in each frame

    def _take(self, wanted: Iterable[tuple[str, str]]) -> None:
        declared = dict(self._keys)
        for identity, text in wanted:
            keys = ["comma"] if text == "," else [_long_name(key.strip()) for key in text.split(",")]
            if identity not in declared:
                self.problems.append(f"{identity} is not a binding{did_you_mean(identity, declared)}")
            elif wrong := [key for key in keys if not _is_key(key)]:
                self.problems.append(f"{identity}: {wrong[0]!r} is not a key")
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
        return self._keys[binding.id] if binding.id else keys_of(binding)

    def rebound(self, identity: str, key: str | None) -> tuple[Keymap, str]:
        """Return a keymap with another key for a binding (None: the declared key), and what is wrong with it."""
        wanted = {each: keys for each, keys in self.wanted.items() if each != identity}
        if key is not None:
            wanted[identity] = key
        keymap = Keymap(wanted)
        problems = [each for each in keymap.problems if each.startswith(f"{identity}:")]
        return (self, problems[0]) if problems else (keymap, "")

    def listed(self) -> list[tuple[str, str, str]]:
        """Return the id of each binding, its keys, and what it does; those of the main screen first."""
        in_order = sorted(self._contexts.items(), key=lambda each: not _is_outer(each[0]))
        bound = (binding for _, bindings in in_order for binding in bindings)
        return [(binding.id, self.all_shown(binding), binding.description) for binding in bound if binding.id]

    def shown(self, identities: str) -> str:
        """Return the first key of each binding id in a text; words that are not ids stay."""
        if identities not in self._shown:
            self._shown[identities] = self._names(identities)
        return self._shown[identities]

    def _names(self, identities: str) -> str:
        keys = (self._keys.get(identity) for identity in identities.split())
        names = (key_name(each[0]) if each else word for each, word in zip(keys, identities.split(), strict=True))
        return " ".join(names)

    def bindings_of(self, context: type[DOMNode]) -> list[Binding]:
        """Return the bindings of our classes, without those that Textual declares."""
        ours = (each for each in reversed(context.__mro__) if each.__module__.startswith("tui."))
        bound = (binding for each in ours if issubclass(each, DOMNode) for binding in _bound(each))
        return [binding for binding in bound if binding.description]

    def all_shown(self, binding: Binding) -> str:
        """Return all keys of a binding, as hints show them."""
        return " ".join(map(key_name, self.keys(binding)))


def _is_key(key: str) -> bool:
    *modifiers, base = key.split("+")
    return set(modifiers) <= _MODIFIERS and (len(base) == 1 or base in _NAMED_KEYS or base in _NAMES)
