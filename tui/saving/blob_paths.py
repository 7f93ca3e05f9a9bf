"""Paths of files for the blobs in storage: ``<account>/<container>/<blob>``.

The name of a blob is nearly free text. Each of its parts becomes the name of a file or directory that every file system
takes and that leads nowhere else: ``..`` is ``%2E%2E``, and what is too long ends in a checksum.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LONGEST_NAME = 200  # bytes
_LONGEST_PATH = 1_500


class BlobText(NamedTuple):
    """A blob: the URL of its container, its name there, and its text."""

    container: str
    name: str
    text: str


def placed(blobs: Iterable[BlobText]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each blob; no two have the same path.

    Where a blob's name is also the beginning of another's, ``a`` beside ``a/b``, the file has a ``%`` after its name.
    Accounts of the same name on different hosts are told apart by the whole host.
    """
    listed = sorted(blobs)
    accounts = _accounts(blob.container for blob in listed)
    paths = [(_path(accounts, blob), blob.text) for blob in listed]
    directories = {path[:cut] for path, _ in paths for cut in _cuts(path)}
    for path, text in paths:
        yield f"{path}%" if path in directories else path, text


def _cuts(path: str) -> Iterator[int]:
    at = path.find("/")
    while at >= 0:
        yield at
        at = path.find("/", at + 1)


def _host(container: str) -> str:
    return container.partition("://")[2].partition("/")[0] or "storage"


def _accounts(containers: Iterable[str]) -> dict[str, str]:
    """Return the directory of each host: its first label, which is the storage account."""
    taken: dict[str, str] = {}
    for host in sorted(set(map(_host, containers))):
        label = host.partition(".")[0]
        taken[host] = host if label in taken.values() else label
    return taken


def _path(accounts: dict[str, str], blob: BlobText) -> str:
    host = _host(blob.container)
    container = blob.container.partition("://")[2].partition("/")[2] if "://" in blob.container else blob.container
    head = f"{_safe(accounts[host])}/{_safe(container) if container else '$root'}"
    path = "/".join((head, *map(_safe, blob.name.split("/"))))
    if len(path.encode("utf-8", "replace")) <= _LONGEST_PATH:
        return path
    return f"{head}/{_shortened(_safe(blob.name.rpartition('/')[2]), blob.name)}"


def _safe(part: str) -> str:
    """Return a part of a name as the name of a file or directory."""
    if part in ("", ".", ".."):
        return part.replace(".", "%2E") or "%2F"
    text = "".join(f"%{ord(sign):02X}" if sign < " " or sign in "\\/:%\x7f" else sign for sign in part)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text.encode()) <= _LONGEST_NAME else _shortened(text, part)


def _shortened(text: str, whole: str) -> str:
    """Return the beginning of a text with the checksum of the whole."""
    checksum = blake2b(whole.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{text.encode()[: _LONGEST_NAME - 20].decode(errors='ignore')}~{checksum}"
