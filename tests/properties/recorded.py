"""Digests of random runs, recorded once and compared after a change that should leave every log as it was."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from tests.properties.runs import Case, cases, play
from tests.properties.search import random_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CASES = cases(commands=25)
_DIGITS = 16  # of 64; enough to tell a few hundred logs from any others


class Digests(NamedTuple):
    """One line of a record: the digest of what was drawn from a seed, and that of the log it led to."""

    seed: int
    case: str
    log: str

    def difference(self, now: Digests) -> str | None:
        """Return how the same seed's run differs now; None if it is the same."""
        if self.case != now.case:
            return f"seed {self.seed}: the scenario or the commands are drawn differently"
        return f"seed {self.seed}: the log differs" if self.log != now.log else None


def digests_of(seed: int) -> Digests:
    """Return the line of the seed, of the run as it is now."""
    case = drawn(seed)
    simulation = case.simulation()
    play(simulation, case.commands)
    return Digests(seed, _digest([json.dumps(case)]), _digest(simulation.json_lines()))


def read(text: str) -> Iterator[Digests]:
    """Yield the lines of a record."""
    for line in text.splitlines():
        seed, case, log = line.split()
        yield Digests(int(seed), case, log)


def written(lines: Iterable[Digests]) -> Iterator[str]:
    """Yield the lines of the text that ``read`` reads."""
    for line in lines:
        yield f"{line.seed} {line.case} {line.log}\n"


def drawn(seed: int) -> Case:
    """Return the random case of the seed."""
    return random_cases(_CASES, seed)[-1]


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGITS]
