"""A study on a Dask cluster: a real scheduler and two real workers on loopback, of which one is killed."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_study import RUNS, SEEDS, STUDY, TASKS, lines_of, wait_for, with_tasks
from tui.cli.commands import main

pytest.importorskip("distributed", reason="needs batchdeck[dask]")
ROOT = Path(__file__).parents[2]
THERE = os.environ | {"PYTHONPATH": str(ROOT)}


class Cluster:
    """A scheduler and its workers, each in a process of its own that nobody restarts."""

    def __init__(self, directory):
        self._directory = directory
        self._file = directory / "scheduler.json"
        self._processes = []
        self.scheduler = self._begin(
            "dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self._file)
        )
        self.address = json.loads(wait_for(self._written))["address"]
        self.workers = [self.begin_worker() for _ in range(2)]

    def _written(self):
        text = self._file.read_text() if self._file.exists() else ""
        return text if text.rstrip().endswith("}") else ""

    def begin_worker(self):
        return self._begin("dask_worker", self.address, "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1")

    def _begin(self, program, *arguments):
        command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments, "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, cwd=self._directory, env=THERE, **quiet)
        self._processes.append(process)
        return process

    def wait_for_workers(self, count):
        from distributed import Client

        with Client(self.address, timeout=20, set_as_default=False) as client:
            client.wait_for_workers(count, timeout=30)

    def end(self):
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def started():
    """The clusters that there were, which all end with the last test."""
    clusters = []
    yield clusters
    for each in clusters:
        each.end()


@pytest.fixture
def cluster(started, tmp_path_factory):
    """A cluster that other tests use too: another one only after a test has ended its scheduler."""
    if not started or started[-1].scheduler.poll() is not None:
        started.append(Cluster(tmp_path_factory.mktemp("dask")))
        started[-1].wait_for_workers(2)
    return started[-1]


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """A directory with the scenario, and with the results of its study on this machine."""
    directory = tmp_path_factory.mktemp("night")
    (directory / "night.yaml").write_text(with_tasks(TASKS) + STUDY)
    done = study(directory, "--results", "here.jsonl", "--workers", "2").communicate(timeout=120)
    return directory, done[0]


def study(directory, *arguments):
    """The study as a process."""
    command = [sys.executable, "-m", "tui", "study", "night.yaml", "--seeds", SEEDS, "--output", "json", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=directory, env=THERE, **pipes)


def test_a_killed_worker_costs_no_result_and_changes_none(cluster, night):
    directory, here = night
    path = directory / "there.jsonl"
    process = study(directory, "--results", "there.jsonl", "--dask", cluster.address)
    wait_for(lambda: path.exists() and path.read_text().count("\n") > 3)
    cluster.workers[0].kill()
    out, err = process.communicate(timeout=120)
    assert (out, process.returncode) == (here, 1), err
    assert lines_of(path) == lines_of(directory / "here.jsonl")


def test_a_worker_that_joins_later_gets_the_study(cluster, night):
    directory, here = night
    process = study(directory, "--dask", cluster.address)
    cluster.begin_worker()
    assert process.communicate(timeout=120)[0] == here
    assert process.returncode == 1


def test_ctrl_c_keeps_what_is_done(cluster, night):
    directory, _ = night
    path = directory / "cut.jsonl"
    process = study(directory, "--results", "cut.jsonl", "--dask", cluster.address)
    wait_for(lambda: path.exists() and path.read_text().count("\n") > 3)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - began < 20
    assert (out, process.returncode) == ("", 130)
    assert "they are in cut.jsonl, and the same command goes on." in err
    assert 3 < len(lines_of(path)) < RUNS


def test_an_address_without_a_cluster_is_wrong_input(night, monkeypatch, capsys):
    from tui.workers import dask

    monkeypatch.chdir(night[0])
    monkeypatch.setattr(dask, "PATIENCE_S", 1)
    assert main(["study", "night.yaml", "--dask", "tcp://127.0.0.1:9"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err
    for name in ("distributed", "distributed.client", "tornado.application"):  # they log tracebacks of lost connections
        assert not logging.getLogger(name).isEnabledFor(logging.ERROR), name
    assert main(["study", "night.yaml", "--dask", "nonsense://"]) == 2
    assert "--dask" in capsys.readouterr().err


def test_a_scheduler_that_ends_ends_the_study(cluster, tmp_path):
    (tmp_path / "night.yaml").write_text(with_tasks(TASKS) + STUDY)
    path = tmp_path / "r.jsonl"
    process = study(tmp_path, "--results", "r.jsonl", "--dask", cluster.address)
    wait_for(lambda: path.exists() and path.read_text().count("\n") > 3)
    cluster.scheduler.kill()
    cluster.scheduler.wait()
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == ("", 1)
    assert re.search(
        rf"^Error: the Dask cluster is gone, after \d+ of {RUNS} runs; they are in r.jsonl, ", err, re.MULTILINE
    )
    assert "Traceback" not in err
