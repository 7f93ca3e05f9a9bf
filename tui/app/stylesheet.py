"""A stylesheet that is parsed once for each set of colours."""

from __future__ import annotations

from textual.css.stylesheet import Stylesheet


class ParsedOnce(Stylesheet):
    """A stylesheet that keeps what it has parsed for as long as its variables are the same.

    Textual's own forgets all rules at every refresh, so that it parses them four times before the first paint.
    """

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
