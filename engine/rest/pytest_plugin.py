"""A plugin of pytest with the fixture ``batch_account``, an account for one test.

It is loaded wherever batchdeck is installed beside pytest, so it imports the server only when a test uses the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.rest.testing import LocalAccount

MARKER = "batch_account"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f'{MARKER}(scenario=None, step="PT10S", speed=None, seed=None, ...): the account of the fixture {MARKER}, '
        "as local_account takes it.",
    )


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
