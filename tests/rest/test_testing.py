"""The account for tests of clients: the context manager, and the plugin of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import tomllib
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

import pytest
from azure.batch import BatchClient, models
from azure.core.credentials import AzureNamedKeyCredential
from azure.core.exceptions import HttpResponseError

from engine import ScenarioError, Simulation, load_scenario
from engine.rest.testing import local_account

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 22, 21, 30, tzinfo=UTC)
POOLS = "scenario: pools\npools:\n  - {id: shared, vmSize: standard_d2s_v3, targetDedicatedNodes: 2}\n"


@pytest.fixture
def pools(tmp_path):
    path = tmp_path / "pools.yaml"
    path.write_text(POOLS)
    return path


def client_of(account, **more):
    return BatchClient(account.endpoint, AzureNamedKeyCredential(account.name, account.key), retry_total=0, **more)


def play(account):
    """A client program: a job with two tasks, until both are completed."""
    client = client_of(account)
    client.create_job(models.BatchJobCreateOptions(id="risk", pool_info=models.BatchPoolInfo(pool_id="shared")))
    tasks = [models.BatchTaskCreateOptions(id=f"t{number}", command_line="price") for number in range(2)]
    client.create_tasks("risk", tasks)
    for _ in range(1000):
        if client.get_job_task_counts("risk").task_counts.completed == 2:
            return
    raise AssertionError("the tasks do not end")


def test_with_a_step_the_same_program_gives_the_same_log_on_any_day(pools):
    logs = []
    for _ in range(2):
        with local_account(pools, step="PT10S") as account:
            play(account)
            logs.append(list(account.simulation.json_lines()))
    assert logs[0] == logs[1]
    assert '"time":"2026-01-05T08:00:00' in logs[0][0]


def test_with_a_speed_the_calendar_begins_now(pools):
    with local_account(pools, speed=1) as account:
        assert abs((account.simulation.scenario.start - datetime.now(UTC)).total_seconds()) < 60


def test_a_client_acts_on_the_simulation_and_its_session_is_saved(pools, tmp_path):
    with local_account(pools, step="PT10S") as account:
        play(account)
        assert account.simulation.world.jobs.find("risk") is not None
        account.save(tmp_path / "session.yaml")
        lines = list(account.simulation.json_lines())
    replay = Simulation(load_scenario(str(tmp_path / "session.yaml")))
    replay.run_until(replay.end_ms)
    assert list(replay.json_lines()) == lines
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pools.yaml", "session.yaml"]


def test_the_same_client_program_gives_the_same_log(pools):
    logs = []
    for _ in range(2):
        with local_account(pools, step=5, seed=3, now=NOW) as account:
            play(account)
            logs.append(list(account.simulation.json_lines()))
    assert logs[0] == logs[1]
    assert len(logs[0]) > 10


def test_time_stands_still_between_requests_and_passes_on_demand():
    with local_account() as account:
        assert account.simulation.now_ms == 0
        account.advance("PT1H")
        assert account.simulation.now_ms == 3_600_000
        list(client_of(account).list_pools())
        assert account.simulation.now_ms == 3_610_000


def test_with_a_speed_time_passes_by_itself_and_the_simulation_is_called_in_its_thread(pools):
    with local_account(pools, speed=3600) as account:
        account.advance("PT30M")
        before_ms = account.call(lambda: account.simulation.now_ms)
        for _ in range(10_000):
            if account.call(lambda: account.simulation.now_ms) > before_ms:
                break
        assert account.call(lambda: account.simulation.now_ms) > before_ms >= 1_800_000
        assert account.call(threading.current_thread).name == "batchdeck"
        with pytest.raises(ZeroDivisionError):
            account.call(lambda: 1 / 0)


def test_after_the_block_the_server_is_gone_and_the_simulation_can_still_be_read_and_saved(pools, tmp_path):
    threads = threading.active_count()
    with local_account(pools) as account:
        play(account)
    assert threading.active_count() == threads
    with pytest.raises(Exception, match=r"Connection refused|Failed to establish"):
        list(client_of(account).list_pools())
    account.save(tmp_path / "later.yaml")
    assert "createJob" in (tmp_path / "later.yaml").read_text()


def test_with_any_key_clients_with_tokens_and_another_clock_are_answered(pools):
    headers = {"Authorization": "Bearer x", "ocp-date": "Mon, 05 Jan 1998 08:00:00 GMT"}
    for any_key, wanted in ((False, 401), (True, 200)):
        with local_account(pools, any_key=any_key) as account, closing(HTTPConnection(account.endpoint[7:])) as client:
            client.request("GET", "/pools?api-version=2025-06-01", headers=headers)
            assert client.getresponse().status == wanted


def test_the_name_and_key_are_checked(pools):
    key = "YW5vdGhlciBrZXk="
    with local_account(pools, name="mine", key=key) as account:
        assert account.environment == {
            "AZURE_BATCH_ACCOUNT": "mine",
            "AZURE_BATCH_ACCESS_KEY": key,
            "AZURE_BATCH_ENDPOINT": account.endpoint,
        }
        assert [pool.id for pool in client_of(account).list_pools()] == ["shared"]
        stranger = BatchClient(account.endpoint, AzureNamedKeyCredential("mine", "AAAA"), retry_total=0)
        with pytest.raises(HttpResponseError, match="AuthenticationFailed"):
            list(stranger.list_pools())


def test_two_accounts_at_once_have_nothing_in_common(pools):
    with local_account(pools) as one, local_account() as other:
        assert one.endpoint != other.endpoint
        assert [len(list(client_of(each).list_pools())) for each in (one, other)] == [1, 0]


@pytest.mark.parametrize("options", [{"step": 1, "speed": 2}, {"speed": 0}, {"step": "soon"}, {"step": -1}])
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError, match=r"step|speed|duration|negative"), local_account(**options):
        pass


def test_mistakes_of_the_scenario_are_raised(tmp_path):
    (tmp_path / "bad.yaml").write_text("scenario: bad\npool: []\n")
    with pytest.raises(ScenarioError), local_account(tmp_path / "bad.yaml"):
        pass


def test_the_plugin_is_declared():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    assert declared == {"batchdeck": "batchdeck.engine.rest.pytest_plugin"}


def test_the_fixture_serves_an_account_to_each_test(pools):
    tests = """
        import sys
        import pytest

        def test_nothing_is_imported_before_it_is_used():
            assert "starlette" not in sys.modules

        def test_empty(batch_account):
            assert batch_account.simulation.now_ms == 0
            assert not batch_account.simulation.scenario.pools

        @pytest.mark.batch_account("pools.yaml", step="PT1M", seed=5)
        def test_marked(batch_account):
            assert batch_account.simulation.seed == 5
            assert [pool.spec.id for pool in batch_account.simulation.scenario.pools] == ["shared"]

        @pytest.mark.batch_account("job-prep-release-sample")
        def test_bundled(batch_account):
            assert batch_account.simulation.scenario.name == "job-prep-release-sample"
    """
    (pools.parent / "test_mine.py").write_text(textwrap.dedent(tests))
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    plugin = ("-p", "engine.rest.pytest_plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, "--strict-markers", "test_mine.py"],
        cwd=pools.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr
