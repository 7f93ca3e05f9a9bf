"""By hand: what is done to the run, and saved as a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from engine import BatchError
from tui.screens.actions import ActionSheet
from tui.screens.autoscale import Autoscale
from tui.viewmodels.actions import actions_for
from tui.viewmodels.subject import Subject

if TYPE_CHECKING:
    from engine.specs.commands import Command
    from tui.recorder import Recorder
    from tui.screens.deck import Deck
    from tui.viewmodels.session import Session


class ByHand:
    """The action sheet, the commands confirmed there, and their record."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("a", "do('act')", "act on the row", id="row.act"),
        Binding("A", "do('act_on_job')", "act on the job", id="job.act"),
        Binding("S", "do('scale')", "scale: the pool's formula", id="pool.scale"),
        Binding("R", "do('ask_name')", "save the session as a scenario", id="session.save"),
    )

    def __init__(self, deck: Deck, session: Session, recorder: Recorder) -> None:
        """On the session that this deck shows."""
        self._deck = deck
        self._session = session
        self._recorder = recorder

    def act(self) -> None:
        """Do something to what is under the cursor."""
        self._offer(self._deck.subject)

    def act_on_job(self) -> None:
        """Do something to the job in focus."""
        self._offer(Subject("job", self._session.job_id))

    def _offer(self, subject: Subject | None) -> None:
        if self._session.is_past:
            self._deck.say("This is the past. b branches here, then it can be changed.", "warning")
            return
        self._deck.playback.stand_still()
        actions = [] if subject is None else actions_for(self._session, *subject)
        if subject is None or not actions:
            self._deck.say("There is nothing here to act on.")
            return
        title = f"Act on {'job ' + self._session.job_id if subject.kind == 'job' else 'this ' + subject.kind}"
        self._deck.app.push_screen(ActionSheet(self._session, title, actions), self.carry_out)

    def scale(self) -> None:
        """Show how a pool scales itself: the one under the cursor, or the one in focus."""
        subject = self._deck.subject
        pool_id = str(subject.key) if subject is not None and subject.kind == "pool" else self._session.pool_id
        self._deck.playback.stand_still()
        self._deck.app.push_screen(Autoscale(self._session, pool_id, self.carry_out))

    def carry_out(self, command: Command | None) -> None:
        """A command was confirmed: give it to the service, and say what it answered."""
        if command is None:
            return
        try:
            self._session.simulation.submit(command)
        except BatchError as error:
            reason = error.values.get("Reason", "")
            said = f"{command.NAME} refused: {error.status} {error.code}. {error.message} {reason}".rstrip()
            self._deck.say(said, "error")
        else:
            self._deck.say(f"{command.NAME} accepted. R saves what was done as a scenario.")
        self._deck.look()

    def ask_name(self) -> None:
        """Ask where the session is to be saved."""
        self._deck.ask("save", "save the session as", str(self._recorder.proposal()))

    def save(self, name: str) -> None:
        """Save what was done by hand as a scenario."""
        path = Path(name.strip())
        try:
            self._recorder.save(path)
        except OSError as error:
            self._deck.say(f"{path}: {error.strerror or error}", "error")
        else:
            self._deck.say(f"saved {path}; batchdeck run {path} replays it")
