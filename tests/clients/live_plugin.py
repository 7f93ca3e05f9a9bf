"""A pytest plugin for the live tests in the source distributions of azure-batch, which then run against batchdeck.

Microsoft's tests are not changed. They import a test framework that is not published and create accounts and pools in
a subscription; this plugin has modules of the same names ready, whose accounts are servers on loopback, one per test.
It runs in the environment of the client library and uses nothing but the standard library.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import hmac
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import types
import urllib.request
from email.utils import formatdate
from pathlib import Path
from typing import NamedTuple

ACCOUNT = "localbatch"
KEY = "bG9jYWwtYmF0Y2gta2V5LTAxMjM0NTY3ODk="
API = "2024-07-01.20.0"
STEP = "PT10S"

_POLL_S = 0.01
_LINUX = {
    "imageReference": {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"},
    "nodeAgentSKUId": "batch.node.ubuntu 22.04",
}
_WINDOWS = {
    "imageReference": {
        "publisher": "MicrosoftWindowsServer",
        "offer": "WindowsServer",
        "sku": "2016-Datacenter-smalldisk",
    },
    "nodeAgentSKUId": "batch.node.windows amd64",
}
_WITH_APPLICATION = """\
scenario: account-with-storage
account:
  applications:
    - {id: application_id, versions: [v1.0]}
