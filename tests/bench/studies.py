"""Studies beside a bare loop over ``Simulation``, requests beside a bare Starlette, and keys while clients send."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine import Simulation, load_scenario
from engine.studies.runs import Player, Study, planned
from tests.bench import endpoint, flood
from tests.bench.results import Result
from tui.workers.dispatch import Dispatcher
from tui.workers.local import LocalWorkers, processors

if TYPE_CHECKING:
    import argparse

    from tests.bench.results import Sheet

_MOST_OVER_LOOP = 1.15  # of processor time
_LEAST_OF_TWO = 1.8  # times the rate of one worker
SCENARIO = {
    "scenario": "thousand tasks",
    "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 20, "taskSlotsPerNode": 2}],
    "jobs": [
        {
            "id": "j",
            "poolInfo": {"poolId": "p"},
            "onAllTasksComplete": "terminatejob",
            "jobPreparationTask": {"commandLine": "fetch", "simulate": {"duration": "PT40S"}},
            "taskFactory": {
                "type": "parametricSweep",
                "parameterSets": [{"start": 1, "end": 1000}],
                "repeatTask": {
                    "id": "t{0}",
                    "commandLine": "x",
                    "simulate": {"duration": {"lognormal": ["PT3M", 0.4]}},
                },
            },
        }
    ],
    "expect": [{"jobId": "j", "state": "completed", "within": "PT4H"}],
}


def bare(study: Study) -> None:
    """The loop that somebody would write: the scenario is read once, nothing is measured."""
    scenario = load_scenario("s.yaml", text=study.source.text)
    for seed in study.seeds:
        simulation = Simulation(scenario, seed)
        simulation.run_until(simulation.end_ms)
        simulation.finish()


def played(study: Study) -> None:
    """The runs of a study without processes: measured, and each a line of results."""
    Player(study).play(study.runs())


def with_workers(study: Study, count: int) -> float:
    """The whole study on so many workers; return the runs a second once they are ready."""
    done, began, first = 0, 0.0, 0
    with LocalWorkers(study, count) as workers:
        for lines in Dispatcher(study, workers).play(study.runs()):
            done += len(lines)
            if lines and not began:
                began, first = time.perf_counter(), done
        return (done - first) / (time.perf_counter() - began)


def used_by_all_s() -> float:
    """Processor time that all programs have used since the machine began, in seconds; 0 if the system does not tell."""
    path = Path("/proc/stat")
    if not path.exists():
        return 0
    user, nice, system, _, _, *rest = map(int, path.read_text().splitlines()[0].split()[1:9])
    return (user + nice + system + sum(rest)) / 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part."""
    parser.add_argument("--runs", type=int, default=200, help="of a study")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="of the account that answers requests")
    parser.add_argument("--requests", type=int, default=200, help="of each kind")
    parser.add_argument("--clients", type=int, default=16, help="that send as fast as they can")
    parser.add_argument("--keys", type=int, default=40, help="that are pressed meanwhile")


def measure(sheet: Sheet, arguments: argparse.Namespace, _: Path | None) -> None:
    """Measure studies, then requests, then keys."""
    _studies(sheet, arguments.runs, arguments.rounds)
    endpoint.measure(sheet, arguments)
    flood.measure(sheet, arguments)


def _studies(sheet: Sheet, runs: int, rounds: int) -> None:
    """Let loop, study, one worker and two workers take turns on runs of a thousand tasks."""
    scenario = load_scenario("s.yaml", text=json.dumps(SCENARIO))
    study = planned(scenario, seeds=f"{runs}")
    over_loop, of_two, shares = [], [], []
    for _ in range(rounds):
        loop_s, played_s = (_cost_s(lambda work=work: work(study)) for work in (bare, played))
        over_loop.append(played_s / loop_s)
        began_s, used_s = time.perf_counter(), used_by_all_s()
        one, two = (with_workers(study, count) for count in (1, 2))
        of_two.append(two / one)
        shares.append((used_by_all_s() - used_s) / (time.perf_counter() - began_s))
    sheet.add(Result("study in one process", "loop over Simulation", tuple(over_loop), _MOST_OVER_LOOP))
    # Rates tell nothing where other programs use the processors too.
    remark = f"{processors()} processors, {max(shares):.2f} in use by all programs" if any(shares) else ""
    sheet.add(
        Result("runs a second of two workers", "one worker", tuple(of_two), _LEAST_OF_TWO, is_least=True, remark=remark)
    )


def _cost_s(work: Callable[[], None]) -> float:
    began_s = time.process_time()
    work()
    return time.process_time() - began_s
