"""The live tests in Microsoft's source distributions of azure-batch, unchanged, against accounts on loopback."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.clients import environments
from tests.clients.served import PROGRAM, TREE, needs

TESTS = {"python-15": 32, "python-14": 14}


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs(name)) for name in TESTS])
def test_microsofts_live_tests_pass(name):
    python, tests = environments.program(name, "python"), environments.live_tests(name)
    serve = shlex.join([*PROGRAM, "serve"])
    variables = {"BATCHDECK_SERVE": serve, "BATCHDECK_TREE": str(TREE), "PYTHONPATH": str(Path(__file__).parent)}
    options = ("-p", "live_plugin", "-p", "no:cacheprovider", "-q", "--tb=short", "--rootdir", tests)
    command = (python, "-m", "pytest", *options, "test_batch.py")
    environment = os.environ | variables
    done = subprocess.run(command, env=environment, cwd=tests, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^{TESTS[name]} passed", done.stdout, re.MULTILINE), done.stdout
