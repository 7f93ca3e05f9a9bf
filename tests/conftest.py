"""How many tests run at a time."""

from __future__ import annotations

import os


def pytest_xdist_auto_num_workers() -> int:
    """Run one worker more than there are processors with ``-n auto``: tests of the dashboard wait now and then."""
    return (os.cpu_count() or 1) + 1
