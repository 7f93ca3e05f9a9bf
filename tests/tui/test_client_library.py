"""The service's own client library on the dashboard, on a real terminal: `open --serve` as a user starts it."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from azure.batch import BatchClient, models
from azure.core.credentials import AccessToken, AzureNamedKeyCredential

from engine import Simulation, load_scenario
from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY
from tests.tui.test_endings import terminal  # noqa: F401 - a fixture

SCENARIO = """
scenario: shared
pools: [{id: shared, vmSize: standard_d2s_v3, targetDedicatedNodes: 2}]
"""
URL = rb"https?://127\.0\.0\.1:\d+"


class AnyToken:
    """A credential that has a token, as that of a signed-in user has."""

    def get_token(self, *_scopes, **_options):
        return AccessToken("token", int(time.time()) + 3600)


def found(one, pattern):
    """Read until the screen has shown what matches a pattern; return it."""
    deadline_s = time.monotonic() + 60
    while (match := re.search(pattern, one.text)) is None:
        assert time.monotonic() < deadline_s, one.text[-2000:]
        one.read_some()
    return match[match.lastindex or 0].decode()


def program(client):
    """What a user's program does: a job with four tasks, until they have ended. Return what they have printed."""
    info = models.BatchPoolInfo(pool_id="shared")
    client.create_job(models.BatchJobCreateOptions(id="risk", pool_info=info))
    commands = {f"deal-{number}": f"/bin/sh -c 'echo price {number}'" for number in range(4)}
    client.create_tasks(
        "risk", [models.BatchTaskCreateOptions(id=name, command_line=do) for name, do in commands.items()]
    )
    deadline_s = time.monotonic() + 60
    while client.get_job_task_counts("risk").task_counts.completed < len(commands):
        assert time.monotonic() < deadline_s
    printed = [b"".join(client.download_task_file("risk", name, "stdout.txt")).decode() for name in commands]
    client.begin_terminate_job("risk", {"terminateReason": "done"}, polling_interval=0).result()
    return printed


def play(one, client):
    """Run the program in a thread, while what the terminal shows is read."""
    with ThreadPoolExecutor(1) as pool:
        printed = pool.submit(program, client)
        while not printed.done():
            one.read_some()
        assert printed.result() == [f"price {number}\n" for number in range(4)]


def escape(one):
    """Press escape alone: with another key right after it, it would be part of that."""
    one.press(b"\x1b")
    end_s = time.monotonic() + 0.5
    while time.monotonic() < end_s:
        one.read_some()


@pytest.fixture
def opened(terminal, tmp_path):  # noqa: F811 - a fixture
    """Start the dashboard on a scenario with clients."""
    (tmp_path / "shared.yaml").write_text(SCENARIO)

    def start(*options):
        one = terminal("-m", "tui", "open", "shared.yaml", "--serve", "--port", "0", *options)
        return one, found(one, URL)

    return start


def test_with_a_step_the_library_plays_a_job_and_the_screen_shows_its_requests(opened, tmp_path):
    """The terminal, the process and the poller take their time: four seconds."""
    one, url = opened("--step", "PT10S", "--requests", "requests.txt", "--save", "session.yaml")
    play(one, BatchClient(url, AzureNamedKeyCredential(DEFAULT_ACCOUNT, DEFAULT_KEY), retry_total=0))
    found(one, rb"POST /jobs/risk/terminate 202")
    one.press(b":requests\r")
    assert found(one, rb"AZURE_BATCH_ACCESS_KEY=(\S+=)") == DEFAULT_KEY
    found(one, rb"azsdk-python-batch/15")
    escape(one)
    one.press(b"\x03")
    assert one.end() == 130
    assert one.is_as_before
    lines = (tmp_path / "requests.txt").read_text().splitlines()
    assert any(re.fullmatch(r"POST /jobs/risk/terminate 202 - [\d.]+", line) for line in lines)
    replay = Simulation(load_scenario(str(tmp_path / "session.yaml")))
    replay.run_until(replay.end_ms)
    job = replay.world.jobs.find("risk")
    assert job is not None
    assert job.counts[3] == 4


def test_with_tls_the_library_sends_tokens_and_the_screen_names_the_certificate(opened):
    """As above, with time that passes."""
    one, url = opened("--tls", "--any-key", "--speed", "600")
    assert url.startswith("https://")
    one.press(b":requests\r")
    authority = found(one, rb"REQUESTS_CA_BUNDLE=(\S+ca\.pem)")
    escape(one)
    play(one, BatchClient(url, AnyToken(), connection_verify=authority, retry_total=0))
    found(one, rb"POST /jobs/risk/terminate 202")
    one.press(b"\x03")
    assert one.end() == 130
    assert one.is_as_before
