"""Requests of clients to the REST endpoint: the list of them, and what is said about those that change something."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.viewmodels.text.styled import Line, Role, Span, line, squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.session.session import Session

MOST_KEPT = 1000
_READS = ("GET", "HEAD")
_WHO_CELLS = 22
LONGEST = 400  # characters of a client's name or of a path that are kept


class ClientRequest(NamedTuple):
    """A request that was answered: by whom, for what, with which status and error code, and how long it took.

    ``when_ms`` is the simulated moment of the answer, in ms after the start.
    """

    who: str
    method: str
    path: str
    status: int
    code: str
    took_ms: float
    when_ms: int

    @property
    def is_write(self) -> bool:
        """True if the method may change something."""
        return self.method not in _READS

    @property
    def is_failure(self) -> bool:
        """True if the request was refused."""
        return self.status >= 400


def client_name(user_agent: str, host: str) -> str:
    """Return a short name of a client: the first product of its user agent, else its address."""
    return (user_agent.split() or [host])[0][:LONGEST]


def request_lines(
    session: Session, requests: Sequence[ClientRequest], exports: Sequence[str], cells: int
) -> list[Line]:
    """Return how clients find the account, and a line for each request, the newest first."""
    head = [*(line(Span(text, Role.DIM)) for text in exports), *([()] if exports else [])]
    if not requests:
        return [*head, line(Span("No client has asked for anything yet.", Role.DIM))]
    return head + [_line(session, request, cells) for request in reversed(requests)]


def _line(session: Session, request: ClientRequest, cells: int) -> Line:
    when = f"{session.clock(request.when_ms)}  "
    status = f"{request.status} {request.took_ms:7.1f} ms  "
    who = f"{squeeze(session.text(request.who), _WHO_CELLS):{_WHO_CELLS}}  "
    room = max(16, cells - len(when) - len(status) - len(who))
    target = f"{request.method} {request.path}" + (f" {request.code}" if request.code else "")
    role = Role.FAILED if request.is_failure else Role.STRONG if request.is_write else Role.PLAIN
    return line(
        Span(when, Role.DIM),
        Span(status, Role.FAILED if request.is_failure else Role.DIM),
        Span(who, Role.DIM),
        Span(squeeze(session.text(target), room), role),
    )


def note_of_writes(requests: Sequence[ClientRequest]) -> str:
    """Return what is said about requests that change something: the last one, and the number of the others."""
    writes = [request for request in requests if request.is_write]
    if not writes:
        return ""
    last = writes[-1]
    code = f" {last.code}" if last.code else ""
    more = f" (+{len(writes) - 1:,} more)" if len(writes) > 1 else ""
    return f"{last.who}: {last.method} {last.path} {last.status}{code}, {last.took_ms:.1f} ms{more}"
