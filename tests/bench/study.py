"""``python -m tests.bench.study [--runs N] [--rounds N]``: what a study costs beyond a bare loop over ``Simulation``.

Loop, one worker and two workers take turns on runs of a thousand tasks. Each line says how much of the machine other
programs used meanwhile: rates tell nothing where that is more than a few percent, processor time a run still does.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

from engine import Simulation, load_scenario
from engine.studies.plan import Study, planned
from engine.studies.playing import Player
from tui.workers.dispatch import Dispatcher
from tui.workers.local import LocalWorkers, processors

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


def used_by_all_s() -> float | None:
    """Processor time that all programs have used since the machine began, in seconds, where the system tells."""
    path = Path("/proc/stat")
    if not path.exists():
        return None
    user, nice, system, _, _, *rest = map(int, path.read_text().splitlines()[0].split()[1:9])
    return (user + nice + system + sum(rest)) / 100


def timed(name: str, work: Callable[[], float | None], runs: int) -> None:
    """Print the rate of some work, and how much of the machine was used in all."""
    used, own, began = used_by_all_s(), time.process_time(), time.perf_counter()
    rate = work()
    elapsed, own = time.perf_counter() - began, time.process_time() - own
    after = used_by_all_s()
    share = "" if used is None or after is None else f"{(after - used) / elapsed:.2f} processors in use by all programs"
    print(
        f"{name:<24} {rate or runs / elapsed:7.2f} runs/s   {own / runs * 1000:6.2f} ms here a run   {share}",
        flush=True,
    )


def main() -> None:
    """Let them take turns."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.study", description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    runs = arguments.runs
    scenario = load_scenario("s.yaml", text=json.dumps(SCENARIO))
    study = planned(scenario, seeds=tuple(range(1, runs + 1)))
    print(f"{processors()} processors")
    for _ in range(arguments.rounds):
        timed("bare loop", lambda: bare(study), runs)
        timed("measured, same process", lambda: played(study), runs)
        timed("one worker, when ready", lambda: with_workers(study, 1), runs)
        timed("two workers, when ready", lambda: with_workers(study, 2), runs)


if __name__ == "__main__":
    main()
