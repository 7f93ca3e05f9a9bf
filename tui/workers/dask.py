"""The workers of a Dask cluster, as the client of the extra ``dask`` sees them."""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from distributed import Client, Worker, WorkerPlugin, get_worker
from distributed.client import ClosedClientError

from engine.studies.runs import Player, installed_version
from tui.workers.dispatch import Played, WorkersLost

if TYPE_CHECKING:
    from concurrent.futures import Future

    from engine.studies.runs import Run, Study

PATIENCE_S = 10
_COUNTED_S = 1.0  # between two questions to the scheduler
_LOGGERS = ("distributed", "distributed.client", "tornado.application")  # those that Dask gives a level of their own
# What the client raises when the scheduler does not answer any more; once it has closed itself, its scheduler is None.
_GONE = (OSError, TimeoutError, RuntimeError, ClosedClientError, AttributeError)


class ClusterUnreachable(Exception):
    """There is no cluster at an address, or its workers cannot play the runs of this version."""


class _StudyPlugin(WorkerPlugin):
    """Brings a study to each worker once, also to those that join later. The scenario is read there."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def setup(self, worker: Worker) -> None:  # noqa: ARG002 - the name is Dask's
        """Read the scenario."""
        self.player = Player(self._study)


class DaskWorkers(AbstractContextManager["DaskWorkers"]):
    """The workers of a Dask cluster. The cluster itself sends again what a dead worker had."""

    def __init__(self, study: Study, address: str) -> None:
        """Connect to the scheduler, and send the study to its workers.

        Raises:
            ClusterUnreachable: Nothing answers there, there are no workers, or they have another version.
        """
        for name in _LOGGERS:  # a cluster that goes is said in one sentence, not in tracebacks of the client
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = Client(address, timeout=PATIENCE_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterUnreachable(f"no Dask scheduler answers at {address}: {error}") from None
        try:
            self._check_versions(address)
            self._name = f"batchdeck-study-{uuid4().hex}"
            self._client.register_plugin(_StudyPlugin(study), name=self._name)
        except BaseException:
            self._client.close()
            raise
        self._executor = self._client.get_executor(pure=False)
        self._count, self._counted_s = 0, -_COUNTED_S

    def _check_versions(self, address: str) -> None:
        try:
            versions = set(self._client.run(installed_version).values())
        except ModuleNotFoundError as error:
            raise ClusterUnreachable(f"the workers at {address} do not have batchdeck: {error}") from None
        if not versions:
            raise ClusterUnreachable(f"the scheduler at {address} has no workers")
        own = installed_version()
        if versions != {own}:
            others = ", ".join(sorted(versions - {own}))
            raise ClusterUnreachable(f"workers at {address} have version {others} of batchdeck, this is {own}")

    @property
    def count(self) -> int:
        """The number of threads that play batches, on all workers, as it was a moment ago.

        Raises:
            WorkersLost: The scheduler does not answer any more.
        """
        now_s = time.monotonic()
        if now_s - self._counted_s >= _COUNTED_S:
            try:
                self._count = sum(self._client.nthreads().values())
            except _GONE:
                raise WorkersLost("the Dask cluster is gone") from None
            self._counted_s = now_s
        return self._count

    def submit(self, runs: tuple[Run, ...]) -> Future[Played[str]]:
        """Send a batch. Raises WorkersLost if the scheduler does not answer any more."""
        try:
            played: Future[Played[str]] = self._executor.submit(_play, self._name, runs)
        except _GONE:
            raise WorkersLost("the Dask cluster is gone") from None
        return played

    def renew(self) -> None:
        """Do nothing: the cluster replaces its workers by itself."""

    def __exit__(self, *_: object) -> None:
        with suppress(*_GONE):  # of a cluster that is gone there is nothing to clear
            self._executor.shutdown(wait=False)
            self._client.unregister_worker_plugin(self._name)
        with suppress(*_GONE):
            self._client.close(timeout=PATIENCE_S)


# -- on a worker -------------------------------------------------------------------------------------------------------


def _play(name: str, runs: tuple[Run, ...]) -> Played[str]:
    began_s = time.perf_counter()
    plugin = get_worker().plugins[name]
    assert isinstance(plugin, _StudyPlugin)
    return Played(plugin.player.play(runs), time.perf_counter() - began_s)
