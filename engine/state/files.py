"""Files of a run: the disks of its nodes (FILE), uploaded blobs (TASK-18, TASK-21), and the bytes that move (AS-41).

A disk is made when its first file is written. Files and uploads of plain tasks are worked out from the task when they
are asked for: a large run has a million such tasks, and most of their files and blobs are never read.

Uploads and downloads are lists to which rows are only added, so a checkpoint keeps their lengths. What was recorded
after the shown moment stays in them until a branch discards it.

The traffic serves the metrics of pools that scale themselves. DECISION: what a task had begun to download when it was
stopped moves on, as its file is on the disk already; what was under way when a node was stopped, or when autoscale was
switched on, is not counted.
"""

from __future__ import annotations

from array import array
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from engine.base.log import EventLog, LogSubject
from engine.shell.files import NodeFiles
from engine.specs.account import BlobContent, UrlParts, parts_of, without_query
from engine.state.tables import Kept, Values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engine.base.calendar import Calendar
    from engine.shell.protocol import PlainOutputs
    from engine.state.tasks import TaskTable


class Upload(NamedTuple):
    """An upload: the number of the container in the table of blobs, the name that it was given, and its content."""

    container: int
    name: str
    content: BlobContent


def directory_of(tasks: TaskTable, task: int, outputs: PlainOutputs) -> str:
    """Return the directory of a plain task on its node."""
    return outputs.job_directory + tasks.task_id(task)


def upload_of(tasks: TaskTable, task: int, number: int) -> Upload:
    """Return the upload of this number of a plain task."""
    outputs = tasks.profile_of(task).outputs
    assert outputs is not None
    upload, block = outputs.uploads[number], tasks.block_of(task)
    path = block.source.output_path(task - block.first, upload.output)
    return Upload(upload.container, upload.blob_name(path), upload.file.content)


def write_plain_files(tasks: TaskTable, task: int, files: NodeFiles) -> None:
    """Write the files of a plain task that has succeeded to its node, with the records of its uploads (TASK-8)."""
    outputs = tasks.profile_of(task).outputs
    assert outputs is not None
    directory = directory_of(tasks, task, outputs)
    files.mkdir(f"{directory}/wd")
    for path, (size, text) in outputs.files:
        if text is None:
            files.put(f"{directory}/{path}", size)
        else:
            files.write(f"{directory}/{path}", text)
    if outputs.uploads:
        names = (upload_of(tasks, task, number).name for number in range(len(outputs.uploads)))
        lines = (upload.line(directory, name) for upload, name in zip(outputs.uploads, names, strict=True))
        files.write(f"{directory}/fileuploadout.txt", "".join(lines))
        files.write(f"{directory}/fileuploaderr.txt", "")


_EMPTY = NodeFiles()


class DisksCopy(NamedTuple):
    """The disks at a moment, and the plain tasks whose files are not written yet."""

    files: dict[int, NodeFiles]
    packed: dict[int, array[int]]
    room: dict[int, int]


