"""How far something has to go: the modules of the product whose functions run (``python -m tests.touched``).

Counted are a step of a run until Watch is drawn again, and a command on a node, from opening the sheet of actions until
it is accepted and the list is drawn again. A file counts if any function in it runs, wherever it is called from;
comprehensions and lambdas are not counted as functions. The rest of the run is not played ahead meanwhile, which
happens in spare time. Beside that: how many modules there are, their lines, and the longest chain of imports.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from engine import Simulation, load_scenario
from tests.module_counts import LONG, PACKAGES, ROOT, longest_chain, modules
from tui.app.dashboard import Dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

    from textual.pilot import Pilot

SCENARIO = "job-prep-release-sample"
MOMENT_MS = 100_000  # preparations are running, and tasks
SIZE = (120, 40)
STEP = ("full_stop",)
COMMAND = ("a", "enter", "enter")  # reboots the node under the cursor
_OWN = tuple(f"{ROOT / package}{os.sep}" for package in PACKAGES)


class Touched(NamedTuple):
    """The functions of the product that have run."""

    functions: frozenset[CodeType]

    @property
    def files(self) -> list[str]:
        """Their files, relative to the root."""
        return sorted({os.path.relpath(code.co_filename, ROOT) for code in self.functions})

    def __str__(self) -> str:
        """Return both counts in words."""
        return f"{len(self.files):,} files, {len(self.functions):,} functions"


class Trace(NamedTuple):
    """What both ways have touched."""

    step: Touched
    command: Touched


async def trace() -> Trace:
    """Play both ways on a dashboard that stands still, with Watch open and then with the list of nodes."""
    simulation = Simulation(load_scenario(SCENARIO))
    simulation.run_until(MOMENT_MS)
    app = Dashboard(simulation, plays=False)
    await app.main_screen.import_rest()  # else that would come in the middle
    app.main_screen.import_rest = partial(asyncio.sleep, 0)  # type: ignore[method-assign]
    async with app.run_test(size=SIZE) as pilot:
        app.main_screen.playback.look_ahead = lambda: None  # type: ignore[method-assign]
        await pilot.pause()
        step = await _touched_by(pilot, STEP)
        await pilot.press("3")
        await pilot.pause()
        command = await _touched_by(pilot, COMMAND)
    assert len(simulation.log) > 0
    assert [one.command.NAME for one in simulation.journal.by_hand()] == ["rebootNode"]
    return Trace(step, command)


async def _touched_by(pilot: Pilot[None], keys: tuple[str, ...]) -> Touched:
    with _called() as codes:
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
    own = (code for code in codes if code.co_filename.startswith(_OWN) and not code.co_name.startswith("<"))
    return Touched(frozenset(own))


@contextmanager
def _called() -> Iterator[set[CodeType]]:
    """Collect what this thread calls."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _what: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        yield codes
    finally:
        sys.setprofile(None)


def main() -> None:
    """Print all counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.touched", description=__doc__)
    parser.add_argument("--list", action="store_true", help="also the files, the chain and the long modules")
    with_names = parser.parse_args().list
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    found = modules()
    chain = longest_chain(found)
    long = [f"{module.name}: {module.lines}" for module in found if module.lines > LONG]
    traced = asyncio.run(trace())
    for title, value, names in (
        ("one step to a redrawn Watch", traced.step, traced.step.files),
        ("a confirmed command", traced.command, traced.command.files),
        ("modules", f"{len(found):,}", []),
        ("lines", f"{sum(module.lines for module in found):,}", []),
        ("lines of code", f"{sum(module.code for module in found):,}", []),
        ("longest chain of imports", len(chain), chain),
        (f"modules of more than {LONG} lines", len(long), long),
    ):
        print(f"{title}: {value}")
        if with_names:
            print(*(f"  {name}\n" for name in names), sep="", end="")


if __name__ == "__main__":
    main()
