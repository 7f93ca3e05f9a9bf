"""Clients of Azure Batch that the tests run, each in an environment of its own.

``python -m tests.clients.environments [NAME...]`` installs them, by default all, into ``.clients`` or into the
directory that ``BATCHDECK_CLIENTS`` names. Whatever cannot be installed is listed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(os.environ.get("BATCHDECK_CLIENTS", Path(__file__).parents[2] / ".clients")).resolve()


class Client(NamedTuple):
    """A client: its packages, and the source distribution whose live tests run, if there is one."""

    packages: tuple[str, ...]
    source: str = ""
    needs: str = ""


CLIENTS = {
    "python-15": Client(
        ("azure-batch==15.1.0", "aiohttp==3.14.5", "pytest==8.4.2", "six==1.17.0"), source="azure-batch==15.1.0"
    ),
    "python-14": Client(("azure-batch==14.2.0", "pytest==8.4.2"), source="azure-batch==14.2.0"),
    "login": Client(("azure-identity==1.27.0", "azure-mgmt-batch==19.0.0", "azure-batch==15.1.0")),
    "az": Client(("azure-cli==2.91.0",)),
    "airflow": Client(("apache-airflow==3.3.2", "apache-airflow-providers-microsoft-azure==15.2.1")),
    "javascript": Client(("@azure/batch@10.2.0",), needs="npm"),
    "python-7": Client(("azure-batch==7.0.0", "azure-common==1.1.28", "msrestazure==0.6.4.post1")),
    "snakemake": Client(
        ("snakemake==9.27.1", "snakemake-executor-plugin-azure-batch==0.3.0", "snakemake-storage-plugin-azure==0.4.4")
    ),
    "covalent": Client(("covalent-azurebatch-plugin==0.17.0",)),
    "custodian": Client(("c7n-azure==0.7.52",)),
    "templates": Client(("azure-batch-extensions==9.0.0", "azure-multiapi-storage==0.10.0")),
    "javascript-9": Client(("azure-batch@9.0.0",), needs="npm"),
    "javascript-management": Client(("@azure/arm-batch@9.1.0", "@azure/identity@4.14.1"), needs="npm"),
    "azurite": Client(("azurite@3.35.0",), needs="npm"),  # for those that need storage
}


_INSTALLER = "uv==0.13.9"  # pip needs minutes for the hundreds of packages of some clients


def place_of(name: str) -> Path:
    """Return the directory of a client."""
    return ROOT / name


def is_installed(name: str) -> bool:
    """Return whether a client has been installed completely."""
    return (place_of(name) / "installed").exists()


def program(name: str, program_name: str) -> Path:
    """Return a program in the environment of a Python client."""
    return place_of(name) / "venv" / ("Scripts" if os.name == "nt" else "bin") / program_name


def live_tests(name: str) -> Path:
    """Return the directory of Microsoft's live tests of a client library."""
    return place_of(name) / "tests"


def install(name: str) -> None:
    """Install a client anew."""
    client, place = CLIENTS[name], place_of(name)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if client.needs:
        command = [shutil.which(client.needs) or client.needs, "install", "--prefix", str(place)]
        _run(*command, "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", *client.packages)
    else:
        venv.create(place / "venv")
        python = ("--python", str(program(name, "python")))
        _run(_installer(), "pip", "install", "--quiet", "--no-cache", *python, *client.packages)
    if client.source:
        _unpack_tests(name, client.source)
    (place / "installed").touch()


def _installer() -> str:
    """Return the program that installs packages, which is installed first if need be."""
    uv = program("uv", "uv")
    if not uv.exists():
        venv.create(place_of("uv") / "venv", with_pip=True)
        _run(str(program("uv", "python")), "-m", "pip", "install", "--quiet", _INSTALLER)
    return str(uv)


def _unpack_tests(name: str, source: str) -> None:
    """Download a source distribution and take from it the tests, without the set-up of their own test framework."""
    with tempfile.TemporaryDirectory() as directory:
        options = ("--quiet", "--no-deps", "--no-binary", ":all:", "--dest", directory)
        _run(str(program("uv", "python")), "-m", "pip", "download", *options, source)
        (archive,) = Path(directory).glob("*.tar.gz")
        with tarfile.open(archive) as files:
            files.extractall(directory, filter="data")
        (tests,) = Path(directory).glob("*/tests")
        ours = shutil.ignore_patterns("conftest.py", "batch_preparers.py")
        shutil.copytree(tests, live_tests(name), ignore=ours)


def _run(*command: str) -> None:
    index = os.environ.get("PIP_INDEX_URL")
    subprocess.run(command, check=True, env=os.environ | ({"UV_DEFAULT_INDEX": index} if index else {}))


def main(names: list[str]) -> int:
    """Install clients, and say which are there; return 1 if one that was asked for cannot be installed."""
    missing = 0
    for name in names or list(CLIENTS):
        needs = CLIENTS[name].needs
        if needs and shutil.which(needs) is None:
            print(f"{name}: needs {needs}, which is not installed here")
            missing += 1
        elif is_installed(name):
            print(f"{name}: is in {place_of(name)}")
        else:
            try:
                install(name)
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"{name}: cannot be installed here: {error}")
                missing += 1
            else:
                print(f"{name}: installed in {place_of(name)}")
    return 1 if names and missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