"""


class _Address(str):
    """An endpoint on loopback, which the tests take for one with TLS: they prefix any other with https."""

    __slots__ = ()

    def startswith(self, prefix, *where):
        return prefix == "https://" or super().startswith(prefix, *where)


class _Account(NamedTuple):
    name: str
    account_endpoint: str


class _Named(NamedTuple):
    name: str
    id: str


def _request(address: str, method: str, path: str, body: object = None) -> dict:
    """Return the answer of the account to a request of the framework itself."""
    data = None if body is None else json.dumps(body).encode()
    length, kind, date = str(len(data or "") or ""), "application/json", formatdate(usegmt=True)
    signed = [
        method,
        "",
        "",
        length,
        "",
        kind,
        *[""] * 6,
        f"ocp-date:{date}",
        f"/{ACCOUNT}{path}",
        f"api-version:{API}",
    ]
    proof = base64.b64encode(hmac.digest(base64.b64decode(KEY), "\n".join(signed).encode(), "sha256")).decode()
    headers = {"Authorization": f"SharedKey {ACCOUNT}:{proof}", "Content-Type": kind, "ocp-date": date}
    request = urllib.request.Request(f"{address}{path}?api-version={API}", data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else {}


class _Preparer:
    """Decorates a test: gives it a resource as an argument, and removes it afterwards."""

    def __init__(self, *_: object, **options: object) -> None:
        self.options = options

    def __call__(self, test):
        @functools.wraps(test)
        def prepared(instance, **given):
            made, remove = self.make(given)
            try:
                result = test(instance, **given, **made)
                return asyncio.run(result) if inspect.iscoroutine(result) else result
            finally:
                remove()

        return prepared

    def make(self, given: dict) -> tuple[dict, object]:  # noqa: ARG002
        """Return the arguments for the test, and a function that removes what was made."""
        return {}, lambda: None


class StorageAccountPreparer(_Preparer):
    def make(self, given):  # noqa: ARG002
        return {"storage_account": _Named("storage", "storage")}, lambda: None


class AccountPreparer(_Preparer):
    """The account is a server of its own."""

    def make(self, given):
        command = shlex.split(os.environ["BATCHDECK_SERVE"])
        directory = tempfile.TemporaryDirectory()
        if "storage_account" in given:
            scenario = Path(directory.name, "account.yaml")
            scenario.write_text(_WITH_APPLICATION, encoding="utf-8")
            command.append(str(scenario))
        command += ["--port", "0", "--step", STEP, "--quiet"]
        tree = os.environ["BATCHDECK_TREE"]
        environment = os.environ | {"PYTHONPATH": tree}
        process = subprocess.Popen(command, cwd=tree, env=environment, stderr=subprocess.PIPE, text=True)
        first = process.stderr.readline()
        listening = re.match(r"listening on (\S+)", first)
        assert listening, first + process.stderr.read()
        address = _Address(listening[1])
        AzureMgmtRecordedTestCase.address = address

        def remove():
            process.terminate()
            rest = process.stderr.read()
            process.wait(timeout=30)
            directory.cleanup()
            assert "Traceback" not in rest, rest
            assert "unlike the schema" not in rest, rest  # see tests/clients/validating.py

        given.pop("storage_account", None)
        given.pop("resource_group", None)
        return {"batch_account": _Account(ACCOUNT, address), _credential_name(): _credential()}, remove


class PoolPreparer(_Preparer):
    """Create a pool as the management plane would, and wait until its nodes are there."""

    def make(self, given):
        address = given["batch_account"].account_endpoint
        name = self.options.get("pool_name") or "testpool"
        size = self.options.get("size", 0)
        machine = _WINDOWS if self.options.get("os") == "Windows" else _LINUX
        nat_pool = {
            "name": "ruleName",
            "protocol": "tcp",
            "backendPort": 3389,
            "frontendPortRangeStart": 15000,
            "frontendPortRangeEnd": 15100,
        }
        body = {
            "id": name,
            "displayName": "test_pool",
            "vmSize": "standard_d2_v2",
            "virtualMachineConfiguration": machine,
            "targetDedicatedNodes": size,
            "userAccounts": [{"name": "task-user", "password": "kt#_gahr!@aGERDXA", "elevationLevel": "admin"}],
            "networkConfiguration": {"endpointConfiguration": {"inboundNATPools": [nat_pool]}},
        }
        _request(address, "POST", "/pools", body)
        while _request(address, "GET", f"/pools/{name}")["currentDedicatedNodes"] < size:
            pass
        return {"batch_pool": _Named(name, name)}, lambda: None


class JobPreparer(_Preparer):
    """Create a job, on the pool of the test or on one of its own."""

    def make(self, given):
        address = given["batch_account"].account_endpoint
        if "batch_pool" in given:
            pool_info = {"poolId": given["batch_pool"].name}
        else:
            pool = {"vmSize": "standard_d2_v2", "virtualMachineConfiguration": _LINUX}
            pool_info = {"autoPoolSpecification": {"poolLifetimeOption": "job", "pool": pool}}
        mode = self.options.get("task_failure_mode") or self.options.get("on_task_failure")
        more = {"onTaskFailure": mode.value} if mode else {}
        _request(address, "POST", "/jobs", {"id": "testjob", "poolInfo": pool_info, **more})
        return {"batch_job": _Named("testjob", "testjob")}, lambda: None


class EnvironmentVariableLoader(_Preparer):
    """Gives the test the values that its subscription would have."""

    def __init__(self, _: str, **values: str) -> None:
        super().__init__()
        self.values = values

    def make(self, given):  # noqa: ARG002
        return dict(self.values), lambda: None


class AzureMgmtRecordedTestCase:
    """The base class of the tests."""

    is_live = True

    def get_credential(self, *_: object, **__: object):
        return _credential()

    def get_resource_name(self, name: str) -> str:
        return name


def _credential_name() -> str:
    return "credential" if _is_15() else "credentials"


def _is_15() -> bool:
    import azure.batch

    return hasattr(azure.batch, "BatchClient")


def _credential():
    if _is_15():
        from azure.core.credentials import AzureNamedKeyCredential

        return AzureNamedKeyCredential(ACCOUNT, KEY)
    from azure.batch.batch_auth import SharedKeyCredentials

    return SharedKeyCredentials(ACCOUNT, KEY)


def _nothing(*_: object, **__: object) -> None:
    """Stands for functions that only matter to recordings."""


def _live(test):
    return test


def _module(name: str, **content: object) -> None:
    module = types.ModuleType(name)
    module.__dict__.update(content)
    sys.modules[name] = module


def _sleep_less() -> None:
    """Let clients ask again at once: reading moves time on."""
    sleep, sleep_async = time.sleep, asyncio.sleep
    time.sleep = lambda seconds: sleep(min(seconds, _POLL_S))
    asyncio.sleep = lambda seconds, result=None: sleep_async(min(seconds, _POLL_S), result)


def pytest_configure(config) -> None:
    """Have everything ready before the tests are imported."""
    config.addinivalue_line("markers", "live_test_only: of Microsoft's framework")
    _sleep_less()
    _module(
        "devtools_testutils",
        __path__=[],
        AzureMgmtRecordedTestCase=AzureMgmtRecordedTestCase,
        AzureRecordedTestCase=AzureMgmtRecordedTestCase,
        CachedResourceGroupPreparer=_Preparer,
        EnvironmentVariableLoader=EnvironmentVariableLoader,
        ResourceGroupPreparer=_Preparer,
        StorageAccountPreparer=StorageAccountPreparer,
        recorded_by_proxy=_live,
        set_custom_default_matcher=_nothing,
        trim_kwargs_from_test_function=_nothing,
    )
    _module("devtools_testutils.fake_credentials", BATCH_TEST_PASSWORD="kt#_gahr!@aGERDXA")
    _module("devtools_testutils.helpers", is_live_and_not_recording=lambda: True)
    _module(
        "devtools_testutils.proxy_testcase",
        get_test_id=_nothing,
        start_record_or_playback=_nothing,
        stop_record_or_playback=_nothing,
        transform_request=_nothing,
    )
    preparers = {maker.__name__: maker for maker in (AccountPreparer, PoolPreparer, JobPreparer)}
    _module("batch_preparers", **preparers)
