"""The host of clients beside the dashboard, as far as the dashboard knows it: nothing of HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from engine import Simulation
    from tui.viewmodels.frame.requests import ClientRequest


class Host(Protocol):
    """Serves clients that act on the run on the screen, on the event loop of the dashboard."""

    @property
    def url(self) -> str:
        """The endpoint."""

    @property
    def exports(self) -> tuple[str, ...]:
        """The lines for a shell with which clients find the account."""

    @property
    def save_to(self) -> str | None:
        """The file in which the session is saved at the end."""

    def attach(
        self,
        newest_ms: Callable[[], int],
        speed: Callable[[], float],
        on_request: Callable[[ClientRequest], None],
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        """Prepare to serve.

        Args:
            newest_ms: Returns the latest moment that the screen has shown.
            speed: Returns how fast time passes in the present, in simulated seconds per real second.
            on_request: Is called after each answer.
            pause: Lets keys be handled and frames be drawn, between slices of requests.
        """

    async def serve(self) -> None:
        """Serve until ``end`` is called."""

    def end(self) -> None:
        """Let ``serve`` return."""

    def advance(self) -> None:
        """Keep the present going while the screen shows the past: call it often."""

    def rejoin(self) -> None:
        """Bring the run on the screen to the present, if all that it has recorded is shown."""

    def session_text(self, simulation: Simulation) -> str:
        """Return the session as a scenario."""
