"""Put promises to the test of thousands of random runs: ``python -m tests.properties --runs 1000 --first 0``.

A case that breaks one is shrunk and printed as YAML, one document for each promise; ``--replay FILE`` plays such a file
again. Exit status: 0 every promise was kept, 1 one was broken, 2 the call is wrong.

``--compare tests/golden/random_runs.txt`` plays the runs that ``--record`` has written down and tells whose log differs
(exit status 1). A record holds for one version of Hypothesis, which draws the runs.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

import yaml

from tests.properties import recorded
from tests.properties.properties import PROPERTIES, Property
from tests.properties.runs import as_yaml, from_document
from tests.properties.search import search

_TOLD_EVERY_S = 1.0  # on a terminal; otherwise a line for each promise


def main() -> int:
    """Run the command line and return its exit status."""
    options = _options()
    if options.replay is not None:
        return _replay(options.replay)
    seeds = range(options.first, options.first + options.runs)
    if options.record is not None:
        return _record(options.record, seeds)
    if options.compare is not None:
        return _compare(options.compare)
    chosen = [PROPERTIES[name] for name in options.property or PROPERTIES]
    broken = [_search(promise, seeds) for promise in chosen]
    return int(any(broken))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.properties", description=__doc__)
    parser.add_argument("--runs", type=int, default=100, metavar="N", help="random runs of each promise [100]")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed of the first run [0]")
    parser.add_argument("--property", action="append", choices=PROPERTIES, help="only this one; can be repeated")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="play the cases in a file that was printed before")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the digests of the logs of the runs")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="compare all logs with the recorded digests")
    return parser.parse_args()


def _search(promise: Property, seeds: range) -> bool:
    """Return whether the promise was broken; its first broken case has been printed."""
    started = told = time.monotonic()
    for done, seed in enumerate(seeds):
        if sys.stderr.isatty() and time.monotonic() - told > _TOLD_EVERY_S:
            told = time.monotonic()
            print(f"\r{promise.name}: {done:,} of {len(seeds):,} runs", end="", file=sys.stderr)
        if (broken := search(promise, seed)) is not None:
            _tell(promise, f"BROKEN with seed {seed}")
            traceback.print_exception(broken.error)
            error = " ".join(f"{type(broken.error).__name__}: {broken.error}".split())
            print(f"---\n# seed {seed}: {error}\n{as_yaml(promise.name, broken.case)}", end="", flush=True)
            return True
    _tell(promise, f"kept in {len(seeds):,} runs, {time.monotonic() - started:.0f} s")
    return False


def _replay(path: Path) -> int:
    status = 0
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        name, case = from_document(document)
        try:
            PROPERTIES[name].check(case)
        except Exception as error:
            traceback.print_exception(error)
            _tell(PROPERTIES[name], "BROKEN")
            status = 1
        else:
            _tell(PROPERTIES[name], "kept")
    return status


def _record(path: Path, seeds: range) -> int:
    started = time.monotonic()
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(recorded.written(map(recorded.digests_of, seeds)))
    print(f"{len(seeds):,} runs recorded, {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 0


def _compare(path: Path) -> int:
    started = time.monotonic()
    lines = list(recorded.read(path.read_text(encoding="utf-8")))
    differences = 0
    for line in lines:
        if (difference := line.difference(recorded.digests_of(line.seed))) is not None:
            print(difference, flush=True)
            differences += 1
    print(f"{differences:,} of {len(lines):,} runs differ, {time.monotonic() - started:.0f} s", file=sys.stderr)
    return int(differences > 0)


def _tell(promise: Property, what: str) -> None:
    print(f"{chr(13) if sys.stderr.isatty() else ''}{promise.name}: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
