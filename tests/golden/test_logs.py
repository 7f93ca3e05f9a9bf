"""Every bundled scenario: its log is the golden one, and what it expects comes true.

``pytest tests/golden --rewrite-golden`` writes the logs anew. They are written for people: read the difference.
"""

from __future__ import annotations

from pathlib import Path

LOGS = Path(__file__).parent / "logs"


def test_log_is_the_golden_one(scenario, replays, rewrites):
    text = "\n".join(replays[scenario].lines) + "\n"
    path = LOGS / f"{scenario}.txt"
    if rewrites:
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.is_file(), f"{path.name} is missing: run pytest tests/golden --rewrite-golden, and read it"
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


def test_every_golden_log_has_its_scenario(replays):
    assert {path.stem for path in LOGS.iterdir()} == set(replays)


def test_expectations_are_met(scenario, replays):
    run = replays[scenario]
    assert run.expectations, "a scenario that expects nothing shows nothing"
    assert [(outcome.written, outcome.seen) for outcome in run.expectations if not outcome.met] == []


def test_commands_are_refused_only_as_announced(scenario, replays):
    assert [refusal for refusal in replays[scenario].refusals if not refusal.announced] == []
