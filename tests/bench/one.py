"""One program on one workload in this interpreter: ``python -m tests.bench.one engine plain-100k work.bin``.

Prints a JSON object: what it took and the answer. The engine also writes the work that the floor is to do. It comes
in two: ``engine`` as ``batchdeck run`` uses it, ``past`` as the dashboard does, which can go back.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench import floor
from tests.bench.answer import Answer, Work
from tests.bench.workloads import PREP_MS, RELEASE_MS, WORKLOADS, Workload

if TYPE_CHECKING:
    from engine import Simulation


def run_floor(workload: Workload, work: Work) -> tuple[Answer, float]:
    """The answer of the floor's program and the processor seconds it took."""
    began_s = time.process_time()
    if not workload.prepared:
        answer = floor.plain(work.ready_ms, workload.nodes, workload.slots, work.total_ms)
    else:
        size = workload.tasks // workload.jobs
        jobs = [
            (work.total_ms[first : first + size], work.attempts[first : first + size])
            for first in range(0, workload.tasks, size)
        ]
        answer = floor.prepared(work.ready_ms, workload.nodes, workload.slots, jobs, PREP_MS, RELEASE_MS)
    return answer, time.process_time() - began_s


def peak_bytes() -> int:
    """The largest resident size of this process so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def digest(simulation: Simulation) -> str:
    """Stands for the event log, byte for byte."""
    log = blake2b(digest_size=8)
    for line in simulation.json_lines():
        log.update(line.encode())
    return log.hexdigest()


def seek(simulation: Simulation) -> float:
    """The processor seconds it takes to go back to the middle; raises SystemExit if the run then goes on otherwise."""
    before = digest(simulation)
    began_s = time.process_time()
    simulation.seek(simulation.log.last_ms // 2)
    taken_s = time.process_time() - began_s
    simulation.run_until(simulation.end_ms)
    if digest(simulation) != before:
        raise SystemExit("after going back and forth the log is another")
    return taken_s


def main(program: str, name: str, path: Path) -> None:
    """Measure ``program`` on the workload ``name``; ``path`` holds the work, or will."""
    workload = WORKLOADS[name]
    gc.freeze()
    gc.set_threshold(100_000)
    extra: dict[str, object] = {}
    if program == "floor":
        work = Work.load(path)
        before = peak_bytes()
        answer, cpu_s = run_floor(workload, work)
        peak = peak_bytes() - before
    else:
        from engine import Simulation, load_scenario
        from tests.bench.replayed import read

        scenario = load_scenario(name, text=workload.scenario())
        gc.freeze()  # as ``batchdeck run`` does: else the collector looks through all that was imported meanwhile
        before = peak_bytes()
        began_s = time.process_time()
        simulation = Simulation(scenario, can_go_back=program == "past")
        simulation.run_until(simulation.end_ms)
        cpu_s = time.process_time() - began_s
        peak = peak_bytes() - before
        simulation.finish()
        work, answer = read(simulation.log, workload.rows)
        if not path.exists():
            work.save(path)
        extra = {"events": simulation.log.count}
        extra |= {"seek_s": seek(simulation)} if program == "past" else {}
        extra |= {"log": digest(simulation)}
    print(json.dumps({"cpu_s": cpu_s, "peak_bytes": peak, "answer": answer, **extra}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
