"""Every message that people can be told by, collected for ``test_messages.py``.

A source of messages is a function that yields places, as "group: place", and the lines that are said there. Of all
lines of a source that differ in numbers, blanks and the place of a mistake only, the first is recorded, below its
place. At the end, each group has the number of its lines and a digest of them all. To find what a changed digest comes
from, write all lines into a directory before and after the change, and compare these:
``python -m tests.golden.messages DIRECTORY``.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import ScenarioError, Simulation, load_scenario
from engine.autoscale import parse
from engine.autoscale.values import FormulaError
from engine.scenario.schema import schema
from engine.scenario.text import bundled
from engine.studies.runs import Variants, planned
from tests.autoscale.situations import USUAL
from tests.properties.recorded import drawn
from tests.properties.runs import submit
from tui.viewmodels.actions.menu import actions_for, effect_lines
from tui.viewmodels.sentences import answers_to, expected_of, plain_text
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef, plain
from tui.viewmodels.watch.attention import AttentionModel, estimate_line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

    from engine import Problem
    from tests.properties.runs import Case

HERE = Path(__file__).parent
CELLS = 400  # wider than any message
SHARES = (0.15, 0.4, 0.75)  # of a run, the moments at which questions are asked
ACTED_ON = ("market-data-once-per-node", "nightly-schedule-overruns", "spot-evictions", "a-day-of-autoscaling")
RANDOM_RUNS = 6

Said = tuple[str, "Iterable[str]"]  # where, and the lines


def recorded(source: Iterable[Said]) -> str:
    """Return the text that is recorded of a source."""
    lines: list[str] = []
    shapes: set[str] = set()
    groups: dict[str, list[str]] = {}
    for place, said in source:
        full = [f"  {line.rstrip()}" for line in said if line.strip()]
        groups.setdefault(place.partition(": ")[0], []).extend([place, *full])
        news = [line for line in full if _is_new(_shape(line), shapes)]
        lines += [place, *news] if news else []
    digests = (f"{group}: {len(full):,} lines {_digest(full)}" for group, full in groups.items())
    return "\n".join([*lines, "", *digests, ""])


def _shape(line: str) -> str:
    """Return what makes a line another one: not its numbers, its blanks, nor the place of a mistake."""
    return re.sub(r"\d+", "0", " ".join(re.sub(r"^ *s\.yaml:\d+:\d+: (warning: )?\S+: ", r"\1", line).split()))


def _is_new(shape: str, known: set[str]) -> bool:
    is_new = shape not in known
    known.add(shape)
    return is_new


def _digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


# -- what is wrong with a scenario, and probably not meant -----------------------------------------------------------


def _checked(text: str) -> Iterator[str]:
    """Yield what ``batchdeck check`` says of a text."""
    try:
        scenario = load_scenario("s.yaml", text=text)
        if scenario.study.factors:
            Variants(planned(scenario)).check(each_value_once=True)
    except ScenarioError as error:
        yield from _problems([*error.problems, *error.warnings])
    else:
        yield from _problems(scenario.warnings)


def _problems(problems: Iterable[Problem]) -> Iterator[str]:
    for problem in problems:
        yield " ".join(str(problem).split("\n"))


def kept_mistakes() -> Iterator[Said]:
    """Yield what is said of scenarios with mistakes of every kind, which are kept in a file."""
    for number, line in enumerate((HERE / "mistaken.jsonl").read_text(encoding="utf-8").splitlines(), 1):
        yield f"mistakes: line {number}", _checked(json.loads(line))


_BASE: dict[str, Any] = {
    "scenario": "s",
    "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}],
    "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "tasks": [{"id": "t", "commandLine": "x"}]}],
}
_WRONG: Mapping[str, Any] = {
    "text": "x",
    "negative": -1,
    "large": 10**10,
    "true": True,
    "mapping": {},
    "list of text": ["x"],
}


def made_mistakes() -> Iterator[Said]:
    """Yield what is said where all properties of a body are of a wrong type, out of range, misspelt or missing."""
    for path, names in _bodies(schema()):
        where = ".".join(map(str, path))
        for kind, value in _WRONG.items():
            yield f"{where}: {kind}", _checked(_with_body(path, dict.fromkeys(names, value)))
        yield f"{where}: misspelt", _checked(_with_body(path, {f"{name[:-1]}{name[-1] * 2}": 1 for name in names}))
        yield f"{where}: empty", _checked(_with_body(path, {}))


def _bodies(whole: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """Yield the path and the properties of each body that a scenario can have, each of its definitions once."""
    known: set[str] = set()
    later = []  # what processes do has the bodies of commands, which the timeline has, too

    def walk(part: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
        if "$ref" in part:
            name = part["$ref"].rpartition("/")[2]
            if name in known:
                return
            known.add(name)
            yield from walk(whole["$defs"][name], path)
        for choice in ("anyOf", "oneOf", "allOf"):
            for one in part.get(choice, ()):
                yield from walk(one, path)
        if (properties := part.get("properties")) and path:
            yield path, sorted(properties)
        for name in sorted(properties or ()):
            if name == "does":
                later.append((properties[name], (*path, name)))
            else:
                yield from walk(properties[name], (*path, name))
        for deeper, key in (("items", 0), ("additionalProperties", "0")):
            if isinstance(part.get(deeper), dict):
                yield from walk(part[deeper], (*path, key))

    yield from walk(whole, ())
    for part, path in later:
        yield from walk(part, path)


def _with_body(path: tuple[str | int, ...], body: object) -> str:
    """Return a scenario with this at the path; lists on the way have one item."""
    document: Any = deepcopy(_BASE)
    if path[0] == "timeline":
        document["timeline"] = [{"at": 5}]
    at = document
    for part, following in pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(at, dict):
            at = at.setdefault(part, empty)
        else:
            at.extend([] if at else [empty])
            at = at[0]
    if isinstance(at, dict):
        at[path[-1]] = body
    else:
        at[:] = [body]
    return json.dumps(document, indent=1)


def formulas() -> Iterator[Said]:
    """Yield what is said of autoscale formulas that fail, which are kept in a file."""
    for number, line in enumerate((HERE / "formulas.jsonl").read_text(encoding="utf-8").splitlines(), 1):
        try:
            results = parse(json.loads(line)).evaluate(USUAL)
        except FormulaError as error:
            said = [str(error)]
        else:
            said = [json.dumps(results.error.wire())] if results.error is not None else [results.text]
        yield f"formulas: line {number}", said


# -- what is said of a run -------------------------------------------------------------------------------------------


def of_scenarios() -> Iterator[Said]:
    """Yield what is said of the bundled scenarios."""
    for name in bundled():
        yield from ((f"{name}: {place}", said) for place, said in _of_scenario(name))


def _of_scenario(name: str) -> Iterator[Said]:
    """Yield what is said of a bundled scenario: by ``check``, at some moments of its run, and at its end."""
    scenario = load_scenario(name)
    yield "check", _problems(scenario.warnings)
    simulation = Simulation(scenario)
    session = Session(simulation)
    for share in SHARES:
        simulation.run_until(round(share * _length_ms(name)))
        session.update()
        yield from _looked_at(session)
        if share == SHARES[1]:
            while session.ahead.advance(10_000):
                pass
            yield from _prospects(session, ", the rest of the run played ahead")
        if name in ACTED_ON:
            yield from _actions(session)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    session.update()
    yield from _looked_at(session)
    yield from _outcome(simulation)


def of_random_runs() -> Iterator[Said]:
    """Yield what is said of some random runs."""
    for seed in range(RANDOM_RUNS):
        yield from ((f"run {seed}: {place}", said) for place, said in _of_random_run(drawn(seed)))


def _of_random_run(case: Case) -> Iterator[Said]:
    """Yield what is said of a run at a moment on the way and at the end."""
    simulation = case.simulation()
    yield "check", _problems(simulation.scenario.warnings)
    session = Session(simulation)
    for number, given in enumerate(case.commands):
        simulation.run_until(min(simulation.now_ms + given.after_ms, simulation.end_ms))
        submit(simulation, given)
        if number == len(case.commands) // 2:
            session.update()
            yield from _looked_at(session)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    session.update()
    yield from _looked_at(session)
    yield from _outcome(simulation)


def _length_ms(name: str) -> int:
    """Return when the last entry of the golden log comes."""
    last = (HERE / "logs" / f"{name}.txt").read_text(encoding="utf-8").splitlines()[-1]
    hours, minutes, seconds = map(int, re.findall(r"\d+", last)[:3])
    return ((hours * 60 + minutes) * 60 + seconds) * 1000


def _looked_at(session: Session) -> Iterator[Said]:
    """Yield what needs attention, when jobs will end, and the answers to "why" about things in every state."""
    yield from _prospects(session)
    for kind, key in _subjects(session):
        if kind == "job":
            session.focus_job(str(key))
        coming = expected_of(session, kind, key) if kind in ("job", "pool") else None
        for view in ("watch", "preparation") if kind == "node" else ("watch",):
            said = plain_text(session, answers_to(session, kind, key, view), coming)
            yield f"{session.clock(session.now_ms)} why {kind} {key}", said.splitlines()


def _prospects(session: Session, ahead: str = "") -> Iterator[Said]:
    """Yield what needs attention, and when jobs will end."""
    at = session.clock(session.now_ms)
    attention = AttentionModel(session)
    attention.update()
    yield f"{at} attention{ahead}", (plain(line) for _, line in attention.lines(CELLS))
    for job in list(session.simulation.world.jobs):
        session.focus_job(job.id)
        if (row := session.job(job.id)) is not None:
            yield f"{at} end of {job.id}{ahead}", [plain(estimate_line(session, row, CELLS)).strip()]


def _subjects(session: Session) -> Iterator[tuple[Any, int | str]]:
    """Yield pools, job schedules and jobs, and of nodes and tasks the first in each state of each pool and job."""
    world = session.simulation.world
    yield from (("pool", pool.id) for pool in world.pools)
    yield from (("job schedule", schedule.id) for schedule in world.job_schedules)
    yield from (("job", job.id) for job in world.jobs)
    yield from (("node", row) for row in _firsts(range(world.nodes.length), world.nodes.state_of))
    for job in world.jobs:
        yield from (("task", row) for row in _firsts(world.tasks.rows_of(job.row), world.tasks.state_of))


def _firsts(rows: Iterable[int], state_of: Callable[[int], Hashable]) -> Iterator[int]:
    seen = set()
    for row in rows:
        if (state := state_of(row)) not in seen:
            seen.add(state)
            yield row


def _actions(session: Session) -> Iterator[Said]:
    """Yield what the sheets of actions say beforehand of what each action would do."""
    for kind, key in _subjects(session):
        for action in actions_for(session, [ItemRef(kind, key)]):
            said = [plain(line) for line in effect_lines(session, action, CELLS)]
            yield f"{session.clock(session.now_ms)} {kind} {key}", [action.title, *said]


def _outcome(simulation: Simulation) -> Iterator[Said]:
    yield "refused", (f"{one.command.NAME}: {one.error}" for one in simulation.refusals)
    yield "expected", (f"{one.written}: {one.met}, {one.seen}" for one in simulation.expectations)


SOURCES: dict[str, Callable[[], Iterator[Said]]] = {
    "mistakes": kept_mistakes,
    "made-mistakes": made_mistakes,
    "formulas": formulas,
    "scenarios": of_scenarios,
    "random-runs": of_random_runs,
}


def main() -> None:
    """Write all lines of all sources into files in a directory."""
    for name, source in SOURCES.items():
        text = "".join(f"{place}: {line}\n" for place, said in source() for line in said)
        Path(sys.argv[1], f"{name}.txt").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
