"""Keys: every binding has an id, by which a user can give it another key; hints and help ask here which one it is."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys

from tui.settings.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})
_NAMED_KEYS = frozenset(key.value for key in Keys)


def _long_name(key: str) -> str:
    """``full_stop`` for ``.``, as Textual names them."""
    return next(iter(Binding.make_bindings([Binding(key, "")]))).key if key else key


_NAMES = {"comma": ",", **{_long_name(sign): sign for sign in string.punctuation if sign != ","}}
_NAMES |= {"escape": "esc", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End"}


def key_name(key: str) -> str:
    """A key as it stands in hints: ``.`` for ``full_stop``, ``esc`` for ``escape``."""
    return _NAMES.get(key, key)


def keys_of(binding: Binding) -> list[str]:
    """The keys of a binding as it is declared, by their long names."""
    return [_long_name(key.strip()) for key in binding.key.split(",")]


def contexts() -> dict[type[DOMNode], list[Binding]]:
    """What is bound in each of our classes that can have the focus, or be around what has it."""
    return {each: bound for each in _ours(DOMNode) if (bound := list(_bound(each)))}


def _ours(base: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("tui."):
            yield each
        yield from _ours(each)


def _bound(context: type[DOMNode]) -> Iterator[Binding]:
    return (each for each in context.__dict__.get("BINDINGS", ()) if isinstance(each, Binding))


def meets(one: type[DOMNode], other: type[DOMNode]) -> bool:
    """Whether a key pressed in one of them may mean something in the other: a pane and the deck around it."""
    if issubclass(one, other) or issubclass(other, one):
        return True
    return (_is_around(one) and _is_on_deck(other)) or (_is_around(other) and _is_on_deck(one))


def _is_around(context: type[DOMNode]) -> bool:
    return context.__name__ in ("Dashboard", "Deck")


def _is_on_deck(context: type[DOMNode]) -> bool:
    return _is_around(context) or context.__module__.startswith(("tui.panes.", "tui.widgets."))


class Keymap:
    """The keys as they are: those declared, and in their place those that the user wants.

    ``changed`` has the new keys by the ids of their bindings, ``wrong`` says in words what could not be done.
    """

    def __init__(self, wanted: Mapping[str, str] | None = None) -> None:
        """``wanted`` has keys, parted by commas, by the ids of bindings."""
        self.wanted = dict(wanted or {})
        self.changed: dict[str, str] = {}
        self.wrong: list[str] = []
        self._contexts = contexts()
        self._keys: dict[str, list[str]] = {}
        for bound in self._contexts.values():
            for binding in bound:
                if binding.id:
                    self._keys.setdefault(binding.id, keys_of(binding))
        self._take(self.wanted.items())

    def _take(self, wanted: Iterable[tuple[str, str]]) -> None:
        declared = dict(self._keys)
        for identity, text in wanted:
            keys = ["comma"] if text == "," else [_long_name(key.strip()) for key in text.split(",")]
            if identity not in declared:
                self.wrong.append(f"{identity} is no binding{nearest(identity, declared)}")
            elif wrong := [key for key in keys if not _is_key(key)]:
                self.wrong.append(f"{identity}: {wrong[0]!r} is no key")
            elif keys != declared[identity]:
                self._keys[identity] = keys
                self.changed[identity] = ",".join(keys)
        while clash := self._clash():
            identity, taken = clash
            self.wrong.append(f"{identity}: {self.shown(identity)} is the key of {taken} already")
            self._keys[identity] = declared[identity]
            del self.changed[identity]

    def _clash(self) -> tuple[str, str] | None:
        """The last of the changed bindings whose key another one has, and that one."""
        found = ((identity, self.taken(identity, self._keys[identity])) for identity in reversed(self.changed))
        return next(((identity, taken) for identity, taken in found if taken), None)

    def taken(self, identity: str, keys: Sequence[str]) -> str:
        """The id of another binding that has one of these keys where this one is heard; empty where none has."""
        here = [context for context, bound in self._contexts.items() if any(each.id == identity for each in bound)]
        for context, bound in self._contexts.items():
            if not any(meets(context, each) for each in here):
                continue
            for binding in bound:
                if binding.id != identity and set(keys) & set(self.keys(binding)):
                    return binding.id or binding.description
        return ""

    def keys(self, binding: Binding) -> list[str]:
        """The keys of a binding as they are now."""
        return self._keys[binding.id] if binding.id else keys_of(binding)

    def rebound(self, identity: str, key: str | None) -> tuple[Keymap, str]:
        """A keymap in which a binding has another key, None for the declared one, and what is wrong with that."""
        wanted = {each: keys for each, keys in self.wanted.items() if each != identity}
        if key is not None:
            wanted[identity] = key
        keymap = Keymap(wanted)
        wrong = [each for each in keymap.wrong if each.startswith(f"{identity}:")]
        return (self, wrong[0]) if wrong else (keymap, "")

    def listed(self) -> list[tuple[str, str, str]]:
        """Of each binding its id, its keys as people write them, and what it does; the deck's first."""
        in_order = sorted(self._contexts.items(), key=lambda each: not _is_around(each[0]))
        bound = (binding for _, bindings in in_order for binding in bindings)
        return [(binding.id, self.all_shown(binding), binding.description) for binding in bound if binding.id]

    def shown(self, identities: str) -> str:
        """The first key of each of some bindings, whose ids are parted by blanks; what is no id stands for itself."""
        keys = (self._keys.get(identity) for identity in identities.split())
        names = (key_name(each[0]) if each else word for each, word in zip(keys, identities.split(), strict=True))
        return " ".join(names)

    def keys_in(self, context: type[DOMNode]) -> list[tuple[str, str]]:
        """Keys and what they do, as our classes declare them; what they have from Textual is no news to anybody."""
        ours = (each for each in context.__mro__ if issubclass(each, DOMNode) and each.__module__.startswith("tui."))
        bound = (binding for each in ours for binding in _bound(each))
        return [(self.all_shown(binding), binding.description) for binding in bound if binding.description]

    def all_shown(self, binding: Binding) -> str:
        """All keys of a binding."""
        return " ".join(map(key_name, self.keys(binding)))


def _is_key(key: str) -> bool:
    *modifiers, base = key.split("+")
    return set(modifiers) <= _MODIFIERS and (len(base) == 1 or base in _NAMED_KEYS or base in _NAMES)
