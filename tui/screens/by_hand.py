"""By hand: what is marked, what is done to it, and the record of that as a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding

from engine.specs.commands import EvaluatePoolAutoScale
from tui.dialogs.actions import ActionSheet
from tui.dialogs.autoscale import Autoscale, FormulaEditor
from tui.saving.targets import TargetError
from tui.viewmodels.actions.menu import Action, actions_for
from tui.viewmodels.actions.trial import refusal_lines
from tui.viewmodels.events.event_list import what
from tui.viewmodels.text.styled import ItemRef
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.specs.commands import Command
    from tui.saving.recorder import Recorder
    from tui.screens.deck import Deck
    from tui.viewmodels.session.session import Session

_MOST_MARKED = 10_000


class ByHand:
    """Marks, the action sheet, the commands confirmed there, and their record."""

    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("a", "do('act')", "act on the row, or on what is marked", id="row.act"),
        Binding("A", "do('act_on_job')", "act on the job", id="job.act"),
        Binding("m", "do('mark')", "mark the row, or not", id="row.mark"),
        Binding("M", "do('mark_all')", "mark all rows shown", id="row.mark-all"),
        Binding("u", "do('unmark')", "mark nothing", id="row.unmark"),
        Binding("S", "do('scale')", "scale: the pool's formula", id="pool.scale"),
        Binding("R", "do('ask_name')", "save the session as a scenario", id="session.save"),
    )

    def __init__(self, deck: Deck, session: Session, recorder: Recorder) -> None:
        """On the session that this deck shows."""
        self._deck = deck
        self._session = session
        self._recorder = recorder

    # -- marks ---------------------------------------------------------------------------------------------------

    def mark(self) -> None:
        """Mark what is under the cursor, or take its mark away, and go on to the next row."""
        group, marks = self._deck.group_under_cursor, self._session.marks
        if not group:
            self._deck.say("There is nothing here to mark.")
            return
        if all(subject in marks for subject in group):
            for subject in group:
                del marks[subject]
        else:
            marks.update(dict.fromkeys(group))
        if isinstance(self._deck.focused, Table):
            self._deck.focused.action_cursor(1)
        self._deck.look()

    def mark_all(self) -> None:
        """Mark every row that is shown."""
        focused = self._deck.focused
        if not isinstance(focused, Table):
            self._deck.say("M marks all rows of a list: views 2 to 7.")
            return
        model = focused.model
        if model.count > _MOST_MARKED:
            self._deck.say(f"{model.count:,} rows are too many to mark at once; / filters them.", "warning")
            return
        subjects = (model.subject_of(model.key(at)) for at in range(model.count))
        self._session.marks.update((subject, None) for subject in subjects if subject is not None)
        self._deck.look()

    def unmark(self) -> None:
        """Mark nothing."""
        self._session.marks.clear()
        self._deck.look()

    # -- actions -------------------------------------------------------------------------------------------------

    def act(self) -> None:
        """Do something to what is marked, else to what is under the cursor, which may be a group."""
        group = self._deck.group_under_cursor
        if len(group) > 1:
            self.offer(group)
            return
        subject = self._deck.subject
        here = self._deck.under_cursor
        marked = [each for each in self._session.marks if here is None or each.kind == here.kind]
        first = marked[0].kind if marked else None
        self.offer([each for each in marked if each.kind == first] or ([] if subject is None else [subject]))

    def act_on_job(self) -> None:
        """Do something to the job in focus."""
        self.offer([ItemRef("job", self._session.job_id)] if self._session.job_id else [])

    def offer(self, subjects: Sequence[ItemRef]) -> None:
        """Show what can be done to these, all of one kind."""
        self._deck.playback.stand_still()
        actions = actions_for(self._session, subjects)
        if not actions:
            self._deck.say("There is nothing here to act on.")
            return
        kind = subjects[0].kind
        marked = "marked " if subjects[0] in self._session.marks else ""
        whom = f"{len(subjects):,} {marked}{kind}s" if len(subjects) > 1 else f"this {kind}"
        if kind == "job" and len(subjects) == 1:
            whom = f"job {subjects[0].key}"
        sheet = ActionSheet(self._session, f"Act on {whom}", actions, self._deck.playback.branch)
        self._deck.app.push_screen(sheet, self._answered)

    def _answered(self, answer: list[Command] | Action | None) -> None:
        if isinstance(answer, Action):
            self._deck.app.push_screen(FormulaEditor(self._session, str(answer.bodies[0]["poolId"])), self.carry_out)
        else:
            self.carry_out(answer)

    def scale(self) -> None:
        """Show how a pool scales itself: the one under the cursor, or the one in focus."""
        subject = self._deck.subject
        pool_id = str(subject.key) if subject is not None and subject.kind == "pool" else self._session.pool_id
        self._deck.playback.stand_still()
        self._deck.app.push_screen(Autoscale(self._session, pool_id, self.carry_out))

    def carry_out(self, commands: Sequence[Command] | None) -> None:
        """Commands were confirmed: give them to the service, and say what it answered."""
        if not commands:
            return
        with self._deck.breakdown.guard():
            self._give(commands)
        self._session.marks.clear()
        self._deck.look()

    def _give(self, commands: Sequence[Command]) -> None:
        errors = self._session.simulation.submit_all(commands)
        pairs = list(zip(commands, errors, strict=True))
        refused = [(command, error) for command, error in pairs if error is not None]
        accepted = len(pairs) - len(refused)
        name = commands[0].NAME
        if accepted and isinstance(commands[0], EvaluatePoolAutoScale):
            events = self._session.events
            self._deck.say(f"{name} accepted, nothing changes. {what(events.row(events.count - 1))}")
        elif accepted:
            many = f"{accepted:,} × " if len(pairs) > 1 else ""
            self._deck.say(f"{many}{name} accepted. R saves it as a scenario; , then b branches from just before it.")
        if refused:
            told = refusal_lines(refused)
            self._deck.say(f"{name} {told[0]}" if len(told) == 1 else "\n".join((name, *told)), "error")

    # -- the record ----------------------------------------------------------------------------------------------

    @property
    def is_unsaved(self) -> bool:
        """Whether something was done by hand that is in no file yet."""
        return self._recorder.is_unsaved

    def ask_name(self) -> None:
        """Ask where the session is to be saved."""
        self._deck.ask("save", "save the session as", str(self._recorder.proposal()))

    def save(self, name: str) -> None:
        """Save what was done by hand as a scenario."""
        path = Path(name.strip())
        try:
            self._recorder.save(path)
        except TargetError as error:
            self._deck.say(str(error), "error")
        else:
            self._deck.say(f"saved {path}; batchdeck run {path} replays it")
