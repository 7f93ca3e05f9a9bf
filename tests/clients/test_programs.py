"""Programs as they are, run by ``serve --proxy --run``: all that they are told is in their environment."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.rest.hosts import authority
from engine.rest.service import DEFAULT_KEY
from tests.clients import environments
from tests.clients.served import AZ, needs

PROGRAMS = Path(__file__).with_name("programs")
TREE = Path(__file__).parents[2]
TENANT, CLIENT = "22222222-2222-2222-2222-222222222222", "11111111-1111-1111-1111-111111111111"
SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
ME = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.ManagedIdentity/userAssignedIdentities/me"
CONTAINERS = """scenario: containers
pools:
  - id: containers
    vmSize: standard_d2s_v3
    targetDedicatedNodes: 1
    virtualMachineConfiguration:
      imageReference: {publisher: microsoft-dsvm, offer: ubuntu-hpc, sku: '2204', version: latest}
      nodeAgentSKUId: batch.node.ubuntu 22.04
      containerConfiguration: {type: dockerCompatible}
"""


def run(directory, *command, options=(), **variables):
    """Run a program with a server of its own; return what it prints."""
    serve = [sys.executable, "-m", "tui", "serve", *options, "--quiet", "--port", "0", "--proxy", "0"]
    clock = () if "--speed" in options else ("--speed", "600")
    whole = [*serve, *clock, "--requests", str(directory / "requests.txt"), "--run", "--", *map(str, command)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AZURE_")}
    environment |= {"PYTHONPATH": str(TREE), **variables}
    done = subprocess.run(
        whole, cwd=directory, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    requests = (directory / "requests.txt").read_text(encoding="utf-8")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{requests}"
    return done.stdout


def python(name, directory, script, **more):
    return run(directory, environments.program(name, "python"), PROGRAMS / script, **more)


def node(name, directory, script):
    """Run a script of Node.js, which looks for packages beside it."""
    shutil.copy(PROGRAMS / script, directory)
    (directory / "node_modules").symlink_to(environments.place_of(name) / "node_modules")
    return run(directory, "node", script)


@pytest.fixture
def pem():
    """A certificate of its own making, and its key."""
    with authority() as own:
        yield own.certificate(["127.0.0.1"])


@contextmanager
def azurite(directory, pem=None):
    """An emulator of storage with the account ``store``, over TLS with ``pem``: it takes tokens that way alone."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    program = environments.place_of("azurite") / "node_modules" / ".bin" / "azurite-blob"
    command = [program, "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"]
    command += ["--blobPort", str(port)]
    command += [] if pem is None else ["--oauth", "basic", "--cert", pem, "--key", pem]
    environment = os.environ | {"AZURITE_ACCOUNTS": f"store:{DEFAULT_KEY}"}
    with subprocess.Popen(command, cwd=directory, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                with socket.socket() as asking:
                    if asking.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield ("--storage", f"{'http' if pem is None else 'https'}://127.0.0.1:{port}")
        finally:
            process.terminate()


@needs("python-7")
def test_an_old_client_logs_in_and_reads_answers_of_its_own_version(tmp_path):
    said = python("python-7", tmp_path, "old_python.py")
    assert said.splitlines() == ["key 7 120 120 2", "principal 7 120 120 2"]


@needs("javascript-9")
def test_the_old_client_for_javascript(tmp_path):
    assert node("javascript-9", tmp_path, "old_javascript.cjs").splitlines() == ["0 0 0", "3"]


@needs("javascript-management")
def test_the_management_plane_for_javascript(tmp_path):
    assert node("javascript-management", tmp_path, "management.mjs").splitlines() == ["batchdeck made Succeeded 3"] * 2


@needs("templates")
def test_a_task_factory_of_the_extensions_of_the_cli(tmp_path):
    assert python("templates", tmp_path, "templates.py").splitlines()[-1] == "20 {0}"


@needs("airflow")
def test_the_operator_of_airflow_in_its_deferrable_form(tmp_path):
    said = python("airflow", tmp_path, "deferrable.py", options=("--speed", "300"), AIRFLOW_HOME=str(tmp_path))
    assert said.splitlines()[-1] == "deferred and ended: success"


@needs("custodian")
def test_a_policy_of_cloud_custodian_finds_the_account(tmp_path):
    login = {"AZURE_TENANT_ID": TENANT, "AZURE_CLIENT_ID": CLIENT, "AZURE_CLIENT_SECRET": "any"}
    program = environments.program("custodian", "custodian")
    policy = PROGRAMS / "custodian.yaml"
    run(tmp_path, program, "run", "-s", "out", policy, AZURE_SUBSCRIPTION_ID=SUBSCRIPTION, **login)
    assert '"accountEndpoint": "localbatch.westeurope.batch.azure.com"' in (
        tmp_path / "out" / "many-pools" / "resources.json"
    ).read_text(encoding="utf-8")


@needs("az")
def test_the_azure_cli_logs_in_and_finds_the_account(tmp_path):
    path = f"{environments.program('az', 'az').parent}{os.pathsep}{os.environ['PATH']}"
    said = run(tmp_path, "sh", PROGRAMS / "login.sh", PATH=path, AZURE_CONFIG_DIR=str(tmp_path / "azure"), **AZ)
    assert said.splitlines()[-2:] == ["Active", "p"]
    assert (tmp_path / "said.txt").read_text(encoding="utf-8") == "hello\n"


@needs("python-15")
def test_real_programs_write_files_and_a_job_manager_adds_tasks(tmp_path):
    options = ("--execute", "--sandbox", "process")
    said = python("python-15", tmp_path, "real_15.py", options=options)
    assert said.splitlines() == ["sample", "files", "refused 403 6 12 18"]


def snakemake_settings(directory, connection):
    """Return the variables of Snakemake's plugins for Azure, with the connection string of the emulator."""
    return {
        "SNAKEMAKE_AZURE_BATCH_ACCOUNT_URL": "https://localbatch.westeurope.batch.azure.com",
        "SNAKEMAKE_AZURE_BATCH_RESOURCE_GROUP_NAME": "rg",
        "SNAKEMAKE_AZURE_BATCH_SUBSCRIPTION_ID": SUBSCRIPTION,
        "SNAKEMAKE_AZURE_BATCH_MANAGED_IDENTITY_RESOURCE_ID": ME,
        "SNAKEMAKE_AZURE_BATCH_MANAGED_IDENTITY_CLIENT_ID": CLIENT,
        "SNAKEMAKE_STORAGE_AZURE_ACCOUNT_NAME": "store",
        "AZURITE_CONNECTION_STRING": f"AccountName=store;AccountKey={DEFAULT_KEY};{connection}",
        "XDG_CACHE_HOME": str(directory),
    }


SNAKEMAKE = ("--executor", "azure-batch", "--jobs", "3", "--default-storage-provider", "azure")


@needs("azurite")
@needs("snakemake")
def test_a_workflow_of_snakemake(tmp_path, pem):
    shutil.copy(PROGRAMS / "Snakefile", tmp_path)
    settings = snakemake_settings(tmp_path, "DefaultEndpointsProtocol=https;EndpointSuffix=core.windows.net")
    program = environments.program("snakemake", "snakemake")
    command = [program, *SNAKEMAKE]
    with azurite(tmp_path, pem) as storage:
        run(
            tmp_path, *command, "--default-storage-prefix", "az://store/work", "prepare", "analyse", "all",
            options=storage, **settings,
        )  # fmt: skip
    requests = (tmp_path / "requests.txt").read_text(encoding="utf-8")
    assert requests.count("/tasks 201 ") == 3
    assert requests.count("DELETE /") == 2


@needs("azurite")
@needs("snakemake")
def test_a_workflow_of_snakemake_that_really_runs(tmp_path):
    """Its tasks install a package with pip, so they need the registry of PyPI, and find the emulator by its address."""
    shutil.copy(PROGRAMS / "real.smk", tmp_path / "Snakefile")
    program = environments.program("snakemake", "snakemake")
    with azurite(tmp_path) as storage:
        settings = snakemake_settings(tmp_path, f"BlobEndpoint={storage[1]}/store")
        settings["PATH"] = f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
        passed = [word for name in ("AZURITE_CONNECTION_STRING", "PIP_CERT") for word in ("--pass", name)]
        options = (*storage, "--execute", "--sandbox", "process", *passed, "--speed", "60")
        command = [program, *SNAKEMAKE, "--default-storage-prefix", "az://store/work"]
        run(tmp_path, *command, options=options, **settings)
        ask = "import sys; from azure.storage.blob import BlobClient as B; "
        ask += "print(B.from_connection_string(sys.argv[1], 'store', 'work/result.txt').download_blob().readall())"
        python_of = environments.program("snakemake", "python")
        said = subprocess.run(
            [python_of, "-c", ask, settings["AZURITE_CONNECTION_STRING"]], capture_output=True, text=True, check=True
        )
    assert said.stdout == "b'130\\n'\n"


@needs("azurite")
@needs("covalent")
def test_a_function_that_covalent_runs_in_a_container(tmp_path, pem):
    (tmp_path / "containers.yaml").write_text(CONTAINERS, encoding="utf-8")
    with azurite(tmp_path, pem) as storage:
        options = ("containers.yaml", *storage)
        said = python("covalent", tmp_path, "executor.py", options=options, HOME=str(tmp_path))
    assert said.splitlines()[-1] == "('it came back', None)"
