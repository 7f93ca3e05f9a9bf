"""The blobs that tasks and nodes have uploaded, and the bytes that processes have downloaded (TASK-18, TASK-21).

Both are lists to which rows are only added, so a checkpoint keeps their lengths, and going back cuts them off.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from engine.events.log import EventLog, LogSubject
from engine.specs.storage import BlobContent, UrlParts, parts_of, without_query

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_TASK = -1
NO_JOB = -1
_ABSENT = -1


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
    """Uploads in their order, and the latest one of each name by container."""

    def __init__(self, log: EventLog) -> None:
        """Make a table without uploads."""
        self.log = log
        self.containers: list[Container] = []
        self._numbers: dict[str, int] = {}
        self._container = array("i")
        self._name: list[str] = []
        self.size = array("q")
        self._text: list[str | None] = []
        self.task = array("i")
        self._entry = array("i")
        self._previous = array("i")  # the upload before it with the same URL, or -1
        self._latest: dict[str, dict[str, int]] = {}
        # Downloads of tasks: which task, how many bytes.
        self.fetcher = array("i")
        self.fetched = array("q")
        self.start_task_bytes = 0  # downloaded by start tasks, which belong to no job
        self._by_task = log.shape("BlobUploaded", LogSubject.UPLOAD, ("rule", "TASK-18"))
        self._by_node = log.shape("BlobUploaded", LogSubject.UPLOAD, ("rule", "NOP-11"))

    def __len__(self) -> int:
        return len(self._name)

    def __getitem__(self, row: int) -> UploadedBlob:
        """Return an upload."""
        container = self.containers[self._container[row]]
        url = f"{container.url}/{self._name[row]}"
        return UploadedBlob(url, self._content(row), self.task[row], self._entry[row])

    def place(self, row: int) -> UrlParts:
        """Return the URL of an upload as it is compared."""
        _, key, prefix = self.containers[self._container[row]]
        return UrlParts(key, prefix + self._name[row])

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
        row = len(self._name)
        _, key, prefix = self.containers[container]
        blobs = self._latest.get(key)
        if blobs is None:
            blobs = self._latest[key] = {}
        full_name = prefix + name
        self._container.append(container)
        self._name.append(name)
        self.size.append(content.size)
        self._text.append(content.text)
        self.task.append(task)
        self._entry.append(len(self.log.when))
        self._previous.append(blobs.get(full_name, _ABSENT))
        blobs[full_name] = row
        self.log.append(now_ms, self._by_node if task == NO_TASK else self._by_task, row, node)

    def download(self, task: int, size: int) -> None:
        """Count the bytes that a task downloads."""
        self.fetcher.append(task)
        self.fetched.append(size)

    def start_task_downloads(self, size: int) -> None:
        """Count the bytes that a start task downloads."""
        self.start_task_bytes += size

    # -- looking -------------------------------------------------------------------------------------------------

    def find(self, url: str) -> BlobContent | None:
        """Return the latest upload with a URL, compared as ``parts_of`` says; None if there is none."""
        if not self._latest:
            return None
        container, name = parts_of(url)
        row = self._latest.get(container, _NOTHING).get(name)
        return None if row is None else self._content(row)

    def blobs_in(self, url: str) -> dict[str, BlobContent]:
        """Return the latest uploads to a container, by name."""
        rows = self._latest.get(parts_of(url).container, _NOTHING)
        return {name: self._content(row) for name, row in rows.items()}

    def latest(self) -> list[int]:
        """Return the uploads that are in storage, in their order: the last one of each URL."""
        return sorted(row for blobs in self._latest.values() for row in blobs.values())

    def _content(self, row: int) -> BlobContent:
        return BlobContent(self.size[row], self._text[row])

    # -- going back ----------------------------------------------------------------------------------------------

    def copy(self) -> BlobsCopy:
        """Return the state of the table."""
        return BlobsCopy(len(self._name), len(self.fetcher), self.start_task_bytes)

    def restore(self, copy: BlobsCopy) -> None:
        """Make the table as it was when ``copy`` was taken; uploads that followed are played again."""
        for row in range(len(self._name) - 1, copy.uploads - 1, -1):
            _, key, prefix = self.containers[self._container[row]]
            blobs, name = self._latest[key], prefix + self._name[row]
            if self._previous[row] == _ABSENT:
                del blobs[name]
            else:
                blobs[name] = self._previous[row]
        for column in (self._container, self._name, self.size, self._text, self.task, self._entry, self._previous):
            del column[copy.uploads :]
        for column in (self.fetcher, self.fetched):
            del column[copy.downloads :]
        self.start_task_bytes = copy.start_task_bytes


_NOTHING: Mapping[str, int] = {}
