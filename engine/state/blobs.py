"""The blobs that tasks and nodes have uploaded, and the bytes that processes have downloaded (TASK-18, TASK-21).

Both are lists to which rows are only added, so a checkpoint keeps their lengths. What was recorded after the shown
moment stays in them until a branch discards it.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from engine.events.log import EventLog, LogSubject
from engine.specs.storage import BlobContent, UrlParts, parts_of, without_query
from engine.state.plain_outputs import Upload, upload_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.state.tasks import TaskTable

NO_TASK = -1
_ABSENT = _GIVEN = -1
_NO_BLOBS: Mapping[str, int] = {}


class UploadedBlob(NamedTuple):
    """An uploaded blob; ``entry`` is the number of the log's entry about it, ``task`` is -1 for logs of a node."""

    url: str
    content: BlobContent
    task: int
    entry: int


class Container(NamedTuple):
    """A container that was uploaded to, in one spelling of its URL."""

    url: str  # as it was written, without its query
    key: str  # as it is compared
    prefix: str  # what its blobs' names begin with: a URL may have more segments than a container has


class BlobsCopy(NamedTuple):
    """The state of a table at a moment."""

    uploads: int
    downloads: int
    start_task_bytes: int


class BlobTable:
    """Uploads in their order, and the latest one of each URL.

    Of an upload of a plain task only the task is kept, and its URL is worked out when somebody asks for it.
    """

    def __init__(self, log: EventLog, tasks: TaskTable) -> None:
        """Make a table without uploads."""
        self.log = log
        self._tasks = tasks
        self.containers: list[Container] = []
        self._numbers: dict[str, int] = {}
        self.length = 0  # uploads up to the moment that is shown
        self.task = array("i")
        self._number = array("i")  # of the upload of a plain task; -1 for one that ``_given`` holds
        self._entry = array("i")
        self._given: dict[int, Upload] = {}
        # The index of uploads by URL, made as far as somebody has looked: the place of each, and the upload before it.
        self._latest: dict[str, dict[str, int]] = {}
        self._places: list[UrlParts] = []
        self._previous = array("i")
        # Downloads of tasks: how many up to now, of which task, how many bytes.
        self.downloads = 0
        self.fetcher = array("i")
        self.fetched = array("q")
        self.start_task_bytes = 0  # downloaded by start tasks, which belong to no job
        self._by_task = log.shape("BlobUploaded", LogSubject.UPLOAD, ("rule", "TASK-18"))
        self._by_node = log.shape("BlobUploaded", LogSubject.UPLOAD, ("rule", "NOP-11"))

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, row: int) -> UploadedBlob:
        """Return an upload."""
        container, name, content = self._upload(row)
        return UploadedBlob(f"{self.containers[container].url}/{name}", content, self.task[row], self._entry[row])

    def place(self, row: int) -> UrlParts:
        """Return the URL of an upload as it is compared."""
        if row < len(self._places):
            return self._places[row]
        container, name, _ = self._upload(row)
        _, key, prefix = self.containers[container]
        return UrlParts(key, prefix + name)

    def content(self, row: int) -> BlobContent:
        """Return size and text of an upload."""
        return self._upload(row).content

    def _upload(self, row: int) -> Upload:
        number = self._number[row]
        return self._given[row] if number == _GIVEN else upload_of(self._tasks, self.task[row], number)

    def _index(self) -> dict[str, dict[str, int]]:
        """Return the latest upload of each name, by container."""
        for row in range(len(self._places), self.length):
            key, name = place = self.place(row)
            blobs = self._latest.setdefault(key, {})
            self._places.append(place)
            self._previous.append(blobs.get(name, _ABSENT))
            blobs[name] = row
        return self._latest

    def container(self, url: str) -> int:
        """Return the number of a container, by its URL with or without a query; it is made when it is needed first."""
        number = self._numbers.get(url)
        if number is None:
            bare = without_query(url)
            number = self._numbers.get(bare)
            if number is None:
                number = self._numbers[bare] = len(self.containers)
                parts = parts_of(url)
                self.containers.append(Container(bare, parts.container, f"{parts.name}/" if parts.name else ""))
            self._numbers[url] = number
        return number

    # -- changes -------------------------------------------------------------------------------------------------

    def upload(self, now_ms: int, container: int, name: str, content: BlobContent, node: int, task: int) -> None:
        """Keep a blob that a task, or with ``NO_TASK`` a node, uploads; an earlier one of the URL is replaced."""
        self._given[self.length] = Upload(container, name, content)
        self._add(now_ms, task, node, _GIVEN, self._by_node if task == NO_TASK else self._by_task)

    def upload_plain(self, now_ms: int, task: int, node: int, count: int) -> None:
        """Keep the blobs that a plain task uploads (``PlainOutputs.uploads``), so many of them."""
        for number in range(count):
            self._add(now_ms, task, node, number, self._by_task)

    def _add(self, now_ms: int, task: int, node: int, number: int, shape: int) -> None:
        row = self.length
        if row == len(self.task):  # otherwise this is played again
            self._entry.append(len(self.log.when))
            self.task.append(task)
            self._number.append(number)
        self.length = row + 1
        self.log.append(now_ms, shape, row, node)

    def count_download(self, task: int, size: int) -> None:
        """Count the bytes that a task downloads."""
        if self.downloads == len(self.fetcher):
            self.fetcher.append(task)
            self.fetched.append(size)
        self.downloads += 1

    def count_start_task_download(self, size: int) -> None:
        """Count the bytes that a start task downloads."""
        self.start_task_bytes += size

    # -- looking -------------------------------------------------------------------------------------------------

    def find(self, url: str) -> BlobContent | None:
        """Return the latest upload with a URL, compared as ``parts_of`` says; None if there is none."""
        if not self.length:
            return None
        container, name = parts_of(url)
        row = self._index().get(container, _NO_BLOBS).get(name)
        return None if row is None else self.content(row)

    def blobs_in(self, url: str) -> dict[str, BlobContent]:
        """Return the latest uploads to a container, by name."""
        if not self.length:
            return {}
        rows = self._index().get(parts_of(url).container, _NO_BLOBS)
        return {name: self.content(row) for name, row in rows.items()}

    def latest(self) -> list[int]:
        """Return the uploads that are in storage, in their order: the last one of each URL."""
        return sorted(row for blobs in self._index().values() for row in blobs.values())

    # -- going back ----------------------------------------------------------------------------------------------

    def copy(self) -> BlobsCopy:
        """Return the state of the table."""
        return BlobsCopy(self.length, self.downloads, self.start_task_bytes)

    def restore(self, copy: BlobsCopy) -> None:
        """Make the table as it was when ``copy`` was taken."""
        self.length, self.downloads, self.start_task_bytes = copy
        while len(self._places) > self.length:
            (key, name), previous = self._places.pop(), self._previous.pop()
            if previous == _ABSENT:
                del self._latest[key][name]
            else:
                self._latest[key][name] = previous

    def forget_future(self) -> None:
        """Forget what was recorded after the present moment."""
        for row in range(self.length, len(self.task)):
            self._given.pop(row, None)
        for column in (self.task, self._number, self._entry):
            del column[self.length :]
        for column in (self.fetcher, self.fetched):
            del column[self.downloads :]
