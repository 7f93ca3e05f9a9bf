"""The JobPrepRelease console sample (SAMPLE-1 to SAMPLE-7), with the bodies of the bundled scenario.

Like the original it is a client of the service, which submits commands, polls and reads REST bodies, in simulated time.
It prints the documented transcript, with the node ids and the distribution of tasks of this run.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine import BatchError, Simulation, load_scenario
from engine.base.terms import JobState, NodeState, TaskState
from engine.base.values import MINUTE_MS, SECOND_MS
from engine.specs.commands import AddTasks, CreateJob, CreatePool, DeleteJob, DeletePool, TerminateJob
from engine.views import results
from engine.views.rest import nodes
from tui.cli.arguments import echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.scenario.model import JobEntry
    from engine.specs.bodies import PoolSpec

SCENARIO = "job-prep-release-sample"
SHARED_FILE = r"shared\job_prep_and_release.txt"

# TIME-20
POLL_MS = 10 * SECOND_MS
TASKS_LIMIT_MS = 30 * MINUTE_MS
JOB_LIMIT_MS = 2 * MINUTE_MS


def play(*, answer_yes: bool) -> None:
    """Play the sample on an empty account, and print its transcript to stdout."""
    scenario = load_scenario(SCENARIO)
    empty = replace(scenario, pools=(), jobs=(), timeline=(), expect=())
    ask = _say_yes if answer_yes else _ask
    JobPrepReleaseSample(Simulation(empty), scenario.pools[0].spec, scenario.jobs[0]).main(ask)
    if not answer_yes and sys.stdin.isatty():
        sys.stdin.readline()


class JobPrepReleaseSample:
    """The sample's program, on a pool and a job with its tasks."""

    def __init__(self, simulation: Simulation, pool: PoolSpec, job: JobEntry) -> None:
        self._simulation = simulation
        self._pool = pool
        self._job = job

    def main(self, ask: Callable[[str], str]) -> None:
        """Play it from start to end (SAMPLE-3); ``ask`` prints a question and returns the answer."""
        self._create_pool()
        self._submit_job_and_tasks()
        done = TaskState.COMPLETED.wire
        if self._wait(lambda: all(task["state"] == done for task in self._job_body()["tasks"]), TASKS_LIMIT_MS):
            echo("All tasks completed.")
        else:
            echo("One or more tasks failed to reach the Completed state within the timeout period.")
        echo()
        self._print_shared_files()
        self._terminate_job()
        self._print_exit_codes()
        if _is_yes(ask("Delete job? [yes] no")):
            self._simulation.submit(DeleteJob(job_id=self._job.spec.id))
        if _is_yes(ask("Delete pool? [yes] no")):
            self._simulation.submit(DeletePool(pool_id=self._pool.id))
        echo()
        echo("Sample complete, hit ENTER to exit...")

    def _create_pool(self) -> None:
        pool = self._pool
        echo(f"Attempting to create pool: {pool.id}")
        try:
            self._simulation.submit(CreatePool.from_wire(pool.written()))
        except BatchError as error:
            if error.code != "PoolExists":
                raise
            echo("The pool already existed when we tried to create it")
        else:
            echo(f"Created pool {pool.id} with {pool.target_dedicated_nodes} {pool.vm_size} nodes")

    def _submit_job_and_tasks(self) -> None:
        job = self._job
        echo(f"Checking for existing job {job.spec.id}...")
        if self._job_body() is None:
            echo(f"Job {job.spec.id} not found, creating...")
            self._simulation.submit(CreateJob.from_wire(job.spec.written()))
        echo("Submitting tasks and awaiting completion...")
        tasks = job.tasks
        if job.factory is not None:
            tasks += tuple(map(job.factory.spec, range(job.factory.count)))
        self._simulation.submit(AddTasks(job_id=job.spec.id, tasks=tasks))

    def _print_shared_files(self) -> None:
        """Print the shared file of each node. A node that has run no task has none (SAMPLE-5)."""
        path = SHARED_FILE.replace("\\", "/")
        texts = {node_id: text for _, node_id, name, text in nodes.tree(self._simulation) if name == path}
        for node in self._body("pools", self._pool.id)["nodes"]:
            if node["state"] == NodeState.IDLE.wire and node["id"] in texts:
                echo(f"Contents of {SHARED_FILE} on {node['id']}:")
                echo("-------------------------------------------")
                for line in texts[node["id"]].splitlines():
                    echo(line.rstrip())
                echo()

    def _terminate_job(self) -> None:
        self._simulation.submit(TerminateJob(job_id=self._job.spec.id))
        echo(f"Waiting for job {self._job.spec.id} to reach state Completed")
        self._wait(lambda: bool(self._job_body()["state"] == JobState.COMPLETED.wire), JOB_LIMIT_MS, dots=True)
        echo("\n")

    def _print_exit_codes(self) -> None:
        for entry in self._job_body()["jobPreparationAndReleaseTaskStatus"]:
            preparation = entry.get("jobPreparationTaskExecutionInfo", {})
            release = entry.get("jobReleaseTaskExecutionInfo", {})
            echo(f"{entry['nodeId']}:")
            echo(f"  Prep task exit code:    {preparation.get('exitCode', '')}")
            echo(f"  Release task exit code: {release.get('exitCode', '')}")
            echo()

    def _wait(self, is_over: Callable[[], bool], limit_ms: int, *, dots: bool = False) -> bool:
        """Poll until ``is_over`` or the limit is reached; return whether it is over."""
        end_ms = self._simulation.now_ms + limit_ms
        while not is_over() and self._simulation.now_ms < end_ms:
            self._simulation.run_until(self._simulation.now_ms + POLL_MS)
            if dots:
                echo(".", nl=False)
        return is_over()

    # REST bodies, which are typed as loosely as JSON.

    def _body(self, kind: str, resource_id: str) -> Any:  # noqa: ANN401
        state: dict[str, Any] = results.document(self._simulation)
        return next((body for body in state[kind] if body["id"] == resource_id), None)

    def _job_body(self) -> Any:  # noqa: ANN401
        return self._body("jobs", self._job.spec.id)


def _is_yes(answer: str) -> bool:
    """Return True unless the answer is n or no (SAMPLE-3)."""
    return answer.strip().lower() not in ("n", "no")


def _ask(question: str) -> str:
    """Read the answer from stdin. If stdin is not a terminal, print it to complete the transcript."""
    echo(question)
    answer = sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        echo(answer or "yes")
    return answer


def _say_yes(question: str) -> str:
    echo(question)
    echo("yes")
    return "yes"
