"""How close the simulator comes to Azure: ``python -m tests.fidelity`` writes engine/FIDELITY.md.

``fidelity.yaml`` takes each step of the service once. It is played with many seeds, and the durations of the steps are
set beside those in ``observations.csv``, which sums up what public recordings and reports say: one line for each step,
system and kind of source, in seconds. ``observed_sizes.csv`` has sizes and prices of a second price list. The reports
are those of ``reports/README.md``.
"""

from __future__ import annotations

import csv
import json
import re
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, NamedTuple

from engine import Simulation, load_scenario
from engine.base import rulebook
from engine.specs.catalogue import listed_sizes, vm_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from engine.specs.catalogue import VmSize

HERE = Path(__file__).parent
PAGE = HERE.parent / "engine" / "FIDELITY.md"
SEEDS = range(1, 251)
CLOCK_S = 1.0  # the resolution of most recordings: differences below a second are none
FEW = 2  # so few observations have no range worth the name


class Step(NamedTuple):
    """A step of the service: from one thing that happens to a pool or job until another one does, in seconds."""

    figure: str
    system: str
    rules: str
    subject: str
    start: str
    end: str
    less: float = 0  # what belongs to the scenario and not to the service


def _for_systems(figure: str, rules: str, start: str, end: str) -> Iterator[Step]:
    for system, pool in (
        *(("Linux", "linux"), ("Windows", "windows"), ("Windows with 1 core", "windows-1")),
        ("cloud service", "cloud"),
    ):
        yield Step(figure, system, rules, pool, start, end)


STEPS = (
    *_for_systems("request to creating", "TIME-2", "createPool", "node creating"),
    *_for_systems("request to steady", "TIME-2", "createPool", "allocation steady"),
    *_for_systems("request to idle", "TIME-2, TIME-3, TIME-4", "createPool", "node idle"),
    *_for_systems("creating to starting", "TIME-3", "node creating", "node starting"),
    *_for_systems("creating to idle", "TIME-3, TIME-4", "node creating", "node idle"),
    *_for_systems("starting to idle", "TIME-4", "node starting", "node idle"),
    *_for_systems("reboot to starting", "TIME-5", "node rebooting", "node starting"),
    *_for_systems("reboot to idle", "TIME-4, TIME-5", "node rebooting", "node idle"),
    *_for_systems("reimage to starting", "TIME-6", "node reimaging", "node starting"),
    *_for_systems("reimage to idle", "TIME-4, TIME-6", "node reimaging", "node idle"),
    Step("request to steady without nodes", "any", "POOL-8", "empty", "createPool", "allocation steady"),
    Step("resize up to steady", "cloud service", "TIME-2", "growing", "resizePool", "allocation steady"),
    Step("resize without change to steady", "any", "RSZ-2", "deallocated", "resizePool", "allocation steady"),
    Step("stop of a resize to steady", "any", "RSZ-9, TIME-19", "empty", "allocation stopping", "allocation steady"),
    Step("removal of nodes to steady", "any", "TIME-7", "shrinking", "resizePool", "allocation steady"),
    Step("pool deletion to gone", "any", "RSZ-11, TIME-7", "deleted", "deletePool", "pool gone"),
    Step("deallocating to deallocated", "Linux", "TIME-8", "deallocated", "node deallocating", "node deallocated"),
    Step("start of a deallocated node to idle", "Linux", "TIME-8", "deallocated", "startNode", "node idle"),
    Step("unusable to recovering", "any", "TIME-14", "broken", "node unusable", "node starting"),
    Step("blocked network: starting to unusable", "any", "TIME-21", "blocked", "node starting", "node unusable"),
    Step("Spot: notice to preempted", "any", "TIME-12", "spot", "evictNode", "node preempted"),
    Step("Spot: preempted to creating", "any", "TIME-13", "spot", "node preempted", "node creating"),
    Step("pool created to first evaluation", "any", "AS-84", "formula", "createPool", "evaluated"),
    Step("autoscale enabled to first evaluation", "any", "AS-85", "growing", "enablePoolAutoScale", "evaluated"),
    Step("evaluation to the next one", "any", "TIME-15", "formula", "evaluated", "evaluated"),
    Step("job created to active", "any", "JOB-6", "work", "createJob", "job active"),
    Step("job created to its auto pool", "any", "AUTO-2", "auto", "createJob", "pool active"),
    Step("task added to running", "any", "TIME-9", "work", "addTasks", "task running"),
    Step("task running to its process", "Windows", "TIME-10", "windowed", "task running", "task completed", less=60),
    Step("download of 5 GB", "any", "TIME-10", "loading", "task running", "task completed", less=61),
    Step("preparation", "any", "TIME-11", "prepared", "preparation running", "preparation completed"),
    Step("release", "any", "TIME-11", "prepared", "release running", "release completed"),
    Step("job disabling to disabled", "any", "TIME-19", "disabled", "job disabling", "job disabled"),
    Step(
        *("job terminating to completed with nothing running", "any", "TIME-19"),
        *("ended", "job terminating", "job completed"),
    ),
    Step(
        *("job terminating to completed after a failed task", "any", "TIME-19"),
        *("failed", "job terminating", "job completed"),
    ),
    Step("schedule due to job created", "any", "JS-1", "nightly", "createJobSchedule", "job active"),
    Step(
        *("schedule terminating to completed", "any", "TIME-19"),
        *("nightly", "schedule terminating", "schedule completed"),
    ),
)
KINDS = {
    "PoolStateChanged": "pool",
    "PoolAllocationStateChanged": "allocation",
    "NodeStateChanged": "node",
    "JobStateChanged": "job",
    "JobScheduleStateChanged": "schedule",
    "TaskStateChanged": "task",
    "JobPreparationTaskStateChanged": "preparation",
    "JobReleaseTaskStateChanged": "release",
}