class Disks:
    """Files by node. A node on which nothing was written has the standard directories only.

    The files of plain tasks are *packed*: only the task is kept, until somebody looks at the node's disk.
    """

    def __init__(self, tasks: TaskTable, calendar: Calendar) -> None:
        """Create disks without files; ``calendar`` has the moment at which files are written."""
        self._tasks = tasks
        self._calendar = calendar
        self._files: dict[int, NodeFiles] = {}
        self._saved: dict[int, NodeFiles] = {}
        self._edited: set[int] = set()
        # Reads a file of a node that is a folder of this machine; None for one that there is not.
        self.real: Callable[[int, str], bytes | None] = lambda _, __: None
        self._packed: dict[int, array[int]] = {}
        self._saved_packed: dict[int, array[int]] = {}
        # A lower bound of the free bytes by node, kept as long as only plain tasks leave files there.
        self._room: dict[int, int] = {}
        # Called when the node of an auto pool begins to leave, before its disk is wiped, and when it has left.
        self.on_departure: Callable[[int], object] = lambda _: None

    def __getitem__(self, node: int) -> NodeFiles:
        """Return the node's files, to be read only."""
        if node in self._packed:
            self._unpack(node)
        return self._files.get(node, _EMPTY)

    def __bool__(self) -> bool:
        return bool(self._files)

    def text(self, node: int, key: str) -> str | None:
        """Return the text of a file as it is now, also of a program that runs; None if there is none."""
        raw = self.real(node, key)
        return self[node].read(key) if raw is None else raw.decode("utf-8", "replace")

    def edit(self, node: int) -> NodeFiles:
        """Return the node's files, to be changed."""
        if node in self._packed:
            self._unpack(node)
        self._room.pop(node, None)
        return self._own(node)

    def _own(self, node: int) -> NodeFiles:
        self._edited.add(node)
        files = self._files.get(node)
        if files is None:
            files = self._files[node] = NodeFiles()
        files.now_ms = self._calendar.now_ms
        return files

    def room(self, node: int, task: int, outputs: PlainOutputs) -> int | None:
        """Return a lower bound of the free bytes, so that a plain task's files may be packed.

        None if that is not known (``set_room`` says it), or if the task has a directory on the disk already.
        """
        room = self._room.get(node)
        if room is None:
            return None
        files = self._files.get(node)
        if files is None or files.is_bare or not files.is_dir(directory_of(self._tasks, task, outputs)):
            return room
        return None

    def set_room(self, node: int, free_bytes: int) -> None:
        """Note how many bytes are free on a disk to which nothing has been written since it was looked at."""
        self._room[node] = free_bytes

    def pack(self, node: int, task: int, most_bytes: int) -> None:
        """Leave the files of a plain task on a node; they take at most so many bytes, which ``room`` has promised."""
        self._edited.add(node)
        self._room[node] -= most_bytes
        packed = self._packed.get(node)
        if packed is None:
            packed = self._packed[node] = array("i")
        packed.append(task)

    def _unpack(self, node: int) -> None:
        """Write the files of plain tasks, in the order in which they have ended."""
        files = self._own(node)
        now_ms = files.now_ms
        for task in self._packed.pop(node):
            files.now_ms = self._tasks.ended[task]
            write_plain_files(self._tasks, task, files)
        files.now_ms = now_ms

    def newest_text(self, node: int, names: Sequence[str]) -> tuple[str, str] | None:
        """Return path and text of the file of these names that was written last on a node and is not empty, or None.

        The files of plain tasks stay packed: only those of the last one are made.
        """
        packed = self._packed.get(node)
        if packed:
            last = NodeFiles()
            write_plain_files(self._tasks, packed[-1], last)
            found = last.newest_text(names)
            if found is not None:
                return found
        return self._files.get(node, _EMPTY).newest_text(names)

    def nodes(self) -> list[int]:
        """Return the nodes on which something was written."""
        for node in list(self._packed):
            self._unpack(node)
        return list(self._files)

    def wipe(self, node: int) -> None:
        """Delete everything on the node (FILE-9)."""
        self._room.pop(node, None)
        was_packed = self._packed.pop(node, None) is not None
        if self._files.pop(node, None) is not None or was_packed:
            self._edited.add(node)

    def part(self, node: int) -> Disks:
        """Return disks with the files of one node alone, which stay when it is wiped."""
        part = Disks(self._tasks, self._calendar)
        if node in self._files:
            part._files[node] = self._files[node]
        if node in self._packed:
            part._packed[node] = self._packed[node]
        return part

    def delete_everywhere(self, directory: str) -> None:
        """Delete a directory on all nodes, whatever its retention (JOB-16, REL-18, TASK-14)."""
        for node in self.nodes():
            if self._files[node].exists(directory):
                self.edit(node).delete(directory)

    def copy(self) -> DisksCopy:
        """Return a copy of the disks, at the cost of those changed since the last copy."""
        saved, packed = self._saved.copy(), self._saved_packed.copy()
        for node in self._edited:
            files, tasks = self._files.get(node), self._packed.get(node)
            if files is None:
                saved.pop(node, None)
            else:
                saved[node] = files.copy()
            if tasks is None:
                packed.pop(node, None)
            else:
                packed[node] = tasks[:]
        self._edited = set()
        self._saved, self._saved_packed = saved, packed
        return DisksCopy(saved, packed, self._room.copy())

    def restore(self, copy: DisksCopy) -> None:
        """Restore the disks from a copy."""
        current = {
            node: files
            for node, files in self._files.items()
            if node not in self._edited and node in copy.files and self._saved.get(node) is copy.files[node]
        }
        self._files = {node: current.get(node) or files.copy() for node, files in copy.files.items()}
        self._packed = {node: tasks[:] for node, tasks in copy.packed.items()}
        self._room = copy.room.copy()
        self._edited = set()
        self._saved, self._saved_packed, _ = copy


