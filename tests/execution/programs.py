"""Programs for tests: how they are started in a sandbox, awaited, and looked for."""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from engine.execution.sandboxes import Limits, SandboxMissing, Start, sandbox_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.execution.sandboxes import Running, Sandbox

DEADLINE_S = 30
USUAL = Limits()
NUMBERS = count()


class Ended(NamedTuple):
    code: int
    out: str
    err: str


class Runner:
    """Starts programs in the folder of one node."""

    def __init__(self, sandbox: Sandbox, root: Path) -> None:
        self.sandbox, self.root = sandbox, root
        self.environment = {"PATH": os.defpath, "GREETING": "good morning"}

    def start(
        self, line: str, limits: Limits = USUAL, image: str | None = None, *, is_elevated: bool = False
    ) -> tuple[Running, Path, Path]:
        place = self.root / f"task-{next(NUMBERS)}"
        place.mkdir()
        out, err = place / "stdout.txt", place / "stderr.txt"
        out.touch()
        err.touch()
        start = Start(line, place, self.environment, out, err, self.root, limits, image, is_elevated)
        return self.sandbox.start(start), out, err

    def run(self, line: str, limits: Limits = USUAL, image: str | None = None, *, is_elevated: bool = False) -> Ended:
        running, out, err = self.start(line, limits, image, is_elevated=is_elevated)
        return Ended(ended(running), out.read_text(), err.read_text())


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that must come; fail at a deadline that no machine needs."""
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come"
        time.sleep(0.005)


def ended(running: Running) -> int:
    until(lambda: running.poll() is not None)
    code = running.poll()
    assert code is not None
    return code


def new_mark() -> str:
    """Return a duration for ``sleep`` that no other process has."""
    return f"1000.{os.getpid()}{next(NUMBERS):06}"


def alive(mark: str) -> list[int]:
    """Return the processes with a mark among their arguments that have not ended."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def made(kind: str, **options: bool) -> Sandbox:
    try:
        return sandbox_of(kind, **{"network": False, "image": None, "elevated": False} | options)
    except SandboxMissing as missing:
        pytest.skip(str(missing))


def sandbox_missing(kind: str | None, image: str | None = None) -> str:
    with pytest.raises(SandboxMissing) as missing:
        sandbox_of(kind, network=False, image=image, elevated=False)
    return str(missing.value)
