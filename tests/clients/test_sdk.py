"""The tests of the client libraries again, with azure-batch 14 in its own environment."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.clients import environments
from tests.clients.sdk.bodies import SCENARIO
from tests.clients.served import TREE, needs, serving

TESTS = Path(__file__).parent / "sdk"


@needs("python-14")
def test_what_works_with_azure_batch_15_works_with_14(tmp_path):
    """All tests in ``sdk``; it takes their time, which is half a minute."""
    scenario = tmp_path / "account.yaml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    options = ("-q", "--tb=short", "--import-mode=importlib", "-p", "no:cacheprovider", "-c", os.devnull)
    command = (environments.program("python-14", "python"), "-m", "pytest", *options)
    with serving(tmp_path, str(scenario)) as served:
        environment = os.environ | {"BATCHDECK_ENDPOINT": served.url, "PYTHONPATH": str(TREE)}
        done = subprocess.run(
            [*command, "--rootdir", TESTS, "--confcutdir", TESTS, TESTS],
            env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"^(\d+) passed", done.stdout, re.MULTILINE)[1]) > 50, done.stdout