class Moment(NamedTuple):
    """Something that happened: when, to which pool, job or schedule, to which node if to one, and in a word or two."""

    seconds: float
    subject: str
    node: str
    what: str


class Observation(NamedTuple):
    """A line of observations.csv: what recordings or reports say about a figure."""

    figure: str
    system: str
    kind: str
    number: int
    median: float
    p90: float | None
    least: float
    most: float
    years: str
    sources: tuple[str, ...]
    note: str


class Figure(NamedTuple):
    """What the simulator says about a step, beside one observation of it or none."""

    step: Step
    p10: float
    median: float
    p90: float
    seen: Observation | None

    @property
    def error(self) -> float:
        """The factor between the medians or between the ninth deciles, whichever is greater; 1 without observation."""
        if self.seen is None:
            return 1
        pairs = [(self.median, self.seen.median)]
        if self.seen.p90 is not None:
            pairs.append((self.p90, self.seen.p90))
        return max(max(ours, CLOCK_S) / max(theirs, CLOCK_S) for pair in pairs for ours, theirs in (pair, pair[::-1]))

    @property
    def is_within(self) -> bool:
        """Whether the median is within what was observed; of few observations, whether theirs is usual here."""
        seen = self.seen
        if seen is None or seen.least - CLOCK_S <= self.median <= seen.most + CLOCK_S:
            return True
        return seen.number <= FEW and self.p10 <= seen.median <= self.p90


@cache
def observations() -> tuple[Observation, ...]:
    """Return the lines of observations.csv."""
    with (HERE / "observations.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    return tuple(
        Observation(
            *(line["figure"], line["system"], line["kind"], int(line["n"]), float(line["median"])),
            float(line["p90"]) if line["p90"] else None,
            *(float(line["min"]), float(line["max"]), line["years"], tuple(line["sources"].split()), line["note"]),
        )
        for line in lines
    )


