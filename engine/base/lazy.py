"""Regular expressions that are compiled when they are first used: most runs need only a few of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable


class LazyRegex:
    """Stands for a compiled regular expression, whose methods it takes over one by one."""

    def __init__(self, text: str, flags: int) -> None:
        """Hold the arguments of ``re.compile``."""
        self._source = text, flags

    def compiled(self) -> re.Pattern[str]:
        """Return the compiled expression. Raises ``re.error`` if the text is none."""
        return re.compile(*self._source)

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Return a method of the compiled expression, and keep it: it is not asked for here again."""
        method = getattr(self.compiled(), name)
        setattr(self, name, method)
        return cast("Callable[..., object]", method)


def lazy_regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression as ``re.compile`` does, but compile it when a method of it is first used.

    For constants of modules. Functions of ``re`` do not accept it: call the methods.
    """
    return cast("re.Pattern[str]", LazyRegex(text, flags))
