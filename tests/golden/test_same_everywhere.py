"""The same scenario and seed give the same bytes in every interpreter, whatever its hashes of strings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCENARIOS = ("node-removed-while-preparing", "shared-pool-two-jobs")
PROGRAM = """
import sys
from engine import Simulation, load_scenario
for name in sys.argv[1:]:
    sim = Simulation(load_scenario(name), seed=11)
    sim.run_until(sim.end_ms)
    for text in sim.json_lines():
        sys.stdout.buffer.write(text.encode() + b"\\n")
"""


def run_with(hash_seed):
    environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, *SCENARIOS]
    return subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, timeout=120).stdout


def test_two_interpreters_write_the_same_bytes():
    first = run_with("1")
    assert first.count(b"\n") > 100
    assert first == run_with("2")
