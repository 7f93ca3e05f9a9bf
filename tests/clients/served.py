"""A server for clients, which run as programs in environments of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY
from tests.clients import environments, validating

TREE = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "tests.clients.validating")
SERVE = (*PROGRAM, "serve", "--port", "0", "--quiet")


def needs(name):
    """Skip tests where a client is not installed."""
    reason = f"the client {name} is not installed: python -m tests.clients.environments {name}"
    return pytest.mark.skipif(not environments.is_installed(name), reason=reason)


class Served(NamedTuple):
    """A server, and the directory of the files that it writes."""

    url: str
    directory: Path

    def run(self, *command, timeout_s=300, **variables):
        """Run a client with the variables that ``batchdeck serve`` prints; return what it prints."""
        environment = os.environ | {
            "AZURE_BATCH_ACCOUNT": DEFAULT_ACCOUNT,
            "AZURE_BATCH_ACCESS_KEY": DEFAULT_KEY,
            "AZURE_BATCH_ENDPOINT": self.url,
            **variables,
        }
        done = subprocess.run(
            [str(part) for part in command],
            env=environment, cwd=self.directory, capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}\n{self.requests()}"
        return done.stdout

    def az(self, *arguments):
        """Run the Azure CLI; return what its JSON says, None if it prints nothing."""
        said = self.run(environments.program("az", "az"), "batch", *arguments, **AZ | self.az_home())
        return json.loads(said) if said.strip() else None

    def az_home(self):
        """Return the variable that keeps the Azure CLI away from the user's own settings."""
        return {"AZURE_CONFIG_DIR": str(self.directory / "azure")}

    def requests(self):
        """Return a line for each request so far."""
        return (self.directory / "requests.txt").read_text(encoding="utf-8")


AZ = {"AZURE_CORE_COLLECT_TELEMETRY": "no", "AZURE_CORE_NO_COLOR": "yes"}


def check_end(said):
    """Check what a server has written to stderr until its end: it has answered, and each time like the schema."""
    assert "Traceback" not in said, said
    assert validating.MISTAKE not in said, said
    assert int(said.split(validating.CHECKED)[1]) > 0, said


@contextmanager
def serving(directory, *options):
    """Serve an account; time moves by ten seconds with each request that reads unless ``options`` say otherwise."""
    clock = () if "--speed" in options else ("--step", "PT10S")
    command = (*SERVE, "--requests", str(directory / "requests.txt"), *clock, *options)
    with subprocess.Popen(command, cwd=TREE, stderr=subprocess.PIPE, text=True) as process:
        try:
            first = process.stderr.readline()
            assert first.startswith("listening on "), first + process.stderr.read()
            yield Served(first.split()[-1], directory)
            process.terminate()
            check_end(process.stderr.read())
        finally:
            if process.poll() is None:
                process.kill()
