"""The house stays small: upper limits for modules, lines, imports, and how far a step and a command have to go."""

from __future__ import annotations

import asyncio

from tests import touched
from tests.module_counts import LONG, longest_chain, modules

# To be lowered whenever less is needed; `python -m tests.touched` prints the numbers of today.
MOST_MODULES = 338
MOST_LINES = 101_950
MOST_CODE = 63_820
LONGEST_CHAIN = 20
MOST_FILES_OF_A_STEP = 85
MOST_FILES_OF_A_COMMAND = 126


def test_modules_are_few_and_short():
    found = modules()
    assert len(found) <= MOST_MODULES
    assert sum(module.lines for module in found) <= MOST_LINES
    assert sum(module.code for module in found) <= MOST_CODE
    assert [module.name for module in found if module.lines > LONG] == []
    chain = longest_chain(found)
    assert len(chain) <= LONGEST_CHAIN, chain


def test_a_step_and_a_command_touch_few_files():
    traced = asyncio.run(touched.trace())
    assert 0 < len(traced.step.files) <= MOST_FILES_OF_A_STEP
    assert 0 < len(traced.command.files) <= MOST_FILES_OF_A_COMMAND
