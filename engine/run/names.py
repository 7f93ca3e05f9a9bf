"""The names of a log entry's subject: its ids as cached JSON members (see ``engine.events.log_json``), and as words."""

from __future__ import annotations

from json.encoder import encode_basestring as _quoted
from typing import TYPE_CHECKING

from engine.state.blobs import NO_TASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.state.task_records import TaskBlock
    from engine.world.world import World


class RowNames:
    """Ids by row, for ``engine.events.log_json``, and names by row, for ``engine.events.log_text``."""

    def __init__(self, world: World) -> None:
        """Create the names of this world's rows."""
        self._world = world
        self._nodes: dict[int, str] = {}
        self._jobs: dict[int, str] = {}

    def pool_ids(self, pool: int) -> str:
        """Return the id of a pool."""
        return f',"poolId":{_quoted(self._world.pools[pool].id)}'

    def node_ids(self, node: int) -> str:
        """Return the ids of a node and its pool."""
        text = self._nodes.get(node)
        if text is None:
            record = self._world.nodes[node]
            text = f'{self.pool_ids(record.pool)},"nodeId":{_quoted(record.id)}'
            self._nodes[node] = text
        return text

    def job_ids(self, job: int) -> str:
        """Return the id of a job."""
        text = self._jobs.get(job)
        if text is None:
            text = self._jobs[job] = f',"jobId":{_quoted(self._world.jobs[job].id)}'
        return text

    def tasks_ids(self, tasks: Sequence[int]) -> list[str]:
        """Return the ids of each of these tasks and its job."""
        return self._world.tasks.texts_of(tasks, self._of_block)

    def _of_block(self, block: TaskBlock, ordinals: list[int]) -> list[str]:
        """Return the ids of tasks that were added together; JSON escapes no character of such an id (GEN-1)."""
        return block.source.task_ids(ordinals, f'{self.job_ids(block.job)},"taskId":"', '"')

    def schedule_ids(self, schedule: int) -> str:
        """Return the id of a job schedule."""
        return f',"scheduleId":{_quoted(self._world.job_schedules[schedule].id)}'

    def upload_ids(self, upload: int) -> str:
        """Return the ids of the task that has uploaded a blob, the blob's URL and its bytes."""
        blob = self._world.blobs[upload]
        task = "" if blob.task == NO_TASK else self.tasks_ids([blob.task])[0]
        return f'{task},"url":{_quoted(blob.url)},"bytes":{blob.content.size}'

    # -- for people (see ``engine.events.log_text``) --------------------------------------------------------------

    def pool(self, pool: int) -> str:
        """Return the scenario's name of a pool."""
        return self._world.pools[pool].id

    def node(self, node: int) -> str:
        """Return the scenario's name of a node: its index in the pool."""
        record = self._world.nodes[node]
        return f"node {record.position} of {self.pool(record.pool)}"

    def job(self, job: int) -> str:
        """Return the scenario's name of a job."""
        return self._world.jobs[job].id

    def task(self, task: int) -> str:
        """Return the scenario's name of a task and its job."""
        block = self._world.tasks.block_of(task)
        return f"{block.source.task_id(task - block.first)} of {self.job(block.job)}"

    def schedule(self, schedule: int) -> str:
        """Return the scenario's name of a job schedule."""
        return self._world.job_schedules[schedule].id

    def upload(self, upload: int) -> tuple[str, str]:
        """Return the URL of an uploaded blob, and how much was uploaded by which task."""
        blob = self._world.blobs[upload]
        by = "" if blob.task == NO_TASK else f" by {self.task(blob.task)}"
        return blob.url, f"{blob.content.size:,} bytes uploaded{by}"

    def forget(self) -> None:
        """Clear the cache: rows may stand for something else after a branch."""
        self._nodes.clear()
        self._jobs.clear()
