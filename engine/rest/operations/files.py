"""The operations on the files of nodes and tasks (FILE-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.rest.protocol.calls import Handler

HANDLERS: dict[str, Handler] = {}
