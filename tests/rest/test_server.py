"""The server as clients meet it: a process, a socket, the service's own client library, signals and files."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from azure.batch import BatchClient, models
from azure.core import MatchConditions
from azure.core.credentials import AccessToken, AzureNamedKeyCredential
from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError

from engine import Simulation, load_scenario
from engine.rest.service import DEFAULT_ACCOUNT, DEFAULT_KEY
from tui.cli import main
from tui.cli.serve import read_options, serve

needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
POLL_S = 0.01


class Served:
    """A server in a process of its own."""

    def __init__(self, process, url):
        self.process = process
        self.url = url
        self.address = urlsplit(url).netloc
        credential = AzureNamedKeyCredential(DEFAULT_ACCOUNT, DEFAULT_KEY)
        self.client = BatchClient(url, credential, retry_total=0)

    def end(self, number=signal.SIGINT):
        """Send a signal; return the exit status and what was printed since the address."""
        self.process.send_signal(number)
        said = self.process.stderr.read()
        return self.process.wait(timeout=30), said


@contextmanager
def serving(*options):
    command = [sys.executable, "-m", "tui", "serve", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            first = process.stderr.readline()
            assert first.startswith(("listening on http://127.0.0.1:", "listening on https://127.0.0.1:")), (
                first + process.stderr.read()
            )
            yield Served(process, first.split()[-1])
        finally:
            if process.poll() is None:
                process.kill()


@pytest.fixture(scope="module")
def served():
    """A server for tests that leave nothing behind that matters to another one."""
    with serving("--port", "0", "--step", "PT1S") as one:
        yield one


def a_pool(pool_id, nodes=2):
    image = models.BatchVmImageReference(publisher="Canonical", offer="0001-com-ubuntu-server-jammy", sku="22_04-lts")
    machine = models.VirtualMachineConfiguration(image_reference=image, node_agent_sku_id="batch.node.ubuntu 22.04")
    return models.BatchPoolCreateOptions(
        id=pool_id, vm_size="standard_d2s_v3", target_dedicated_nodes=nodes, virtual_machine_configuration=machine
    )


def a_job(job_id, pool_id):
    return models.BatchJobCreateOptions(
        id=job_id,
        pool_info=models.BatchPoolInfo(pool_id=pool_id),
        job_preparation_task=models.BatchJobPreparationTask(command_line="/bin/sh -c 'echo prepared'"),
        job_release_task=models.BatchJobReleaseTask(command_line="/bin/sh -c 'echo released'"),
    )


@pytest.mark.parametrize("clock", [("--step", "PT10S"), ("--speed", "1")], ids=lambda clock: clock[0])
def test_the_calendar_begins_now_and_only_with_a_step_at_a_fixed_time(clock):
    with serving("--port", "0", *clock) as served:
        served.client.create_job(models.BatchJobCreateOptions(id="j", pool_info=models.BatchPoolInfo(pool_id="p")))
        created = served.client.get_job("j").creation_time
    if "--step" in clock:
        assert f"{created:%Y-%m-%d %H:%M}" == "2026-01-05 08:00"
    else:
        assert abs(datetime.now(UTC) - created).total_seconds() < 60


@needs_posix
def test_the_client_library_plays_the_sample_and_the_saved_session_replays_to_the_same_log(tmp_path):
    """Pool, job with preparation and release, tasks, termination, deletion, as in the JobPrepRelease sample."""
    save, requests = tmp_path / "session.yaml", tmp_path / "requests.txt"
    with serving("--port", "0", "--step", "PT10S", "--save", str(save), "--requests", str(requests)) as served:
        client = served.client
        client.create_pool(a_pool("shared"))
        client.create_job(a_job("risk", "shared"))
        for number in range(8):
            client.create_task("risk", models.BatchTaskCreateOptions(id=f"deal-{number}", command_line="price"))
        while any(task.state != "completed" for task in client.list_tasks("risk", max_results=3)):
            pass
        assert [task.execution_info.exit_code for task in client.list_tasks("risk")] == [0] * 8
        client.begin_terminate_job("risk", {"terminateReason": "done"}, polling_interval=POLL_S).result()
        assert client.get_job("risk").execution_info.termination_reason == "done"
        hooks = list(client.list_job_preparation_and_release_task_status("risk"))
        assert {hook.job_release_task_execution_info.result for hook in hooks} == {"success"}
        client.begin_delete_job("risk", polling_interval=POLL_S).result()
        client.begin_delete_pool("shared", polling_interval=POLL_S).result()
        assert list(client.list_pools()) == []
        status, said = served.end()
    assert status == 128 + signal.SIGINT
    assert f"The session is saved in {save}" in said
    first = requests.read_text().splitlines()[0].split()
    assert first[:4] == ["POST", "/pools", "201", "-"]
    assert float(first[4]) > 0
    replay = Simulation(load_scenario(str(save)))
    replay.run_until(replay.end_ms)
    replay.finish()
    log = [json.loads(line) for line in replay.json_lines()]
    assert [event["command"] for event in log if event["event"] == "CommandAccepted"] == [
        "createPool", "createJob", *["addTasks"] * 8, "terminateJob", "deleteJob", "deletePool",
    ]  # fmt: skip
    assert replay.refusals == []


def test_errors_are_those_that_the_client_library_expects(served):
    client = served.client
    client.create_pool(a_pool("twice", 0))
    with pytest.raises(ResourceExistsError, match="PoolExists"):
        client.create_pool(a_pool("twice", 0))
    with pytest.raises(ResourceNotFoundError, match="JobNotFound"):
        client.get_job("nobody")
    pool = client.get_pool("twice")
    client.update_pool("twice", models.BatchPoolUpdateOptions(metadata=[models.BatchMetadataItem(name="a", value="b")]))
    with pytest.raises(ResourceModifiedError, match="ConditionNotMet"):
        client.begin_delete_pool("twice", etag=pool.etag, match_condition=MatchConditions.IfNotModified)


def test_an_endpoint_may_end_in_a_slash(served):
    client = BatchClient(f"{served.url}/", AzureNamedKeyCredential(DEFAULT_ACCOUNT, DEFAULT_KEY), retry_total=0)
    assert [pool.id for pool in client.list_pools(filter="id eq 'a+b %'")] == []


def test_health_needs_no_key_and_everything_else_does(served):
    with closing(http.client.HTTPConnection(served.address)) as connection:
        for path, status in (("/healthz", 200), ("/pools?api-version=2025-06-01", 401), ("/nothing", 404)):
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status
            if path != "/healthz":
                assert answer.headers.get_all("Server") == ["Microsoft-HTTPAPI/2.0"]
                assert len(answer.headers.get_all("Date")) == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\xff\x00\xff\r\n\r\n",
        b"GET /pools HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /pools HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"POST /pools HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /pools HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /pools/%ff/../../etc HTTP/1.1\r\nHost: \xff\r\nConnection: close\r\n\r\n",
    ],
    ids=range(7),
)
def test_nonsense_on_the_wire_is_refused_or_closed_and_others_are_served(served, sent):
    host, _, port = served.address.partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert not answer or b" 4" in answer.splitlines()[0]
    assert list(served.client.list_jobs()) == []


def test_a_body_that_is_too_large_is_refused_before_it_is_read(served):
    with closing(http.client.HTTPConnection(served.address)) as connection:
        connection.putrequest("POST", "/pools?api-version=2025-06-01")
        connection.putheader("Content-Length", str(1 << 40))
        connection.putheader("Authorization", "Bearer x")
        connection.endheaders()
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["code"]) == (413, "RequestBodyTooLarge")


def test_many_idle_connections_do_not_keep_others_from_being_served(served):
    host, _, port = served.address.partition(":")
    idle = [socket.create_connection((host, int(port))) for _ in range(300)]
    try:
        for one in idle[::2]:
            one.sendall(b"POST /pools HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
        assert list(served.client.list_jobs()) == []
    finally:
        for one in idle:
            one.close()


@needs_posix
def test_a_bearer_token_is_taken_over_tls_with_the_authority_that_is_printed():
    class Credential:
        def get_token(self, *scopes, **_):
            assert scopes == ("https://batch.core.windows.net//.default",)
            return AccessToken("anything", int(time.time()) + 3600)

    with serving("--port", "0", "--tls", "--any-key") as served:
        assert served.url.startswith("https://127.0.0.1:")
        lines = iter(served.process.stderr.readline, "")
        authority = (
            next(line for line in lines if line.startswith("export REQUESTS_CA_BUNDLE=")).strip().partition("=")[2]
        )
        with BatchClient(served.url, Credential(), connection_verify=authority, retry_total=0) as client:
            assert list(client.list_pools()) == []
        assert served.end()[0] == 128 + signal.SIGINT
    assert not Path(authority).exists()


@needs_posix
def test_without_a_port_a_free_one_is_taken_and_sigterm_is_143():
    with serving("--quiet") as first, serving() as second:
        assert first.url != second.url
        assert first.end(signal.SIGTERM) == (128 + signal.SIGTERM, "")
        status, said = second.end(signal.SIGTERM)
        assert status == 128 + signal.SIGTERM
        assert f"export AZURE_BATCH_ENDPOINT={second.url}\n" in said
        assert f"export AZURE_BATCH_ACCESS_KEY={DEFAULT_KEY}\n" in said


def test_a_session_that_no_signal_has_ended_leaves_no_file(tmp_path):
    save = tmp_path / "session.yaml"
    with serving("--port", "0", "--save", str(save)) as served:
        served.process.kill()
        served.process.wait()
    assert not save.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--speed", "1", "--step", "PT1S"], "exclude each other"),
        (["--key", "AAAA", "--any-key"], "exclude each other"),
        (["--speed", "max"], "must be a number above 0"),
        (["--key", "!"], "must be base64"),
        (["--step", "soon"], "is not an ISO 8601 duration"),
        (["--keep-files", "soon"], "--keep-files: 'soon' is not an ISO 8601 duration"),
        (["--keep-files=-PT1M"], "--keep-files: a time must not be negative, but is '-PT1M'"),
        (["nowhere.yaml"], "no such file"),
        (["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
        (["--save", "/no/such/folder/s.yaml"], "cannot write"),
        (["--requests", "/no/such/folder/r.txt"], "cannot write"),
    ],
)
def test_a_wrong_call_ends_with_status_2(options, said, capsys):
    assert main(["serve", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "kept_s"),
    [
        ([], 60),
        (["--step", "PT10S"], 0),
        (["--keep-files", "PT0S"], 0),
        (["--keep-files", "PT5M", "--step", "PT1S"], 300),
    ],
)
def test_files_of_auto_pools_are_kept_for_a_minute_unless_only_requests_move_time(options, kept_s):
    given = serve.make_context("serve", options).params
    scenario = given.pop("scenario")
    chosen = read_options(scenario, given, speed=given["speed"], seed=None, quiet=False)
    assert chosen.keep_files_s == kept_s


def test_a_port_that_is_taken_is_told(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    assert f"cannot listen on port {port} of 127.0.0.1" in capsys.readouterr().err


def test_without_the_extra_one_sentence_says_how_to_install_it():
    program = "import sys; sys.modules['uvicorn'] = None; from tui.cli import main; sys.exit(main(['serve']))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert "serve needs uvicorn, which is not installed: pip install 'batchdeck[serve]'" in ended.stderr
