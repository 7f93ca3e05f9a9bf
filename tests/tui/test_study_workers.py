"""A study in the dashboard that is played by processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

from engine.studies.outcome import as_json
from engine.studies.runs import StudyState
from tests.cli.test_study import are_gone, posix_only, wait_for, workers_of
from tests.studies.conftest import NIGHT
from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tests.tui.studying import NODES, begin
from tui.cli.commands import main


async def complete(app):
    """Wait until all runs of the study are played and shown."""
    while app.studies.shown is None or not app.studies.shown.is_complete:
        await asyncio.sleep(0.02)


def test_the_numbers_are_those_of_the_command(night, capsys):
    app, seen = night(), []
    drive(app, "V", complete, lambda app: seen.append(as_json(app.studies.shown.summary)))
    assert main(["study", "night.yaml", "--output", "json", "--workers", "1"]) == 1
    assert json.loads(json.dumps(seen[0])) == json.loads(capsys.readouterr().out)


LONG = NIGHT.replace("end: 12}", "end: 400}") + "study:\n  seeds: 60\n"


@posix_only
def test_a_killed_worker_costs_no_result_and_leaving_ends_all_of_them(night):
    app, workers = night("", text=LONG), []

    async def some(app):
        while not app.studies.shown.background.done:
            await asyncio.sleep(0.02)
        workers.extend(workers_of(os.getpid()))
        os.kill(workers[0], signal.SIGKILL)

    async def more(app):
        background = app.studies.shown.background
        done = background.done
        while background.done < done + 8:
            await asyncio.sleep(0.02)
        assert background.is_under_way
        workers.extend(workers_of(os.getpid()))

    drive(app, begin(seeds="1000"), some, more)
    app.studies.end()
    wait_for(lambda: are_gone(workers), 5)
    assert app.studies.shown.background.state is StudyState.STOPPED


def test_values_that_are_not_valid_and_a_wrong_file_are_explained(night):
    Path("other.txt").write_text("something else\n")
    app, seen = night(""), []

    def says(text):
        async def wait(app):
            while not contains(text_of(app), text):
                await asyncio.sleep(0.02)
            seen.append(text_of(app))

        return wait

    drive(
        app,
        begin(f"{NODES}=2,-1"),
        says("must be 0 or more"),
        "escape",
        "escape",
        begin(f"{NODES}=2,1", results="other.txt"),
        says("is not a result of a study"),
    )
    assert contains(seen[0], "The study cannot be played", "InvalidPropertyValue")
    assert contains(seen[1], "other.txt:1:1: is not a result of a study")


def test_results_are_kept_in_a_file_and_a_study_goes_on_from_it(night, capsys):
    app, seen = night(), []
    line = [begin(results="r.jsonl"), complete]
    drive(app, *line, lambda app: seen.append(as_json(app.studies.shown.summary)))
    assert Path("r.jsonl").read_text().count("\n") == 16
    assert main(["study", "night.yaml", "--results", "r.jsonl", "--output", "json"]) == 1
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(seen[0]))
    drive(night(), *line)
    assert Path("r.jsonl").read_text().count("\n") == 16
