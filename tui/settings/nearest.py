"""The name that was probably meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """``; that is`` for the known name that is most like this one; empty where none is."""
    near = get_close_matches(name, list(known), n=1)
    return f"; {near[0]} is" if near else ""
