"""A stylesheet that is parsed once for each set of colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

from textual.css.stylesheet import Stylesheet

if TYPE_CHECKING:
    from textual.css.styles import RulesMap
    from textual.dom import DOMNode


class ParsedOnce(Stylesheet):
    """A stylesheet that keeps what it has parsed for as long as its variables are the same.

    Textual's own forgets all rules at every refresh, so that it parses them four times before the first paint.
    """

    _given: ClassVar[WeakKeyDictionary[DOMNode, RulesMap]] = WeakKeyDictionary()

    def __init__(self, variables: dict[str, str]) -> None:
        """Create the stylesheet with these variables."""
        super().__init__(variables=variables)
        self._parsed_with = variables

    def set_variables(self, variables: dict[str, str]) -> None:
        """Take the variables; rules that are parsed already stay valid if none of them has changed."""
        if variables != self._parsed_with:
            super().set_variables(variables)
            self._parsed_with = variables

    def reparse(self) -> None:
        """Parse what is new, or everything with new variables."""
        self.parse()

    @classmethod
    def replace_rules(cls, node: DOMNode, rules: RulesMap, animate: bool = False) -> None:
        """Give a node these rules. Textual's own sets those that are the same, too, and draws scrollbars again."""
        before, cls._given[node] = cls._given.get(node), rules
        if before is None or "transitions" in rules:
            super().replace_rules(node, rules, animate)
            return
        names = before.keys() | rules.keys()
        changes = {name: rules.get(name) for name in names if before.get(name) != rules.get(name)}
        for name, value in changes.items():
            setattr(node.styles.base, name, value)
        if changes:
            node.notify_style_update()
