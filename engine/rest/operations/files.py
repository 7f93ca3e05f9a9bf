"""The operations on the files of nodes and tasks (FILE-10, FILE-11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

from engine.rest.operations.nodes import node_named
from engine.rest.operations.tasks import task_named
from engine.rest.protocol import answers, bodies, conditions, paging, ranges, requests
from engine.rest.protocol.answers import Answer
from engine.specs import commands as c
from engine.views.rest.common import account_url
from engine.views.rest.node_files import FileTree, content_type, node_tree, task_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.rest.protocol.answers import Body
    from engine.rest.protocol.calls import Call, Handler
    from engine.rules.processes.directories import FileEntry
    from engine.specs.command import Command

TreeOf = Callable[["Call"], FileTree]


def of_node(call: Call) -> FileTree:
    """Return the files of the node that the path names. Raises BatchError: PoolNotFound or NodeNotFound."""
    return node_tree(call.world, node_named(call))


def of_task(call: Call) -> FileTree:
    """Return the files of the task that the path names.

    Raises:
        BatchError: JobNotFound, TaskNotFound, TaskFilesUnavailable or TaskFilesCleanedup.
    """
    return task_tree(call.world, task_named(call), call.now_ms)


def listing(tree_of: TreeOf) -> Handler:
    """Return the handler that answers with a page of files: those at the root, or all with ``recursive``."""

    def handle(call: Call) -> Answer:
        tree = tree_of(call)
        entries = tree.entries(call.now_ms, recursive=requests.flag(call.query, "recursive"))

        def after(last: str) -> Iterator[tuple[str, Body]]:
            return ((entry.path, tree.body(entry)) for entry in entries if entry.path > last)

        return paging.page(call, "files", after, "")

    return handle


def download(tree_of: TreeOf) -> Handler:
    """Return the handler that answers with a file, or the part of it that ``ocp-range`` asks for.

    The status is 200 for a part, too. A directory has no bytes.
    """

    def handle(call: Call) -> Answer:
        tree = tree_of(call)
        entry = tree.find(call.names["filePath"], call.now_ms)
        headers = _headers(call, tree, entry)
        part = range(0) if entry.is_directory else ranges.asked(call.request, entry.size)
        if entry.has_unknown_text:
            return Answer(call.route.status, headers=headers, zeros=len(part))
        content = (entry.text or "").encode("utf-8", "surrogatepass")
        return Answer(call.route.status, content[part.start : part.stop], headers)

    return handle


def properties(tree_of: TreeOf) -> Handler:
    """Return the handler that answers with the headers of a file alone."""

    def handle(call: Call) -> Answer:
        tree = tree_of(call)
        entry = tree.find(call.names["filePath"], call.now_ms)
        return Answer(call.route.status, headers=_headers(call, tree, entry), length=entry.size)

    return handle


def _headers(call: Call, tree: FileTree, entry: FileEntry) -> dict[str, str]:
    """Return the headers of a file or directory. Raises NotModified, or BatchError if a condition does not hold."""
    address = call.base + tree.address(entry).removeprefix(account_url(call.world))
    headers = {"ocp-batch-file-isdirectory": str(entry.is_directory), "ocp-batch-file-url": quote(address, safe="")}
    if entry.is_directory:
        return headers
    created, modified = call.moment(entry.times.created_ms), call.moment(entry.times.modified_ms)
    conditions.check(call.request, None, modified)
    headers |= {"Content-Type": content_type(entry), "ocp-creation-time": answers.http_date(created)}
    headers |= answers.modified_headers(None, modified)
    return headers if tree.file_mode is None else {**headers, "ocp-batch-file-mode": tree.file_mode}


def deletion(command: type[Command]) -> Handler:
    """Return the handler that deletes a file or directory."""

    def handle(call: Call) -> Answer:
        names = {**call.names, "recursive": requests.flag(call.query, "recursive")}
        call.submit(bodies.read(command, {}, names))
        return Answer(call.route.status)

    return handle


HANDLERS: dict[str, Handler] = {
    "list_node_files": listing(of_node),
    "download_node_file": download(of_node),
    "get_node_file_properties": properties(of_node),
    "delete_node_file": deletion(c.DeleteNodeFile),
    "list_task_files": listing(of_task),
    "download_task_file": download(of_task),
    "get_task_file_properties": properties(of_task),
    "delete_task_file": deletion(c.DeleteTaskFile),
}
