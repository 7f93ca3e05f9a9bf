"""Keys that show another run: from the start again, with another seed, after an edit, or of another scenario."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from engine import ScenarioError, Simulation, load_scenario
from engine.base.shortening import quoted
from engine.studies.variants import chosen_again
from tui.dialogs.picker import Pick, Picker
from tui.dialogs.scenarios import ScenarioPicker
from tui.dialogs.sheet import Sheet
from tui.saving.recorder import NEW_EMPTY
from tui.screens.time_keys import TimeKeys
from tui.viewmodels.frame.variant import reloaded_note
from tui.viewmodels.sheets.scenarios import EMPTY_TEXT, problem_lines
from tui.widgets.messages import OfferRestart, ShowRun, say
from tui.widgets.prompt import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine import Scenario
    from engine.scenario.model import ChosenVariant


class ScenarioKeys(TimeKeys):
    """Start again, open, reload. A run that would be lost with commands given by hand is asked about first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "open_scenario", "open another scenario", id="scenario.open"),
        Binding("ctrl+r", "reload", "reload the scenario after an edit, at this moment", id="scenario.reload"),
    ]

    # -- the same scenario ---------------------------------------------------------------------------------------

    def on_offer_restart(self, _: OfferRestart) -> None:
        """Offer what can be done when the run is over."""
        seed = self.session.simulation.seed
        offers: list[tuple[Pick, Callable[[], None]]] = [
            (Pick("r", f"start again, with the same seed {seed}", also=" "), self.restart),
            (Pick("n", f"run with the next seed, {seed + 1}"), partial(self.run_with_seed, seed + 1)),
            (Pick("o", "open another scenario"), self.action_open_scenario),
        ]

        def do(number: int | None) -> None:
            if number is not None:
                offers[number][1]()

        self.app.push_screen(
            Picker("The run is over", [pick for pick, _ in offers], pointer=self.session.glyphs.cursor), do
        )

    def restart(self) -> None:
        """Play the run again from its start, with the commands given by hand."""
        self.playback.seek(0, self.playback.play)

    def run_with_seed(self, seed: int) -> None:
        """Run the scenario with another seed from its start."""
        scenario = self.session.simulation.scenario
        self._leave_for(lambda: self.post_message(ShowRun(Simulation(scenario, seed=seed))))

    def take_seed(self, text: str) -> None:
        """Run with the seed that was typed; without one, with the next one. Raises AnswerError."""
        text = text.strip()
        if text and not text.lstrip("-").isdecimal():
            raise AnswerError(f"{quoted(text)} is not a seed: must be a whole number.")
        self.run_with_seed(int(text) if text else self.session.simulation.seed + 1)

    def action_reload(self) -> None:
        """Read the file of the scenario again, and go to this moment of its run."""
        simulation = self.session.simulation
        before = simulation.scenario.variant
        scenario = self._load(simulation.scenario.source.path, before)
        if scenario is None:
            return
        at_ms, view = self.session.now_ms, self.view.id or ""
        said = reloaded_note(before, scenario.variant)
        again = ShowRun(Simulation(scenario, seed=simulation.seed), at_ms, plays=False, view=view, said=said)
        self._leave_for(lambda: self.post_message(again))

    # -- another scenario ----------------------------------------------------------------------------------------

    def action_open_scenario(self) -> None:
        """Let the user choose a bundled scenario or a file, and open it."""
        self.playback.pause()
        self.app.push_screen(ScenarioPicker(self.session.glyphs), self._open)

    def open_named(self, name: str) -> None:
        """Open the scenario with this name or path; without one, let the user choose."""
        if name.strip():
            self._open(name.strip())
        else:
            self.action_open_scenario()

    def _open(self, name: str | None) -> None:
        scenario = None if name is None else self._load(name)
        if scenario is not None:
            self._leave_for(lambda: self.post_message(ShowRun(Simulation(scenario))))

    def _load(self, name: str, variant: ChosenVariant | None = None) -> Scenario | None:
        """Return a scenario, the same variant of it if there was one, or show what is wrong with it."""
        try:
            scenario = load_scenario(name, text=EMPTY_TEXT if name == NEW_EMPTY else None)
            return scenario if variant is None else chosen_again(scenario, variant)
        except ScenarioError as error:
            problems = error.problems
            title = f"{len(problems):,} mistakes, nothing has changed" if len(problems) > 1 else "Nothing has changed"
            self.app.push_screen(Sheet(title, lambda cells: problem_lines(problems, cells)))
        return None

    # -- leaving this run ----------------------------------------------------------------------------------------

    def _leave_for(self, show: Callable[[], object]) -> None:
        """Show another run. If commands given by hand are not saved, ask what is to become of them."""
        self.playback.pause()
        if not self.recorder.is_unsaved:
            show()
            return

        def answered(number: int | None) -> None:
            if number == 0:
                say(self, self.recorder.save_somewhere())
            if number is not None:
                show()

        picks = [
            Pick("s", "save what was done by hand as a scenario, then go on"),
            Pick("d", "go on without saving it"),
        ]
        self.app.push_screen(
            Picker("Commands given by hand are not saved", picks, pointer=self.session.glyphs.cursor), answered
        )