NO_TASK = -1
_GIVEN = -1
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


class BlobTable(Kept):
    """Uploads in their order, and the latest one of each URL.

    Of an upload of a plain task only the task is kept, and its URL is worked out when somebody asks for it.
    """

    KEPT = ("length", "downloads", "start_task_bytes")

    def __init__(self, log: EventLog, tasks: TaskTable) -> None:
        """Create an empty table."""
        self.log = log
        self._tasks = tasks
        self.containers: list[Container] = []
        self._numbers: dict[str, int] = {}
        self.length = 0  # uploads up to the moment that is shown
        self.task = array("i")
        self._number = array("i")  # of the upload of a plain task; -1 for one that ``_given`` holds
        self._entry = array("i")
        self._given: dict[int, Upload] = {}
        # The index of uploads by URL, made as far as somebody has looked: with the place of each.
        self._latest: dict[str, dict[str, int]] = {}
        self._places: list[UrlParts] = []
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
            blobs[name] = row
        return self._latest

    def container(self, url: str) -> int:
        """Return the number of a container, by its URL with or without a query; it is made when it is needed first."""
        bare = without_query(url)
        number = self._numbers.get(bare)
        if number is None:
            number = self._numbers[bare] = len(self.containers)
            parts = parts_of(url)
            self.containers.append(Container(bare, parts.container, f"{parts.name}/" if parts.name else ""))
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

    def restore(self, copy: Values) -> None:
        """Make the table as it was when ``copy`` was taken."""
        super().restore(copy)
        if len(self._places) > self.length:
            self._places, self._latest = [], {}  # are read anew when they are needed

    def forget_future(self) -> None:
        """Forget what was recorded after the present moment."""
        for row in range(self.length, len(self.task)):
            self._given.pop(row, None)
        for column in (self.task, self._number, self._entry):
            del column[self.length :]
        for column in (self.fetcher, self.fetched):
            del column[self.downloads :]


class Traffic(Enum):
    """The way of some bytes."""

    DOWNLOAD = auto()  # from the network to the disk
    UPLOAD = auto()  # from the disk to the network
    WRITE = auto()  # from a program to the disk


class Transfer(NamedTuple):
    """Bytes that move evenly from ``begin_ms`` to ``end_ms``, or all at that moment if both are the same."""

    kind: Traffic
    begin_ms: int
    end_ms: int
    size: int

    def between(self, after_ms: int, until_ms: int) -> float:
        """Return the bytes that have moved later than ``after_ms``, and not later than ``until_ms``."""
        if self.begin_ms == self.end_ms:
            return self.size if after_ms < self.end_ms <= until_ms else 0
        shared_ms = min(self.end_ms, until_ms) - max(self.begin_ms, after_ms)
        return self.size * max(0, shared_ms) / (self.end_ms - self.begin_ms)


class TrafficTable(Kept):
    """The transfers of nodes in pools that scale themselves, until samples have counted them."""

    KEPT = ("_of",)

    def __init__(self) -> None:
        """Create an empty table."""
        self._of: dict[int, tuple[Transfer, ...]] = {}

    def __getitem__(self, node: int) -> tuple[Transfer, ...]:
        return self._of.get(node, ())

    def __bool__(self) -> bool:
        return bool(self._of)

    def add(self, node: int, transfer: Transfer) -> None:
        """Remember a transfer, which may end later."""
        self._of[node] = (*self._of.get(node, ()), transfer)

    def forget(self, node: int, until_ms: int) -> None:
        """Forget what had moved by then."""
        known = self._of.get(node)
        if known is None:
            return
        kept = tuple(transfer for transfer in known if transfer.end_ms > until_ms)
        if kept:
            self._of[node] = kept
        else:
            del self._of[node]

    def forget_node(self, node: int) -> None:
        """Forget all transfers of a node whose processes have ended, or that nobody samples any more."""
        self._of.pop(node, None)