def _moments(log: Iterable[str]) -> Iterator[Moment]:
    for line in log:
        event = json.loads(line)
        about = event.get("body", {}) | event
        subjects = (about.get(key) for key in ("jobId", "scheduleId", "jobScheduleId", "poolId", "id"))
        subject = re.split("[:_]", next(filter(None, subjects), ""))[0]
        what = about.get("command", "evaluated")
        if kind := KINDS.get(event["event"]):
            what = f"{kind} {event['to'] or 'gone'}"
        elif event["event"] not in ("CommandAccepted", "FaultInjected", "AutoScaleEvaluated"):
            continue
        yield Moment(event["t"], subject, event.get("nodeId", "") if kind == "node" else "", what)


def _elapsed(step: Step, moments: list[Moment]) -> Iterator[float]:
    """Yield the durations of a step, from its first start of each node or of none to the next end, likewise."""
    begun = set()
    for place, start in enumerate(moments):
        if (start.subject, start.what) != (step.subject, step.start) or start.node in begun:
            continue
        begun.add(start.node)
        ended = set()
        for end in moments[place + 1 :]:
            if (end.subject, end.what) == (step.subject, step.end) and end.node not in ended:
                ended.add(end.node)
                if start.node in ("", end.node):
                    yield end.seconds - start.seconds - step.less


@cache
def figures() -> tuple[Figure, ...]:
    """Return each step with each observation of it, the worst first and those without observation last."""
    scenario = load_scenario("fidelity.yaml", text=(HERE / "fidelity.yaml").read_text(encoding="utf-8"))
    seconds: dict[Step, list[float]] = {step: [] for step in STEPS}
    for seed in SEEDS:
        simulation = Simulation(scenario, seed=seed)
        simulation.run_until(simulation.end_ms)
        moments = list(_moments(simulation.json_lines()))
        for step in STEPS:
            seconds[step] += _elapsed(step, moments)
    found = []
    for step, values in seconds.items():
        deciles = quantiles(values, n=10, method="inclusive")
        figure = Figure(step, deciles[0], median(values), deciles[-1], None)
        seen = [each for each in observations() if (each.figure, each.system) == (step.figure, step.system)]
        found += [figure._replace(seen=each) for each in seen] or [figure]
    return tuple(sorted(found, key=lambda each: (each.seen is None, -each.error)))


def _number(value: float) -> str:
    """Return seconds with three digits at most, or tenths below ten."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")


def _table(heading: tuple[str, ...], rows: Iterable[Iterable[object]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _sources() -> str:
    """Return the table of how many rules rest on each kind of source."""
    rules = list(rulebook.rules().values())
    rows = []
    for kind in rulebook.SOURCES:
        among = [rule for rule in rules if kind in rule.sources]
        alone = sum(rule.sources == (kind,) for rule in among)
        rows.append([kind, len(among), f"{len(among) / len(rules):.0%}", alone])
    seen = sum(rule.is_observed for rule in rules)
    rows.append(["recorded or reported, with the name of the source", seen, f"{seen / len(rules):.0%}", ""])
    return _table(("Source", f"Rules of {len(rules)}", "Share", "Nothing else"), rows)


def _durations() -> str:
    """Return the tables of durations, those with observations and those without."""
    observed, unknown = [], []
    for figure in figures():
        step, seen = figure.step, figure.seen
        row = [step.figure, step.system, _number(figure.median), _number(figure.p90)]
        if seen is None:
            unknown.append([*row, step.rules])
            continue
        row += [_number(seen.median), "" if seen.p90 is None else _number(seen.p90)]
        row += [f"{_number(seen.least)} to {_number(seen.most)}{'' if figure.is_within else ' (outside)'}"]
        row += [f"{figure.error:.1f}", f"{seen.number:,} {seen.kind}", seen.years, step.rules, seen.note]
        observed.append(row)
    simulated = ("Step", "System", "Simulated", "p90")
    beside = ("Observed", "p90", "Range", "Error", "Observations", "Years", "Rules", "About")
    return f"""{_table((*simulated, *beside), observed)}
Nothing is known of these. The simulator says:

