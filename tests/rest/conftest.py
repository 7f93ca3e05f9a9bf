"""Accounts to ask, with a scenario or empty."""

from __future__ import annotations

import pytest

from tests import builders
from tests.rest.wire import Account

OPTIONS = ("credentials", "step_ms", "keep_files_s", "wall_s")


@pytest.fixture
def account():
    """An account with the jobs and pools of ``builders.scenario``, by default with none."""

    def begin(*jobs, **more):
        options = {name: more.pop(name) for name in OPTIONS if name in more}
        more.setdefault("until", "P30D")
        if not jobs and "pool" not in more:
            more["pools"] = []
        return Account(builders.simulation(*jobs, **more), **options)

    return begin
