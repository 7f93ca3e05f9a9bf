"""Messages to the user: a line above the key hints that goes at the next key, and the list of all that was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from tui.viewmodels.text.styled import Line, Role, Span, line, squeeze, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tui.viewmodels.session.session import Session

Severity = Literal["information", "warning", "error"]

MOST_KEPT = 200
MOST_LINES = 3  # of a message that does not fit in one
_ROLES = {"information": Role.KEY, "warning": Role.WARNING, "error": Role.FAILED}
_RANKS = {"information": 0, "warning": 1, "error": 2}


class Message(NamedTuple):
    """A message: its text, severity, and the simulated moment at which it was said, in ms after the start."""

    text: str
    severity: Severity
    when_ms: int


def seconds_shown(severity: Severity) -> float:
    """Return the number of seconds after which a message goes without a key."""
    return 6 if severity == "information" else 15


def foremost(messages: Sequence[Message]) -> Message:
    """Return the most serious of the messages since the last key, and of those the newest."""
    return max(enumerate(messages), key=lambda each: (_RANKS[each[1].severity], each[0]))[1]


def message_lines(session: Session, messages: Sequence[Message], cells: int) -> list[Line]:
    """Return the foremost message, in one line if it fits, and the number of the others."""
    first = foremost(messages)
    glyphs = session.glyphs
    more = f"  (+{len(messages) - 1}; :messages lists all)" if len(messages) > 1 else ""
    sign = {"information": glyphs.path, "warning": "!", "error": glyphs.bad}[first.severity]
    lead = f" {sign} "
    texts = wrapped(session.text(" ".join(first.text.split())) + more, max(20, cells - len(lead) - 1))
    if len(texts) > MOST_LINES:
        texts = [*texts[: MOST_LINES - 1], squeeze(" ".join(texts[MOST_LINES - 1 :]), max(20, cells - len(lead) - 1))]
    role = _ROLES[first.severity]
    leads = [lead, *[" " * len(lead)] * len(texts)]
    return [line(Span(begin, role), Span(text)) for begin, text in zip(leads, texts, strict=False)]


def list_lines(session: Session, messages: Iterable[Message], cells: int) -> list[Line]:
    """Return all messages that are kept, the newest first, each with the moment it belongs to."""
    kept = tuple(messages)
    if not kept:
        return [line(Span("There has been no message yet.", Role.DIM))]
    found: list[Line] = []
    for message in reversed(kept):
        when = f"{session.clock(message.when_ms)}  "
        for number, text in enumerate(wrapped(session.text(message.text), max(20, cells - len(when)))):
            begin = when if number == 0 else " " * len(when)
            found.append(
                line(Span(begin, Role.DIM), Span(text, Role.FAILED if message.severity == "error" else Role.PLAIN))
            )
    return found
