"""The operations on certificates, which only older clients know (CERT-1, CERT-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.rest.protocol.calls import Handler

HANDLERS: dict[str, Handler] = {}
