"""A plugin of pytest: scenarios as tests, and the fixture ``batch_account``, an account for one test.

It is loaded wherever batchdeck is installed beside pytest, so it imports the simulator only for a scenario that is
collected, and the server when a test uses the fixture.

With the option ``--scenarios`` the scenarios are collected that are found where pytest looks for tests. Those that
match the ini key ``batchdeck_scenarios`` are collected without the option, too.
"""

from __future__ import annotations

import glob
import os
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.cases import Case, Suite
    from engine.rest.testing import LocalAccount
    from engine.scenario.model import Scenario

MARKER = "batch_account"
_OPTION, _GLOBS = "--scenarios", "batchdeck_scenarios"
_ENDINGS = (".yaml", ".yml", ".json")
_NAMED = pytest.StashKey[set[Path]]()  # files and folders that match the ini key


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the ini key."""
    group = parser.getgroup("batchdeck", "batchdeck, the simulator of Azure Batch")
    group.addoption(_OPTION, action="store_true", help="Collect scenarios of batchdeck: each expectation is a test.")
    about = f"Patterns of scenarios that are collected without {_OPTION}, such as scenarios/**/*.yaml."
    parser.addini(_GLOBS, about, type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and look for scenarios beside ``testpaths`` too."""
    config.addinivalue_line(
        "markers",
        f'{MARKER}(scenario=None, step="PT10S", speed=None, seed=None, ...): the account of the fixture {MARKER}, '
        "as local_account takes it.",
    )
    found = {
        Path(os.path.normpath(config.rootpath / file))
        for pattern in config.getini(_GLOBS)
        for file in glob.iglob(pattern, root_dir=config.rootpath, recursive=True)
    }
    config.stash[_NAMED] = found
    if found and config.args_source.name == "TESTPATHS":
        above = [Path(config.invocation_params.dir, each.partition("::")[0]) for each in config.args]
        others = (file for file in sorted(found) if not any(file.is_relative_to(each) for each in above))
        config.args += [str(file) for file in others if _has_scenario(file)]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect a scenario that is asked for; leave any other file alone."""
    is_named = not parent.config.stash[_NAMED].isdisjoint((file_path, *file_path.parents))
    is_meant = is_named or parent.config.getoption(_OPTION)
    return ScenarioFile.from_parent(parent, path=file_path) if is_meant and _has_scenario(file_path) else None


def _has_scenario(path: Path) -> bool:
    if not path.name.lower().endswith(_ENDINGS):
        return False
    from engine.cases import heading  # noqa: PLC0415 - who has no scenarios does not pay for it

    try:
        return heading(str(path)) is not None
    except OSError:
        return False


def _changed_s(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0


class ScenarioFile(pytest.File):
    """A scenario, with an item for each of its cases. It is played once, when the first of them is run."""

    _loaded: tuple[Scenario, float] | None = None  # until it is played, and when the file had been changed last

    @cached_property
    def suite(self) -> Suite:
        """The cases after the run."""
        from engine.cases import CasePlayer, SuiteRun  # noqa: PLC0415 - see above

        loaded, self._loaded = self._loaded, None
        scenario = loaded[0] if loaded is not None and loaded[1] == _changed_s(self.path) else None
        played = CasePlayer(time.perf_counter).play([SuiteRun(str(self.path), scenario=scenario)])
        return played[0]._replace(file=self.nodeid)

    def collect(self) -> Iterator[ScenarioItem]:
        """Yield the cases; a file with mistakes has one, which is an error."""
        from engine import ScenarioError, load_scenario  # noqa: PLC0415 - see above
        from engine.cases import cases_of, wrong  # noqa: PLC0415 - see above

        try:
            self._loaded = load_scenario(str(self.path)), _changed_s(self.path)
            cases = cases_of(self._loaded[0])
        except ScenarioError as error:
            cases = list(wrong(str(self.path), error.problems).cases)
        for at, case in enumerate(cases):
            yield ScenarioItem.from_parent(self, name=case.name, number=at, line=case.line)


class ScenarioItem(pytest.Item):
    """A case of a scenario."""

    parent: ScenarioFile

    def __init__(self, *, number: int, line: int, **given: object) -> None:
        """Create the item of the case with this number, from 0, which stands on this line of the file."""
        super().__init__(**given)  # type: ignore[arg-type] # what pytest gives to any item
        self._number, self._line = number, line

    @property
    def case(self) -> Case:
        """The case after the run; if the run has failed, the only one of the file."""
        cases = self.parent.suite.cases
        return cases[min(self._number, len(cases) - 1)]

    def setup(self) -> None:
        """Play the scenario; what cannot be played is an error for pytest."""
        if self.case.outcome == "error":
            self._fail()

    def runtest(self) -> None:
        """Fail if the case does not hold."""
        if self.case.is_broken:
            self._fail()

    def _fail(self) -> NoReturn:
        """Fail with what was expected and what was seen; a traceback would show the plugin."""
        from engine.cases import lines_of  # noqa: PLC0415 - see above

        pytest.fail("\n".join(lines_of(self.case, self.parent.suite)), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file, the line from 0 and the name of the case."""
        return self.path, self._line - 1, self.name


@pytest.fixture
def batch_account(request: pytest.FixtureRequest) -> Iterator[LocalAccount]:
    """Serve an account of Azure Batch for one test.

    It is empty, and each request that reads moves its time by ten seconds. ``@pytest.mark.batch_account("pools.yaml",
    step="PT1M")`` changes that; a file is looked for beside the test first.
    """
    from engine.rest.testing import local_account  # noqa: PLC0415 - a test without the fixture does not pay for it

    marker = request.node.get_closest_marker(MARKER)
    args, options = ((), {}) if marker is None else (marker.args, dict(marker.kwargs))
    scenario = args[0] if args else options.pop("scenario", None)
    if scenario is not None and (request.path.parent / scenario).is_file():
        scenario = request.path.parent / scenario
    with local_account(scenario, *args[1:], **options) as account:
        yield account