{_table((*simulated, "Rules"), unknown)}"""


def _sizes() -> str:
    """Return the table of sizes and prices beside those of a second list."""
    with (HERE / "observed_sizes.csv").open(encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file))

    def compared(name: str, column: str, ours: Callable[[VmSize], float | None], tolerance: float) -> list[object]:
        differing, count = [], 0
        for line in listed:
            size, theirs = vm_size(line["size"]), line[column]
            if theirs:
                count += 1
                value = None if size is None else ours(size)
                if value is None or abs(value / float(theirs) - 1) > tolerance:
                    differing.append(f"`{line['size']}` ({value:g} for {theirs})")
        agreeing = count - len(differing)
        return [name, f"{tolerance:.0%}", f"{agreeing} of {count}", f"{agreeing / count:.0%}", ", ".join(differing)]

    rows: list[list[object]] = [
        compared("Cores", "vcpus", lambda size: size.cores, 0),
        compared("Memory", "memoryGib", lambda size: size.memory_gib, 0),
        compared("Linux price", "linuxUsdPerHour", lambda size: size.linux_usd, 0.01),
        compared("Linux Spot price", "linuxSpotUsdPerHour", lambda size: size.spot_linux_usd, 0.25),
        ["Windows prices", "", "nothing is known", "", ""],
        ["Cost of a run", "", "nothing is known", "", "nobody has published a bill beside a history"],
    ]
    return _table(("Figure", "Within", "Agree", "Share", "Different: here, and in the second list"), rows)


def _reports() -> str:
    """Return the table of reports: symptom, scenario, rule."""
    lines = (HERE / "reports" / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "#" in line and line.startswith("| ")]
    symptoms = {}
    for path in (HERE / "reports").glob("*.yaml"):
        comment = " ".join(re.findall(r"^# (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE))
        symptoms[path.stem] = comment.partition(": ")[2]
    table = []
    for report, scenario, rules, outcome in rows:
        name = scenario.strip("`")
        link = f"https://github.com/{report.replace('#', '/issues/')}"
        file = f"../tests/reports/{name}.yaml"
        table.append([f"[{report}]({link})", symptoms[name], f"[`{name}`]({file})", rules, outcome])
    return _table(("Report", "Symptom, and what happens here", "Scenario", "Rules", "Outcome"), table)


def page() -> str:
    """Return the page as Markdown."""
    return f"""# Fidelity

How we know what batchdeck simulates, and how close it comes to Azure. `python -m tests.fidelity` writes this page: it
plays the simulator and compares. A test checks that the page is up to date.

## Sources of the rules

[`RULES.md`](RULES.md) names the sources of each rule, and `batchdeck rules PREP-16` shows them. Many rules have more
than one. *recorded*: seen in answers of the service. *reported*: people who use the service say so.

{_sources()}
## Durations

In seconds, with the default timings, the worst first. *Simulated* and *Observed* are medians, *p90* is the ninth
decile. *Error* is the factor between the medians or between the ninth deciles, whichever is greater. Differences below
one second count as none, since that is the resolution of most recordings. *(outside)*: the simulated median is not
within the range that was observed; of one or two observations, theirs is not among the middle eight of ten simulated
ones. The simulator played {len(SEEDS)} seeds of `tests/fidelity.yaml`;
`tests/observations.csv` names the sources.

The observations are biased. Recordings are tests of clients of Azure: few nodes, small sizes, runs that went well.
People report what is slow, from the request to the end of their own start task.

{_durations()}
## Sizes and prices

The {len(listed_sizes())} sizes of `batchdeck sizes` beside a sample of a second price list, `catalogs/v6/azure/vms.csv`
of skypilot-org/skypilot-catalog: East US, in US dollars an hour, without sizes of constrained cores.

{_sizes()}
## Reports: symptom, scenario, rule

What people have written about Azure Batch, played as scenarios, each of which is a test. *as reported*: it ends as the
report says. *contested*: sources disagree, and an option decides. *differs*: the simulator follows the documentation
instead.

{_reports()}"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
